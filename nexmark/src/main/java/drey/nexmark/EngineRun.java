package drey.nexmark;

import drey.nexmark.measure.Checkpoints;
import drey.nexmark.measure.EmbeddedCluster;
import drey.nexmark.measure.Memory;
import drey.nexmark.measure.NativeProof;
import drey.nexmark.measure.Probe;
import drey.nexmark.measure.Profile;
import drey.nexmark.measure.RunResult;
import drey.nexmark.measure.StateMetrics;
import drey.nexmark.measure.StateSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.CheckpointType;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStats;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.util.FileUtils;

/** Runs one query with one engine on an embedded cluster of its own. */
final class EngineRun {

    private static final AtomicInteger NAMES = new AtomicInteger();
    private static final String SECTION = "== Drey ==";

    /** By then native operators have told their metrics, which they do a second after the last row, and a cluster has gone. */
    private static final long METRICS_MILLIS = 1_500;

    private final Options options;
    private final Query query;
    private final String engine;
    private final Rung rung;
    private boolean profiling;
    private Profile profile;

    EngineRun(Options options, Query query, String engine) {
        this.options = options;
        this.query = query;
        this.engine = engine;
        this.rung = Rung.of(options);
    }

    /**
     * @param events how many of the events to run, from the first
     * @param record the bucket to record, or -1
     * @param label what to call the run on the terminal
     */
    RunResult run(long events, int record, String label) throws Exception {
        String name = "run-" + NAMES.incrementAndGet();
        Probe probe = Probe.of(name);
        try {
            StreamTableEnvironment tables = environment();
            List<String> statements = rung.statements(query, events, name, record);
            String insert = statements.get(statements.size() - 1);
            for (String statement : statements.subList(0, statements.size() - 1)) {
                tables.executeSql(statement);
            }
            String plan = engine.equals("drey") ? dreySection(tables.explainSql(insert)) : "";
            NativeProof.reset();
            StateMetrics.reset();
            System.gc();
            Memory.resetPeak();
            profile = profiling ? Profile.start(label) : null;
            Checkpoints checkpoints;
            try (Progress progress = new Progress(options.is("progress"), label, probe, events)) {
                rung.starting(probe);
                TableResult result = tables.executeSql(insert);
                try (Checkpoints.Watch watch =
                        new Checkpoints.Watch(result.getJobClient().orElseThrow())) {
                    result.await();
                    checkpoints = watch.latest();
                }
            } finally {
                if (profile != null) {
                    profile.stop();
                }
            }
            probe.jobEnded();
            Rung.Outcome outcome = rung.outcome(query, events, name, probe);
            return new RunResult(
                    engine,
                    probe.figures(
                            outcome.rowsIn(), outcome.rowsOut(), rung.preparedBytes(), checkpoints),
                    (int) plan.lines().filter(Plans::isNative).count(),
                    plan,
                    outcome.digest(),
                    outcome.recording());
        } finally {
            probe.jobEnded();
            Probe.forget(name);
        }
    }

    /** What the state takes when all events are in it. */
    StateSize stateSize(long events) throws Exception {
        // What the embedded cluster itself takes is the same with one event, and no state to speak
        // of; once what is made but
        // once has been made.
        stateAfter(1);
        StateSize nothing = stateAfter(1);
        return stateAfter(events).minus(nothing);
    }

    private StateSize stateAfter(long events) throws Exception {
        String name = "run-" + NAMES.incrementAndGet();
        Probe probe = Probe.of(name);
        try {
            Configuration configuration = configuration();
            configuration.setString("execution.checkpointing.interval", "1 h");
            configuration.setString("execution.checkpointing.timeout", "10 min");
            Path checkpoints = Files.createTempDirectory("nexmark-checkpoints");
            configuration.setString("execution.checkpointing.dir", checkpoints.toUri().toString());
            StreamTableEnvironment tables = environment(configuration);
            List<String> statements =
                    new MemoryRung(options.with("sink", "blackhole"))
                            .staying()
                            .statements(query, events, name, -1);
            for (String statement : statements.subList(0, statements.size() - 1)) {
                tables.executeSql(statement);
            }
            StateMetrics.reset();
            long heap = Memory.liveHeap();
            JobClient job =
                    tables.executeSql(statements.get(statements.size() - 1))
                            .getJobClient()
                            .orElseThrow();
            MiniCluster cluster = EmbeddedCluster.of(job);
            CompletableFuture<JobExecutionResult> ended = job.getJobExecutionResult();
            while (probe.rowsIn() < events) {
                Thread.sleep(20);
                if (ended.isDone()) {
                    ended.get();
                }
            }
            // The first passes through all rows that are under way, the second finds everything at
            // rest.
            checkpoint(cluster, job);
            checkpoint(cluster, job);
            CompletedCheckpointStats checkpoint =
                    cluster.getExecutionGraph(job.getJobID())
                            .get()
                            .getCheckpointStatsSnapshot()
                            .getHistory()
                            .getLatestCompletedCheckpoint();
            Thread.sleep(METRICS_MILLIS);
            StateSize size =
                    new StateSize(
                            StateMetrics.keys(),
                            Memory.liveHeap() - heap,
                            StateMetrics.bytes(),
                            checkpoint.getStateSize(),
                            checkpoint.getEndToEndDuration());
            job.cancel().get();
            ended.exceptionally(cancelled -> null).get();
            Thread.sleep(METRICS_MILLIS);
            FileUtils.deleteDirectoryQuietly(checkpoints.toFile());
            return size;
        } finally {
            probe.jobEnded();
            Probe.forget(name);
        }
    }

