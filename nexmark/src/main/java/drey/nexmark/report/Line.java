package drey.nexmark.report;

import drey.nexmark.measure.Csv;
import drey.nexmark.measure.Figures;

/**
 * One measured run as a line of the results file.
 *
 * @param run number of the pair it belongs to
 * @param digest of the changelog, or nothing where none is comparable
 * @param verdict {@code native}: compared and proven native; {@code flink}: compared, nothing native; or {@code invalid}
 */
public record Line(
        String query,
        Conditions conditions,
        String engine,
        int run,
        Figures figures,
        String digest,
        String verdict) {

    public static final Csv<Line> CSV = new Csv<>(Line.class);

    double seconds() {
        return figures.seconds();
    }

    double cpu() {
        return figures.cpuNsPerEvent();
    }

    double eventsPerSecond() {
        return figures.eventsPerSecond();
    }
}
