package drey.parity;

import org.apache.flink.table.data.binary.BinaryRowData;

import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** What a parity run feeds to an operator: the same steps for Flink's and for ours. */
final class Scenario {

    sealed interface Step {}

    /**
     * @param timestamp the record's timestamp; null: it has none
     */
    record Row(BinaryRowData row, Long timestamp) implements Step {}

    record WatermarkStep(long timestamp) implements Step {}

    record Clock(long millis) implements Step {}

    /** A checkpoint that is taken and never used. */
    record Checkpoint() implements Step {}

    /** A checkpoint, the operator's end, and a new operator of another parallelism restored from it. */
    record Restart(int parallelism) implements Step {}

    final Schema schema;
    final List<Step> steps = new ArrayList<>();

    Scenario(Schema schema) {
        this.schema = schema;
    }

    /**
     * How rough a ride the generated steps are.
     *
     * @param burstsPerRestart how many bursts of rows come between two restarts, on average; 0: no restarts
     * @param rescale whether a restart changes the parallelism
     */
    record Options(
            int rows, int keySpace, boolean ttlJumps, int burstsPerRestart, boolean rescale) {}

    /**
     * Rows in roughly ascending event time, some far too late, in bursts between which watermarks, clock ticks,
     * checkpoints and restarts happen.
     */
    static Scenario random(Schema schema, Options options, RandomGenerator rng, long ttl) {
        Scenario s = new Scenario(schema);
        long eventTime = 10_000;
        long watermark = Long.MIN_VALUE;
        long clock = 1_000;
        s.steps.add(new Clock(clock));
        int rows = 0;
        while (rows < options.rows) {
            int burst = 1 + rng.nextInt(rng.nextInt(10) == 0 ? 400 : 40);
            for (int i = 0; i < burst && rows < options.rows; i++, rows++) {
                // Equal event times must be frequent: ties are where keep-first and keep-last
                // differ.
                eventTime += rng.nextInt(3) == 0 ? rng.nextInt(4) : 0;
                long rowtime =
                        switch (rng.nextInt(20)) {
                            case 0 -> eventTime - rng.nextInt(200);
                            case 1, 2, 3, 4 -> eventTime - rng.nextInt(10);
                            default -> eventTime;
                        };
                Long timestamp = rng.nextInt(10) == 0 ? null : (Long) (rowtime + rng.nextInt(3));
                s.steps.add(
                        new Row(
                                schema.binary(schema.row(rng, options.keySpace, rowtime)),
                                timestamp));
                if (options.ttlJumps && rng.nextInt(20) == 0) {
                    clock += rng.nextInt(3);
                    s.steps.add(new Clock(clock));
                }
            }
            if (options.burstsPerRestart > 0 && rng.nextInt(options.burstsPerRestart) == 0) {
                s.steps.add(new Restart(options.rescale ? 1 + rng.nextInt(3) : 1));
                watermark = Long.MIN_VALUE; // not part of a snapshot
            }
            switch (rng.nextInt(11)) {
                case 0, 1, 2, 3 -> {
                    long next = eventTime - rng.nextInt(20);
                    if (next > watermark) {
                        watermark = next;
                        s.steps.add(new WatermarkStep(watermark));
                    }
                }
                case 4, 5 -> {
                    clock += 1 + rng.nextInt(50);
                    s.steps.add(new Clock(clock));
                }
                case 6 -> {
                    if (options.ttlJumps) {
                        // Exactly at, one before and one after the end of retention, as seen from
                        // the last tick.
                        clock += ttl - 1 + rng.nextInt(3);
                        s.steps.add(new Clock(clock));
                    }
                }
                case 7 -> s.steps.add(new Checkpoint());
                default -> {}
            }
        }
        s.steps.add(new WatermarkStep(Long.MAX_VALUE));
        return s;
    }
}
