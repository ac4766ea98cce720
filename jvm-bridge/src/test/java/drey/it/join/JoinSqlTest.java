package drey.it.join;

import static org.assertj.core.api.Assertions.assertThat;

import drey.it.LocalRun;
import drey.jni.NativeOperator;
import drey.runtime.NativeExecutions;

import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Joins from SQL to changelog on a local cluster, Flink's operator against ours, on changelogs that come to both inputs in a
 * fixed order: for each row that comes in, the same messages, in the same order where Flink fixes one.
 *
 * <p>{@code -Ddrey.join.all=true} runs every combination, {@code -Ddrey.join.seed} other changelogs.
 */
class JoinSqlTest {

    private static final List<JoinQuery> QUERIES =
            Boolean.getBoolean("drey.join.all") ? JoinQuery.all() : JoinQuery.some();

    private static final long SEED = Long.getLong("drey.join.seed", 20_240_131);
    private static final Changelogs CHANGELOGS = new Changelogs(SEED, 60, 3);

    private static final String RETENTION = ", with retention";

    private static Map<String, TreeMap<Long, List<Row>>> expected;

    @BeforeAll
    static void runStock() throws Exception {
        long before = NativeExecutions.of("join").opened();
        expected = JoinRun.execute(LocalRun.STOCK, sql(), CHANGELOGS, Map.of());
        assertThat(NativeExecutions.of("join").opened()).isEqualTo(before);
        for (JoinQuery q : QUERIES) {
            assertThat(expected.get(q.name()).size()).as(q.name()).isGreaterThan(2);
        }
    }

    @AfterEach
    void nothingIsLeftOver() throws Exception {
        // The client learns of the end of a job before its tasks have closed their operators.
        for (int i = 0; i < 200 && !NativeOperator.live().isEmpty(); i++) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        assertThat(NativeOperator.live()).isEmpty();
    }

    private static Map<String, String> sql() {
        Map<String, String> sql = new LinkedHashMap<>();
        for (JoinQuery q : QUERIES) {
            sql.put(q.name(), q.sql());
        }
        return sql;
    }

