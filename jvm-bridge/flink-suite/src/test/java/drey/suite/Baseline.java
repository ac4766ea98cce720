package drey.suite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one Flink line's tests did when they were last looked at: per class the counts, the methods that ran on native
 * operators with the rows these processed, why others did not, and every failure with what stock Flink does there.
 *
 * <p>The row counts are for the reader. Tests with a failing source process a different number each time; a run is only
 * held to a count above zero.
 */
final class Baseline {
    static final String STOCK_FAILS_TOO = "stock fails too";

    /** Stands where the reason of a failure is still to be written in by hand; explains nothing. */
    static final String UNEXPLAINED = "?";

    /** One class of the baseline. */
    static final class Entry {
        int run;
        int passed;
        int skipped;
        final Map<String, Map<String, Long>> nativeRows = new TreeMap<>();

        /** Tests that passed without native execution, with what the planner hook said. */
        final Map<String, String> stock = new TreeMap<>();

        /** Failing tests with the reason that explains them. */
        final Map<String, String> failures = new TreeMap<>();
    }

    private final Path file;
    private final Map<String, Entry> entries = new TreeMap<>();

    private Baseline(Path file) {
        this.file = file;
    }

    static Baseline read(Path file) throws IOException {
        Baseline baseline = new Baseline(file);
        if (!Files.exists(file)) {
            return baseline;
        }
        Entry entry = null;
        for (String line : Files.readAllLines(file)) {
            if (line.isBlank() || line.startsWith("#")) {
                continue;
            }
            String[] f = line.strip().split("\t");
            switch (f[0]) {
                case "class" -> {
                    entry = new Entry();
                    baseline.entries.put(f[1], entry);
                    entry.run = Integer.parseInt(f[2].substring("run=".length()));
                    entry.passed = Integer.parseInt(f[3].substring("passed=".length()));
                    entry.skipped = Integer.parseInt(f[4].substring("skipped=".length()));
                }
                case "native" -> entry.nativeRows.put(f[1], TestResult.rows(f[2]));
                case "stock" -> entry.stock.put(f[1], f[2]);
                case "fails" -> entry.failures.put(f[1], f[2]);
                default -> throw new IOException(file + ": what is this line? " + line);
            }
        }
        return baseline;
    }

    Map<String, Entry> entries() {
        return entries;
    }

    Entry get(String className) {
        return entries.get(className);
    }

    Entry put(String className, Entry entry) {
        return entries.put(className, entry);
    }

    void write() throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add(
                "# Flink's own tests with Drey on, written by `make flink-suite REWRITE=1` and read"
                        + " by each later run.");
        lines.add(
                "# class <name> <counts>; native <test> <rows by operator>; stock <test> <why not"
                        + " native>; fails <test> <explanation>.");
        entries.forEach(
                (name, e) -> {
                    lines.add("");
                    lines.add(
                            String.join(
                                    "\t",
                                    "class",
                                    name,
                                    "run=" + e.run,
                                    "passed=" + e.passed,
                                    "skipped=" + e.skipped));
                    e.nativeRows.forEach(
                            (test, rows) -> lines.add("  native\t" + test + "\t" + text(rows)));
                    e.stock.forEach((test, why) -> lines.add("  stock\t" + test + "\t" + why));
                    e.failures.forEach((test, why) -> lines.add("  fails\t" + test + "\t" + why));
                });
        Files.createDirectories(file.getParent());
        Files.write(file, lines);
    }

    private static String text(Map<String, Long> rows) {
        List<String> parts = new ArrayList<>();
        rows.forEach((name, n) -> parts.add(name + "=" + n));
        return String.join(",", parts);
    }
}
