package drey.it.aggregate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.it.KeptChanges;
import drey.it.KeptQuery;
import drey.it.LocalRun;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;

import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Faults that other engines had, as queries. What has to come out is known from SQL and was run on Flink first: each case is
 * held against Flink 2.2.1 and 2.3.0 and then against ours, message for message.
 */
class AggregateCasesTest {

    private static final TypeInformation<?>[] TYPES = {
        Types.STRING,
        Types.STRING,
        Types.INT,
        Types.BOOLEAN,
        Types.FLOAT,
        Types.DOUBLE,
        Types.SHORT,
        Types.BYTE,
        Types.LOCAL_DATE_TIME
    };
    private static final String[] COLUMNS = {"g", "u", "v", "f", "fl", "db", "si", "ti", "ts"};

    /**
     * @param log every message, in order
     * @param nodes how many aggregates of the query are native
     */
    private record Case(
            String name,
            List<Row> rows,
            String sql,
            Map<String, String> options,
            List<String> log,
            int nodes)
            implements KeptQuery {

        @Override
        public int keys() {
            return 0;
        }

        @Override
        public Map<String, String> defaults() {
            return Query.DEFAULTS;
        }

        @Override
        public boolean upsert() {
            return false;
        }
    }

    private static final Map<String, String> ONE_BY_ONE = Map.of();

    private static Map<String, String> bundles(int size, String strategy) {
        return Map.of(
                "table.exec.mini-batch.enabled",
                "true",
                "table.exec.mini-batch.size",
                Integer.toString(size),
                "table.exec.mini-batch.allow-latency",
                "1000 d",
                "table.optimizer.agg-phase-strategy",
                strategy);
    }

    private static Row row(RowKind kind, String g, Object... values) {
        Row row = Row.withNames(kind);
        for (String column : COLUMNS) {
            row.setField(column, null);
        }
        row.setField("g", g);
        row.setField("ts", at(0));
        for (int i = 0; i < values.length; i += 2) {
            row.setField((String) values[i], values[i + 1]);
        }
        return row;
    }

    private static Row add(String g, Object... values) {
        return row(RowKind.INSERT, g, values);
    }

    private static Row take(String g, Object... values) {
        return row(RowKind.DELETE, g, values);
    }

