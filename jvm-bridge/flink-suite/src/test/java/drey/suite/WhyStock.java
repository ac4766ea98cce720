package drey.suite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** Why a test has no native execution, in few enough words to be counted. */
final class WhyStock {
    private static final String BEGIN = "<!-- coverage: begin -->";
    private static final String END = "<!-- coverage: end -->";

    private static final Pattern ASYNC = Pattern.compile("EnableAsyncState ?= ?true");

    private WhyStock() {}

    /** Tests of plans have no rows at all. */
    static boolean onlyPlans(String className) {
        return className.contains(".plan.") && !className.endsWith("RestoreTest");
    }

    static String of(TestResult result) {
        List<String> flink = new ArrayList<>();
        boolean planned = false;
        for (String verdict : result.plan().split("; ")) {
            int at = verdict.indexOf(" flink: ");
            if (at >= 0) {
                flink.add(verdict.substring(0, at) + ": " + verdict.substring(at + 8));
            } else if (verdict.endsWith(" native")) {
                planned = true;
            }
        }
        if (planned) {
            return result.className().endsWith("RestoreTest")
                    ? "native in the plan, goes on from stock Flink's state"
                    : "native in the plan, no row got there";
        }
        if (!flink.isEmpty()) {
            return String.join("; ", flink);
        }
        if (ASYNC.matcher(result.name()).find()) {
            return "builds one of Flink's asynchronous operators";
        }
        return result.className().contains(".runtime.stream.")
                ? "no stateful node in the plan"
                : "builds no operator that has a native twin";
    }

    /**
     * Writes how many tests of the baselines ran natively and why others did not into a file, between two comments. Arguments: the
     * file, then a Flink line each.
     */
    public static void main(String[] args) throws IOException {
        Path readme = Path.of(args[0]);
        Path module = Path.of(System.getProperty("drey.suite.module")).toAbsolutePath();
        List<String> lines = Arrays.asList(args).subList(1, args.length);
        Map<String, int[]> counts = new TreeMap<>();
        int[] ran = new int[lines.size()];
        int[] tests = new int[lines.size()];
        for (int i = 0; i < lines.size(); i++) {
            Baseline baseline =
                    Baseline.read(module.resolve("baseline/flink-" + lines.get(i) + ".txt"));
            for (Baseline.Entry entry : baseline.entries().values()) {
                ran[i] += entry.nativeRows.size();
                for (String why : entry.stock.values()) {
                    tests[i]++;
                    Set<String> reasons = new TreeSet<>();
                    for (String reason : why.split("; ")) {
                        reasons.add(kind(reason));
                    }
                    for (String reason : reasons) {
                        counts.computeIfAbsent(reason, k -> new int[lines.size()])[i]++;
                    }
                }
            }
        }
        StringBuilder table = new StringBuilder();
        table.append("| Tests with rows | ").append(String.join(" | ", lines)).append(" |\n|---|");
        table.append("---:|".repeat(lines.size())).append('\n');
        row(table, "native execution", ran);
        row(table, "none, for one or more of these reasons", tests);
        counts.entrySet().stream()
                .sorted(
                        (a, b) ->
                                Arrays.stream(b.getValue()).sum()
                                        - Arrays.stream(a.getValue()).sum())
                .forEach(e -> row(table, e.getKey().replace("|", "\\|"), e.getValue()));
        String text = Files.readString(readme);
        int begin = text.indexOf(BEGIN) + BEGIN.length();
        int end = text.indexOf(END);
        Files.writeString(readme, text.substring(0, begin) + "\n" + table + text.substring(end));
    }

    /** A reason without the node, and without the name of a function: the baselines have these. */
    private static String kind(String reason) {
        return reason.replaceFirst("^[A-Za-z]+: ", "")
                .replaceFirst(
                        "^(no native aggregate function|not writable as a compiled plan).*", "$1")
                .replaceFirst(", joins one by one.*", "");
    }

    private static void row(StringBuilder table, String what, int[] counts) {
        table.append("| ").append(what);
        Arrays.stream(counts).forEach(n -> table.append(" | ").append(n));
        table.append(" |\n");
    }
}
