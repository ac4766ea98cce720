package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest.Sameness;
import drey.nexmark.kafka.Broker;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs queries of the benchmark once with stock Flink and once with Drey on the same events, compares the changelogs at
 * the sink, and prints what each cost. Ends with 0 only if every comparison held and every run that claims native
 * operators had them.
 */
public final class Run {

    private static final String STOCK = "stock";
    private static final String DREY = "drey";

    private final Options options;

    private Run(Options options) {
        this.options = options;
    }

    public static void main(String[] args) throws Exception {
        Options options;
        try {
            options = Options.parse(args);
        } catch (IllegalArgumentException e) {
            System.err.println("nexmark: " + e.getMessage());
            System.exit(2);
            return;
        }
        // The cluster leaves threads behind that would keep the JVM alive.
        System.exit(new Run(options).run());
    }

    private int run() throws Exception {
        if (options.is("explain")) {
            for (Query query : options.queries()) {
                System.out.println("---- " + query.name() + " ----");
                System.out.println(new EngineRun(options, query, DREY).explain());
            }
            return 0;
        }
        if (!options.get("engine").isEmpty()) {
            return runOne();
        }
        if (!options.get("rung").equals("kafka")) {
            return measure();
        }
        String classPath = Files.readString(Path.of(options.get("broker-classpath"))).strip();
        try (Broker broker = Broker.start(classPath)) {
            Run run = new Run(options.with("broker", broker.address()));
            run.prepare();
            return run.measure();
        }
    }

    private int measure() throws Exception {
        if (!options.get("profile").isEmpty()) {
            return profile(Path.of(options.get("profile")));
        }
        return compareAll();
    }

    private int compareAll() throws Exception {
        boolean good = true;
        int failed = 0;
        List<Line> lines = new ArrayList<>();
        for (Query query : options.queries()) {
            List<Line> known = options.is("resume") ? known(query) : List.of();
            if (known.size() >= 2 * options.number("pairs")) {
                System.out.println(query.name() + ": measured before, see " + options.csv());
                lines.addAll(known);
                continue;
            }
            Comparison comparison;
            try {
                comparison = compare(query);
            } catch (Exception e) {
                // Unattended, the other queries are still worth their time.
                e.printStackTrace();
                System.out.printf(
                        "Nexmark %s%nINVALID: a run failed: %s%n%n", query.name(), root(e));
                good = false;
                failed++;
                continue;
            }
            System.out.println(comparison.table());
            good &= comparison.isGood();
            lines.addAll(comparison.lines());
            if (options.csv() != null) {
                Line.append(options.csv(), comparison.lines());
            }
        }
        if (options.queries().size() > 1) {
            System.out.println(Summary.lastLine(Summary.of(lines), failed));
        }
        return good ? 0 : 1;
    }

    private static Throwable root(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        return root;
    }

    /** Lines of an earlier, interrupted run that hold for this one. */
    private List<Line> known(Query query) throws IOException {
        return Line.read(options.csv()).stream()
                .filter(line -> line.query().equals(query.name()))
                .filter(line -> line.conditions().equals(Comparison.conditions(options)))
                .filter(line -> !line.verdict().equals("invalid"))
                .toList();
    }

    /** Runs both engines once more under a sampler, after a warm-up, and says where the CPU went. */
    private int profile(Path folder) throws Exception {
        Files.createDirectories(folder);
        prepare();
        for (Query query : options.queries()) {
            EngineRun[] engines = {
                new EngineRun(options, query, STOCK), new EngineRun(options, query, DREY)
            };
            RunResult[] results = new RunResult[2];
            // Symbols of the native library are read when it is loaded: its file is gone
            // afterwards.
            Profile warmUp = Profile.start("warm-up");
            for (EngineRun engine : engines) {
                warmUp(engine);
            }
            warmUp.stop();
            for (int i = 0; i < 2; i++) {
                String name = query.name() + "-" + (i == 0 ? STOCK : DREY);
                results[i] = engines[i].profiling().run(options.number("events"), -1, name);
                engines[i].profile().write(folder);
            }
            System.out.println(query.name() + ", " + Comparison.conditions(options));
            System.out.println(
                    Profile.table(
                            engines[0].profile(), results[0], engines[1].profile(), results[1]));
        }
        System.out.println("flame graphs (html) and stacks: " + folder);
        return 0;
    }

