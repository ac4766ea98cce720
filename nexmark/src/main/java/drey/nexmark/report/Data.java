package drey.nexmark.report;

import drey.nexmark.measure.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Everything that was measured: a results file and the ones beside it.
 *
 * @param builds what was measured, as git describes it
 */
record Data(
        List<Summary> summaries,
        List<StateLine> states,
        List<RecoveryLine> recoveries,
        List<LayerLine> layers,
        List<Summary> scale,
        List<KeysLine> keys,
        List<String> builds) {

    static Data read(Path csv) throws IOException {
        return new Data(
                Summary.of(Line.CSV.read(csv)),
                StateLine.CSV.read(beside(csv, "-state.csv")),
                RecoveryLine.CSV.read(beside(csv, "-recovery.csv")),
                LayerLine.CSV.read(beside(csv, "-layers.csv")),
                Summary.of(Line.CSV.read(beside(csv, "-scale.csv"))),
                KeysLine.CSV.read(beside(csv, "-keys.csv")),
                builds(beside(csv, "-builds.txt")));
    }

    private static List<String> builds(Path file) throws IOException {
        return Files.exists(file) ? Files.readAllLines(file) : List.of();
    }

    private static Path beside(Path csv, String ending) {
        return csv.resolveSibling(csv.getFileName().toString().replace(".csv", ending));
    }

    /** Where the figures come from, in a line. */
    String origin() {
        String machine = "Machine: " + Machine.line() + ".";
        return builds.isEmpty() ? machine : machine + " Commit: " + String.join(", ", builds) + ".";
    }

    Map<Conditions, List<Summary>> byConditions() {
        return summaries.stream()
                .filter(Summary::isQuery)
                .collect(
                        Collectors.groupingBy(
                                Summary::conditions, LinkedHashMap::new, Collectors.toList()));
    }

    /** CPU per event of the source alone under these conditions, or 0 if that wasn't measured. */
    double source(Conditions conditions) {
        return summaries.stream()
                .filter(s -> !s.isQuery() && s.conditions().sameSource(conditions))
                .mapToDouble(s -> Summary.median(s.stock(), Line::cpu))
                .findFirst()
                .orElse(0);
    }

    /** What was measured of the state of a query, by engine; empty where it wasn't. */
    Map<String, StateLine> states(Summary summary) {
        return states.stream()
                .filter(line -> line.query().equals(summary.query()))
                .filter(line -> line.conditions().equals(summary.conditions()))
                .collect(Collectors.toMap(StateLine::engine, line -> line, (a, b) -> b));
    }

    Map<String, RecoveryLine> recoveries(Summary summary) {
        return recoveries.stream()
                .filter(line -> line.query().equals(summary.query()))
                .filter(line -> line.conditions().equals(summary.conditions()))
                .collect(Collectors.toMap(RecoveryLine::engine, line -> line, (a, b) -> b));
    }

    /** CPU per event by layer, of the last profile of a query with this backend; empty without one. */
    Map<String, Double> layers(Summary summary, String engine) {
        Map<String, Double> layers = new LinkedHashMap<>();
        this.layers.stream()
                .filter(line -> line.query().equals(summary.query()))
                .filter(line -> line.engine().equals(engine))
                .filter(line -> line.conditions().backend().equals(summary.conditions().backend()))
                .filter(line -> line.conditions().rung().equals(summary.conditions().rung()))
                .forEach(line -> layers.put(line.layer(), line.cpuNsPerEvent()));
        return layers;
    }
}