    static Stream<LocalRun> runs() {
        return Stream.of(
                new LocalRun(true, 1, false, 1024, false), new LocalRun(true, 3, true, 2, true));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("runs")
    void sameMessages(LocalRun run) throws Exception {
        Map<String, String> sql = sql();
        for (JoinQuery q : QUERIES) {
            // A hint of ours needs a key that Flink distributes by.
            if (q.left() == 3 && q.right() == 3 && !q.type().emitsLeftOnly()) {
                sql.put(q.name() + RETENTION, q.sqlWithRetention("10 h", "20 h"));
            }
        }
        long before = NativeExecutions.of("join").opened();
        Map<String, TreeMap<Long, List<Row>>> actual =
                JoinRun.execute(run, sql, CHANGELOGS, Map.of());
        long opened = NativeExecutions.of("join").opened() - before;

        // All joins, each at its parallelism, and again after the failure; a few EXISTS take two
        // joins.
        long joins = sql.values().stream().mapToLong(q -> hasKey(q) ? run.parallelism() : 1).sum();
        assertThat(opened).isGreaterThanOrEqualTo(run.fails() ? 2 * joins : joins);
        for (JoinQuery q : QUERIES) {
            compare(q, q.name(), expected.get(q.name()), actual.get(q.name()));
            if (sql.containsKey(q.name() + RETENTION)) {
                String name = q.name() + RETENTION;
                compare(q, name, expected.get(q.name()), actual.get(name));
            }
        }
    }

    /**
     * An EXISTS with OR, or null-safe, is two joins, one behind the other, and the second one's other input is a table, too:
     * in which order its two inputs come is up to the network, also where the first one's is fixed. Its messages differ from
     * run to run, with Flink alone as well; what is determined is the result.
     */
    @Test
    void resultsOfTwoJoins() throws Exception {
        Changelogs changelogs = new Changelogs(SEED, 40, 3, true);
        Map<String, String> sql = new LinkedHashMap<>();
        JoinQuery.twoJoins().forEach(q -> sql.put(q.name(), q.sql()));
        assertThat(sql).hasSizeGreaterThan(3);
        Map<String, TreeMap<Long, List<Row>>> stock =
                JoinRun.execute(LocalRun.STOCK, sql, changelogs, Map.of());
        long before = NativeExecutions.of("join").opened();
        Map<String, TreeMap<Long, List<Row>>> drey =
                JoinRun.execute(new LocalRun(true, 1, false, 7, false), sql, changelogs, Map.of());
        assertThat(NativeExecutions.of("join").opened() - before)
                .isGreaterThanOrEqualTo(2L * sql.size());
        for (JoinQuery q : JoinQuery.twoJoins()) {
            for (long epoch = 0; epoch < 40; epoch++) {
                assertThat(contentAfter(drey.get(q.name()), epoch))
                        .as("%s after epoch %s, seed %s", q.name(), epoch, SEED)
                        .isEqualTo(contentAfter(stock.get(q.name()), epoch));
            }
            assertThat(contentAfter(stock.get(q.name()), 40)).as(q.name()).isNotEmpty();
        }
    }

    /** State expires by a clock in our hands, which goes on between epochs: for all joins, and by hint for each side. */
    @Test
    void sameMessagesWithRetention() throws Exception {
        List<JoinQuery> queries = eachTypeAndShape().stream().filter(q -> q.left() != 1).toList();
        Map<String, String> sql = new LinkedHashMap<>();
        for (JoinQuery q : queries) {
            sql.put(q.name(), q.sql());
            // Flink doesn't look for hints in an EXISTS.
            if (!q.type().emitsLeftOnly()) {
                sql.put(q.name() + RETENTION, q.sqlWithRetention("9 min", "2 min"));
            }
        }
        Map<String, String> settings =
                Map.of(
                        "table.exec.state.ttl",
                        "4 min",
                        "state.backend.type",
                        EpochClock.Factory.class.getName());
        Map<String, TreeMap<Long, List<Row>>> stock =
                JoinRun.execute(LocalRun.STOCK, sql, CHANGELOGS, settings);
        long before = NativeExecutions.of("join").opened();
        Map<String, TreeMap<Long, List<Row>>> drey =
                JoinRun.execute(new LocalRun(true, 1, true, 7, false), sql, CHANGELOGS, settings);

        assertThat(NativeExecutions.of("join").opened() - before).isEqualTo(sql.size());
        for (JoinQuery q : queries) {
            TreeMap<Long, List<Row>> byOption = stock.get(q.name());
            compare(q, q.name(), byOption, drey.get(q.name()));
            assertThat(byOption).as(q.name()).isNotEqualTo(expected.get(q.name()));
            String hinted = q.name() + RETENTION;
            if (sql.containsKey(hinted)) {
                compare(q, hinted, stock.get(hinted), drey.get(hinted));
                assertThat(stock.get(hinted)).as(hinted).isNotEqualTo(byOption);
            }
        }
    }

    /**
     * Which rows share a bundle is up to the network, and what bundles fold shows it: Flink alone has several results where rows
     * are retracted. Of insertions the result is determined.
     */
    @Test
    void resultsOfBundles() throws Exception {
        Changelogs insertions = CHANGELOGS.insertions();
        Map<String, String> sql = new LinkedHashMap<>();
        eachTypeAndShape().forEach(q -> sql.put(q.name(), q.sql()));
        Map<String, String> bundles =
                Map.of(
                        "table.exec.mini-batch.enabled", "true",
                        "table.exec.mini-batch.size", "11",
                        "table.exec.mini-batch.allow-latency", "20 ms");
        Map<String, TreeMap<Long, List<Row>>> stock =
                JoinRun.execute(LocalRun.STOCK, sql, insertions, bundles);
        long before = NativeExecutions.of("join").opened();
        Map<String, TreeMap<Long, List<Row>>> drey =
                JoinRun.execute(new LocalRun(true, 1, false, 7, false), sql, insertions, bundles);

        assertThat(NativeExecutions.of("join").opened() - before).isEqualTo(sql.size());
        int results = 0;
        for (String name : sql.keySet()) {
            Map<String, Integer> result = contentAfter(stock.get(name), Long.MAX_VALUE);
            assertThat(contentAfter(drey.get(name), Long.MAX_VALUE)).as(name).isEqualTo(result);
            results += result.size();
        }
        assertThat(results).isGreaterThan(10 * sql.size());
    }

    /** Both sides have the same kind of key, and rows are joined by nothing else. */
    private static List<JoinQuery> eachTypeAndShape() {
        List<JoinQuery> queries =
                QUERIES.stream()
                        .filter(q -> q.left() == q.right() && q.condition().equals(JoinQuery.KEY))
                        .toList();
        assertThat(queries).hasSize(3 * JoinQuery.Type.values().length);
        return queries;
    }

    private static Map<String, Integer> contentAfter(TreeMap<Long, List<Row>> epochs, long upTo) {
        List<Row> messages = new ArrayList<>();
        epochs.headMap(upTo, true).values().forEach(messages::addAll);
        return JoinQuery.content(messages);
    }

    private static boolean hasKey(String sql) {
        return sql.contains("L.k ");
    }

    private static void compare(
            JoinQuery query,
            String name,
            TreeMap<Long, List<Row>> expected,
            TreeMap<Long, List<Row>> actual) {
        for (long epoch : expected.keySet()) {
            boolean left = !CHANGELOGS.of("L" + query.left()).get((int) epoch).isEmpty();
            assertThat(query.fixed(actual.getOrDefault(epoch, List.of()), left))
                    .as("%s in epoch %s, seed %s", name, epoch, SEED)
                    .isEqualTo(query.fixed(expected.get(epoch), left));
        }
        assertThat(actual.keySet()).as(name).isEqualTo(expected.keySet());
    }
}
