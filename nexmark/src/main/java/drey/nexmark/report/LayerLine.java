package drey.nexmark.report;

import drey.nexmark.measure.Csv;

/** CPU nanoseconds per event of one layer of a job, from a profile. */
public record LayerLine(
        String query, Conditions conditions, String engine, String layer, double cpuNsPerEvent) {

    public static final Csv<LayerLine> CSV = new Csv<>(LayerLine.class);
}
