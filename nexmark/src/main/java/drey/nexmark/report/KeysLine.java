package drey.nexmark.report;

import drey.nexmark.measure.Csv;

/** What an operator alone cost on Flink's harness with a number of keys: a line of {@code drey.parity.OperatorBenchmark}. */
public record KeysLine(
        String operator,
        String backend,
        long rows,
        long keys,
        String engine,
        double cpuNsPerRow,
        double stateBytesPerKey) {

    public static final Csv<KeysLine> CSV = new Csv<>(KeysLine.class);
}
