package drey.fuzz;

import drey.fuzz.Run.Emitted;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.operators.SimpleUdfStreamOperatorFactory;
import org.apache.flink.streaming.api.transformations.PhysicalTransformation;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.catalog.Column;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.util.FileUtils;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** One local cluster, on which cases run. */
final class Engine implements AutoCloseable {

    /** By what queries are executed. */
    enum Side {
        STOCK,
        DREY,
        BATCH
    }

    /** Settings that units may have, as they are otherwise: planning a unit makes its settings the environment's. */
    private static final Map<String, String> PLANNER_DEFAULTS =
            Map.of(
                    "drey.batch.rows", "1024",
                    "table.exec.state.ttl", "0 ms",
                    "table.exec.mini-batch.enabled", "false",
                    "table.exec.mini-batch.size", "5000",
                    "table.exec.mini-batch.allow-latency", "1000 d",
                    "table.optimizer.agg-phase-strategy", "AUTO",
                    "table.optimizer.distinct-agg.split.enabled", "false",
                    "table.exec.deduplicate.mini-batch.compact-changes-enabled", "false");

    /** A job that stands still; so long that no busy machine is taken for one. */
    private static final long TIMEOUT_NANOS = TimeUnit.MINUTES.toNanos(15);

    /** What no unit needs for its planning, but the first ones, for which classes are loaded. */
    private static final long PLANNING_NANOS = TimeUnit.SECONDS.toNanos(4);

    private static final AtomicLong RUNS = new AtomicLong();

    private final MiniCluster cluster;

