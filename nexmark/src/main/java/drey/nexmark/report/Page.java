package drey.nexmark.report;

import drey.nexmark.measure.CpuSplit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/** The report as a page that needs nothing beside itself. */
final class Page {

    private static final String HEAD =
            """
            <!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Nexmark: Drey against stock Flink</title>
            <style>body{font:14px system-ui,sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse}
            td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}td:first-child{text-align:left}
            svg text{font:12px system-ui,sans-serif}</style>
            <h1>Nexmark: Drey against stock Flink</h1>
            """;

    private static final int LEFT = 60;
    private static final int WIDTH = 640;

    /** Parts in a row of a legend. */
    private static final int PER_ROW = 6;

    private final Data data;

    Page(Data data) {
        this.data = data;
    }

    /** A bar of two: what it is called, and its length with either engine. */
    private record Two(String name, double stock, double drey) {}

    String html() {
        StringBuilder page = new StringBuilder(HEAD);
        page.append("<p>").append(Svg.escaped(data.origin())).append("</p>\n<p>");
        page.append(Summary.lastLine(data.summaries(), 0)).append("</p>\n");
        data.byConditions()
                .forEach(
                        (conditions, group) -> {
                            page.append("<h2>").append(conditions).append("</h2>\n");
                            page.append("<p>").append(Summary.lastLine(group, 0)).append("</p>\n");
                            title(
                                    page,
                                    "How many times stock's cost is Drey's (whiskers: lowest and highest pair)");
                            page.append(ratios(group));
                            title(
                                    page,
                                    "CPU per event by thread (upper bar stock, lower bar Drey)");
                            page.append(splits(group));
                            page.append(layers(group));
                            pairs(
                                    page,
                                    "Latency, median, ms",
                                    group,
                                    latency(f -> f.figures().latencyP50Ns()));
                            pairs(
                                    page,
                                    "Latency, 99 of 100 less than, ms",
                                    group,
                                    latency(f -> f.figures().latencyP99Ns()));
                            pairs(page, "State bytes per key", group, this::bytesPerKey);
                            pairs(page, "Full checkpoint, ms", group, this::checkpoint);
                            pairs(page, "Recovery after kill -9, ms", group, this::recovery);
                        });
        page.append(scale());
        title(page, "All tables");
        page.append(Markdown.html(Report.document(data)));
        return page.append("</html>\n").toString();
    }

    private static void title(StringBuilder page, String text) {
        page.append("<h3>").append(text).append("</h3>\n");
    }

    private static String ratios(List<Summary> group) {
        double most = 1;
        for (Summary s : group) {
            most = Math.max(most, Math.max(s.cpu().high(), s.wall().high()));
        }
        double unit = WIDTH / most;
        Svg svg = new Svg(1000, group.size() * 40 + 20);
        int y = 0;
        for (Summary s : group) {
            svg.text(4, y + 20, s.query());
            svg.bar(LEFT, y + 4, s.cpu().median() * unit, 13, 0, "CPU " + s.cpu());
            svg.whisker(y + 10, LEFT + s.cpu().low() * unit, LEFT + s.cpu().high() * unit);
            svg.bar(LEFT, y + 19, s.wall().median() * unit, 13, 1, "wall " + s.wall());
            svg.whisker(y + 25, LEFT + s.wall().low() * unit, LEFT + s.wall().high() * unit);
            svg.text(
                    LEFT + 10 + Math.max(s.cpu().high(), s.wall().high()) * unit,
                    y + 20,
                    "CPU %.2fx, wall %.2fx%s"
                            .formatted(
                                    s.cpu().median(),
                                    s.wall().median(),
                                    s.isNative() ? "" : " (" + Tables.verdict(s) + ")"));
            y += 40;
        }
        svg.line(LEFT + unit, 0, LEFT + unit, y, "stroke='#444' stroke-dasharray='3'");
        return svg.toString();
    }

    private static String splits(List<Summary> group) {
        Map<String, Map<String, Map<String, Double>>> bars = new LinkedHashMap<>();
        for (Summary s : group) {
            Map<String, Map<String, Double>> engines = new LinkedHashMap<>();
            engines.put("stock", split(s.stock()));
            engines.put("drey", split(s.drey()));
            bars.put(s.query(), engines);
        }
        return stacked(bars);
    }

    private static Map<String, Double> split(List<Line> lines) {
        Map<String, Double> split = new LinkedHashMap<>();
        for (CpuSplit.Group part : CpuSplit.Group.values()) {
            split.put(part.label(), Summary.median(lines, l -> l.figures().cpu().of(part)));
        }
        return split;
    }

