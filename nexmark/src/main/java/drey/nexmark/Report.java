package drey.nexmark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Makes a page out of a results file: {@code Report results.csv report.html report.md [README.md]}. The page needs nothing
 * beside itself; the second is its tables. In a README the lines between {@link #BEGIN} and {@link #END} become the table of
 * medians, so that nobody writes figures there by hand.
 */
public final class Report {

    private static final String[] COLOURS = {"#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d9da1"};

    static final String BEGIN = "<!-- begin: written by make nexmark-report -->";
    static final String END = "<!-- end: written by make nexmark-report -->";

    private Report() {}

    public static void main(String[] args) throws IOException {
        if (args.length != 3 && args.length != 4) {
            System.err.println("usage: Report results.csv report.html report.md [README.md]");
            System.exit(2);
        }
        List<Summary> summaries = Summary.of(Line.read(Path.of(args[0])));
        if (summaries.isEmpty()) {
            System.err.println("nexmark: " + args[0] + " has no results yet: make nexmark");
            System.exit(2);
        }
        Files.writeString(Path.of(args[1]), html(summaries));
        Files.writeString(Path.of(args[2]), markdown(summaries) + bounds(summaries));
        if (args.length == 4) {
            Path readme = Path.of(args[3]);
            Files.writeString(readme, replaced(Files.readString(readme), markdown(summaries)));
        }
        System.out.println(Summary.lastLine(summaries, 0));
    }

    private static Map<Line.Conditions, List<Summary>> byConditions(List<Summary> summaries) {
        Map<Line.Conditions, List<Summary>> groups = new LinkedHashMap<>();
        for (Summary summary : summaries) {
            groups.computeIfAbsent(summary.conditions(), key -> new ArrayList<>()).add(summary);
        }
        return groups;
    }

    static String markdown(List<Summary> summaries) {
        StringBuilder text = new StringBuilder();
        byConditions(summaries)
                .forEach(
                        (conditions, group) -> {
                            text.append(conditions).append(":\n\n");
                            text.append(
                                            "| query | stock events/s | Drey events/s | wall | stock CPU-ns/event")
                                    .append(" | Drey CPU-ns/event | CPU | |\n")
                                    .append("|---|--:|--:|--:|--:|--:|--:|---|\n");
                            for (Summary s : group) {
                                text.append(
                                        "| %s | %,.0f | %,.0f | %s | %,.0f | %,.0f | %s | %s |%n"
                                                .formatted(
                                                        s.query(),
                                                        Summary.median(
                                                                s.stock(), Line::eventsPerSecond),
                                                        Summary.median(
                                                                s.drey(), Line::eventsPerSecond),
                                                        s.wall(),
                                                        Summary.median(s.stock(), Line::cpu),
                                                        Summary.median(s.drey(), Line::cpu),
                                                        s.cpu(),
                                                        verdict(s)));
                            }
                            text.append('\n');
                        });
        return text.toString();
    }

    /** A text with what stands between the marks replaced. */
    static String replaced(String text, String between) {
        int begin = text.indexOf(BEGIN);
        int end = text.indexOf(END);
        if (begin < 0 || end < begin) {
            throw new IllegalArgumentException(
                    "no lines '%s' and '%s' to write between".formatted(BEGIN, END));
        }
        return text.substring(0, begin + BEGIN.length())
                + "\n"
                + between.stripTrailing()
                + "\n"
                + text.substring(end);
    }

    /**
     * How far the ratio of CPU could go, by Amdahl's law on stock's split by threads: if the threads behind the exchange
     * cost nothing, and if everything but the source's threads did. Garbage collection and compilation are nobody's, and
     * count as staying in the first bound.
     */
    static String bounds(List<Summary> summaries) {
        StringBuilder text = new StringBuilder();
        byConditions(summaries)
                .forEach(
                        (conditions, group) -> {
                            text.append("What is left to win, ").append(conditions).append(":\n\n");
                            text.append(
                                    "| query | CPU ratio now | operators' threads free | all but the source's free |"
                                            + " of Drey's CPU: source | operators | gc | jit | other |\n"
                                            + "|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
                            group.forEach(s -> text.append(bound(s)));
                            text.append('\n');
                        });
        return text.toString();
    }

    private static String bound(Summary s) {
        double total = Summary.median(s.stock(), Line::cpu);
        double source = part(s.stock(), CpuSplit.Group.SOURCE);
        double operators = part(s.stock(), CpuSplit.Group.OPERATORS);
        StringBuilder row =
                new StringBuilder(
                        "| %s | %.2fx | %.2fx | %.2fx |"
                                .formatted(
                                        s.query(),
                                        s.cpu().median(),
                                        total / (total - operators),
                                        total / source));
        double now = Summary.median(s.drey(), Line::cpu);
        for (CpuSplit.Group part : CpuSplit.Group.values()) {
            row.append(" %.0f %% |".formatted(100 * part(s.drey(), part) / now));
        }
        return row.append('\n').toString();
    }

    private static double part(List<Line> lines, CpuSplit.Group group) {
        return Summary.median(lines, line -> line.split().get(group.ordinal()));
    }

    private static String verdict(Summary s) {
        return s.isNative() ? "native" : s.isValid() ? "all on Flink" : "INVALID";
    }

    static String html(List<Summary> summaries) {
        StringBuilder page = new StringBuilder();
        page.append(
                """
                <!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Nexmark: Drey against stock Flink</title>
                <style>body{font:14px system-ui,sans-serif;margin:2em;max-width:72em}table{border-collapse:collapse}
                td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}td:first-child{text-align:left}
                svg text{font:12px system-ui,sans-serif}.invalid{color:#b00}</style>
                <h1>Nexmark: Drey against stock Flink</h1>
                """);
        page.append("<p>").append(Summary.lastLine(summaries, 0)).append("</p>\n");
        byConditions(summaries)
                .forEach(
                        (conditions, group) -> {
                            page.append("<h2>").append(conditions).append("</h2>\n");
                            page.append(
                                    "<h3>How many times stock's cost is Drey's (whiskers: lowest and highest pair)</h3>\n");
                            page.append(ratios(group));
                            page.append(
                                    "<h3>CPU per event by thread (upper bar stock, lower bar Drey)</h3>\n");
                            page.append(splits(group));
                            page.append(
                                    "<h3>Time by which batching delays a row, 99 of 100 less than</h3>\n");
                            page.append(latencies(group));
                            page.append("<h3>Medians</h3>\n").append(table(group));
                        });
        return page.append("</html>\n").toString();
    }

    private static String ratios(List<Summary> group) {
        double most = 1;
        for (Summary s : group) {
            most = Math.max(most, Math.max(s.cpu().high(), s.wall().high()));
        }
        double unit = 600 / most;
        StringBuilder svg = new StringBuilder(open(group.size() * 40 + 20));
        int y = 0;
        for (Summary s : group) {
            svg.append(label(y + 20, s.query()));
            svg.append(bar(60, y + 4, s.cpu().median() * unit, 13, COLOURS[0], "CPU " + s.cpu()));
            svg.append(whisker(y + 10, s.cpu(), unit));
            svg.append(
                    bar(60, y + 19, s.wall().median() * unit, 13, COLOURS[1], "wall " + s.wall()));
            svg.append(whisker(y + 25, s.wall(), unit));
            svg.append(
                    text(
                            70 + Math.max(s.cpu().high(), s.wall().high()) * unit,
                            y + 20,
                            "CPU %.2fx, wall %.2fx%s"
                                    .formatted(
                                            s.cpu().median(),
                                            s.wall().median(),
                                            s.isNative() ? "" : " (" + verdict(s) + ")")));
            y += 40;
        }
        svg.append(
                "<line x1='%1$.1f' x2='%1$.1f' y1='0' y2='%2$d' stroke='#444' stroke-dasharray='3'/>"
                        .formatted(60 + unit, y));
        return svg.append("</svg>\n").toString();
    }

    private static String splits(List<Summary> group) {
        double most = 1;
        for (Summary s : group) {
            most =
                    Math.max(
                            most,
                            Math.max(
                                    Summary.median(s.stock(), Line::cpu),
                                    Summary.median(s.drey(), Line::cpu)));
        }
        double unit = 700 / most;
        StringBuilder svg = new StringBuilder(open(group.size() * 40 + 40));
        int y = 0;
        CpuSplit.Group[] groups = CpuSplit.Group.values();
        for (Summary s : group) {
            svg.append(label(y + 20, s.query()));
            int row = y + 4;
            for (List<Line> lines : List.of(s.stock(), s.drey())) {
                double x = 60;
                for (CpuSplit.Group part : groups) {
                    double value = part(lines, part);
                    String title =
                            "%s %s %,.0f ns".formatted(lines.get(0).engine(), part.label(), value);
                    svg.append(bar(x, row, value * unit, 13, COLOURS[part.ordinal()], title));
                    x += value * unit;
                }
                double cpu = Summary.median(lines, Line::cpu);
                svg.append(text(x + 6, row + 11, "%,.0f ns".formatted(cpu)));
                row += 15;
            }
            y += 40;
        }
        double x = 60;
        for (CpuSplit.Group part : groups) {
            svg.append(bar(x, y + 6, 12, 12, COLOURS[part.ordinal()], part.label()));
            svg.append(text(x + 18, y + 16, part.label()));
            x += 110;
        }
        return svg.append("</svg>\n").toString();
    }

    private static String latencies(List<Summary> group) {
        List<Summary> counted = group.stream().filter(Summary::isNative).toList();
        double most = 1;
        for (Summary s : counted) {
            most = Math.max(most, Summary.median(s.drey(), Line::p99Nanos));
        }
        StringBuilder svg = new StringBuilder(open(counted.size() * 22 + 10));
        int y = 0;
        for (Summary s : counted) {
            double p99 = Summary.median(s.drey(), Line::p99Nanos);
            svg.append(label(y + 14, s.query()));
            svg.append(bar(60, y + 4, p99 * 600 / most, 13, COLOURS[3], "batching"));
            svg.append(text(70 + p99 * 600 / most, y + 15, "%.2f ms".formatted(p99 / 1e6)));
            y += 22;
        }
        return svg.append("</svg>\n").toString();
    }

    private static String table(List<Summary> group) {
        StringBuilder table = new StringBuilder("<table><tr>");
        for (String head :
                List.of(
                        "query",
                        "runs",
                        "stock events/s",
                        "Drey events/s",
                        "wall",
                        "stock CPU-ns/event",
                        "Drey CPU-ns/event",
                        "CPU",
                        "stock peak RSS",
                        "Drey peak RSS",
                        "rows out",
                        "")) {
            table.append("<th>").append(head).append("</th>");
        }
        table.append("</tr>\n");
        for (Summary s : group) {
            table.append(s.isValid() ? "<tr>" : "<tr class='invalid'>");
            for (String cell :
                    List.of(
                            s.query(),
                            Integer.toString(s.drey().size()),
                            "%,.0f".formatted(Summary.median(s.stock(), Line::eventsPerSecond)),
                            "%,.0f".formatted(Summary.median(s.drey(), Line::eventsPerSecond)),
                            s.wall().toString(),
                            "%,.0f".formatted(Summary.median(s.stock(), Line::cpu)),
                            "%,.0f".formatted(Summary.median(s.drey(), Line::cpu)),
                            s.cpu().toString(),
                            "%,.0f MB"
                                    .formatted(
                                            Summary.median(s.stock(), Line::peakRss) / (1 << 20)),
                            "%,.0f MB"
                                    .formatted(Summary.median(s.drey(), Line::peakRss) / (1 << 20)),
                            "%,d".formatted(s.drey().get(0).rowsOut()),
                            verdict(s))) {
                table.append("<td>").append(cell).append("</td>");
            }
            table.append("</tr>\n");
        }
        return table.append("</table>\n").toString();
    }

    private static String open(int height) {
        return "<svg width='980' height='%d'>".formatted(height);
    }

    private static String label(int y, String text) {
        return text(4, y, text);
    }

    private static String text(double x, double y, String text) {
        return String.format(Locale.ROOT, "<text x='%.1f' y='%.1f'>%s</text>", x, y, text);
    }

    private static String bar(
            double x, double y, double width, double height, String colour, String title) {
        return String.format(
                Locale.ROOT,
                "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'><title>%s</title></rect>",
                x,
                y,
                Math.max(0, width),
                height,
                colour,
                title);
    }

    private static String whisker(double y, Summary.Ratio ratio, double unit) {
        return String.format(
                Locale.ROOT,
                "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' stroke='#222'/>",
                60 + ratio.low() * unit,
                60 + ratio.high() * unit,
                y,
                y);
    }
}