    Engine() throws Exception {
        PlanLog.install();
        Clock.install();
        Configuration config = new Configuration();
        config.setString("rest.bind-port", "0");
        config.setString("taskmanager.memory.managed.size", "2g");
        config.setString("taskmanager.memory.network.min", "256m");
        config.setString("taskmanager.memory.network.max", "256m");
        config.setString("taskmanager.memory.segment-size", "4kb");
        // Sources that wait for one another have to be restarted together.
        config.setString("jobmanager.execution.failover-strategy", "full");
        config.setString("jobstore.max-capacity", "5");
        config.setString("web.submit.enable", "false");
        config.setString("metrics.fetcher.update-interval", "0");
        // All of the cluster is in this process: what doesn't answer only waits for a processor.
        config.setString("heartbeat.timeout", "15 min");
        cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setConfiguration(config)
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(4)
                                .build());
        cluster.start();
    }

    @Override
    public void close() throws Exception {
        cluster.close();
    }

    Outcome run(FuzzCase fuzzCase, Side side) throws Exception {
        Run run = new Run("r" + RUNS.incrementAndGet(), fuzzCase);
        try {
            return run(fuzzCase, side, run);
        } finally {
            run.forget();
            Clock.release();
        }
    }

    private Outcome run(FuzzCase fuzzCase, Side side, Run run) throws Exception {
        Planning planning = new Planning(fuzzCase, side, run, Set.of());
        Map<String, String> endless = new LinkedHashMap<>();
        while (!planning.succeeds()) {
            endless.put(planning.unit, "planning has no end");
            planning = new Planning(fuzzCase, side, run, endless.keySet());
        }
        String failure = planning.any ? execute(planning) : null;
        planning.rejected.putAll(endless);
        Map<String, List<Emitted>> emitted = new LinkedHashMap<>();
        for (Unit unit : fuzzCase.units()) {
            if (!planning.rejected.containsKey(unit.name())) {
                unit.queries().forEach(q -> emitted.put(q.name(), run.emitted(q.name())));
            }
        }
        return new Outcome(emitted, planning.rejected, planning.plans, failure);
    }

    /** Plans a case in a thread of its own, since there are queries whose rewriting by rules never ends. */
    private static final class Planning extends Thread {

        private final FuzzCase fuzzCase;
        private final Side side;
        private final Run run;
        private final Set<String> without;
        final StreamExecutionEnvironment env;
        final Map<String, String> rejected = new LinkedHashMap<>();
        final Map<String, List<PlanLog.Node>> plans = new LinkedHashMap<>();
        volatile String unit;
        volatile long unitBegan;
        boolean any;
        private Throwable error;

        Planning(FuzzCase fuzzCase, Side side, Run run, Set<String> without) {
            super("planning");
            this.fuzzCase = fuzzCase;
            this.side = side;
            this.run = run;
            this.without = Set.copyOf(without);
            this.env = environment(fuzzCase, side);
            setDaemon(true);
        }

        /** False if it was stopped at a unit. */
        @SuppressWarnings({"deprecation", "removal"})
        boolean succeeds() throws InterruptedException {
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            start();
            do {
                join(50);
                // Of its own CPU: the machine may be busy with something else.
                if (isAlive()
                        && threads.getThreadCpuTime(getId()) - unitBegan
                                > PLANNING_NANOS * (RUNS.get() < 3 ? 5 : 1)) {
                    stop();
                    join();
                    return false;
                }
            } while (isAlive());
            if (error != null) {
                throw new IllegalStateException(error);
            }
            return true;
        }

        @Override
        public void run() {
            try {
                plan();
            } catch (RuntimeException e) {
                error = e;
            }
        }

        private void plan() {
            StreamTableEnvironment tables = StreamTableEnvironment.create(env);
            tables.getConfig().set("table.local-time-zone", "UTC");
            // A sink's key may be NULL in a query's result, and SQL has no way to say that it is
            // not.
            tables.getConfig().set("table.exec.sink.not-null-enforcer", "DROP");
            tables.getConfig().set("drey.enabled", Boolean.toString(side == Side.DREY));
            fuzzCase.tables().forEach(t -> tables.executeSql(t.ddl(run.id)));
            for (Unit next : fuzzCase.units()) {
                if (without.contains(next.name())) {
                    continue;
                }
                unit = next.name();
                unitBegan = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                PlanLog.take();
                try {
                    plan(tables, next);
                    any = true;
                } catch (Exception | StackOverflowError | AssertionError e) {
                    rejected.put(next.name(), describe(e));
                }
                plans.put(next.name(), PlanLog.take());
            }
        }

        private void plan(StreamTableEnvironment tables, Unit unit) {
            if (side != Side.BATCH) {
                PLANNER_DEFAULTS.forEach(tables.getConfig()::set);
                unit.settings().forEach(tables.getConfig()::set);
            }
            unit.views().forEach(tables::executeSql);
            StreamStatementSet statements = tables.createStatementSet();
            for (Unit.Query query : unit.queries()) {
                tables.executeSql(sink(tables, run, query));
                statements.addInsertSql("INSERT INTO s_" + query.name() + " " + query.sql());
            }
            statements.attachAsDataStream();
        }
    }

    private static StreamExecutionEnvironment environment(FuzzCase fuzzCase, Side side) {
        Configuration config = Configuration.fromMap(fuzzCase.settings());
        // Each row's watermark follows it; a period would be the clock's.
        config.setString("pipeline.auto-watermark-interval", "0 ms");
        if (side == Side.BATCH) {
            // These need a scheduler that changes the graph of a running job.
            config.setString("table.optimizer.adaptive-broadcast-join.strategy", "NONE");
            config.setString("table.optimizer.skewed-join-optimization.strategy", "NONE");
        } else {
            // Checkpoints are triggered by hand, between the phases.
            config.setString("execution.checkpointing.interval", "1000 d");
            config.setString("execution.checkpointing.checkpoints-after-tasks-finish", "false");
        }
        config.setString(
                "restart-strategy.type", fuzzCase.failure() == null ? "disable" : "fixed-delay");
        config.setString("restart-strategy.fixed-delay.attempts", "1");
        config.setString("restart-strategy.fixed-delay.delay", "0 ms");
        StreamExecutionEnvironment env = new StreamExecutionEnvironment(config);
        env.setParallelism(fuzzCase.parallelism());
        env.setRuntimeMode(
                side == Side.BATCH ? RuntimeExecutionMode.BATCH : RuntimeExecutionMode.STREAMING);
        return env;
    }

    private static String sink(StreamTableEnvironment tables, Run run, Unit.Query query) {
        List<String> lines = new ArrayList<>();
        for (Column c : tables.sqlQuery(query.sql()).getResolvedSchema().getColumns()) {
            LogicalType type = c.getDataType().getLogicalType();
            boolean isKey = query.upsertKey().contains(c.getName());
            lines.add("`" + c.getName() + "` " + type.copy(!isKey).asSerializableString());
        }
        if (!query.upsertKey().isEmpty()) {
            lines.add("PRIMARY KEY (" + String.join(", ", query.upsertKey()) + ") NOT ENFORCED");
        }
        return "CREATE TEMPORARY TABLE s_%s (%s) WITH ('connector' = 'fuzz', 'run' = '%s', 'name' = '%s', 'changes' = '%s')"
                .formatted(
                        query.name(),
                        String.join(", ", lines),
                        run.id,
                        query.name(),
                        query.upsertKey().isEmpty()
                                ? FuzzTable.Kind.RETRACT
                                : FuzzTable.Kind.UPSERT);
    }

    /** Runs the job to its end, phase by phase. Returns the error that ended it, or null. */
    private String execute(Planning planning) throws Exception {
        FuzzCase.Rescale rescale = planning.side == Side.BATCH ? null : planning.fuzzCase.rescale();
        if (rescale == null) {
            return execute(planning, 0, null, null).failure;
        }
        Path left = Files.createTempDirectory("drey-fuzz");
        try {
            Execution first = execute(planning, 0, null, left);
            return first.path == null
                    ? first.failure
                    : execute(goingOn(planning), rescale.phase() + 1, first.path, left).failure;
        } finally {
            // The cluster may be about to delete files there itself.
            FileUtils.deleteDirectoryQuietly(left.toFile());
        }
    }

    /** The same job with the parallelism it is to go on with. */
    private static Planning goingOn(Planning first) throws InterruptedException {
        Set<String> without = new HashSet<>(first.without);
        without.addAll(first.rejected.keySet());
        first.run.plannedAgain();
        FuzzCase c = first.fuzzCase;
        Planning planning =
                new Planning(
                        c.settings(c.rescale().parallelism(), c.settings(), c.failure()),
                        first.side,
                        first.run,
                        without);
        if (!planning.succeeds() || !planning.rejected.isEmpty()) {
            throw new IllegalStateException(
                    "not planned again: " + planning.unit + ", " + planning.rejected);
        }
        return planning;
    }

    /**
     * How a job ended.
     *
     * @param failure the error that ended it, or null
     * @param path what another job is to start from; null if it ran to its end
     */
    private record Execution(String failure, String path) {}

    /**
     * @param from what it starts from, or null
     * @param left where it leaves checkpoints, or null if it is not to be rescaled
     */
    private Execution execute(Planning planning, int firstPhase, String from, Path left)
            throws Exception {
        Run run = planning.run;
        Side side = planning.side;
        StreamExecutionEnvironment env = planning.env;
        FuzzCase.Rescale rescale =
                left == null || from != null ? null : planning.fuzzCase.rescale();
        if (left != null) {
            Configuration config = new Configuration();
            config.setString("execution.checkpointing.storage", "filesystem");
            config.setString("execution.checkpointing.dir", left.toUri().toString());
            config.setString(
                    "execution.checkpointing.externalized-checkpoint-retention",
                    "RETAIN_ON_CANCELLATION");
            env.configure(config);
            identify(env);
        }
        StreamGraph graph = env.getStreamGraph(false);
        int sources = replaySources(graph);
        // The planner makes a source of nothing where a condition is never true. It ends at once.
        // Checkpoints have to go on without it, and then the job waits for a last one.
        boolean others = sources < graph.getSourceIDs().size() && side != Side.BATCH;
        if (others) {
            Configuration config = new Configuration();
            config.setString("execution.checkpointing.checkpoints-after-tasks-finish", "true");
            env.configure(config);
            graph = env.getStreamGraph(false);
        }
        if (from != null) {
            graph.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(from, false));
        }
        JobGraph jobGraph = graph.getJobGraph();
        JobID job = jobGraph.getJobID();
        run.open(firstPhase);
        cluster.submitJob(jobGraph).get();
        CompletableFuture<JobResult> result = cluster.requestJobResult(job);
        long deadline = System.nanoTime() + TIMEOUT_NANOS;
        try {
            for (int phase = firstPhase; phase < run.phases() - 1 && side != Side.BATCH; phase++) {
                String path = finish(phase, sources, run, job, result, deadline);
                if (path == null) {
                    break;
                }
                // A job part of which has finished cannot go on in another shape.
                if (rescale != null && rescale.phase() == phase && !others) {
                    return new Execution(null, stop(job, result, path, rescale.taken(), left));
                }
                run.open(phase + 1);
            }
            while (others && !result.isDone() && System.nanoTime() < deadline) {
                TimeUnit.MILLISECONDS.sleep(20);
                CompletableFuture.anyOf(
                                cluster.triggerCheckpoint(job).exceptionally(e -> null), result)
                        .get();
            }
            JobResult end =
                    result.get(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
            return new Execution(
                    end.getSerializedThrowable()
                            .map(t -> describe(t.deserializeError(Engine.class.getClassLoader())))
                            .orElse(null),
                    null);
        } catch (TimeoutException e) {
            cluster.cancelJob(job);
            result.get();
            return new Execution(
                    "no end within " + TimeUnit.NANOSECONDS.toSeconds(TIMEOUT_NANOS) + " s", null);
        }
    }

    /** Cancels a job between two phases. Returns what it leaves. */
    private String stop(
            JobID job,
            CompletableFuture<JobResult> result,
            String checkpoint,
            FuzzCase.Taken taken,
            Path folder)
            throws Exception {
        String path = checkpoint;
        if (taken == FuzzCase.Taken.CHECKPOINT) {
            cluster.cancelJob(job).get();
        } else {
            SavepointFormatType format =
                    taken == FuzzCase.Taken.CANONICAL
                            ? SavepointFormatType.CANONICAL
                            : SavepointFormatType.NATIVE;
            path = cluster.triggerSavepoint(job, folder.toUri().toString(), true, format).get();
        }
        result.get();
        return path;
    }

    /** Names operators by their place: those that Flink gives depend on what is chained, which another parallelism changes. */
    private static void identify(StreamExecutionEnvironment env) {
        Set<Transformation<?>> seen = new LinkedHashSet<>();
        env.getTransformations().forEach(t -> collect(t, seen));
        int n = 0;
        for (Transformation<?> t : seen) {
            if (t instanceof PhysicalTransformation && t.getUid() == null) {
                t.setUid("n" + n++);
            }
        }
    }

    private static void collect(Transformation<?> t, Set<Transformation<?>> seen) {
        if (seen.add(t)) {
            t.getInputs().forEach(input -> collect(input, seen));
        }
    }

    private static int replaySources(StreamGraph graph) {
        return (int)
                graph.getSourceIDs().stream()
                        .map(id -> graph.getStreamNode(id).getOperatorFactory())
                        .filter(
                                f ->
                                        f instanceof SimpleUdfStreamOperatorFactory<?> udf
                                                && udf.getUserFunction() instanceof ReplaySource)
                        .count();
    }

    /** Waits until a phase is over everywhere. Returns the checkpoint taken then; null if the job ended. */
    private String finish(
            int phase,
            int sources,
            Run run,
            JobID job,
            CompletableFuture<JobResult> result,
            long deadline)
            throws Exception {
        while (!result.isDone()) {
            if (System.nanoTime() > deadline) {
                throw new TimeoutException();
            }
            if (!run.allArrived(phase, sources)) {
                continue;
            }
            try {
                // When the job ends, nobody completes what was triggered.
                Object first =
                        CompletableFuture.anyOf(cluster.triggerCheckpoint(job), result).get();
                return result.isDone() ? null : (String) first;
            } catch (ExecutionException e) {
                // Some task is still starting.
                TimeUnit.MILLISECONDS.sleep(3);
            }
        }
        return null;
    }

    /** The innermost cause, in a line. */
    static String describe(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        String message = String.valueOf(cause.getMessage());
        return cause.getClass().getName() + ": " + message.lines().findFirst().orElse("");
    }
}
