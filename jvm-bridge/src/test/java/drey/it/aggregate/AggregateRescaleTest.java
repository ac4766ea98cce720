package drey.it.aggregate;

import static org.assertj.core.api.Assertions.assertThat;

import drey.it.KeptChanges;
import drey.it.LocalRun;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeContext;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A job of aggregates in one phase, in two, and with the incremental one between, stopped with a savepoint and gone on with at
 * another parallelism, twice: what comes out in all is what Flink makes of the same changes in one go.
 */
class AggregateRescaleTest {

    private static final int ROWS = 900;
    private static final long SEED = 20261130;
    private static final String CALLS =
            "COUNT(*), SUM(i), AVG(si), MIN(s), MAX(d20), MIN(t9), AVG(d5), COUNT(DISTINCT s), SUM(DISTINCT d20),"
                    + " COUNT(DISTINCT t9) FILTER (WHERE f1)";

    /** Lists and the like only where no bundle tells their order. */
    private static final List<Query> QUERIES =
            Stream.of("A", "R")
                    .flatMap(
                            t -> {
                                Query calls =
                                        Query.of(
                                                t,
                                                "SELECT k, " + CALLS + " FROM " + t + " GROUP BY k",
                                                1);
                                Query sequences =
                                        Query.of(
                                                "sequences of " + t,
                                                "SELECT k, "
                                                        + CALLS
                                                        + ", LISTAGG(c), LAST_VALUE(i), FIRST_VALUE(s), SUM(d) FROM "
                                                        + t
                                                        + " GROUP BY k",
                                                1);
                                return Stream.of(
                                        sequences,
                                        calls.bundles(17),
                                        calls.twoPhases(40),
                                        calls.split(60, true));
                            })
                    .toList();

    @RegisterExtension
    static final MiniClusterExtension CLUSTER =
            new MiniClusterExtension(
                    new MiniClusterResourceConfiguration.Builder()
                            .setNumberTaskManagers(1)
                            .setNumberSlotsPerTaskManager(3)
                            .setConfiguration(
                                    Configuration.fromMap(
                                            Map.of(
                                                    "taskmanager.memory.managed.size", "2g",
                                                    "taskmanager.memory.network.min", "256m",
                                                    "taskmanager.memory.network.max", "256m")))
                            .build());

    @TempDir static Path savepoints;

    @AfterEach
    void letGo() {
        Changes.holdAt(Integer.MAX_VALUE);
    }

    @ParameterizedTest
    @EnumSource(SavepointFormatType.class)
    void savepointsCarryTheStateToOtherParallelisms(SavepointFormatType format) throws Exception {
        String run = "rescale " + format;
        long opened = AggregateRun.opened();
        String savepoint = null;
        int[] parallelisms = {2, 3, 1};
        for (int i = 0; i < parallelisms.length; i++) {
            boolean last = i == parallelisms.length - 1;
            Changes.holdAt(last ? Integer.MAX_VALUE : (i + 1) * ROWS / parallelisms.length);
            JobClient job = submit(run, true, parallelisms[i], savepoint);
            if (last) {
                job.getJobExecutionResult().get();
            } else {
                while (!Changes.held(run, 2)) {
                    if (job.getJobStatus().get().isTerminalState()) {
                        job.getJobExecutionResult().get();
                        throw new AssertionError("the job has ended before its savepoint");
                    }
                    TimeUnit.MILLISECONDS.sleep(10);
                }
                savepoint =
                        job.stopWithSavepoint(false, savepoints.toUri().toString(), format).get();
            }
        }
        // All of them, each time.
        assertThat(AggregateRun.opened() - opened)
                .isGreaterThanOrEqualTo(
                        (long) parallelisms.length
                                * QUERIES.stream().mapToInt(Query::natives).sum());
        for (Query query : QUERIES) {
            List<Row> expected = stock(query);
            List<Row> actual = KeptChanges.of(run + "/" + query.name(), 3);
            assertThat(KeptChanges.content(1, false, actual))
                    .as(query.name())
                    .isNotEmpty()
                    .isEqualTo(KeptChanges.content(1, false, expected));
            if (!query.bundled()) {
                assertThat(sorted(actual)).as(query.name()).isEqualTo(sorted(expected));
            }
        }
        KeptChanges.forget(run + "/");
    }

    /** What Flink makes of it; the first call runs all queries. */
    private static List<Row> stock(Query query) throws Exception {
        if (KeptChanges.of("stock/" + query.name(), 1).isEmpty()) {
            submit("stock", false, 1, null).getJobExecutionResult().get();
        }
        return KeptChanges.of("stock/" + query.name(), 1);
    }

    private static JobClient submit(String run, boolean drey, int parallelism, String savepoint)
            throws Exception {
        Configuration config = new Configuration();
        config.setString("pipeline.max-parallelism", "128");
        config.setString("table.exec.uid.generation", "ALWAYS");
        config.setString("restart-strategy.type", "disable");
        if (savepoint != null) {
            config.setString("execution.state-recovery.path", savepoint);
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(config);
        env.setParallelism(parallelism);
        // The uids have the node ids in them, which count on from job to job in one JVM.
        ExecNodeContext.resetIdCounter();
        LocalRun how = new LocalRun(drey, parallelism, false, 64, false);
        AggregateRun.plan(how, env, run, QUERIES, ROWS, SEED);
        return env.executeAsync(run);
    }

    /** Which subtask a key's changes come from is another from one parallelism to the next, and with it their order. */
    private static Map<String, List<String>> sorted(List<Row> changes) {
        Map<String, List<String>> byKey = new TreeMap<>(KeptChanges.byKey(1, changes));
        byKey.replaceAll((key, rows) -> rows.stream().sorted().toList());
        return byKey;
    }
}