    private String layers(List<Summary> group) {
        Map<String, Map<String, Map<String, Double>>> bars = new LinkedHashMap<>();
        for (Summary s : group) {
            Map<String, Map<String, Double>> engines = new LinkedHashMap<>();
            engines.put("stock", data.layers(s, "stock"));
            engines.put("drey", data.layers(s, "drey"));
            if (!engines.get("stock").isEmpty() && !engines.get("drey").isEmpty()) {
                bars.put(s.query(), engines);
            }
        }
        return bars.isEmpty()
                ? ""
                : "<h3>CPU per event by layer, from a profile (upper bar stock, lower bar Drey)</h3>\n"
                        + stacked(bars);
    }

    /** Bars of parts, two for each query. */
    private static String stacked(Map<String, Map<String, Map<String, Double>>> bars) {
        List<String> parts =
                bars.values().stream()
                        .flatMap(engines -> engines.values().stream())
                        .flatMap(split -> split.entrySet().stream())
                        .filter(part -> part.getValue() > 0)
                        .map(Map.Entry::getKey)
                        .distinct()
                        .toList();
        double most =
                bars.values().stream()
                        .flatMap(engines -> engines.values().stream())
                        .mapToDouble(Page::sum)
                        .max()
                        .orElse(1);
        double unit = (WIDTH + 60) / Math.max(1, most);
        int legend = (parts.size() + PER_ROW - 1) / PER_ROW * 20;
        Svg svg = new Svg(1040, bars.size() * 40 + legend + 20);
        int y = 0;
        for (Map.Entry<String, Map<String, Map<String, Double>>> query : bars.entrySet()) {
            svg.text(4, y + 20, query.getKey());
            int row = y + 4;
            for (Map.Entry<String, Map<String, Double>> engine : query.getValue().entrySet()) {
                double x = LEFT;
                for (Map.Entry<String, Double> part : engine.getValue().entrySet()) {
                    String title =
                            "%s %s %,.0f ns"
                                    .formatted(engine.getKey(), part.getKey(), part.getValue());
                    double width = part.getValue() * unit;
                    svg.bar(x, row, width, 13, Math.max(0, parts.indexOf(part.getKey())), title);
                    x += width;
                }
                svg.text(x + 6, row + 11, "%,.0f ns".formatted(sum(engine.getValue())));
                row += 15;
            }
            y += 40;
        }
        for (int i = 0; i < parts.size(); i++) {
            int x = LEFT + i % PER_ROW * 160;
            svg.bar(x, y + 6 + i / PER_ROW * 20, 12, 12, i, parts.get(i));
            svg.text(x + 16, y + 16 + i / PER_ROW * 20, parts.get(i));
        }
        return svg.toString();
    }

    private static double sum(Map<String, Double> split) {
        return split.values().stream().mapToDouble(value -> value).sum();
    }

    private static Function<Summary, Two> latency(ToDoubleFunction<Line> nanos) {
        return s ->
                new Two(
                        s.query(),
                        Summary.median(s.stock(), nanos) / 1e6,
                        Summary.median(s.drey(), nanos) / 1e6);
    }

    private Two bytesPerKey(Summary s) {
        Map<String, StateLine> states = data.states(s);
        if (states.size() < 2 || states.get("drey").size().stateKeys() == 0) {
            return null;
        }
        long keys = states.get("drey").size().stateKeys();
        return new Two(
                s.query(),
                Tables.bytesPerKey(states.get("stock"), keys),
                Tables.bytesPerKey(states.get("drey"), keys));
    }

    private Two checkpoint(Summary s) {
        Map<String, StateLine> states = data.states(s);
        return states.size() < 2
                ? null
                : new Two(
                        s.query(),
                        states.get("stock").size().fullCheckpointMs(),
                        states.get("drey").size().fullCheckpointMs());
    }

    private Two recovery(Summary s) {
        Map<String, RecoveryLine> recoveries = data.recoveries(s);
        return recoveries.size() < 2
                ? null
                : new Two(
                        s.query(),
                        recoveries.get("stock").recoveryMs(),
                        recoveries.get("drey").recoveryMs());
    }

