package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.ChangelogDigest.Sameness;
import drey.nexmark.measure.CpuSplit;
import drey.nexmark.measure.Figures;
import drey.nexmark.measure.RunResult;
import drey.nexmark.measure.TextTable;
import drey.nexmark.report.Conditions;
import drey.nexmark.report.Line;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** The runs of one query by both engines, and whether they say the same. */
final class Comparison {

    private final Options options;
    private final Query query;
    private final List<RunResult> stock;
    private final List<RunResult> drey;
    private final Sameness sameness;
    private String difference;

    Comparison(Options options, Query query, List<RunResult> stock, List<RunResult> drey) {
        this.options = options;
        this.query = query;
        this.stock = stock;
        this.drey = drey;
        this.sameness = query.sameness(options.parallelism(), options.is("minibatch"));
    }

    Sameness sameness() {
        return sameness;
    }

    void explainDifference(String text) {
        difference = text;
    }

    /** The first bucket in which any run's digest differs from the first stock run's, or -1. */
    int differentBucket() {
        ChangelogDigest first = stock.get(0).digest();
        if (first == null) {
            return -1;
        }
        for (List<RunResult> runs : List.of(drey, stock)) {
            for (RunResult run : runs) {
                int bucket = first.firstDifference(run.digest());
                if (bucket >= 0) {
                    return bucket;
                }
            }
        }
        return -1;
    }

    /** Why the runs prove nothing, one line each; empty if they do. */
    private List<String> faults() {
        List<String> faults = new ArrayList<>();
        long events = options.number("events");
        for (List<RunResult> runs : List.of(stock, drey)) {
            for (RunResult run : runs) {
                if (run.figures().rowsIn() != events) {
                    faults.add(
                            "%s read %,d events of %,d"
                                    .formatted(run.engine(), run.figures().rowsIn(), events));
                }
                if (run.engine().equals("stock") && run.figures().nativeRows() > 0) {
                    faults.add("a native operator took part in a stock run");
                }
                if (run.nativeNodes() > 0 && run.figures().nativeRows() == 0) {
                    faults.add("the plan has native operators, but none saw a row");
                }
            }
        }
        if (differentBucket() >= 0) {
            faults.add("the changelogs differ");
        }
        return faults.stream().distinct().toList();
    }

    /** Whether any part of the query ran natively. */
    boolean isNative() {
        return drey.stream()
                .allMatch(run -> run.nativeNodes() > 0 && run.figures().nativeRows() > 0);
    }

    boolean isValid() {
        return faults().isEmpty();
    }

    /** Whether the command may end with success: a single query is run to see Drey at work. */
    boolean isGood() {
        return isValid() && (isNative() || options.queries().size() > 1 || query == Query.SOURCE);
    }

    double wallRatio() {
        return median(stock, Figures::seconds) / median(drey, Figures::seconds);
    }

    double cpuRatio() {
        return median(stock, Figures::cpuNsPerEvent) / median(drey, Figures::cpuNsPerEvent);
    }

    String table() {
        StringBuilder text = new StringBuilder();
        text.append("Nexmark ")
                .append(query.name())
                .append(", ")
                .append(Matrix.conditions(options))
                .append('\n');
        String[] header = {
            "engine",
            "rows in",
            "rows out",
            "seconds",
            "events/s",
            "CPU-ns/event",
            "peak RSS",
            "heap",
            "native",
            "p50",
            "p99",
            "p99 batching"
        };
        List<String[]> rows = new ArrayList<>(List.of(header, row(stock), row(drey)));
        rows.add(
                new String[] {
                    "drey/stock",
                    "",
                    "",
                    "",
                    "%.2fx".formatted(wallRatio()),
                    "%.2fx".formatted(cpuRatio()),
                    "",
                    "",
                    "",
                    "",
                    "",
                    ""
                });
        text.append(TextTable.align(rows));
        text.append("CPU-ns/event by thread: ").append(splitLine()).append('\n');
        if (!options.checkpoint().isEmpty()) {
            text.append("checkpoints: ").append(checkpointLine()).append('\n');
        }
        text.append("changelog digest: ").append(digestLine()).append('\n');
        text.append("native: ").append(nativeLine()).append('\n');
        for (String fault : faults()) {
            text.append("INVALID: ").append(fault).append('\n');
        }
        if (faults().isEmpty() && !isGood()) {
            text.append("INVALID: nothing ran natively\n");
        }
        if (difference != null) {
            text.append(difference).append('\n');
        }
        return text.toString();
    }

