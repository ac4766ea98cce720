package drey.nexmark.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.stream.Stream;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** What the runs of one query under the same conditions come to: stock's figure over Drey's, with its spread. */
public record Summary(String query, Conditions conditions, List<Line> stock, List<Line> drey) {

    /** Median of the ratios, and the lowest and highest ratio of a pair. */
    public record Ratio(double median, double low, double high) {
        @Override
        public String toString() {
            return low == high
                    ? "%.2fx".formatted(median)
                    : "%.2fx [%.2f..%.2f]".formatted(median, low, high);
        }
    }

    /** Groups lines by query and conditions, in the order of their first lines. */
    public static List<Summary> of(List<Line> lines) {
        Map<List<Object>, Summary> groups = new LinkedHashMap<>();
        for (Line line : lines) {
            Summary group =
                    groups.computeIfAbsent(
                            List.of(line.conditions(), line.query()),
                            key ->
                                    new Summary(
                                            line.query(),
                                            line.conditions(),
                                            new ArrayList<>(),
                                            new ArrayList<>()));
            (line.engine().equals("stock") ? group.stock : group.drey).add(line);
        }
        return groups.values().stream()
                .filter(group -> !group.stock.isEmpty() && !group.drey.isEmpty())
                .toList();
    }

    /** Whether every run counts: compared within its pair, and the pairs with each other. */
    public boolean isValid() {
        return (verdict("native") || verdict("flink")) && isRepeatable();
    }

    public boolean isNative() {
        return verdict("native") && isRepeatable();
    }

    private boolean isRepeatable() {
        return Stream.concat(stock.stream(), drey.stream()).map(Line::digest).distinct().count()
                == 1;
    }

    /** Whether it is one of the benchmark's queries, and not the source alone. */
    boolean isQuery() {
        return !query.equals("source");
    }

    private boolean verdict(String verdict) {
        return drey.stream().allMatch(line -> line.verdict().equals(verdict));
    }

    Ratio wall() {
        return ratio(Line::seconds);
    }

    Ratio cpu() {
        return ratio(Line::cpu);
    }

    private Ratio ratio(ToDoubleFunction<Line> cost) {
        double low = Double.POSITIVE_INFINITY;
        double high = 0;
        for (int i = 0; i < Math.min(stock.size(), drey.size()); i++) {
            double pair = cost.applyAsDouble(stock.get(i)) / cost.applyAsDouble(drey.get(i));
            low = Math.min(low, pair);
            high = Math.max(high, pair);
        }
        return new Ratio(median(stock, cost) / median(drey, cost), low, high);
    }

    static double median(List<Line> lines, ToDoubleFunction<Line> what) {
        double[] values = lines.stream().mapToDouble(what).toArray();
        Arrays.sort(values);
        int half = values.length / 2;
        return values.length % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    }

    /**
     * The last line of a run of several queries. Means are over those with native operators.
     *
     * @param failed queries that didn't get as far as a summary
     */
    public static String lastLine(List<Summary> summaries, int failed) {
        List<Summary> all = summaries.stream().filter(Summary::isQuery).toList();
        List<Summary> counted = all.stream().filter(Summary::isNative).toList();
        long valid = all.stream().filter(Summary::isValid).count();
        String start = "nexmark: %d queries, %d valid, ".formatted(all.size() + failed, valid);
        if (counted.isEmpty()) {
            return start + "geomean wall -, geomean cpu -, worst -";
        }
        double wall = 0;
        double cpu = 0;
        Summary worst = counted.get(0);
        for (Summary summary : counted) {
            wall += Math.log(summary.wall().median());
            cpu += Math.log(summary.cpu().median());
            if (summary.cpu().median() < worst.cpu().median()) {
                worst = summary;
            }
        }
        return start
                + "geomean wall %.2fx, geomean cpu %.2fx, worst %s %.2fx"
                        .formatted(
                                Math.exp(wall / counted.size()),
                                Math.exp(cpu / counted.size()),
                                worst.query,
                                worst.cpu().median());
    }
}
