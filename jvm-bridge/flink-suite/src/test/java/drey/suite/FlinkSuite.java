package drey.suite;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * Runs Flink's own published tests with Drey on the class path, unchanged, and says what became of them.
 *
 * <p>A test that passes because everything fell back to Flink's operators proves nothing. So rows in native operators are
 * counted per test, and a baseline holds each class to the tests that were native before. A failure is explained only if
 * the same test fails on stock Flink too, which is tried at once, or if the baseline gives a reason by hand.
 *
 * <p>Arguments: patterns of {@link Selection}. Ends with one line that begins with {@code flink-suite:}; exits with 1 on
 * unexplained failures, lost native execution or lost tests.
 */
final class FlinkSuite {
    private final Path out;
    private final Fork fork;
    private final Baseline baseline;
    private final boolean rewrite = Boolean.getBoolean("drey.suite.rewrite");
    private int run;
    private int passed;
    private int skipped;
    private int unexplained;
    private int nativeMethods;
    private final List<String> complaints = new ArrayList<>();

    private FlinkSuite(Path module, Path out, String flink, List<String> classPath)
            throws IOException {
        this.out = out;
        Path work = out.resolve("work");
        Path logs = out.resolve("logs");
        Files.createDirectories(work.resolve("tmp"));
        Files.createDirectories(logs);
        fork = new Fork(classPath, work, logs, Long.getLong("drey.suite.timeout", 30));
        baseline = Baseline.read(module.resolve("baseline/flink-" + flink + ".txt"));
    }

    public static void main(String[] args) throws Exception {
        Path module = Path.of(System.getProperty("drey.suite.module")).toAbsolutePath();
        Path out = Path.of(System.getProperty("drey.suite.out")).toAbsolutePath();
        // Forks run in another folder.
        List<String> classPath =
                Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                        .map(entry -> Path.of(entry).toAbsolutePath().toString())
                        .toList();
        FlinkSuite suite =
                new FlinkSuite(module, out, System.getProperty("drey.suite.flink"), classPath);
        suite.extractResources(classPath);
        List<String> classes =
                new Selection(classPath, module.resolve("selections.txt")).resolve(List.of(args));
        System.exit(suite.run(classes) ? 0 : 1);
    }