    private static List<Case> cases() {
        List<Case> all = new ArrayList<>();
        all.add(
                new Case(
                        "B47: the last value that passes the filter goes, the group stays",
                        List.of(
                                add("g", "v", 10, "f", true),
                                add("g", "v", 3, "f", false),
                                take("g", "v", 10, "f", true)),
                        "SELECT g, MAX(v) FILTER (WHERE f) FROM T GROUP BY g",
                        ONE_BY_ONE,
                        List.of("+I[g, 10]", "-U[g, 10]", "+U[g, null]"),
                        1));
        all.add(
                new Case(
                        "B47: a value that changed nothing is remembered",
                        List.of(
                                add("h", "v", 10),
                                add("h", "v", 5),
                                add("h", "v", 8),
                                take("h", "v", 10)),
                        "SELECT g, MAX(v) FROM T GROUP BY g",
                        ONE_BY_ONE,
                        List.of("+I[h, 10]", "-U[h, 10]", "+U[h, 8]"),
                        1));
        all.add(
                new Case(
                        "B49: distinct values leave with their last occurrence, per filter",
                        List.of(
                                add("g", "u", "u1", "v", 50),
                                add("g", "u", "u1", "v", 150),
                                add("g", "u", "u1", "v", 60),
                                take("g", "u", "u1", "v", 50),
                                take("g", "u", "u1", "v", 60),
                                add("g", "u", "u1", "v", 70)),
                        "SELECT g, COUNT(DISTINCT u) FILTER (WHERE v < 100) AS lo, COUNT(DISTINCT u) FILTER"
                                + " (WHERE v >= 100) AS hi, COUNT(*) AS c FROM T GROUP BY g",
                        ONE_BY_ONE,
                        List.of(
                                "+I[g, 1, 0, 1]",
                                "-U[g, 1, 0, 1]",
                                "+U[g, 1, 1, 2]",
                                "-U[g, 1, 1, 2]",
                                "+U[g, 1, 1, 3]",
                                "-U[g, 1, 1, 3]",
                                "+U[g, 1, 1, 2]",
                                "-U[g, 1, 1, 2]",
                                "+U[g, 0, 1, 1]",
                                "-U[g, 0, 1, 1]",
                                "+U[g, 1, 1, 2]"),
                        1));
        List<Row> doubles =
                List.of(add("a", "db", -0.0), add("b", "db", Double.NaN), add("c", "db", 1.0));
        String comparison = "SELECT db FROM T WHERE db %s CAST(0 AS DOUBLE)";
        // Flink's planner puts the constant in place of the column that equals it.
        all.add(
                new Case(
                        "B52: =",
                        doubles,
                        comparison.formatted("="),
                        ONE_BY_ONE,
                        List.of("+I[0.0]"),
                        0));
        all.add(
                new Case(
                        "B52: >",
                        doubles,
                        comparison.formatted(">"),
                        ONE_BY_ONE,
                        List.of("+I[1.0]"),
                        0));
        all.add(new Case("B52: <", doubles, comparison.formatted("<"), ONE_BY_ONE, List.of(), 0));
        all.add(
                new Case(
                        "B52: the same in filters",
                        doubles,
                        "SELECT SUM(db) FILTER (WHERE db = CAST(0 AS DOUBLE)), SUM(db) FILTER (WHERE db >"
                                + " CAST(0 AS DOUBLE)), COUNT(*) FILTER (WHERE db < CAST(0 AS DOUBLE)) FROM T",
                        ONE_BY_ONE,
                        List.of("+I[-0.0, null, 0]", "-U[-0.0, null, 0]", "+U[-0.0, 1.0, 0]"),
                        1));
        List<Row> extremes =
                List.of(
                        add("1", "db", Double.NaN, "fl", Float.NaN, "ts", at(1)),
                        add("1", "db", 4.0, "fl", 4f, "ts", at(2)),
                        add("2", "db", 4.0, "fl", 4f, "ts", at(11)),
                        add("2", "db", Double.NaN, "fl", Float.NaN, "ts", at(12)),
                        add("3", "db", 0.0, "fl", 0f, "ts", at(21)),
                        add("3", "db", -0.0, "fl", -0f, "ts", at(22)));
        all.add(
                new Case(
                        "B53: the first NaN sticks, a later one is ignored, zeros tie; in windows",
                        extremes,
                        "SELECT MIN(db), MAX(db), MIN(fl), MAX(fl) FROM TUMBLE(TABLE A, DESCRIPTOR(ts),"
                                + " INTERVAL '10' SECOND) GROUP BY window_start, window_end",
                        ONE_BY_ONE,
                        List.of(
                                "+I[NaN, NaN, NaN, NaN]",
                                "+I[4.0, 4.0, 4.0, 4.0]",
                                "+I[0.0, 0.0, 0.0, 0.0]"),
                        0));
        all.add(
                new Case(
                        "B53: in groups",
                        extremes,
                        "SELECT g, MIN(db), MAX(db), MIN(fl), MAX(fl) FROM A GROUP BY g",
                        ONE_BY_ONE,
                        // NaN isn't equal to itself, so Flink takes the second row for a change.
                        List.of(
                                "+I[1, NaN, NaN, NaN, NaN]",
                                "-U[1, NaN, NaN, NaN, NaN]",
                                "+U[1, NaN, NaN, NaN, NaN]",
                                "+I[2, 4.0, 4.0, 4.0, 4.0]",
                                "+I[3, 0.0, 0.0, 0.0, 0.0]"),
                        1));
        List<Row> narrow =
                List.of(
                        add("g", "si", (short) 1, "ti", (byte) -1, "fl", 1f),
                        add("g", "si", (short) 2, "ti", (byte) -2, "fl", 2f));
        String avg = "SELECT AVG(si), AVG(ti), AVG(fl), AVG(v) FROM A";
        all.add(
                new Case(
                        "B54: averages have the type of what they are of",
                        narrow,
                        avg,
                        ONE_BY_ONE,
                        List.of(
                                "+I[1, -1, 1.0, null]",
                                "-U[1, -1, 1.0, null]",
                                "+U[1, -1, 1.5, null]"),
                        1));
        all.add(
                new Case(
                        "B54: in two phases",
                        narrow,
                        avg,
                        bundles(2, "TWO_PHASE"),
                        List.of("+I[1, -1, 1.5, null]"),
                        2));
        List<Row> balanced =
                List.of(
                        add("g", "v", 5),
                        add("g", "v", 7),
                        take("g", "v", 5),
                        add("g", "v", 9),
                        add("h", "v", 1),
                        take("h", "v", 1));
        for (String strategy : List.of("ONE_PHASE", "TWO_PHASE")) {
            all.add(
                    new Case(
                            "B55: bundles that count to nothing, " + strategy,
                            balanced,
                            "SELECT g, SUM(v) FROM T GROUP BY g",
                            bundles(2, strategy),
                            strategy.equals("ONE_PHASE")
                                    ? List.of("+I[g, 12]", "-U[g, 12]", "+U[g, 16]")
                                    // One bundle of the global phase has the local phase's two.
                                    : List.of("+I[g, 16]"),
                            strategy.equals("ONE_PHASE") ? 1 : 2));
        }
        all.add(
                new Case(
                        "B13: nothing to group by",
                        List.of(add("", "v", 1), add("", "v", 2), add("", "v", 3)),
                        "SELECT SUM(v) FROM A",
                        ONE_BY_ONE,
                        List.of("+I[1]", "-U[1]", "+U[3]", "-U[3]", "+U[6]"),
                        1));
        all.add(
                new Case(
                        "B61: kinds and rows keep their identity",
                        List.of(add("Alice"), add("Alice"), add("Bob")),
                        "SELECT g, COUNT(*) FROM A GROUP BY g",
                        ONE_BY_ONE,
                        List.of("+I[Alice, 1]", "-U[Alice, 1]", "+U[Alice, 2]", "+I[Bob, 1]"),
                        1));
        return all;
    }