    private String[] row(List<RunResult> runs) {
        RunResult last = runs.get(runs.size() - 1);
        boolean isNative = last.figures().nativeRows() > 0;
        return new String[] {
            last.engine(),
            "%,d".formatted(last.figures().rowsIn()),
            last.digest() == null ? "-" : "%,d".formatted(last.figures().rowsOut()),
            spread(runs, Figures::seconds, "%.2f"),
            spread(runs, Figures::eventsPerSecond, "%,.0f"),
            spread(runs, Figures::cpuNsPerEvent, "%,.0f"),
            last.figures().peakRss() == 0
                    ? "-"
                    : "%,.0f MB".formatted(median(runs, Figures::peakRss) / (1 << 20)),
            "%,.0f MB".formatted(median(runs, Figures::peakHeap) / (1 << 20)),
            isNative ? "%,.0f MB".formatted(median(runs, Figures::nativeBytes) / (1 << 20)) : "-",
            millis(runs, Figures::latencyP50Ns),
            millis(runs, Figures::latencyP99Ns),
            isNative ? millis(runs, Figures::batchingP99Ns) : "-"
        };
    }

    private static String millis(List<RunResult> runs, ToDoubleFunction<Figures> what) {
        double nanos = median(runs, what);
        return nanos == 0 ? "-" : "%.2f ms".formatted(nanos / 1e6);
    }

    private String splitLine() {
        List<String> parts = new ArrayList<>();
        for (CpuSplit.Group group : CpuSplit.Group.values()) {
            parts.add(
                    "%s %,.0f / %,.0f"
                            .formatted(
                                    group.label(),
                                    median(stock, f -> f.cpu().of(group)),
                                    median(drey, f -> f.cpu().of(group))));
        }
        return String.join(", ", parts) + "  (stock / drey)";
    }

    private String checkpointLine() {
        List<String> parts = new ArrayList<>();
        for (List<RunResult> runs : List.of(stock, drey)) {
            parts.add(
                    "%s %.0f of %.0f ms (longest %.0f), %.1f MB"
                            .formatted(
                                    runs.get(0).engine(),
                                    median(runs, f -> f.checkpoint().checkpoints()),
                                    median(runs, f -> f.checkpoint().checkpointMeanMs()),
                                    median(runs, f -> f.checkpoint().checkpointMaxMs()),
                                    median(runs, f -> f.checkpoint().checkpointLastBytes()) / 1e6));
        }
        return String.join("; ", parts);
    }

    private String digestLine() {
        ChangelogDigest a = stock.get(0).digest();
        ChangelogDigest b = drey.get(0).digest();
        if (a == null || b == null) {
            return "not taken (blackhole)";
        }
        String what =
                switch (sameness) {
                    case ORDER -> "every change in order";
                    case CHANGES -> "every change, order left open by Flink";
                    case RESULT -> "the resulting table; Flink leaves the changes to it open";
                    case NOTHING ->
                            "nothing to compare: what comes out depends on the clock, or is not looked at";
                };
        boolean equal = differentBucket() < 0;
        if (sameness == Sameness.NOTHING) {
            return what;
        }
        return "%s  stock %016x  drey %016x  (%s)"
                .formatted(equal ? "equal" : "DIFFERENT", a.value(), b.value(), what);
    }

    private String nativeLine() {
        RunResult run = drey.get(0);
        if (run.plan().isEmpty()) {
            return "nothing (Drey has nothing to say about this plan)";
        }
        String counted = "%,d rows through native operators".formatted(run.figures().nativeRows());
        return counted + "\n  " + run.plan().replace("\n", "\n  ");
    }

    private static String spread(
            List<RunResult> runs, ToDoubleFunction<Figures> what, String format) {
        String text = format.formatted(median(runs, what));
        if (runs.size() > 1) {
            double[] values =
                    runs.stream().map(RunResult::figures).mapToDouble(what).sorted().toArray();
            text +=
                    " [%s..%s]"
                            .formatted(
                                    format.formatted(values[0]),
                                    format.formatted(values[values.length - 1]));
        }
        return text;
    }

    static double median(List<RunResult> runs, ToDoubleFunction<Figures> what) {
        double[] values = runs.stream().map(RunResult::figures).mapToDouble(what).toArray();
        Arrays.sort(values);
        int half = values.length / 2;
        return values.length % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    }

    /**
     * One line per run, for the results file.
     *
     * @param first number of the first pair
     */
    List<Line> lines(int first) {
        Conditions conditions = Matrix.conditions(options);
        String verdict = isValid() ? (isNative() ? "native" : "flink") : "invalid";
        List<Line> lines = new ArrayList<>();
        for (List<RunResult> runs : List.of(stock, drey)) {
            for (int i = 0; i < runs.size(); i++) {
                RunResult run = runs.get(i);
                boolean comparable = run.digest() != null && sameness != Sameness.NOTHING;
                String digest = comparable ? "%016x".formatted(run.digest().value()) : "";
                lines.add(
                        new Line(
                                query.name(),
                                conditions,
                                run.engine(),
                                first + i,
                                run.figures(),
                                digest,
                                verdict));
            }
        }
        return lines;
    }
}
