package drey.suite;

import java.util.Map;
import java.util.TreeMap;

/**
 * What became of one test method, or of one invocation of a parameterized one. A line of text between the forked virtual
 * machine, which may die at any moment, and the runner that reads what it left behind.
 *
 * @param className the binary name of the test class
 * @param name the method's name, with the invocation's display name if it has several
 * @param status the outcome
 * @param millis how long it took
 * @param nativeRows rows that went into native operators meanwhile, by operator name; empty if none did
 * @param plan what the planner hook made of its stateful nodes
 * @param message the failure in one line, or the reason of a skip
 */
record TestResult(
        String className,
        String name,
        Status status,
        long millis,
        Map<String, Long> nativeRows,
        String plan,
        String message) {

    enum Status {
        PASSED,
        FAILED,
        SKIPPED
    }

    boolean isNative() {
        return !nativeRows.isEmpty();
    }

    String toLine() {
        StringBuilder rows = new StringBuilder();
        nativeRows.forEach(
                (k, v) -> rows.append(rows.isEmpty() ? "" : ",").append(k).append('=').append(v));
        return String.join(
                "\t",
                className,
                clean(name),
                status.name(),
                Long.toString(millis),
                rows.toString(),
                clean(plan),
                clean(message));
    }

    static TestResult fromLine(String line) {
        String[] f = line.split("\t", -1);
        return new TestResult(
                f[0], f[1], Status.valueOf(f[2]), Long.parseLong(f[3]), rows(f[4]), f[5], f[6]);
    }

    static Map<String, Long> rows(String text) {
        Map<String, Long> rows = new TreeMap<>();
        for (String part : text.split(",")) {
            int eq = part.indexOf('=');
            if (eq > 0) {
                rows.put(part.substring(0, eq), Long.parseLong(part.substring(eq + 1)));
            }
        }
        return rows;
    }

    /** One line, no tabs: display names and messages of tests may hold anything. */
    static String clean(String s) {
        return s == null ? "" : s.replaceAll("\\s+", " ").strip();
    }
}
