package drey.nexmark.report;

import java.util.List;
import java.util.Map;

/**
 * What is left to win, by Amdahl's law on the profiles' layers: how much less CPU stock Flink would need if its stateful
 * operators cost nothing (their state's garbage included: the collector's threads count as theirs), and if everything after
 * the source did; where Drey is in the same profile; and of what Drey still pays, the largest part that is not native yet.
 */
final class Amdahl {

    /** Parts of a job that no native operator covers. */
    private static final List<String> FLINKS =
            List.of(
                    "Calc",
                    "watermarks",
                    "exchange",
                    "source",
                    "digesting sink",
                    "Flink's operator");

    private static final List<String> OPERATORS =
            List.of("Flink's operator", "Flink's state", "gc threads");

    private Amdahl() {}

    static String table(Data data) {
        StringBuilder text = new StringBuilder();
        data.byConditions()
                .forEach(
                        (conditions, group) -> {
                            StringBuilder rows = new StringBuilder();
                            group.forEach(summary -> rows.append(row(data, summary)));
                            if (!rows.isEmpty()) {
                                text.append("What is left to win, ")
                                        .append(conditions)
                                        .append(":\n\n");
                                text.append(
                                        "| query | CPU ratio, profiled | stateful operators free | all after the source free |"
                                                + " of Drey's CPU: native | Calc | watermarks | exchange | source | sink |"
                                                + " Flink's operators | GC, JIT, other | next, and the ratio if it were free |\n"
                                                + "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n");
                                text.append(rows).append('\n');
                            }
                        });
        return text.toString();
    }

    private static String row(Data data, Summary summary) {
        Map<String, Double> stock = data.layers(summary, "stock");
        Map<String, Double> drey = data.layers(summary, "drey");
        if (stock.isEmpty() || drey.isEmpty()) {
            return "";
        }
        double all = total(stock);
        double now = total(drey);
        double free = all / (all - sum(stock, OPERATORS));
        double source = data.source(summary.conditions());
        String afterSource = source == 0 ? "-" : "%.2fx".formatted(all / source);
        String next =
                FLINKS.stream()
                        .max((a, b) -> Double.compare(of(drey, a), of(drey, b)))
                        .orElseThrow();
        StringBuilder row =
                new StringBuilder(
                        "| %s | %.2fx | %.2fx | %s |"
                                .formatted(summary.query(), all / now, free, afterSource));
        List<List<String>> parts =
                List.of(
                        List.of(
                                "native operator",
                                "native state",
                                "JNI and cgo",
                                "batches in and out"),
                        List.of("Calc"),
                        List.of("watermarks"),
                        List.of("exchange"),
                        List.of("source"),
                        List.of("digesting sink"),
                        List.of("Flink's operator", "Flink's state"),
                        List.of("gc threads", "jit threads", "other threads", "rest of the task"));
        for (List<String> part : parts) {
            row.append(" %.0f %% |".formatted(100 * sum(drey, part) / now));
        }
        double then = all / (now - of(drey, next));
        return row.append(" %s, %.2fx |%n".formatted(next, then)).toString();
    }

    private static double of(Map<String, Double> layers, String layer) {
        return layers.getOrDefault(layer, 0.0);
    }

    private static double sum(Map<String, Double> layers, List<String> names) {
        return names.stream().mapToDouble(name -> of(layers, name)).sum();
    }

    private static double total(Map<String, Double> layers) {
        return layers.values().stream().mapToDouble(value -> value).sum();
    }
}
