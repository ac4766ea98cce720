package drey.nexmark.measure;

import static org.assertj.core.api.Assertions.assertThat;

import drey.nexmark.generator.GeneratorConfig;
import org.junit.jupiter.api.Test;

class LatencyTest {

    @Test
    void quantilesAreRightToASixteenth() {
        Latency latency = new Latency();
        assertThat(latency.quantile(0.5)).isZero();
        for (long i = 1; i <= 100_000; i++) {
            latency.add(i * 1_000);
        }
        assertThat(latency.quantile(0.5)).isBetween(50_000_000L, 53_200_000L);
        assertThat(latency.quantile(0.99)).isBetween(99_000_000L, 105_200_000L);
        Latency two = new Latency();
        two.add(1);
        two.add(Long.MAX_VALUE);
        two.add(latency);
        assertThat(two.quantile(1)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void aWatermarkAsksForTheEventThatCausedIt() {
        GeneratorConfig config = GeneratorConfig.of(1, 100_000, 10_000);
        EventClock clock = new EventClock(config);
        long base = config.baseTime();
        clock.emitting(0);
        long first = System.nanoTime();
        clock.emitting(6_400);
        long now = System.nanoTime();
        // Event 6,399 is of millisecond 639, event 6,400 of 640; watermarks are four seconds
        // behind.
        assertThat(clock.since(base + 639 - 4_000, now)).isGreaterThanOrEqualTo(now - first);
        assertThat(clock.since(base + 640 - 4_000, now)).isBetween(0L, now - first);
        assertThat(clock.since(base - 4_001, now)).isEqualTo(-1);
        assertThat(clock.since(base + 10_000 - 4_000, now)).isEqualTo(-1);
        assertThat(clock.since(Long.MAX_VALUE, now)).isEqualTo(-1);
    }
}