    /** A full checkpoint; with few events the source can be through before the last task has started. */
    private static void checkpoint(MiniCluster cluster, JobClient job) throws Exception {
        for (int refused = 0; ; refused++) {
            try {
                cluster.triggerCheckpoint(job.getJobID(), CheckpointType.FULL).get();
                return;
            } catch (ExecutionException e) {
                if (refused == 100) {
                    throw e;
                }
                Thread.sleep(50);
            }
        }
    }

    String name() {
        return engine;
    }

    /** Runs some events, so that what follows is not about the compiler. */
    void warmUp() throws Exception {
        long events = Math.min(options.number("warmup"), options.number("events"));
        if (events > 0) {
            run(events, -1, "warm-up");
        }
    }

    /** The configuration that a cluster of processes would run this with. */
    Map<String, String> clusterConfiguration() throws IOException {
        Map<String, String> conf = new LinkedHashMap<>(configuration().toMap());
        StateMetrics.options().keySet().forEach(conf::remove);
        return conf;
    }

    /** The query over a source that stays when it has emitted everything. Other processes can't replay what is in this one. */
    List<String> stayingStatements() {
        return new MemoryRung(options.with("rung", "generator").with("sink", "blackhole"))
                .staying()
                .statements(query, options.number("events"), "staying", -1);
    }

    /** Makes the runs that follow take a profile. */
    EngineRun profiling() {
        profiling = true;
        return this;
    }

    /** The profile of the last run. */
    Profile profile() {
        return profile;
    }

    /** The plan as EXPLAIN shows it. */
    String explain() throws IOException {
        StreamTableEnvironment tables = environment();
        List<String> statements = new MemoryRung(options).statements(query, 1, "explain", -1);
        for (String statement : statements.subList(0, statements.size() - 1)) {
            tables.executeSql(statement);
        }
        return tables.explainSql(statements.get(statements.size() - 1));
    }

    private StreamTableEnvironment environment() throws IOException {
        return environment(configuration());
    }

    private static StreamTableEnvironment environment(Configuration configuration) {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        return StreamTableEnvironment.create(
                env, EnvironmentSettings.newInstance().inStreamingMode().build());
    }

    private Configuration configuration() throws IOException {
        Map<String, String> conf = new LinkedHashMap<>();
        conf.put("parallelism.default", options.get("parallelism"));
        conf.put("taskmanager.numberOfTaskSlots", options.get("parallelism"));
        conf.put("pipeline.object-reuse", options.get("object-reuse"));
        conf.put("restart-strategy.type", "none");
        conf.put("table.local-time-zone", "UTC");
        conf.put("taskmanager.memory.managed.size", options.get("managed"));
        conf.put(
                "state.backend.type",
                options.get("backend").equals("heap") ? "hashmap" : "rocksdb");
        if (options.get("backend").equals("rocksdb")) {
            Path dir = Files.createTempDirectory("nexmark-rocksdb");
            dir.toFile().deleteOnExit();
            conf.put("state.backend.rocksdb.localdir", dir.toString());
        }
        if (options.is("minibatch")) {
            conf.put("table.exec.mini-batch.enabled", "true");
            conf.put("table.exec.mini-batch.allow-latency", "2 s");
            conf.put("table.exec.mini-batch.size", "50000");
        }
        if (!options.checkpoint().isEmpty()) {
            conf.put("execution.checkpointing.interval", options.checkpoint());
            Path dir = Files.createTempDirectory("nexmark-checkpoints");
            conf.put("execution.checkpointing.dir", dir.toUri().toString());
            dir.toFile().deleteOnExit();
        }
        conf.putAll(StateMetrics.options());
        conf.put("drey.enabled", Boolean.toString(engine.equals("drey")));
        conf.putAll(options.configuration());
        return Configuration.fromMap(conf);
    }

    static String dreySection(String explained) {
        int at = explained.indexOf(SECTION);
        return at < 0 ? "" : explained.substring(at + SECTION.length()).strip();
    }
}
