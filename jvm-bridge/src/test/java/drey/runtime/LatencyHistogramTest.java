package drey.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.Arrays;
import java.util.SplittableRandom;

class LatencyHistogramTest {

    @Test
    void emptyHasNoQuantile() {
        assertThat(new LatencyHistogram().quantile(0.99)).isZero();
    }

    @Test
    void smallValuesAreExact() {
        LatencyHistogram h = new LatencyHistogram();
        for (int i = 0; i < 10; i++) {
            h.record(i, 1);
        }
        assertThat(h.quantile(0.5)).isEqualTo(4);
        assertThat(h.quantile(1)).isEqualTo(9);
    }

    @Test
    void weightsCountAsThatManyValues() {
        LatencyHistogram h = new LatencyHistogram();
        h.record(3, 98);
        h.record(7, 2);
        assertThat(h.quantile(0.98)).isEqualTo(3);
        assertThat(h.quantile(0.99)).isEqualTo(7);
        assertThat(h.total()).isEqualTo(100);
    }

    /** Against sorting, over fifteen powers of two: never below the true quantile, at most 1/16 above it. */
    @Test
    void quantilesAreWithinAStep() {
        SplittableRandom rng = new SplittableRandom(7);
        LatencyHistogram a = new LatencyHistogram();
        LatencyHistogram b = new LatencyHistogram();
        long[] values = new long[10_000];
        for (int i = 0; i < values.length; i++) {
            values[i] = rng.nextLong(1L << (10 + rng.nextInt(25)));
            (i % 2 == 0 ? a : b).record(values[i], 1);
        }
        a.add(b);
        Arrays.sort(values);
        for (double q : new double[] {0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1}) {
            long exact = values[(int) Math.ceil(q * values.length) - 1];
            assertThat(a.quantile(q)).isBetween(exact, exact + exact / 16 + 1);
        }
    }

    @Test
    void extremesHaveASlot() {
        LatencyHistogram h = new LatencyHistogram();
        h.record(-5, 1);
        assertThat(h.quantile(1)).isZero();
        h.record(Long.MAX_VALUE, 1);
        assertThat(h.quantile(1)).isEqualTo(Long.MAX_VALUE);
    }
}