    /** Two bars for each query that the figure is known of; nothing if it is of none. */
    private static void pairs(
            StringBuilder page, String title, List<Summary> group, Function<Summary, Two> figure) {
        List<Two> bars = new ArrayList<>();
        for (Summary s : group) {
            Two two = figure.apply(s);
            if (two != null && two.stock + two.drey > 0) {
                bars.add(two);
            }
        }
        if (bars.isEmpty()) {
            return;
        }
        title(page, title + " (upper bar stock, lower bar Drey)");
        double most = bars.stream().mapToDouble(b -> Math.max(b.stock, b.drey)).max().orElse(1);
        double unit = WIDTH / most;
        Svg svg = new Svg(1000, bars.size() * 36 + 10);
        int y = 0;
        for (Two two : bars) {
            svg.text(4, y + 20, two.name);
            svg.bar(LEFT, y + 4, two.stock * unit, 12, 5, "stock");
            svg.text(LEFT + 6 + two.stock * unit, y + 14, "%,.1f".formatted(two.stock));
            svg.bar(LEFT, y + 18, two.drey * unit, 12, 0, "Drey");
            svg.text(LEFT + 6 + two.drey * unit, y + 28, "%,.1f".formatted(two.drey));
            y += 36;
        }
        page.append(svg);
    }

    private String scale() {
        StringBuilder page = new StringBuilder();
        Map<String, List<Summary>> byQuery =
                data.scale().stream()
                        .filter(Summary::isQuery)
                        .collect(
                                Collectors.groupingBy(
                                        s -> s.query() + ", " + s.conditions().backend(),
                                        TreeMap::new,
                                        Collectors.toList()));
        byQuery.forEach(
                (name, group) ->
                        page.append(
                                growth(
                                        name + ": CPU-ns per event as events grow",
                                        points(group, Summary::stock),
                                        points(group, Summary::drey))));
        Map<String, List<KeysLine>> byOperator =
                data.keys().stream()
                        .collect(
                                Collectors.groupingBy(
                                        l -> l.operator() + " alone, " + l.backend(),
                                        TreeMap::new,
                                        Collectors.toList()));
        byOperator.forEach(
                (name, group) ->
                        page.append(
                                growth(
                                        name + ": CPU-ns per row as keys grow",
                                        keyPoints(group, "stock"),
                                        keyPoints(group, "drey"))));
        return page.isEmpty() ? "" : "<h2>Scale</h2>\n" + page;
    }

    private static TreeMap<Double, Double> points(
            List<Summary> group, Function<Summary, List<Line>> engine) {
        TreeMap<Double, Double> points = new TreeMap<>();
        group.forEach(
                s ->
                        points.put(
                                (double) s.conditions().events(),
                                Summary.median(engine.apply(s), Line::cpu)));
        return points;
    }

    private static TreeMap<Double, Double> keyPoints(List<KeysLine> group, String engine) {
        TreeMap<Double, Double> points = new TreeMap<>();
        group.stream()
                .filter(line -> line.engine().equals(engine))
                .forEach(line -> points.put((double) line.keys(), line.cpuNsPerRow()));
        return points;
    }

    /** Two lines over a logarithmic axis. */
    private static String growth(
            String title, TreeMap<Double, Double> stock, TreeMap<Double, Double> drey) {
        double low = Math.log10(stock.firstKey());
        double high = Math.max(low + 0.1, Math.log10(stock.lastKey()));
        double most = 1;
        for (TreeMap<Double, Double> points : List.of(stock, drey)) {
            for (double value : points.values()) {
                most = Math.max(most, value);
            }
        }
        Svg svg = new Svg(560, 240);
        svg.line(70, 200, 500, 200, "stroke='#444'").line(70, 20, 70, 200, "stroke='#444'");
        svg.text(4, 26, "%,.0f".formatted(most)).text(4, 204, "0");
        int colour = 5;
        for (TreeMap<Double, Double> points : List.of(stock, drey)) {
            double[] before = null;
            for (Map.Entry<Double, Double> point : points.entrySet()) {
                double x = 70 + 400 * (Math.log10(point.getKey()) - low) / (high - low);
                double y = 200 - 175 * point.getValue() / most;
                if (before != null) {
                    svg.line(before[0], before[1], x, y, "stroke='" + Svg.COLOURS[colour] + "'");
                }
                svg.dot(x, y, colour, "%,.0f: %,.0f".formatted(point.getKey(), point.getValue()));
                svg.text(x - 20, 218, "%,.0f".formatted(point.getKey()));
                before = new double[] {x, y};
            }
            colour = 0;
        }
        svg.bar(200, 226, 10, 10, 5, "stock").text(214, 235, "stock");
        svg.bar(280, 226, 10, 10, 0, "Drey").text(294, 235, "Drey");
        return "<h3>" + title + "</h3>\n" + svg;
    }
}
