package drey.it;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.NativeOperator;
import drey.runtime.NativeExecutions;

import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * SQL to changelog on a MiniCluster, Flink's operator against ours: every key's changelog must be the same, in order,
 * whatever parallelism, batch size, object reuse, failure or rescale lies between.
 */
class DeduplicateSqlTest {

    private static final int SLOTS = 4;

    @RegisterExtension
    static final MiniClusterExtension CLUSTER =
            new MiniClusterExtension(
                    new MiniClusterResourceConfiguration.Builder()
                            .setNumberTaskManagers(1)
                            .setNumberSlotsPerTaskManager(SLOTS)
                            .build());

    @TempDir static Path savepoints;

    @AfterEach
    void nothingIsLeftOver() throws Exception {
        Events.SLOW_FROM.set(Long.MAX_VALUE);
        // The client learns of the end of a job before its tasks have closed their operators.
        for (int i = 0; i < 200 && !NativeOperator.live().isEmpty(); i++) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        assertThat(NativeOperator.live()).isEmpty();
    }

    enum Query {
        ROWTIME_LAST("ts DESC"),
        ROWTIME_FIRST("ts ASC"),
        PROCTIME_LAST("pt DESC"),
        PROCTIME_FIRST("pt ASC");

        final String sql;

        Query(String order) {
            sql = SqlJob.deduplicate(order);
        }
    }

    static Stream<Arguments> configurations() {
        List<Arguments> all = new ArrayList<>();
        for (Query query : Query.values()) {
            for (int parallelism : new int[] {1, 3}) {
                for (boolean reuse : new boolean[] {false, true}) {
                    for (int batch : new int[] {3, 1024}) {
                        all.add(Arguments.of(query, parallelism, reuse, batch));
                    }
                }
            }
        }
        return all.stream();
    }

    @ParameterizedTest
    @MethodSource("configurations")
    void everyConfiguration(Query query, int parallelism, boolean reuse, int batch)
            throws Exception {
        SqlJob job =
                new SqlJob("everyConfiguration", query.sql)
                        .parallelism(parallelism)
                        .set("pipeline.object-reuse", String.valueOf(reuse))
                        .set("drey.batch.rows", String.valueOf(batch));
        assertSame(expected(query), job, 20_000);
    }

    /** Every mode of the mini-batch operators that SQL can ask for. */
    @ParameterizedTest
    @MethodSource("miniBatches")
    void miniBatch(Query query, boolean compact) throws Exception {
        // The bundle ends by count only: what ends it by time differs from run to run. Flink ends
        // it at whole multiples of the latency on the wall clock; the first one here is in the
        // future. Checkpoints end it too, and the first one comes at once unless there is a pause
        // to keep.
        Map<String, String> settings =
                Map.of(
                        "table.exec.mini-batch.enabled", "true",
                        "table.exec.mini-batch.allow-latency", "100000 d",
                        "table.exec.mini-batch.size", "64",
                        "table.exec.deduplicate.mini-batch.compact-changes-enabled",
                                String.valueOf(compact),
                        "execution.checkpointing.interval", "1000 s",
                        "execution.checkpointing.min-pause", "1000 s");
        SqlJob stock =
                new SqlJob("miniBatch stock", query.sql)
                        .set("drey.enabled", "false")
                        .set("state.backend.type", "rocksdb");
        SqlJob ours = new SqlJob("miniBatch", query.sql).set("drey.batch.rows", "100");
        settings.forEach(stock::set);
        settings.forEach(ours::set);
        assertSame(stock.run(), ours, 20_000);
    }

    static Stream<Arguments> miniBatches() {
        return Stream.of(Query.values())
                .flatMap(q -> Stream.of(Arguments.of(q, false), Arguments.of(q, true)));
    }

