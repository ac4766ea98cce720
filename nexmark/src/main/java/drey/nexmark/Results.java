package drey.nexmark;

import drey.nexmark.report.Line;
import drey.nexmark.report.RecoveryLine;
import drey.nexmark.report.StateLine;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The files that results are kept in: timed runs in the one that was named, states and recoveries beside it. */
final class Results {

    private final Path csv;
    private final List<Line> lines;
    private final List<StateLine> states;
    private final List<RecoveryLine> recoveries;

    Results(Options options) throws IOException {
        csv = options.csv();
        boolean resume = options.is("resume");
        lines = new ArrayList<>(resume ? Line.CSV.read(csv) : List.of());
        states = new ArrayList<>(resume ? StateLine.CSV.read(beside("state")) : List.of());
        recoveries =
                new ArrayList<>(resume ? RecoveryLine.CSV.read(beside("recovery")) : List.of());
    }

    /** {@code results.csv} has {@code results-state.csv} beside it. */
    private Path beside(String what) {
        return csv == null
                ? null
                : csv.resolveSibling(
                        csv.getFileName().toString().replace(".csv", "-" + what + ".csv"));
    }

    /** The runs of a pair that were measured before. */
    List<Line> known(Matrix.Job job) {
        return job.kind() != Matrix.Kind.PAIR
                ? List.of()
                : lines.stream()
                        .filter(line -> line.run() == job.pair())
                        .filter(line -> line.query().equals(job.query().name()))
                        .filter(line -> line.conditions().equals(job.conditions()))
                        .toList();
    }

    boolean isDone(Matrix.Job job) {
        String query = job.query().name();
        return switch (job.kind()) {
            case PAIR -> known(job).size() == 2;
            case STATE ->
                    states.stream()
                            .anyMatch(
                                    line ->
                                            line.query().equals(query)
                                                    && line.conditions().equals(job.conditions()));
            case RECOVERY ->
                    recoveries.stream()
                            .anyMatch(
                                    line ->
                                            line.query().equals(query)
                                                    && line.conditions().equals(job.conditions()));
        };
    }

    void add(List<Line> measured) throws IOException {
        if (csv != null) {
            Line.CSV.append(csv, measured);
        }
    }

    void addStates(List<StateLine> measured) throws IOException {
        StateLine.CSV.append(beside("state"), measured);
    }

    void addRecoveries(List<RecoveryLine> measured) throws IOException {
        RecoveryLine.CSV.append(beside("recovery"), measured);
    }
}
