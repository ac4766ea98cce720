package drey.suite;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Runs test classes in a virtual machine of their own, with Drey on the class path or without.
 *
 * <p>Without means without: the stock side of a comparison has no Drey class to load.
 */
final class Fork {
    /** Where tests look for resources as files. A link to {@link #CLASSES}. */
    static final String RESOURCES = "src/test/resources";

    /** On the class path. Some tests find {@link #RESOURCES} by taking this away from the place of a class. */
    static final String CLASSES = "target/test-classes";

    /** Stands for all tests of a class that none could be told from. */
    static final String WHOLE_CLASS = "(class)";

    /** JDK packages that Flink's own build opens for its tests. */
    private static final List<String> OPENS =
            List.of(
                    "java.lang",
                    "java.lang.invoke",
                    "java.io",
                    "java.math",
                    "java.net",
                    "java.nio",
                    "java.text",
                    "java.time",
                    "java.util",
                    "java.util.concurrent",
                    "java.util.concurrent.atomic",
                    "java.util.concurrent.locks",
                    "java.util.stream",
                    "sun.util.calendar");

    private final List<String> classPath;
    private final Path work;
    private final Path logs;
    private final long timeoutMinutes;

    /**
     * @param classPath all entries, Drey's first
     * @param work the folder tests run in: some read {@code src/test/resources} below it
     */
    Fork(List<String> classPath, Path work, Path logs, long timeoutMinutes) {
        this.classPath = classPath;
        this.work = work;
        this.logs = logs;
        this.timeoutMinutes = timeoutMinutes;
    }

    /** Results of the given classes in order; a class that a crash left without any result gets a failure. */
    List<TestResult> run(List<String> selected, boolean drey)
            throws IOException, InterruptedException {
        List<TestResult> results = new ArrayList<>();
        List<String> left = new ArrayList<>(selected);
        while (!left.isEmpty()) {
            String crashed = runOnce(left, drey, results);
            if (crashed == null) {
                return results;
            }
            // Go on behind the class that took the virtual machine down.
            int at = 0;
            while (!ForkMain.className(left.get(at)).equals(crashed)) {
                at++;
            }
            left = new ArrayList<>(left.subList(at + 1, left.size()));
        }
        return results;
    }

    /** Returns the class in which the virtual machine ended early, or null if it reached its end. */
    private String runOnce(List<String> selected, boolean drey, List<TestResult> results)
            throws IOException, InterruptedException {
        String label =
                selected.size() == 1
                        ? selected.get(0).replace('#', '.')
                        : "group-" + selected.get(0);
        Path log = logs.resolve(label + (drey ? "" : ".stock") + ".log");
        Path file = Files.createTempFile(work, "results", ".tsv");
        ProcessBuilder builder = new ProcessBuilder(command(file, selected, drey));
        builder.directory(work.toFile());
        builder.redirectErrorStream(true).redirectOutput(log.toFile());
        Process process = builder.start();
        Thread killer = new Thread(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(killer);
        boolean inTime = process.waitFor(timeoutMinutes, TimeUnit.MINUTES);
        if (!inTime) {
            process.destroyForcibly().waitFor();
        }
        Runtime.getRuntime().removeShutdownHook(killer);

        String begun = null;
        boolean ended = false;
        for (String line : Files.readAllLines(file)) {
            if (line.equals(ForkMain.END)) {
                ended = true;
            } else if (line.startsWith(ForkMain.BEGIN)) {
                begun = line.substring(1);
            } else {
                results.add(TestResult.fromLine(line));
                begun = null;
            }
        }
        Files.delete(file);
        if (ended) {
            return null;
        }
        String why =
                inTime
                        ? "the virtual machine ended with exit code " + process.exitValue()
                        : "no end after " + timeoutMinutes + " minutes";
        String[] at =
                begun != null
                        ? begun.split("\t")
                        : new String[] {firstWithoutResult(selected, results), WHOLE_CLASS};
        results.add(
                new TestResult(
                        at[0],
                        at[1],
                        TestResult.Status.FAILED,
                        0,
                        Map.of(),
                        "",
                        why + ", see " + log));
        return at[0];
    }

    private static String firstWithoutResult(List<String> selected, List<TestResult> results) {
        for (String s : selected) {
            String name = ForkMain.className(s);
            if (results.stream().noneMatch(r -> r.className().equals(name))) {
                return name;
            }
        }
        return ForkMain.className(selected.get(selected.size() - 1));
    }

    private List<String> command(Path results, List<String> selected, boolean drey) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-Xmx1500m");
        command.add("-XX:TieredStopAtLevel=1");
        command.add("-XX:+UseSerialGC");
        command.add("-ea");
        // With JUnit 5.11 Flink's Scala ITCases otherwise meet two parameter providers.
        command.add("-Djunit.platform.reflection.search.useLegacySemantics=true");
        command.add("-Djunit.jupiter.extensions.autodetection.enabled=true");
        command.add("-Djava.io.tmpdir=" + work.resolve("tmp"));
        // HarnessSwap instruments Flink's test harness from within.
        command.add("-Djdk.attach.allowAttachSelf=true");
        command.add("-XX:+EnableDynamicAgentLoading");
        // Plan tests compare EXPLAIN's text with Flink's.
        command.add("-Ddrey.explain.enabled=false");
        // Drey's own options, given to the runner, go on to the tests: Flink's tests set none of
        // them.
        System.getProperties().stringPropertyNames().stream()
                .filter(key -> key.startsWith("drey.") && !key.startsWith("drey.suite."))
                .forEach(key -> command.add("-D" + key + "=" + System.getProperty(key)));
        String log = System.getProperty("drey.suite.log4j");
        if (log != null) {
            command.add("-Dlog4j2.configurationFile=" + log);
        }
        for (String p : OPENS) {
            command.add("--add-opens=java.base/" + p + "=ALL-UNNAMED");
        }
        command.add("--add-exports=java.base/sun.net.util=ALL-UNNAMED");
        command.add("--add-exports=java.management/sun.management=ALL-UNNAMED");
        command.add("-cp");
        // Plan tests look for their expected plans as files: the unpacked ones have to be found
        // before those in the jar.
        List<String> entries = new ArrayList<>(drey ? classPath : stockClassPath());
        entries.add(0, work.resolve(CLASSES).toString());
        command.add(String.join(File.pathSeparator, entries));
        command.add(ForkMain.class.getName());
        command.add(results.toString());
        command.addAll(selected);
        return command;
    }

    private List<String> stockClassPath() {
        // Drey's own entry is the first one of the module's dependencies; the suite's own classes
        // come before it.
        List<String> stock = new ArrayList<>(classPath);
        stock.remove(FlinkSuite.dreyEntry(classPath));
        return stock;
    }

    /** Results grouped by class, in the order of their first result. */
    static Map<String, List<TestResult>> byClass(List<TestResult> results) {
        Map<String, List<TestResult>> map = new LinkedHashMap<>();
        for (TestResult r : results) {
            map.computeIfAbsent(r.className(), k -> new ArrayList<>()).add(r);
        }
        return map;
    }
}
