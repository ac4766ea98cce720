package drey.nexmark.measure;

/** Counts durations in classes that are at most a sixteenth wide, so that quantiles can be read from them. */
public final class Latency {

    private static final int STEPS = 16;

    private final long[] counts = new long[64 * STEPS];
    private long total;

    public void add(long nanos) {
        counts[index(Math.max(1, nanos))]++;
        total++;
    }

    public void add(Latency other) {
        for (int i = 0; i < counts.length; i++) {
            counts[i] += other.counts[i];
        }
        total += other.total;
    }

    private static int index(long nanos) {
        int log = 63 - Long.numberOfLeadingZeros(nanos);
        int step = (int) (log >= 4 ? nanos >>> log - 4 : nanos << 4 - log) & STEPS - 1;
        return log * STEPS + step;
    }

    /** The duration that this share of all durations don't exceed, rounded up to its class; 0 if there are none. */
    public long quantile(double share) {
        long rank = (long) Math.ceil(share * total);
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (total > 0 && seen >= rank && seen > 0) {
                double low = Math.scalb(1.0, i / STEPS);
                return (long) (low * (1 + (i % STEPS + 1) / (double) STEPS));
            }
        }
        return 0;
    }
}
