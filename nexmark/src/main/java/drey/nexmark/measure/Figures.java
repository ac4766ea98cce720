package drey.nexmark.measure;

/**
 * What one run cost.
 *
 * @param cpuNsPerEvent of the whole process
 * @param cpu the same by group of threads, as far as it was seen
 * @param peakRss highest resident memory during the run, less that of the replayed rows; 0 if unknown
 * @param peakHeap highest use of the Java heap, garbage included
 * @param nativeBytes most that native state took, by the operators' own metrics
 * @param latencyP50Ns quantile 0.5 of the time from an event's emission until the sink has all that follows from it; 0 if
 *     unknown
 * @param batchingP99Ns quantile 0.99 of the time that batching held a row back
 * @param nativeRows rows that went into native operators, by their own count
 */
public record Figures(
        long rowsIn,
        long rowsOut,
        double seconds,
        double cpuNsPerEvent,
        Cpu cpu,
        long peakRss,
        long peakHeap,
        long nativeBytes,
        long latencyP50Ns,
        long latencyP99Ns,
        long batchingP99Ns,
        long nativeRows,
        Checkpoints checkpoint) {

    /** CPU nanoseconds per event by group of threads. */
    public record Cpu(
            double cpuSource,
            double cpuExchange,
            double cpuOperators,
            double cpuGc,
            double cpuJit,
            double cpuOther) {

        public double of(CpuSplit.Group group) {
            return switch (group) {
                case SOURCE -> cpuSource;
                case EXCHANGE -> cpuExchange;
                case OPERATORS -> cpuOperators;
                case GC -> cpuGc;
                case JIT -> cpuJit;
                case OTHER -> cpuOther;
            };
        }
    }

    public double eventsPerSecond() {
        return rowsIn / seconds;
    }
}
