package drey.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Drey as it is installed: one jar in lib/ of a cluster of separate processes, found by a planner behind the planner loader, under
 * Flink's default configuration. The expected changelog is what stock Flink writes for the same job on the same cluster.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OperatorsClusterIT {

    private static final int ROWS = 120_000;
    private static final int KEYS = 996;

    /** A metric that only native operators have: state.bytes, as Flink's REST interface spells it. */
    private static final String NATIVE_METRIC = "drey.state_bytes";

    /** The operators of {@link QueriesJob}, as its metrics name them. */
    private static final List<String> NATIVE = List.of("Rank", "GroupAggregate", "Join");

    private static final Path JOB = Path.of(System.getProperty("drey.cluster.job"));

    private FlinkCluster cluster;
    private String jar;
    private List<String> stock;
    private Path stockQueries;

    @BeforeAll
    void start() throws Exception {
        // Not a temporary folder: the logs are wanted when a test has failed.
        Path home =
                Files.createDirectories(
                        Path.of(System.getProperty("drey.cluster.home"))
                                .resolve(Long.toString(System.currentTimeMillis())));
        cluster =
                new FlinkCluster(Path.of(System.getProperty("drey.cluster.distribution")), home, 2);
        jar = cluster.upload(JOB);
        Path out = home.resolve("stock");
        String job = cluster.run(jar, 2, null, arguments(out, false));
        cluster.awaitState(job, "FINISHED");
        stock = lines(out);
        // One insert a key, and a pair of updates for each further row that does not come too late.
        assertThat(stock).hasSizeGreaterThan(ROWS);
        assertThat(stock).filteredOn(line -> line.startsWith("+I")).hasSize(KEYS);
        stockQueries = home.resolve("stock-queries");
        String queries =
                cluster.run(jar, QueriesJob.class, 2, null, arguments(stockQueries, false));
        cluster.awaitState(queries, "FINISHED");
    }

    @AfterAll
    void stop() throws Exception {
        if (cluster != null) {
            cluster.close();
        }
    }

    @AfterEach
    void everybodyIsAlive() throws Exception {
        cluster.checkProcesses();
    }

    @Test
    void aJobFromTheCommandLineRunsNatively(@TempDir Path out, @TempDir Path temp)
            throws Exception {
        Path go = temp.resolve("go");
        String job = cluster.submit(JOB, 2, arguments(out, true, go));
        awaitNativeState(job);
        Files.createFile(go);
        cluster.awaitState(job, "FINISHED");
        assertSameAsStock(lines(out));
    }

    @Test
    void switchedOffNothingIsNative(@TempDir Path out, @TempDir Path temp) throws Exception {
        Path go = temp.resolve("go");
        String job = cluster.run(jar, 2, null, arguments(out, false, go));
        cluster.awaitWhileRunning(job, "metrics", () -> cluster.metric(job, "numRecordsIn") > 0);
        assertThat(cluster.metricNames(job)).noneMatch(name -> name.contains("drey"));
        cluster.cancel(job);
    }

    @Test
    void aKilledTaskManagerCostsNoRowAndDoublesNone(@TempDir Path out, @TempDir Path temp)
            throws Exception {
        Path go = temp.resolve("go");
        String job = cluster.run(jar, 2, null, arguments(out, true, go));
        awaitNativeState(job);
        awaitCheckpoints(job, 2);

        cluster.killTaskManager(cluster.taskManagers().get(0));
        cluster.startTaskManager();
        Files.createFile(go);

        cluster.await("the restore", () -> cluster.restores(job) >= 1);
        cluster.awaitState(job, "FINISHED");
        assertSameAsStock(lines(out));
    }

    @Test
    void aSavepointCarriesTheStateToAnotherParallelism(@TempDir Path out, @TempDir Path temp)
            throws Exception {
        Path go = temp.resolve("go");
        String first = cluster.run(jar, 2, null, arguments(out, true, go));
        awaitNativeState(first);
        awaitCheckpoints(first, 1);
        String savepoint = cluster.stopWithSavepoint(first);
        int written = lines(out).size();
        assertThat(written)
                .as("rows written before the savepoint")
                .isPositive()
                .isLessThan(stock.size());

        Process third = cluster.startTaskManager();
        cluster.awaitTaskManagers();
        String second = cluster.run(jar, 3, savepoint, arguments(out, true));
        cluster.awaitState(second, "FINISHED");
        cluster.killTaskManager(third);
        assertSameAsStock(lines(out));
    }

    /** Top-N, an aggregate and a join in one job: killed, restored, stopped, and gone on with by three subtasks. */
    @Test
    void everyOperatorSurvives(@TempDir Path out, @TempDir Path temp) throws Exception {
        Path never = temp.resolve("never");
        String first = cluster.run(jar, QueriesJob.class, 2, null, arguments(out, true, never));
        awaitNativeStateOfAll(first);
        awaitCheckpoints(first, 2);
        cluster.killTaskManager(cluster.taskManagers().get(0));
        cluster.startTaskManager();
        cluster.await("the restore", () -> cluster.restores(first) >= 1);
        awaitCheckpoints(first, 1);
        String savepoint = cluster.stopWithSavepoint(first);

        Process third = cluster.startTaskManager();
        cluster.awaitTaskManagers();
        String second = cluster.run(jar, QueriesJob.class, 3, savepoint, arguments(out, true));
        cluster.awaitState(second, "FINISHED");
        cluster.killTaskManager(third);
        assertQueriesSameAsStock(out);
    }

    /** The same queries behind a jam: the restored rows come out of the operators' state and out of the buffers before them. */
    @Test
    void rowsInFlightOfAnUnalignedCheckpointAreNeitherLostNorDoubled(
            @TempDir Path out, @TempDir Path temp) throws Exception {
        Path go = temp.resolve("go");
        Path free = temp.resolve("free");
        String job = cluster.run(jar, QueriesJob.class, 2, null, arguments(out, true, go, free));
        awaitNativeStateOfAll(job);
        cluster.awaitWhileRunning(
                job, "an unaligned checkpoint", () -> cluster.bytesInFlight(job) > 0);
        cluster.killTaskManager(cluster.taskManagers().get(0));
        cluster.startTaskManager();
        cluster.await("the restore", () -> cluster.restores(job) >= 1);
        Files.createFile(free);
        Files.createFile(go);
        cluster.awaitState(job, "FINISHED");
        assertQueriesSameAsStock(out);
    }

    /** Class loaders come and go, the library stays: many jobs one after the other in the same TaskManagers. */
    @Test
    void jobsComeAndGo(@TempDir Path out) throws Exception {
        int submissions = Integer.getInteger("drey.cluster.submissions");
        List<Long> resident = new ArrayList<>();
        for (int i = 0; i < submissions; i++) {
            Path folder = out.resolve("run-" + i);
            String job = cluster.run(jar, 2, null, arguments(folder, true));
            cluster.awaitState(job, "FINISHED");
            assertSameAsStock(lines(folder));
            resident.add(
                    cluster.taskManagers().stream().mapToLong(FlinkCluster::residentBytes).sum());
        }
        System.out.printf(
                "resident MiB of both TaskManagers after each job: %s%n",
                resident.stream().map(bytes -> bytes >> 20).collect(Collectors.toList()));
        // Heap and metaspace grow to their limits first; what grows after that leaks. A short run
        // only proves that jobs can follow each other.
        if (submissions >= 40) {
            long middle = average(resident.subList(submissions / 4, submissions / 2));
            long end = average(resident.subList(submissions * 3 / 4, submissions));
            assertThat(end)
                    .as("resident bytes, last quarter against second quarter")
                    .isLessThan(middle + middle / 10);
        }
    }

    private static long average(List<Long> values) {
        return (long) values.stream().mapToLong(Long::longValue).average().orElseThrow();
    }

    /** With a file the job does not end before the file exists. */
    private static String[] arguments(Path out, boolean drey, Object... more) {
        Stream<String> arguments =
                Stream.of(
                        Integer.toString(ROWS),
                        Integer.toString(KEYS),
                        out.toUri().toString(),
                        Boolean.toString(drey));
        return Stream.concat(arguments, Stream.of(more).map(Object::toString))
                .toArray(String[]::new);
    }

    private void awaitNativeState(String job) throws Exception {
        cluster.awaitWhileRunning(
                job, "native state", () -> cluster.metric(job, NATIVE_METRIC) > 0);
    }

    /** Waits until each operator of {@link QueriesJob} has native state. */
    private void awaitNativeStateOfAll(String job) throws Exception {
        cluster.awaitWhileRunning(
                job,
                "state of every native operator",
                () -> {
                    List<String> names = cluster.metricNames(job);
                    return NATIVE.stream()
                            .allMatch(
                                    operator ->
                                            names.stream()
                                                    .anyMatch(
                                                            name ->
                                                                    name.contains(operator)
                                                                            && name.endsWith(
                                                                                    NATIVE_METRIC)));
                });
    }

    /** Waits for so many checkpoints more than there are. */
    private void awaitCheckpoints(String job, int more) throws Exception {
        int before = cluster.completedCheckpoints(job);
        cluster.awaitWhileRunning(
                job, "checkpoints", () -> cluster.completedCheckpoints(job) >= before + more);
    }

    private void assertSameAsStock(List<String> lines) {
        assertSame("keep last", lines, stock);
    }

    private void assertQueriesSameAsStock(Path out) throws IOException {
        for (String query : QueriesJob.QUERIES.keySet()) {
            List<String> expected = lines(stockQueries.resolve(query));
            assertThat(expected).as(query).hasSizeGreaterThan(1000);
            assertSame(query, lines(out.resolve(query)), expected);
        }
    }

    private static void assertSame(String what, List<String> lines, List<String> expected) {
        // One message with the first difference instead of two lists of 100,000 lines.
        for (int i = 0; i < Math.min(lines.size(), expected.size()); i++) {
            assertThat(lines.get(i))
                    .as("%s: changelog row %d in sorted order", what, i)
                    .isEqualTo(expected.get(i));
        }
        assertThat(lines.size()).as("%s: changelog rows", what).isEqualTo(expected.size());
    }

    /** All committed changelog rows, sorted. Files that start with a dot are not committed. */
    private static List<String> lines(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            List<String> lines = new ArrayList<>();
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                if (!file.getFileName().toString().startsWith(".")) {
                    lines.addAll(Files.readAllLines(file));
                }
            }
            lines.sort(null);
            return lines;
        }
    }
}
