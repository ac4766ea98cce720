package drey.nexmark.report;

/** Turns what {@link Tables} write into HTML: headings, tables, and lines of text. */
final class Markdown {

    private Markdown() {}

    static String html(String text) {
        StringBuilder html = new StringBuilder();
        boolean inTable = false;
        for (String line : text.lines().toList()) {
            boolean row = line.startsWith("|");
            if (row && line.startsWith("|--")) {
                continue;
            }
            if (row != inTable) {
                html.append(row ? "<table>\n" : "</table>\n");
                inTable = row;
            }
            if (row) {
                String cells = Svg.escaped(line.substring(1, line.lastIndexOf('|')));
                html.append("<tr><td>")
                        .append(cells.replace("|", "</td><td>"))
                        .append("</td></tr>\n");
            } else if (line.startsWith("#")) {
                html.append("<h3>")
                        .append(Svg.escaped(line.replaceFirst("#+ ", "")))
                        .append("</h3>\n");
            } else if (!line.isBlank()) {
                html.append("<p>").append(Svg.escaped(line)).append("</p>\n");
            }
        }
        return html.append(inTable ? "</table>\n" : "").toString();
    }
}
