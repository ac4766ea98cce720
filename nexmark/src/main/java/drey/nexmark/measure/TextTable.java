package drey.nexmark.measure;

import java.util.List;

/** Rows of cells as lines for a terminal, the first column to the left, the others to the right. */
public final class TextTable {

    private TextTable() {}

    public static String align(List<String[]> rows) {
        int[] widths = new int[rows.get(0).length];
        for (String[] row : rows) {
            for (int i = 0; i < row.length; i++) {
                widths[i] = Math.max(widths[i], row[i].length());
            }
        }
        StringBuilder text = new StringBuilder();
        for (String[] row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < row.length; i++) {
                String format = (i == 0 ? "%-" : "  %") + Math.max(1, widths[i]) + "s";
                line.append(format.formatted(row[i]));
            }
            text.append(line.toString().stripTrailing()).append('\n');
        }
        return text.toString();
    }
}
