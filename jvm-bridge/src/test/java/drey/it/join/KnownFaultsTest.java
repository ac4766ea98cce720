package drey.it.join;

import static org.assertj.core.api.Assertions.assertThat;

import drey.it.LocalRun;
import drey.runtime.NativeExecutions;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Faults that other engines had in their joins, with the results that SQL asks for. Stock Flink gives them, and so must we.
 *
 * <p>Rows come one by one in the order in which they stand here. All cases share one job, so that a run is a matter of seconds.
 */
class KnownFaultsTest {

    private static final TypeInformation<Row> INT_TEXT =
            Types.ROW_NAMED(new String[] {"k", "s"}, Types.INT, Types.STRING);
    private static final TypeInformation<Row> INTS =
            Types.ROW_NAMED(new String[] {"k", "v"}, Types.INT, Types.INT);

    private final List<JoinRun.Input> inputs = new ArrayList<>();
    private final Map<String, String> queries = new LinkedHashMap<>();
    private final Map<String, TreeMap<Long, String>> logs = new LinkedHashMap<>();
    private final Map<String, TreeMap<Long, String>> contents = new LinkedHashMap<>();

    private record Step(String table, Row row) {}

    private static Step step(String table, RowKind kind, Object... fields) {
        Row row = Row.of(fields);
        row.setKind(kind);
        return new Step(table, row);
    }

    private static Step in(String table, Object... fields) {
        return step(table, RowKind.INSERT, fields);
    }

    private static Step out(String table, Object... fields) {
        return step(table, RowKind.DELETE, fields);
    }

    private static final int LENGTH = 12;

    /** Two tables, L and R of the case, each row in an epoch of its own. */
    private void tables(String name, TypeInformation<Row> type, List<String> key, Step... steps) {
        for (String side : List.of("L", "R")) {
            List<List<Row>> epochs = new ArrayList<>();
            for (int i = 0; i < LENGTH; i++) {
                boolean mine = i < steps.length && steps[i].table().equals(side);
                epochs.add(mine ? List.of(steps[i].row()) : List.of());
            }
            String first = key.isEmpty() ? "k INT" : "k INT NOT NULL";
            List<String> columns = List.of(first, type == INTS ? "v INT" : "s STRING");
            inputs.add(new JoinRun.Input(side + name, type, columns, key, epochs));
        }
    }

    private String query(String name, String sql) {
        queries.put(name, sql);
        return name;
    }

    /** What is emitted in an epoch. */
    private void log(String query, long epoch, String... messages) {
        logs.computeIfAbsent(query, q -> new TreeMap<>()).put(epoch, Arrays.toString(messages));
    }

    /** What the result is when an epoch is over, in alphabetical order. */
    private void content(String query, long epoch, String... rows) {
        contents.computeIfAbsent(query, q -> new TreeMap<>()).put(epoch, Arrays.toString(rows));
    }