    /** The job fails after two checkpoints and recovers from the last one; no row is lost, none comes twice. */
    @ParameterizedTest
    @MethodSource("recoveries")
    void failure(int parallelism, String backend, boolean unaligned) throws Exception {
        SqlJob job =
                new SqlJob("failure", Query.ROWTIME_LAST.sql)
                        .parallelism(parallelism)
                        .set("state.backend.type", backend)
                        .set("execution.checkpointing.unaligned.enabled", String.valueOf(unaligned))
                        .failAfterCheckpoints(2);
        Events.SLOW_FROM.set(10_000);
        ChangelogCollector.forget(job.name);
        JobClient client = job.submit();
        while (!ChangelogCollector.failed(job.name)) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        Events.SLOW_FROM.set(Long.MAX_VALUE);
        client.getJobExecutionResult().get();
        Map<String, List<String>> actual = ChangelogCollector.byKey(job.name);
        assertThat(actual).isEqualTo(expected(Query.ROWTIME_LAST));
    }

    static Stream<Arguments> recoveries() {
        return Stream.of(
                Arguments.of(1, "hashmap", false),
                Arguments.of(3, "hashmap", true),
                Arguments.of(3, "rocksdb", false));
    }

    /** Savepoints in between, at another parallelism each time. */
    @ParameterizedTest
    @MethodSource("formats")
    void rescale(SavepointFormatType format) throws Exception {
        String name = "rescale " + format;
        ChangelogCollector.forget(name);
        long before = NativeExecutions.of("deduplicate").opened();
        String savepoint = null;
        for (int parallelism : new int[] {1, 2, 3}) {
            Events.SLOW_FROM.set(5_000L * parallelism);
            SqlJob job = rescaleJob(name, parallelism, savepoint);
            JobClient client = job.submit();
            long base = ChangelogCollector.completedCheckpoints(name);
            while (ChangelogCollector.completedCheckpoints(name) < base + 2) {
                if (client.getJobStatus().get().isTerminalState()) {
                    client.getJobExecutionResult().get();
                    throw new AssertionError("the job has ended before its savepoint");
                }
                TimeUnit.MILLISECONDS.sleep(10);
            }
            savepoint =
                    client.stopWithSavepoint(false, savepoints.toUri().toString(), format).get();
            ChangelogCollector.continueWith(name);
        }
        Events.SLOW_FROM.set(Long.MAX_VALUE);
        rescaleJob(name, 1, savepoint).submit().getJobExecutionResult().get();
        assertThat(NativeExecutions.of("deduplicate").opened() - before).isEqualTo(1 + 2 + 3 + 1);
        assertThat(ChangelogCollector.byKey(name)).isEqualTo(expected(Query.ROWTIME_LAST));
    }

    private static SqlJob rescaleJob(String name, int parallelism, String savepoint) {
        SqlJob job = new SqlJob(name, Query.ROWTIME_LAST.sql).parallelism(parallelism);
        if (savepoint != null) {
            job.set("execution.state-recovery.path", savepoint);
        }
        return job;
    }

    static Stream<SavepointFormatType> formats() {
        return Stream.of(SavepointFormatType.values());
    }

    private static final Map<Query, Map<String, List<String>>> EXPECTED =
            new java.util.EnumMap<>(Query.class);

    /** What Flink's own operator emits for each key. */
    private static Map<String, List<String>> expected(Query query) throws Exception {
        Map<String, List<String>> result = EXPECTED.get(query);
        if (result == null) {
            long before = NativeExecutions.of("deduplicate").opened();
            // RocksDB, because the heap backend emits an update for an equal row, see
            // docs/decisions.md.
            result =
                    new SqlJob("expected", query.sql)
                            .set("drey.enabled", "false")
                            .set("state.backend.type", "rocksdb")
                            .run();
            assertThat(NativeExecutions.of("deduplicate").opened()).isEqualTo(before);
            EXPECTED.put(query, result);
        }
        return result;
    }

    private static void assertSame(Map<String, List<String>> expected, SqlJob job, long rows)
            throws Exception {
        long before = NativeExecutions.of("deduplicate").rowsIn();
        Map<String, List<String>> actual = job.run();
        assertThat(NativeExecutions.of("deduplicate").rowsIn() - before).isEqualTo(rows);
        assertThat(actual.keySet()).hasSize(100);
        for (String key : expected.keySet()) {
            assertThat(actual.get(key)).as("changelog of %s", key).isEqualTo(expected.get(key));
        }
        assertThat(actual).isEqualTo(expected);
    }
}
