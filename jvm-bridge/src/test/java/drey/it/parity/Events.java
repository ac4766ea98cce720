package drey.it.parity;

import drey.it.SteppingSource;

import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericArrayData;
import org.apache.flink.table.data.GenericMapData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.types.logical.ArrayType;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.BooleanType;
import org.apache.flink.table.types.logical.CharType;
import org.apache.flink.table.types.logical.DateType;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.DoubleType;
import org.apache.flink.table.types.logical.FloatType;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.MapType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.SmallIntType;
import org.apache.flink.table.types.logical.TimeType;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.TinyIntType;
import org.apache.flink.table.types.logical.VarBinaryType;
import org.apache.flink.table.types.logical.VarCharType;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Random;

/**
 * A bounded stream of rows with a column of nearly every type, the same for the same seed. It runs as one subtask and emits
 * its own watermarks, so rows and watermarks reach an operator in one fixed order and the output of a key is fixed too.
 *
 * <p>Asked to fail, it waits at a third and at two thirds of its rows for a checkpoint, throws once a little after the second,
 * and replays from there.
 */
final class Events extends SteppingSource<RowData> {

    private static final long serialVersionUID = 1L;

    /** Name and type of each column. {@code ts} is the rowtime, {@code kn} a key that is never NULL. */
    static final RowType TYPE =
            RowType.of(
                    new LogicalType[] {
                        new BigIntType(),
                        new IntType(),
                        new VarCharType(VarCharType.MAX_LENGTH),
                        new CharType(3),
                        new DecimalType(10, 2),
                        new DecimalType(30, 4),
                        new TimestampType(3),
                        new TimestampType(6),
                        new DateType(),
                        new TimeType(0),
                        new BooleanType(),
                        new TinyIntType(),
                        new SmallIntType(),
                        new FloatType(),
                        new DoubleType(),
                        new VarBinaryType(VarBinaryType.MAX_LENGTH),
                        RowType.of(
                                new LogicalType[] {new IntType(), new VarCharType(20)},
                                new String[] {"x", "y"}),
                        new ArrayType(new IntType()),
                        new MapType(new VarCharType(10), new IntType()),
                        new LocalZonedTimestampType(3),
                        new IntType(false)
                    },
                    new String[] {
                        "id", "k", "s", "c", "d", "dd", "t3", "t6", "dt", "tm", "bo", "ti", "si",
                        "fl", "db", "by", "r", "arr", "m", "ts", "kn"
                    });

    private static final int ROWS_PER_WATERMARK = 10;

    /** Rows are out of order by up to this many milliseconds; the watermark lags by half, so some are late. */
    private static final int DISORDER = 400;

    private final int rows;
    private final long seed;
    private final boolean fails;

    /**
     * @param run names this execution, so that its failure is remembered over the restart
     * @param fails wait for checkpoints on the way, throw once after them
     */
    Events(String run, int rows, long seed, boolean fails) {
        super(run);
        this.rows = rows;
        this.seed = seed;
        this.fails = fails;
    }

    @Override
    public void run(SourceContext<RowData> context) throws Exception {
        // After a restart operators know no watermark: tell them where they were.
        if (next >= ROWS_PER_WATERMARK) {
            context.emitWatermark(watermark(next - next % ROWS_PER_WATERMARK));
        }
        while (next < rows && !canceled()) {
            synchronized (context.getCheckpointLock()) {
                RowData row = row(seed, next);
                context.collectWithTimestamp(row, timestamp(seed, next));
                next++;
                if (next % ROWS_PER_WATERMARK == 0) {
                    context.emitWatermark(watermark(next));
                }
            }
            if (fails && (next == rows / 3 || next == 2 * rows / 3)) {
                awaitCheckpoint(next);
            }
            if (fails && next == 2 * rows / 3 + 37) {
                failOnce();
            }
        }
    }