    private static LocalDateTime at(int second) {
        return LocalDateTime.of(2024, 1, 1, 0, 0, second);
    }

    @Test
    void onFlink() throws Exception {
        long before = AggregateRun.opened();
        check(run(cases(), false, false));
        assertThat(AggregateRun.opened()).isEqualTo(before);
    }

    @Test
    void onDrey() throws Exception {
        int nodes = cases().stream().mapToInt(Case::nodes).sum();
        for (boolean objectReuse : new boolean[] {false, true}) {
            long before = AggregateRun.opened();
            check(run(cases(), true, objectReuse));
            assertThat(AggregateRun.opened() - before).isEqualTo(nodes);
        }
    }

    /** A second row for SINGLE_VALUE ends the job: on Flink, and here with Flink's sentence. */
    @Test
    void secondRowForSingleValue() {
        List<Row> rows = List.of(add("a", "v", 1), add("b", "v", 2), add("a", "v", 3));
        for (Map<String, String> options :
                List.of(ONE_BY_ONE, bundles(10, "ONE_PHASE"), bundles(10, "TWO_PHASE"))) {
            Case two =
                    new Case(
                            "two values",
                            rows,
                            "SELECT g, SINGLE_VALUE(v) FROM A GROUP BY g",
                            options,
                            List.of(),
                            1);
            for (boolean drey : new boolean[] {false, true}) {
                long before = AggregateRun.opened();
                assertThatThrownBy(() -> run(List.of(two), drey, false))
                        .rootCause()
                        .hasMessageContaining(
                                "SingleValueAggFunction received more than one element.");
                assertThat(AggregateRun.opened() > before).as("%s native", options).isEqualTo(drey);
            }
        }
    }

    private static void check(Map<String, List<Row>> actual) {
        for (Case c : cases()) {
            assertThat(actual.get(c.name()).stream().map(Row::toString))
                    .as(c.name())
                    .containsExactlyElementsOf(c.log());
        }
    }

    /** Cases in one job. */
    private static Map<String, List<Row>> run(List<Case> cases, boolean drey, boolean objectReuse)
            throws Exception {
        LocalRun run = new LocalRun(drey, 1, objectReuse, 1024, false);
        StreamExecutionEnvironment env = run.environment("512m", "128m", 0);
        StreamTableEnvironment tables = run.tables(env);
        String job = run.job();
        for (Case c : cases) {
            for (String name : List.of("T", "A")) {
                tables.dropTemporaryView(name);
                tables.createTemporaryView(
                        name,
                        tables.fromChangelogStream(
                                env.fromCollection(c.rows(), Types.ROW_NAMED(COLUMNS, TYPES)),
                                Schema.newBuilder()
                                        .column("g", "STRING")
                                        .column("u", "STRING")
                                        .column("v", "INT")
                                        .column("f", "BOOLEAN")
                                        .column("fl", "FLOAT")
                                        .column("db", "DOUBLE")
                                        .column("si", "SMALLINT")
                                        .column("ti", "TINYINT")
                                        .column("ts", "TIMESTAMP(3)")
                                        .watermark("ts", "ts - INTERVAL '1' HOUR")
                                        .build(),
                                name.equals("A")
                                        ? ChangelogMode.insertOnly()
                                        : ChangelogMode.all()));
            }
            LocalRun.keep(tables, job, c);
        }
        return KeptChanges.execute(env, job, cases, 1);
    }
}