    /** One engine, for a parent process. */
    private int runOne() throws Exception {
        Query query = options.queries().get(0);
        EngineRun engine = new EngineRun(options, query, options.get("engine"));
        prepare();
        warmUp(engine);
        String label = query.name() + " " + options.get("engine");
        RunResult result = engine.run(options.number("events"), -1, label);
        result.write(Path.of(options.get("result")));
        return 0;
    }

    private Comparison compare(Query query) throws Exception {
        int pairs = (int) options.number("pairs");
        List<RunResult> stock = new ArrayList<>();
        List<RunResult> drey = new ArrayList<>();
        if (!options.is("fresh-jvm")) {
            prepare();
            warmUp(new EngineRun(options, query, STOCK));
            warmUp(new EngineRun(options, query, DREY));
        }
        for (int pair = 0; pair < pairs; pair++) {
            // Who goes first alternates too: drift of the machine then favours neither.
            if (pair % 2 == 0) {
                stock.add(measure(query, STOCK, pair, pairs));
                drey.add(measure(query, DREY, pair, pairs));
            } else {
                drey.add(measure(query, DREY, pair, pairs));
                stock.add(measure(query, STOCK, pair, pairs));
            }
        }
        Comparison comparison = new Comparison(options, query, stock, drey);
        int bucket = comparison.differentBucket();
        if (bucket >= 0) {
            comparison.explainDifference(showDifference(query, bucket, comparison.sameness()));
        }
        return comparison;
    }

    private RunResult measure(Query query, String engine, int pair, int pairs) throws Exception {
        String label = "%s %s %d/%d".formatted(query.name(), engine, pair + 1, pairs);
        if (options.is("fresh-jvm")) {
            return measureFresh(query, engine);
        }
        return new EngineRun(options, query, engine).run(options.number("events"), -1, label);
    }

    private RunResult measureFresh(Query query, String engine) throws Exception {
        Path result = Files.createTempFile("nexmark-" + query.name() + "-" + engine, ".result");
        try {
            List<String> command = new ArrayList<>();
            command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
            command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
            command.add("-cp");
            command.add(System.getProperty("java.class.path"));
            command.add(Run.class.getName());
            command.addAll(
                    options.with("q", query.name())
                            .with("engine", engine)
                            .with("result", result.toString())
                            .arguments());
            int status = new ProcessBuilder(command).inheritIO().start().waitFor();
            if (status != 0) {
                throw new IllegalStateException(
                        "%s with %s ended with status %d".formatted(query.name(), engine, status));
            }
            return RunResult.read(result);
        } finally {
            Files.deleteIfExists(result);
        }
    }

    /** Runs both engines again, recording only the bucket that differs, and says where the two part. */
    private String showDifference(Query query, int bucket, Sameness sameness) throws Exception {
        long events = options.number("events");
        RunResult stock = new EngineRun(options, query, STOCK).run(events, bucket, "again stock");
        RunResult drey = new EngineRun(options, query, DREY).run(events, bucket, "again drey");
        String difference =
                stock.recording().firstDifference(drey.recording(), sameness, STOCK, DREY);
        return difference != null
                ? difference
                : "the difference (bucket %d) did not show again in a second run of both"
                        .formatted(bucket);
    }

    private void prepare() throws Exception {
        Rung.of(options).prepare();
    }

    private void warmUp(EngineRun engine) throws Exception {
        long events = Math.min(options.number("warmup"), options.number("events"));
        if (events > 0) {
            engine.run(events, -1, "warm-up");
        }
    }
}
