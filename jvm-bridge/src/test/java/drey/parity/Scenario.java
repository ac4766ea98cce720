package drey.parity;

import org.apache.flink.table.data.binary.BinaryRowData;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.random.RandomGenerator;

/** What a parity run feeds to an operator, made step by step: the same steps for Flink's and for ours. */
final class Scenario implements Iterator<Scenario.Step> {

    sealed interface Step {}

    /**
     * @param timestamp the record's timestamp; null: it has none
     */
    record Row(int input, BinaryRowData row, Long timestamp) implements Step {}

    record WatermarkStep(int input, long timestamp) implements Step {}

    record Clock(long millis) implements Step {}

    /** A checkpoint that is taken and never used. */
    record Checkpoint() implements Step {}

    /** A checkpoint, the operator's end, and a new operator of another parallelism restored from it. */
    record Restart(int parallelism) implements Step {}

    /**
     * How rough a ride the generated steps are.
     *
     * @param rows how many rows there are
     * @param ttl the retention whose ends the clock jumps to; 0: none
     * @param burstsPerRestart how many bursts of rows come between two restarts, on average; 0: no restarts
     * @param burstsPerCheckpoint the same for checkpoints from which nothing is restored
     */
    record Options(long rows, long ttl, int burstsPerRestart, int burstsPerCheckpoint) {

        Options(long rows, long ttl, int burstsPerRestart) {
            this(rows, ttl, burstsPerRestart, 11);
        }

        /** A long run: snapshots of Flink's operators, which write every key, would take most of its time. */
        Options sparse() {
            return new Options(rows, ttl, 20 * burstsPerRestart, 20 * burstsPerCheckpoint);
        }
    }

    private final Options options;
    private final int inputs;
    private final Feed.Rows feed;
    private final RandomGenerator rng;
    private final Deque<Step> steps = new ArrayDeque<>();
    private final long[] watermarks;
    private long eventTime = 10_000;
    private long clock = 1_000;
    private long rows;
    private boolean ended;

    Scenario(int inputs, Feed.Rows feed, Options options, RandomGenerator rng) {
        this.inputs = inputs;
        this.feed = feed;
        this.options = options;
        this.rng = rng;
        watermarks = new long[inputs];
        forgetWatermarks();
        steps.add(new Clock(clock));
    }

    @Override
    public boolean hasNext() {
        while (steps.isEmpty() && !ended) {
            if (rows < options.rows) {
                burst();
            } else {
                for (int i = 0; i < inputs; i++) {
                    steps.add(new WatermarkStep(i, Long.MAX_VALUE));
                }
                ended = true;
            }
        }
        return !steps.isEmpty();
    }

    @Override
    public Step next() {
        return steps.remove();
    }

    /**
     * Rows in roughly ascending event time, some far too late, and then, at times, a watermark, a clock tick, a checkpoint or a
     * restart.
     */
    private void burst() {
        int burst = 1 + rng.nextInt(rng.nextInt(10) == 0 ? 400 : 40);
        for (int i = 0; i < burst && rows < options.rows; i++, rows++) {
            // Equal event times must be frequent: ties are where keep-first and keep-last differ.
            eventTime += rng.nextInt(3) == 0 ? rng.nextInt(4) : 0;
            long rowtime =
                    switch (rng.nextInt(20)) {
                        case 0 -> eventTime - rng.nextInt(200);
                        case 1, 2, 3, 4 -> eventTime - rng.nextInt(10);
                        default -> eventTime;
                    };
            Long timestamp = rng.nextInt(10) == 0 ? null : (Long) (rowtime + rng.nextInt(3));
            int input = inputs == 1 ? 0 : rng.nextInt(inputs);
            steps.add(new Row(input, feed.next(input, rowtime), timestamp));
            if (options.ttl > 0 && rng.nextInt(20) == 0) {
                clock += rng.nextInt(3);
                steps.add(new Clock(clock));
            }
        }
        if (options.burstsPerRestart > 0 && rng.nextInt(options.burstsPerRestart) == 0) {
            steps.add(new Restart(1 + rng.nextInt(3)));
            forgetWatermarks(); // not part of a snapshot
        }
        switch (rng.nextInt(11)) {
            case 0, 1, 2, 3 -> {
                int input = inputs == 1 ? 0 : rng.nextInt(inputs);
                long next = eventTime - rng.nextInt(20);
                if (next > watermarks[input]) {
                    watermarks[input] = next;
                    steps.add(new WatermarkStep(input, next));
                }
            }
            case 4, 5 -> {
                clock += 1 + rng.nextInt(50);
                steps.add(new Clock(clock));
            }
            case 6 -> {
                if (options.ttl > 0) {
                    // Exactly at, one before and one after the end of retention, as seen from the
                    // last tick.
                    clock += options.ttl - 1 + rng.nextInt(3);
                    steps.add(new Clock(clock));
                }
            }
            case 7 -> {
                if (options.burstsPerCheckpoint <= 11
                        || rng.nextInt(options.burstsPerCheckpoint) < 11) {
                    steps.add(new Checkpoint());
                }
            }
            default -> {}
        }
    }

    private void forgetWatermarks() {
        java.util.Arrays.fill(watermarks, Long.MIN_VALUE);
    }
}