    private void cases() {
        // B26: NULL keys match nothing, and their rows are two, not one.
        tables(
                "26",
                INT_TEXT,
                List.of(),
                in("L", null, "l1"),
                in("L", 1, "l2"),
                in("R", null, "r1"),
                in("R", 1, "r2"),
                out("L", null, "l1"));
        String full = query("B26", "SELECT * FROM L26 L FULL JOIN R26 R ON L.k = R.k");
        content(full, 3, "1,l2,1,r2", "null,l1,null,null", "null,null,null,r1");
        content(full, 4, "1,l2,1,r2", "null,null,null,r1");

        // B27: = and IS NOT DISTINCT FROM in one key. As EXISTS Flink plans it with a join on
        // k = k, so that (NULL,1) isn't there; the join itself has to find it.
        tables(
                "27",
                INTS,
                List.of(),
                in("L", null, 1),
                in("L", null, null),
                in("L", 2, 1),
                in("R", null, 1),
                in("R", 2, null),
                out("R", null, 1));
        String keys = "L.k IS NOT DISTINCT FROM R.k AND L.v = R.v";
        String mixed = query("B27", "SELECT * FROM L27 L JOIN R27 R ON " + keys);
        content(mixed, 4, "null,1,null,1");
        content(mixed, 5);
        String exists =
                query(
                        "B27 exists",
                        "SELECT * FROM L27 L WHERE EXISTS (SELECT 1 FROM R27 R WHERE "
                                + keys
                                + ")");
        content(exists, 4);

        // B28: NOT IN knows NULL, NOT EXISTS doesn't.
        tables(
                "28",
                INTS,
                List.of(),
                in("L", 1, 0),
                in("L", 2, 0),
                in("L", null, 0),
                in("R", 1, 0),
                in("R", null, 0),
                out("R", null, 0));
        String notIn = query("B28 in", "SELECT k FROM L28 WHERE k NOT IN (SELECT k FROM R28)");
        content(notIn, 3, "2");
        content(notIn, 4);
        content(notIn, 5, "2");
        String notExists =
                query(
                        "B28 exists",
                        "SELECT k FROM L28 L WHERE NOT EXISTS (SELECT 1 FROM R28 R WHERE R.k = L.k)");
        content(notExists, 3, "2", "null");
        content(notExists, 4, "2", "null");
        content(notExists, 5, "2", "null");

        // B30: from padded to matched is a deletion and an insertion.
        tables("30", INT_TEXT, List.of("k"), in("L", 1, "x"), in("R", 1, "r"), out("R", 1, "r"));
        String left = query("B30", "SELECT * FROM L30 L LEFT JOIN R30 R ON L.k = R.k");
        log(left, 0, "+I[1, x, null, null]");
        log(left, 1, "-D[1, x, null, null]", "+I[1, x, 1, r]");
        log(left, 2, "-D[1, x, 1, r]", "+I[1, x, null, null]");

        // B31: when the last side goes, nothing is left, not a row of NULLs.
        tables("31", INT_TEXT, List.of(), in("L", 1, "x"), out("L", 1, "x"));
        String nothing = query("B31", "SELECT * FROM L31 L FULL JOIN R31 R ON L.k = R.k");
        log(nothing, 0, "+I[1, x, null, null]");
        log(nothing, 1, "-D[1, x, null, null]");
        content(nothing, 1);

        // B32: as often padded as there are equal rows.
        tables(
                "32",
                INTS,
                List.of(),
                in("L", 1, 0),
                in("L", 1, 0),
                in("R", 1, 0),
                in("R", 1, 0),
                out("R", 1, 0),
                out("R", 1, 0),
                out("L", 1, 0));
        String bag = query("B32", "SELECT L.k, R.k FROM L32 L LEFT JOIN R32 R ON L.k = R.k");
        content(bag, 3, "1,1", "1,1", "1,1", "1,1");
        content(bag, 4, "1,1", "1,1");
        content(bag, 5, "1,null", "1,null");
        content(bag, 6, "1,null");

        // B34: both sides call their columns the same.
        tables("34", INTS, List.of(), in("L", 1, 5), in("R", 1, 3), in("R", 1, 9));
        String names =
                query(
                        "B34",
                        "SELECT L.k, L.v, R.k, R.v FROM L34 L JOIN R34 R ON L.k = R.k AND L.v < R.v");
        content(names, 2, "1,5,1,9");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void resultsAreThoseOfSql(boolean drey) throws Exception {
        cases();
        long before = NativeExecutions.of("join").opened();
        Map<String, TreeMap<Long, List<Row>>> actual =
                JoinRun.execute(new LocalRun(drey, 1, false, 16, false), queries, inputs, Map.of());
        long opened = NativeExecutions.of("join").opened() - before;

        // NOT IN is planned with a second join, for the NULLs.
        assertThat(opened).isBetween(drey ? (long) queries.size() : 0, drey ? 99L : 0);
        logs.forEach(
                (query, epochs) ->
                        epochs.forEach(
                                (epoch, messages) ->
                                        assertThat(actual.get(query).get(epoch).toString())
                                                .as("%s in epoch %d", query, epoch)
                                                .isEqualTo(messages)));
        contents.forEach(
                (query, epochs) ->
                        epochs.forEach(
                                (epoch, rows) ->
                                        assertThat(content(actual.get(query), epoch))
                                                .as("%s after epoch %d", query, epoch)
                                                .isEqualTo(rows)));
    }

    private static String content(TreeMap<Long, List<Row>> epochs, long upTo) {
        List<Row> messages = new ArrayList<>();
        epochs.headMap(upTo, true).values().forEach(messages::addAll);
        List<String> rows = new ArrayList<>();
        JoinQuery.content(messages)
                .forEach(
                        (row, times) -> {
                            String text = row.replaceAll("[\\[\\]]", "").replace(", ", ",");
                            for (int i = 0; i < times; i++) {
                                rows.add(text);
                            }
                        });
        return rows.toString();
    }
}
