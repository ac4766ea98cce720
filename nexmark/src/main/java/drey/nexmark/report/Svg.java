package drey.nexmark.report;

import java.util.Locale;

/** Pieces of a drawing, as text. */
final class Svg {

    static final String[] COLOURS = {
        "#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#9d9da1", "#72b7b2", "#eeca3b",
        "#9ecae9", "#ffbf79", "#88d27a", "#d6a5c9", "#8b5a2b", "#2f4b7c", "#bab0ac", "#ff9d98"
    };

    private final StringBuilder text = new StringBuilder();

    Svg(int width, int height) {
        text.append("<svg width='%d' height='%d'>".formatted(width, height));
    }

    Svg text(double x, double y, String what) {
        text.append(format("<text x='%.1f' y='%.1f'>%s</text>", x, y, escaped(what)));
        return this;
    }

    /** A bar to the right, with a text that shows when pointed at. */
    Svg bar(double x, double y, double width, double height, int colour, String title) {
        text.append(
                format(
                        "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'><title>%s</title></rect>",
                        x,
                        y,
                        Math.max(0, width),
                        height,
                        COLOURS[colour % COLOURS.length],
                        escaped(title)));
        return this;
    }

    Svg line(double x1, double y1, double x2, double y2, String style) {
        text.append(
                format(
                        "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' %s/>",
                        x1, y1, x2, y2, style));
        return this;
    }

    Svg whisker(double y, double low, double high) {
        String style = "stroke='#222'";
        line(low, y, high, y, style);
        line(low, y - 3, low, y + 3, style);
        return line(high, y - 3, high, y + 3, style);
    }

    Svg dot(double x, double y, int colour, String title) {
        text.append(
                format(
                        "<circle cx='%.1f' cy='%.1f' r='4' fill='%s'><title>%s</title></circle>",
                        x, y, COLOURS[colour % COLOURS.length], escaped(title)));
        return this;
    }

    private static String format(String format, Object... arguments) {
        return String.format(Locale.ROOT, format, arguments);
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;");
    }

    @Override
    public String toString() {
        return text + "</svg>\n";
    }
}
