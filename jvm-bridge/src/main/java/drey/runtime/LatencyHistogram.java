package drey.runtime;

import java.util.Arrays;

/**
 * Histogram of durations with weights: sixteen linear steps in every power of two, hence quantiles within 6 %. Written by
 * one thread; a reader on another thread may see a moment's inconsistency, which a metric can bear.
 */
final class LatencyHistogram {

    private static final int STEP_BITS = 4;
    private static final int STEPS = 1 << STEP_BITS;

    private final long[] counts = new long[(64 - STEP_BITS + 1) << STEP_BITS];
    private long total;

    void record(long nanos, long weight) {
        counts[slot(Math.max(0, nanos))] += weight;
        total += weight;
    }

    void add(LatencyHistogram other) {
        for (int i = 0; i < counts.length; i++) {
            counts[i] += other.counts[i];
        }
        total += other.total;
    }

    void clear() {
        Arrays.fill(counts, 0);
        total = 0;
    }

    long total() {
        return total;
    }

    /** The smallest bound that at least {@code fraction} of the weight lies below or on; 0 when nothing was recorded. */
    long quantile(double fraction) {
        long want = (long) Math.ceil(total * fraction);
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (counts[i] > 0 && seen >= want) {
                return upper(i);
            }
        }
        return 0;
    }

    private static int slot(long v) {
        if (v < STEPS) {
            return (int) v;
        }
        int shift = 63 - Long.numberOfLeadingZeros(v) - STEP_BITS;
        return ((shift + 1) << STEP_BITS) + (int) ((v >>> shift) - STEPS);
    }

    private static long upper(int slot) {
        if (slot < STEPS) {
            return slot;
        }
        int shift = (slot >>> STEP_BITS) - 1;
        return (((long) (slot & (STEPS - 1)) + STEPS + 1) << shift) - 1;
    }
}