    static long timestamp(long seed, int i) {
        return 1_700_000_000_000L + i * 20L - new Random(seed * 31 + i).nextInt(DISORDER);
    }

    private static Watermark watermark(int position) {
        return new Watermark(1_700_000_000_000L + position * 20L - DISORDER / 2);
    }

    static RowData row(long seed, int i) {
        Random rng = new Random(seed * 1_000_003 + i);
        GenericRowData row = new GenericRowData(TYPE.getFieldCount());
        row.setField(0, (long) i);
        row.setField(1, orNull(rng, rng.nextInt(60) - 30));
        row.setField(2, orNull(rng, StringData.fromString(TEXTS[rng.nextInt(TEXTS.length)])));
        row.setField(3, orNull(rng, StringData.fromString(String.format("%03d", rng.nextInt(40)))));
        row.setField(
                4,
                orNull(
                        rng,
                        DecimalData.fromBigDecimal(
                                BigDecimal.valueOf(rng.nextInt(80) - 40, 1), 10, 2)));
        row.setField(
                5,
                orNull(
                        rng,
                        DecimalData.fromBigDecimal(
                                new BigDecimal("12345678901234567890.1234")
                                        .multiply(BigDecimal.valueOf(rng.nextInt(50) - 25)),
                                30,
                                4)));
        row.setField(
                6, orNull(rng, TimestampData.fromEpochMillis(rng.nextInt(50) * 1000L - 20_000)));
        row.setField(
                7,
                orNull(
                        rng,
                        TimestampData.fromEpochMillis(
                                rng.nextInt(7) * 1000L, rng.nextInt(7) * 1000)));
        row.setField(8, orNull(rng, rng.nextInt(40) - 20));
        row.setField(9, orNull(rng, rng.nextInt(40) * 1000));
        row.setField(10, orNull(rng, rng.nextBoolean()));
        row.setField(11, orNull(rng, (byte) rng.nextInt(50)));
        row.setField(12, orNull(rng, (short) (rng.nextInt(50) - 25)));
        row.setField(13, orNull(rng, FLOATS[rng.nextInt(FLOATS.length)]));
        row.setField(14, orNull(rng, DOUBLES[rng.nextInt(DOUBLES.length)]));
        row.setField(
                15, orNull(rng, TEXTS[rng.nextInt(TEXTS.length)].getBytes(StandardCharsets.UTF_8)));
        GenericRowData nested =
                GenericRowData.of(
                        orNull(rng, rng.nextInt(5)),
                        orNull(rng, StringData.fromString("n" + rng.nextInt(5))));
        row.setField(16, orNull(rng, nested));
        row.setField(
                17, orNull(rng, new GenericArrayData(new Integer[] {rng.nextInt(9), null, i % 3})));
        row.setField(18, orNull(rng, new GenericMapData(Map.of(StringData.fromString("a"), i))));
        row.setField(19, TimestampData.fromEpochMillis(timestamp(seed, i)));
        row.setField(20, rng.nextInt(60) - 30);
        return row;
    }

    /** Around the eight bytes that a string may have to lie inside a row's fixed part, and not only ASCII. */
    private static final String[] TEXTS = {
        "",
        "a",
        "b",
        "seven77",
        "eight888",
        "nine 9999",
        "ä",
        "äöüß",
        "日本語",
        "🦉",
        "a\0b",
        "a rather longer text: ".repeat(4)
    };

    private static final Float[] FLOATS = {
        0f, -0f, 1.5f, -2.25f, Float.NaN, Float.POSITIVE_INFINITY, Float.MIN_VALUE
    };

    private static final Double[] DOUBLES = {
        0.0, -0.0, 1.5, -2.25, Double.NaN, Double.NEGATIVE_INFINITY, Double.MAX_VALUE, 1e-300
    };

    private static <T> T orNull(Random rng, T value) {
        return rng.nextInt(20) == 0 ? null : value;
    }
}
