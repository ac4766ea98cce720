package drey.nexmark.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.nexmark.measure.Checkpoints;
import drey.nexmark.measure.Figures;
import drey.nexmark.measure.StateSize;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {

    private static final Conditions PLAIN =
            new Conditions("2.2.1", "replay", "heap", 1, true, false, "", 1_000_000, "");

    private static Line line(String query, String engine, int run, double cost, String verdict) {
        return line(query, engine, run, cost, verdict, "a");
    }

    private static Line line(
            String query, String engine, int run, double cost, String verdict, String digest) {
        Figures figures =
                new Figures(
                        1_000_000,
                        1,
                        cost,
                        cost * 1_000,
                        new Figures.Cpu(1_000, 0, 2_000, 500, 250, 250),
                        1,
                        1,
                        1,
                        2_000_000,
                        4_000_000,
                        1,
                        1,
                        new Checkpoints(1, 2, 3, 4));
        return new Line(query, PLAIN, engine, run, figures, digest, verdict);
    }

    /** Three pairs of q18, one of others, and the source alone at half a microsecond. */
    private static List<Line> lines() {
        List<Line> lines = new ArrayList<>();
        double[][] cost = {{4, 8, 6}, {2, 2, 2}};
        for (int i = 0; i < 3; i++) {
            lines.add(line("q18", "stock", i, cost[0][i], "native"));
            lines.add(line("q18", "drey", i, cost[1][i], "native"));
        }
        lines.add(line("q0", "stock", 0, 1, "flink"));
        lines.add(line("q0", "drey", 0, 1, "flink"));
        lines.add(line("q4", "stock", 0, 1, "invalid"));
        lines.add(line("q4", "drey", 0, 1, "invalid"));
        lines.add(line("source", "stock", 0, 0.5, "flink"));
        lines.add(line("source", "drey", 0, 0.5, "flink"));
        return lines;
    }

    private static Data data(Path folder) throws Exception {
        Path csv = folder.resolve("results.csv");
        Line.CSV.append(csv, lines());
        StateLine.CSV.append(
                folder.resolve("results-state.csv"),
                List.of(
                        new StateLine("q18", PLAIN, "stock", new StateSize(0, 60_000, 0, 9, 8)),
                        new StateLine("q18", PLAIN, "drey", new StateSize(100, 7, 20_000, 9, 8))));
        RecoveryLine.CSV.append(
                folder.resolve("results-recovery.csv"),
                List.of(
                        new RecoveryLine("q18", PLAIN, "stock", 1, 1_234, 1),
                        new RecoveryLine("q18", PLAIN, "drey", 1, 987, 1)));
        LayerLine.CSV.append(
                folder.resolve("results-layers.csv"),
                List.of(
                        new LayerLine("q18", PLAIN, "stock", "source", 1_000),
                        new LayerLine("q18", PLAIN, "stock", "Calc", 1_000),
                        new LayerLine("q18", PLAIN, "stock", "Flink's state", 3_000),
                        new LayerLine("q18", PLAIN, "stock", "gc threads", 1_000),
                        new LayerLine("q18", PLAIN, "drey", "source", 500),
                        new LayerLine("q18", PLAIN, "drey", "Calc", 1_000),
                        new LayerLine("q18", PLAIN, "drey", "native state", 500)));
        KeysLine.CSV.append(
                folder.resolve("results-keys.csv"),
                List.of(
                        new KeysLine("rank", "heap", 10, 5, "stock", 300, 90),
                        new KeysLine("rank", "heap", 10, 5, "drey", 100, 30)));
        Line.CSV.append(folder.resolve("results-scale.csv"), lines().subList(0, 2));
        Files.writeString(folder.resolve("results-builds.txt"), "abc\ndef-dirty\n");
        return Data.read(csv);
    }

    @Test
    void linesSurviveTheirFile(@TempDir Path folder) throws Exception {
        Path csv = folder.resolve("results.csv");
        List<Line> lines = lines();
        Line.CSV.append(csv, lines.subList(0, 6));
        Line.CSV.append(csv, lines.subList(6, lines.size()));
        assertThat(Line.CSV.read(csv)).isEqualTo(lines);
        assertThatThrownBy(() -> StateLine.CSV.read(csv)).hasMessageContaining("move it away");
        assertThat(Line.CSV.read(folder.resolve("none.csv"))).isEmpty();
    }

    @Test
    void aLineThatWasCutOffIsWrittenAgain(@TempDir Path folder) throws Exception {
        Path csv = folder.resolve("results.csv");
        List<Line> lines = lines();
        Line.CSV.append(csv, lines.subList(0, 2));
        Files.writeString(csv, "q18,2.2.1,repl", StandardOpenOption.APPEND);
        assertThat(Line.CSV.read(csv)).isEqualTo(lines.subList(0, 2));
        Line.CSV.append(csv, lines.subList(2, 4));
        assertThat(Line.CSV.read(csv)).isEqualTo(lines.subList(0, 4));
    }

    @Test
    void mediansHaveTheSpreadOfTheirPairs() {
        List<Summary> summaries = Summary.of(lines());
        assertThat(summaries)
                .extracting(Summary::query)
                .containsExactly("q18", "q0", "q4", "source");
        assertThat(summaries.get(0).wall()).isEqualTo(new Summary.Ratio(3, 2, 4));
        assertThat(Summary.lastLine(summaries, 1))
                .isEqualTo(
                        "nexmark: 4 queries, 2 valid, geomean wall 3.00x, geomean cpu 3.00x, worst q18"
                                + " 3.00x");
    }

    @Test
    void pairsThatDifferFromEachOtherAreInvalid() {
        List<Line> lines = new ArrayList<>(lines().subList(0, 4));
        lines.set(2, line("q18", "stock", 1, 8, "native", "b"));
        lines.set(3, line("q18", "drey", 1, 2, "native", "b"));
        assertThat(Summary.of(lines).get(0).isValid()).isFalse();
    }

    @Test
    void theTablesSayWhatTheFilesDo(@TempDir Path folder) throws Exception {
        String document = Report.document(data(folder));
        // Beyond the source: 6,000 - 500 over 2,000 - 500.
        assertThat(document)
                .contains("Commit: abc, def-dirty.")
                .contains(
                        "| q18 | 166,667 | 500,000 | 3.00x [2.00..4.00] | 6,000 | 2,000 | 3.00x"
                                + " [2.00..4.00] | 3.67x | native |")
                .contains("| INVALID |")
                .contains(
                        "| q18 | 2.0 / 2.0 | 4.0 / 4.0 | 0 / 0 | 0 / 0 | 0 / 0 | 100 | 600 / 200 |")
                .contains("| 8 / 8 | 1,234 / 987 |")
                // Of 6,000 ns 4,000 are the state's and its garbage's; the source alone takes 500.
                .contains("| q18 | 3.00x | 3.00x | 12.00x | 25 % | 50 % |")
                .contains("| Calc, 6.00x |")
                .contains("| rank | heap | 5 | 10 | 300 | 100 | 3.00x | 90 / 30 |");
    }

    @Test
    void thePageHasEveryPlot(@TempDir Path folder) throws Exception {
        String page = new Page(data(folder)).html();
        assertThat(page)
                .contains("How many times stock's cost is Drey's")
                .contains("CPU per event by thread")
                .contains("CPU per event by layer")
                .contains("Latency, median, ms")
                .contains("Latency, 99 of 100 less than, ms")
                .contains("State bytes per key")
                .contains("Full checkpoint, ms")
                .contains("Recovery after kill -9, ms")
                .contains("as events grow")
                .contains("as keys grow")
                .endsWith("</html>\n")
                .doesNotContain("NaN")
                .doesNotContain("http");
        assertThat(page.split("<svg", -1).length - 1).isEqualTo(10);
    }

    @Test
    void aReadmeKeepsWhatIsOutsideTheMarks() {
        String readme = "a\n" + Report.BEGIN + "\nold\n" + Report.END + "\nb";
        assertThat(Report.replaced(readme, "new\n\n"))
                .isEqualTo("a\n" + Report.BEGIN + "\nnew\n" + Report.END + "\nb");
        assertThatThrownBy(() -> Report.replaced("none", "")).hasMessageContaining("no lines");
    }
}
