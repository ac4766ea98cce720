package drey.nexmark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** Runs one query with one engine on an embedded cluster of its own. */
final class EngineRun {

    private static final AtomicInteger NAMES = new AtomicInteger();
    private static final String SECTION = "== Drey ==";

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
            long peak = Memory.peak();
            Rung.Outcome outcome = rung.outcome(query, events, name, probe);
            return new RunResult(
                    engine,
                    outcome.rowsIn(),
                    outcome.rowsOut(),
                    probe.seconds(),
                    probe.cpuNanos(),
                    probe.cpuSplit(),
                    peak == 0 ? 0 : Math.max(0, peak - rung.preparedBytes()),
                    NativeProof.p99Nanos(),
                    NativeProof.rowsIn(),
                    (int) plan.lines().filter(line -> line.endsWith(": native")).count(),
                    plan,
                    checkpoints,
                    outcome.digest(),
                    outcome.recording());
        } finally {
            Probe.forget(name);
        }
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
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration());
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
        if (!options.get("checkpoint").isEmpty()) {
            conf.put("execution.checkpointing.interval", options.get("checkpoint"));
            Path dir = Files.createTempDirectory("nexmark-checkpoints");
            conf.put("execution.checkpointing.dir", dir.toUri().toString());
            dir.toFile().deleteOnExit();
        }
        conf.put("drey.enabled", Boolean.toString(engine.equals("drey")));
        conf.putAll(options.configuration());
        return Configuration.fromMap(conf);
    }

    private static String dreySection(String explained) {
        int at = explained.indexOf(SECTION);
        return at < 0 ? "" : explained.substring(at + SECTION.length()).strip();
    }
}
