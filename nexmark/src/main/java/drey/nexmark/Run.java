package drey.nexmark;

import drey.nexmark.measure.Csv;
import drey.nexmark.measure.Machine;
import drey.nexmark.measure.Profile;
import drey.nexmark.measure.RunResult;
import drey.nexmark.measure.StateSize;
import drey.nexmark.report.LayerLine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs queries of the benchmark with stock Flink and with Drey on the same events, compares the changelogs at the sink, and
 * prints what each cost. Ends with 0 only if every comparison held and every run that claims native operators had them.
 */
public final class Run {

    static final String STOCK = "stock";
    static final String DREY = "drey";
    static final List<String> ENGINES = List.of(STOCK, DREY);

    private final Options options;

    private Run(Options options) {
        this.options = options;
    }

    public static void main(String[] args) {
        Options options;
        try {
            options = Options.parse(args);
        } catch (IllegalArgumentException e) {
            System.err.println("nexmark: " + e.getMessage());
            System.exit(2);
            return;
        }
        int status = 1;
        try {
            status = new Run(options).run();
        } catch (Exception e) {
            e.printStackTrace();
        }
        // The cluster leaves threads behind that would keep the JVM alive.
        System.exit(status);
    }

    private int run() throws Exception {
        if (!options.get("plans").isEmpty()) {
            Files.writeString(Path.of(options.get("plans")), Plans.document(options));
            System.out.println("plans: " + options.get("plans"));
            return 0;
        }
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
        System.out.println("machine: " + Machine.line());
        if (!options.get("profile").isEmpty()) {
            return profile(Path.of(options.get("profile")));
        }
        try (Measuring measuring = new Measuring(options)) {
            return measuring.run();
        }
    }

    /** Each engine once under the profiler, after both have been warmed up. */
    private int profile(Path folder) throws Exception {
        Files.createDirectories(folder);
        Rung.of(options).prepare();
        for (Query query : options.queries()) {
            List<EngineRun> engines =
                    ENGINES.stream().map(name -> new EngineRun(options, query, name)).toList();
            List<RunResult> results = new ArrayList<>();
            // Symbols of the native library are read when it is loaded: its file is gone
            // afterwards.
            Profile warmUp = Profile.start("warm-up");
            for (EngineRun engine : engines) {
                engine.warmUp();
            }
            warmUp.stop();
            for (EngineRun engine : engines) {
                String name = query.name() + "-" + engine.name();
                results.add(engine.profiling().run(options.number("events"), -1, name));
                engine.profile().write(folder);
            }
            System.out.println(query.name() + ", " + Matrix.conditions(options));
            System.out.println(
                    Profile.table(
                            engines.get(0).profile(),
                            results.get(0).figures(),
                            engines.get(1).profile(),
                            results.get(1).figures()));
            if (options.csv() != null) {
                LayerLine.CSV.append(options.csv(), layers(query, engines, results));
            }
        }
        System.out.println("flame graphs (html) and stacks: " + folder);
        return 0;
    }

    private List<LayerLine> layers(Query query, List<EngineRun> engines, List<RunResult> results) {
        List<LayerLine> lines = new ArrayList<>();
        for (int i = 0; i < engines.size(); i++) {
            String engine = engines.get(i).name();
            engines.get(i)
                    .profile()
                    .wholeProcess(results.get(i).figures())
                    .forEach(
                            (layer, nanos) ->
                                    lines.add(
                                            new LayerLine(
                                                    query.name(),
                                                    Matrix.conditions(options),
                                                    engine,
                                                    layer,
                                                    nanos)));
        }
        return lines;
    }

    /** One engine, for a parent process. */
    private int runOne() throws Exception {
        EngineRun engine = new EngineRun(options, options.queries().get(0), options.get("engine"));
        Rung.of(options).prepare();
        Path result = Path.of(options.get("result"));
        if (options.get("kind").equals(Matrix.Kind.STATE.name())) {
            write(result, engine.stateSize(options.number("events")));
            return 0;
        }
        engine.warmUp();
        String label = options.get("q") + " " + engine.name();
        engine.run(options.number("events"), -1, label).write(result);
        return 0;
    }

    private static void write(Path result, StateSize size) throws IOException {
        Files.writeString(result, new Csv<>(StateSize.class).line(size));
    }
}
