package drey.it;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.NativeOperator;
import drey.runtime.NativeExecutions;

import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Top-N from SQL to changelog on a MiniCluster, Flink's operator against ours: the same messages in the same order. */
class RankSqlTest {

    private static final int ROWS = 20_000;

    @RegisterExtension
    static final MiniClusterExtension CLUSTER =
            new MiniClusterExtension(
                    new MiniClusterResourceConfiguration.Builder()
                            .setNumberTaskManagers(1)
                            .setNumberSlotsPerTaskManager(4)
                            .build());

    @AfterEach
    void nothingIsLeftOver() throws Exception {
        // The client learns of the end of a job before its tasks have closed their operators.
        for (int i = 0; i < 200 && !NativeOperator.live().isEmpty(); i++) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        assertThat(NativeOperator.live()).isEmpty();
    }

    enum Query {
        APPEND(topN("events", "price DESC, ts", "rn <= 5", "k, id, price, note, ts")),
        APPEND_NUMBERED(topN("events", "ts DESC, note", "rn <= 5", "k, rn, id, price, note, ts")),
        APPEND_OFFSET(topN("events", "ts DESC", "rn BETWEEN 3 AND 6", "k, id, note, ts")),
        /** One rank, but not by the function that Flink has for one. */
        APPEND_FROM_BELOW(
                topN("events", "price DESC, ts", "rn BETWEEN -5 AND 1", "k, id, price, ts")),
        APPEND_NULLS(
                topN("events", "note DESC NULLS FIRST, ts DESC", "rn <= 4", "k, rn, note, ts")),
        TOP_1(topN("events", "price DESC, ts", "rn = 1", "k, id, price, ts")),
        VARIABLE(
                topN(
                        "(SELECT k, id + 2 AS n, price, ts FROM events)",
                        "price DESC, ts DESC",
                        "rn <= n",
                        "k, n, price, ts")),
        FIRST_TO_ARRIVE(topN("events", "pt ASC", "rn <= 7", "k, id, price, note, ts")),
        FIRST_TO_ARRIVE_OFFSET(topN("events", "pt ASC", "rn BETWEEN 3 AND 9", "k, rn, id, ts")),
        LAST_TO_ARRIVE(topN("events", "pt DESC", "rn <= 3", "k, id, price, note, ts")),
        WHOLE_TABLE(
                "SELECT k, rn, price, ts FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY price DESC, ts DESC)"
                        + " AS rn FROM events) WHERE rn <= 20"),
        ORDER_BY_LIMIT(
                "SELECT k, id, price, ts FROM events ORDER BY ts DESC, price LIMIT 30 OFFSET 5"),
        LIMIT("SELECT k, id, price, ts FROM events LIMIT 40"),
        UPDATING(topN(counts("id, note"), "c DESC", "rn <= 2", "k, id, note, c")),
        UPDATING_NUMBERED(topN(counts("id, note"), "c DESC", "rn <= 3", "k, rn, id, note, c")),
        UPDATING_TOP_1(topN(counts("id, note"), "c DESC", "rn = 1", "k, id, note, c")),
        RETRACTING(topN(counts("id, note"), "c ASC, id", "rn <= 2", "k, id, note, c")),
        RETRACTING_NUMBERED(topN(counts("id, note"), "c ASC", "rn <= 3", "k, rn, id, note, c")),
        RETRACTING_FROM_BELOW(
                topN(counts("id, note"), "c ASC", "rn BETWEEN 0 AND 2", "k, id, note, c")),
        RETRACTING_OFFSET(
                retractingOffset("k, id, note, c"), retractingOffset("k, id, note, c, rn")),
        RETRACTING_WHOLE_TABLE(
                "SELECT k, rn, c FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY c ASC, k) AS rn FROM "
                        + counts("price")
                        + ") WHERE rn <= 10");

        final String sql;
        final String numbered;

        Query(String sql) {
            this(sql, null);
        }

        /**
         * @param numbered what to ask of Flink instead: the same with the rank as a last column. With an offset and without
         *     that column RetractableTopNFunction changes the kind of rows that it then keeps, and doesn't find them again.
         */
        Query(String sql, String numbered) {
            this.sql = sql;
            this.numbered = numbered;
        }

        private static String retractingOffset(String columns) {
            return topN(counts("id, note"), "c ASC", "rn BETWEEN 2 AND 3", columns);
        }

        private static String topN(String from, String order, String condition, String columns) {
            return "SELECT %s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY %s) AS rn FROM %s) WHERE %s"
                    .formatted(columns, order, from, condition);
        }

        private static String counts(String groupBy) {
            return "(SELECT k, %s, COUNT(*) AS c FROM events GROUP BY k, %s)"
                    .formatted(groupBy, groupBy);
        }
    }

    @ParameterizedTest
    @EnumSource
    void sameMessages(Query query) throws Exception {
        Map<String, List<String>> expected =
                new SqlJob("expected " + query, query.numbered == null ? query.sql : query.numbered)
                        .set("drey.enabled", "false")
                        .set("state.backend.type", "rocksdb")
                        .rows(ROWS)
                        .run();
        if (query.numbered != null) {
            expected.values()
                    .forEach(rows -> rows.replaceAll(row -> row.replaceAll(", \\d+]$", "]")));
        }
        long opened = NativeExecutions.of("rank").opened();
        SqlJob job =
                new SqlJob(query.name(), query.sql)
                        .set("drey.batch.rows", query.ordinal() % 2 == 0 ? "1024" : "7")
                        .set("pipeline.object-reuse", String.valueOf(query.ordinal() % 3 == 0))
                        .rows(ROWS);
        Map<String, List<String>> actual = job.run();

        assertThat(NativeExecutions.of("rank").opened() - opened).isEqualTo(1);
        assertThat(expected).isNotEmpty();
        for (String key : expected.keySet()) {
            assertThat(actual.get(key)).as("changelog of %s", key).isEqualTo(expected.get(key));
        }
        assertThat(actual).isEqualTo(expected);
    }

    /**
     * Mini-batch changes what comes, not what a Top-N does. Bundles end by their size alone, so that both runs have the same. It
     * takes the pause between checkpoints to keep them from ending bundles, too: 2.3 starts its checkpoint scheduler when the
     * job is RUNNING, stops it with the first task that isn't yet, and starts it anew when all are
     * ({@code ExecutionTrackingCheckpointCoordinatorDeActivator}), from then on with no delay but that pause, whatever the
     * interval. The barrier would end a bundle wherever it happens to be.
     */
    @Test
    void sameMessagesWithMiniBatch() throws Exception {
        List<Map<String, List<String>>> runs = new ArrayList<>();
        long opened = NativeExecutions.of("rank").opened();
        for (boolean enabled : new boolean[] {false, true}) {
            runs.add(
                    new SqlJob("mini-batch " + enabled, Query.RETRACTING_NUMBERED.sql)
                            .set("drey.operator.rank.enabled", String.valueOf(enabled))
                            .set("table.exec.mini-batch.enabled", "true")
                            .set("table.exec.mini-batch.size", "50")
                            .set("table.exec.mini-batch.allow-latency", "1 h")
                            .set("execution.checkpointing.interval", "1 h")
                            .set("execution.checkpointing.min-pause", "1 h")
                            .rows(ROWS)
                            .run());
        }
        assertThat(NativeExecutions.of("rank").opened() - opened).isEqualTo(1);
        assertThat(runs.get(0)).isNotEmpty();
        assertThat(runs.get(1)).isEqualTo(runs.get(0));
    }
}