    /** The class path entry that holds Drey. */
    static String dreyEntry(List<String> classPath) {
        for (String entry : classPath) {
            boolean found;
            if (entry.endsWith(".jar")) {
                try (JarFile jar = new JarFile(entry)) {
                    found = jar.getEntry("drey/") != null;
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            } else {
                found =
                        Files.isDirectory(Path.of(entry, "drey", "runtime"))
                                || Files.isDirectory(Path.of(entry, "drey", "plan"));
            }
            if (found) {
                return entry;
            }
        }
        return null;
    }

    /** Restore tests and plan tests want the resources of the planner's test jar as files. */
    private void extractResources(List<String> classPath) throws IOException {
        Path resources = out.resolve("work").resolve(Fork.CLASSES);
        Path done = out.resolve("work/.extracted");
        if (Files.exists(done)) {
            return;
        }
        for (String entry : classPath) {
            if (!entry.matches(".*/flink-table-planner_2\\.12-[^/]*-tests\\.jar")) {
                continue;
            }
            try (JarFile jar = new JarFile(entry)) {
                for (Enumeration<JarEntry> e = jar.entries(); e.hasMoreElements(); ) {
                    JarEntry file = e.nextElement();
                    String name = file.getName();
                    if (file.isDirectory()
                            || name.endsWith(".class")
                            || name.startsWith("META-INF/")) {
                        continue;
                    }
                    Path target = resources.resolve(name).normalize();
                    if (!target.startsWith(resources)) {
                        throw new IOException(entry + " holds a file outside of it: " + name);
                    }
                    Files.createDirectories(target.getParent());
                    try (InputStream in = jar.getInputStream(file)) {
                        Files.copy(in, target, StandardCopyOption.REPLACE_EXISTING);
                    }
                }
            }
        }
        Path sources = out.resolve("work").resolve(Fork.RESOURCES);
        Files.createDirectories(sources.getParent());
        Files.deleteIfExists(sources);
        Files.createSymbolicLink(sources, resources);
        Files.createFile(done);
    }

    private boolean run(List<String> classes) throws IOException, InterruptedException {
        for (List<String> group : groups(classes)) {
            long start = System.nanoTime();
            Map<String, List<TestResult>> results = Fork.byClass(fork.run(group, true));
            double seconds = (System.nanoTime() - start) / 1e9;
            for (String c : group) {
                if (!results.containsKey(ForkMain.className(c))) {
                    complain(c + ": no test was found in it");
                }
            }
            for (Map.Entry<String, List<TestResult>> e : results.entrySet()) {
                judge(e.getKey(), e.getValue(), results.size() == 1 ? seconds : Double.NaN, group);
            }
        }
        complaints.forEach(c -> System.out.println("flink-suite! " + c));
        System.out.printf(
                "flink-suite: %d run, %d passed, %d skipped, %d unexplained failures,"
                        + " %d methods with native execution%n",
                run, passed, skipped, unexplained, nativeMethods);
        return complaints.isEmpty();
    }

    /**
     * Classes that share a virtual machine. Harness tests are many and short; a test that starts a cluster gets its own,
     * as in Flink's build.
     */
    private static List<List<String>> groups(List<String> classes) {
        boolean share = Boolean.getBoolean("drey.suite.share");
        List<List<String>> groups = new ArrayList<>();
        List<String> shared = new ArrayList<>();
        for (String c : classes) {
            if (share || c.startsWith("org.apache.flink.table.runtime.operators.")) {
                shared.add(c);
            } else {
                groups.add(List.of(c));
            }
        }
        if (!shared.isEmpty()) {
            groups.add(0, shared);
        }
        return groups;
    }

    private void judge(
            String className, List<TestResult> results, double seconds, List<String> selected)
            throws IOException, InterruptedException {
        Baseline.Entry before = baseline.get(className);
        boolean whole = selected.contains(className);
        Baseline.Entry now = new Baseline.Entry();
        List<TestResult> failures = new ArrayList<>();
        Set<String> methods = new HashSet<>();
        Map<String, TestResult> byName = new TreeMap<>();
        for (TestResult r : results) {
            byName.put(r.name(), r);
            switch (r.status()) {
                case PASSED -> {
                    now.run++;
                    now.passed++;
                }
                case FAILED -> {
                    now.run++;
                    failures.add(r);
                }
                case SKIPPED -> now.skipped++;
            }
            if (r.isNative()) {
                now.nativeRows.put(r.name(), r.nativeRows());
                methods.add(r.name());
            } else if (r.status() == TestResult.Status.PASSED && !WhyStock.onlyPlans(className)) {
                now.stock.put(r.name(), WhyStock.of(r));
            }
        }
        System.out.printf(
                "  %-60s %4d run %4d passed %3d skipped %4d native%s%n",
                className.substring(className.lastIndexOf('.', className.lastIndexOf('.') - 1) + 1),
                now.run,
                now.passed,
                now.skipped,
                methods.size(),
                Double.isNaN(seconds) ? "" : String.format(" %6.1f s", seconds));

        if (!failures.isEmpty()) {
            explain(className, failures, before, now);
        }
        if (before != null && whole) {
            for (String test : before.nativeRows.keySet()) {
                TestResult r = byName.get(test);
                if (r == null || (r.status() == TestResult.Status.PASSED && !r.isNative())) {
                    complain(
                            className
                                    + "."
                                    + test
                                    + (r == null ? " is gone" : " no longer runs natively"));
                }
            }
            if (now.run < before.run) {
                complain(
                        className
                                + ": "
                                + now.run
                                + " tests ran, "
                                + before.run
                                + " in the baseline");
            }
        }
        run += now.run;
        passed += now.passed;
        skipped += now.skipped;
        nativeMethods += methods.size();
        if (whole) {
            baseline.put(className, now);
        }
        if (rewrite) {
            // At once: a run over many classes takes hours, and may not come to its end.
            baseline.write();
        }
    }

    /** Runs the class on stock Flink to tell which failures are Drey's. */
    private void explain(
            String className, List<TestResult> failures, Baseline.Entry before, Baseline.Entry now)
            throws IOException, InterruptedException {
        Map<String, TestResult> stock = new TreeMap<>();
        for (TestResult r : fork.run(List.of(className), false)) {
            stock.put(r.name(), r);
        }
        for (TestResult r : failures) {
            TestResult there = stock.get(r.name());
            String known = before == null ? null : before.failures.get(r.name());
            // Two crashes prove a broken set-up, not that Flink fails.
            boolean ran = !r.name().equals(Fork.WHOLE_CLASS);
            if (ran && there != null && there.status() == TestResult.Status.FAILED) {
                now.failures.put(r.name(), Baseline.STOCK_FAILS_TOO);
                if (before != null && known == null) {
                    complain(
                            className
                                    + "."
                                    + r.name()
                                    + " fails on stock too, but not in the baseline");
                }
                System.out.println(
                        "    " + r.name() + ": " + Baseline.STOCK_FAILS_TOO + ": " + r.message());
            } else if (known != null
                    && !known.equals(Baseline.STOCK_FAILS_TOO)
                    && !known.equals(Baseline.UNEXPLAINED)) {
                now.failures.put(r.name(), known);
                System.out.println("    " + r.name() + ": " + known);
            } else {
                unexplained++;
                now.failures.put(r.name(), Baseline.UNEXPLAINED);
                complain(className + "." + r.name() + ": " + r.message());
            }
        }
    }

    private void complain(String text) {
        complaints.add(text);
    }
}
