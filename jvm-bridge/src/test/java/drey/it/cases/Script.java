package drey.it.cases;

import drey.it.SteppingSource;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

import java.io.Serializable;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Emits rows and watermarks of a case in order, in one subtask. All tables of a case are one stream, told apart by the column
 * {@code side}; between two of its steps a checkpoint may have to complete, which means that all operators are done with
 * what came before.
 */
final class Script extends SteppingSource<Row> {

    private static final long serialVersionUID = 1L;

    static final LocalDateTime START = LocalDateTime.of(2024, 1, 1, 0, 0);
    static final TypeInformation<Row> TYPE =
            Types.ROW_NAMED(
                    new String[] {"side", "k", "s", "v", "ts", "tz"},
                    Types.STRING,
                    Types.INT,
                    Types.STRING,
                    Types.INT,
                    Types.LOCAL_DATE_TIME,
                    Types.INSTANT);

    /** How many rows have reached the sink of a run. */
    static final Map<String, Integer> SEEN = new ConcurrentHashMap<>();

    enum What {
        ROWS,
        WATERMARK,
        CHECKPOINT,
        FAILURE,
        /** Waits until rows have come out, without anything else going in. */
        OUTPUT
    }

    /**
     * @param number how many rows, or the watermark
     */
    record Step(What what, RowKind kind, String side, Integer k, String s, Integer v, long number)
            implements Serializable {

        Step times(int rows) {
            return new Step(what, kind, side, k, s, v, rows);
        }
    }

    /** A row whose event time is {@code seconds} after the start. */
    record Timed(Step step, long millis) implements Serializable {}

    static Timed row(RowKind kind, String side, Integer k, String s, Integer v, double seconds) {
        return new Timed(new Step(What.ROWS, kind, side, k, s, v, 1), Math.round(seconds * 1000));
    }

    static Timed in(String side, Integer k, String s, Integer v, double seconds) {
        return row(RowKind.INSERT, side, k, s, v, seconds);
    }

    static Timed out(String side, Integer k, String s, Integer v) {
        return row(RowKind.DELETE, side, k, s, v, 0);
    }

    static Timed watermark(long seconds) {
        return step(What.WATERMARK, seconds * 1000);
    }

    static Timed checkpoint() {
        return step(What.CHECKPOINT, 0);
    }

    static Timed failure() {
        return step(What.FAILURE, 0);
    }

    static Timed output(int rows) {
        return step(What.OUTPUT, rows);
    }

    /** Rows that differ in {@code v}, which counts from 0. */
    static Timed rows(int number, String side, Integer k, String s) {
        return new Timed(new Step(What.ROWS, RowKind.INSERT, side, k, s, null, 1).times(number), 0);
    }

    private static Timed step(What what, long number) {
        return new Timed(new Step(what, null, null, null, null, null, number), 0);
    }

    private final List<Timed> steps;

    Script(String run, List<Timed> steps) {
        super(run);
        this.steps = List.copyOf(steps);
    }

    @Override
    public void run(SourceContext<Row> context) throws Exception {
        long millis = START.toInstant(ZoneOffset.UTC).toEpochMilli();
        while (next < steps.size() && !canceled()) {
            Step step = steps.get(next).step;
            switch (step.what) {
                case ROWS -> {
                    synchronized (context.getCheckpointLock()) {
                        for (int i = 0; i < step.number; i++) {
                            context.collect(row(step, i, steps.get(next).millis));
                        }
                        next++;
                    }
                }
                case WATERMARK -> {
                    synchronized (context.getCheckpointLock()) {
                        context.emitWatermark(new Watermark(millis + step.number));
                        next++;
                    }
                }
                case CHECKPOINT -> {
                    synchronized (context.getCheckpointLock()) {
                        next++;
                    }
                    awaitCheckpoint(next);
                }
                case FAILURE -> {
                    synchronized (context.getCheckpointLock()) {
                        next++;
                    }
                    failOnce();
                }
                case OUTPUT -> {
                    await(() -> SEEN.getOrDefault(run, 0) >= step.number);
                    next++;
                }
            }
        }
    }

    private static Row row(Step step, int i, long millis) {
        LocalDateTime time = START.plusNanos(millis * 1_000_000);
        Instant instant = time.toInstant(ZoneOffset.UTC);
        Integer v = step.number > 1 ? (Integer) i : step.v;
        return Row.ofKind(step.kind, step.side, step.k, step.s, v, time, instant);
    }
}
