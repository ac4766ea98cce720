package drey.batch;

import drey.jni.NativeLibrary;
import drey.jni.NativeOperator;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What it costs to cross into the library and back: calls that do nothing; batches of rows of 120 bytes into and out of an
 * operator that echoes them, or asks a condition of ours about each and the one before; and rows of two numbers into a local
 * aggregate. Times are per batch: divide by {@code rows}.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
public class BoundaryJmh {

    private static final int BATCH_BYTES = 1 << 20;

    private static final RowType TYPE =
            rowType(
                    DataTypes.FIELD("auction", DataTypes.BIGINT()),
                    DataTypes.FIELD("bidder", DataTypes.BIGINT()),
                    DataTypes.FIELD("price", DataTypes.BIGINT()),
                    DataTypes.FIELD("quantity", DataTypes.BIGINT()),
                    DataTypes.FIELD("channel", DataTypes.STRING()),
                    DataTypes.FIELD("url", DataTypes.STRING()),
                    DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
                    DataTypes.FIELD("flags", DataTypes.INT()));

    private static RowType rowType(DataTypes.Field... fields) {
        DataType type = DataTypes.ROW(fields);
        return (RowType) type.getLogicalType();
    }

    /** An echo, and no rows. */
    @State(Scope.Thread)
    public static class Nothing {

        private RowBatchWriter writer;
        private long handle;

        @Setup(Level.Trial)
        public void open() {
            NativeLibrary.load();
            handle = RowBatchTest.openEcho(TYPE);
            writer = new RowBatchWriter(1, BATCH_BYTES);
        }

        @TearDown(Level.Trial)
        public void close() {
            NativeOperator.close(handle);
            writer.close();
        }
    }

    /** Rows for an echo, and one with a condition. */
    @State(Scope.Thread)
    public static class Rows {

        @Param({"1", "64", "1024"})
        public int rows;

        private final RowDataSerializer serializer = new RowDataSerializer(TYPE);
        private final DataOutputSerializer network = new DataOutputSerializer(BATCH_BYTES);
        private BinaryRowData[] data;
        private RowBatchWriter writer;
        private RowBatchReader reader;
        private long echo;
        private long asking;

        @Setup(Level.Trial)
        public void open() {
            NativeLibrary.load();
            data = new BinaryRowData[rows];
            for (int i = 0; i < rows; i++) {
                GenericRowData row =
                        GenericRowData.of(
                                1000L + i,
                                2000L + i,
                                12_345L,
                                3L,
                                StringData.fromString("channel-" + (1000 + i)),
                                StringData.fromString("https://example.org/" + (100_000 + i)),
                                TimestampData.fromEpochMillis(1_700_000_000_000L + i),
                                i);
                data[i] = serializer.toBinaryRow(row).copy();
            }
            echo = RowBatchTest.openEcho(TYPE);
            int arity = TYPE.getFieldCount();
            asking =
                    PairConditionTest.open(
                            TYPE, new RowPairs(arity, arity, (l, r) -> l.getLong(0) >= 0));
            writer = new RowBatchWriter(rows, BATCH_BYTES);
            reader = new RowBatchReader(arity);
        }

        @TearDown(Level.Trial)
        public void close() {
            NativeOperator.close(asking);
            NativeOperator.close(echo);
            writer.close();
            reader.close();
        }

        private void fill() {
            writer.clear();
            for (BinaryRowData row : data) {
                writer.add((byte) 0, row);
            }
        }

        private long inAndOut(long handle) {
            fill();
            NativeOperator.push(handle, 0, writer.export(), 0);
            long sum = 0;
            for (int n = poll(handle); n > 0; n = poll(handle)) {
                reader.attach(n);
                for (int i = 0; i < n; i++) {
                    sum += reader.row(i).getLong(0) + reader.source(i);
                }
            }
            return sum;
        }

        private int poll(long handle) {
            return (int) NativeOperator.poll(handle, reader.address());
        }
    }

    /** Rows of 64 keys and a number for a local aggregate that adds it up, in bundles of 4,096 rows. */
    @State(Scope.Thread)
    public static class Sums {

        private static final String SPEC =
                "{\"aggCallNeedRetractions\":[false],\"aggCalls\":[{\"argList\":[1],\"distinct\":false,"
                        + "\"filterArg\":-1,\"function\":\"SUM\",\"type\":\"BIGINT\"}],\"countStarInserted\":false,"
                        + "\"grouping\":[0],\"miniBatch\":{\"size\":4096},\"needRetraction\":false,"
                        + "\"operator\":\"localGroupAggregate\",\"version\":1}";

        @Param({"1", "64", "1024"})
        public int rows;

        private BinaryRowData[] data;
        private RowBatchWriter writer;
        private JoinedBatchReader reader;
        private long handle;

        @Setup(Level.Trial)
        public void open() {
            NativeLibrary.load();
            RowType input =
                    rowType(
                            DataTypes.FIELD("k", DataTypes.BIGINT().notNull()),
                            DataTypes.FIELD("v", DataTypes.BIGINT().notNull()));
            RowDataSerializer serializer = new RowDataSerializer(input);
            data = new BinaryRowData[rows];
            for (int i = 0; i < rows; i++) {
                data[i] = serializer.toBinaryRow(GenericRowData.of(i % 64L, (long) i)).copy();
            }
            try (RowSchema in = RowSchema.input(input);
                    RowSchema out =
                            RowSchema.joinedOutput(
                                    new RowType(input.getFields().subList(0, 1)),
                                    rowType(DataTypes.FIELD("sum", DataTypes.BIGINT())))) {
                handle =
                        NativeOperator.open(
                                SPEC,
                                new long[] {in.address()},
                                out.address(),
                                128,
                                0,
                                127,
                                64 << 20,
                                null);
            }
            writer = new RowBatchWriter(rows, BATCH_BYTES);
            reader = new JoinedBatchReader(1, 1);
        }

        @TearDown(Level.Trial)
        public void close() {
            NativeOperator.close(handle);
            writer.close();
            reader.close();
        }
    }

    @Benchmark
    public long callThatDoesNothing(Nothing nothing) {
        return NativeOperator.flush(nothing.handle);
    }

    @Benchmark
    public long emptyBatch(Nothing nothing) {
        return NativeOperator.push(nothing.handle, 0, nothing.writer.export(), 0);
    }

    @Benchmark
    public long rowsIntoABatch(Rows rows) {
        rows.fill();
        return rows.writer.rows();
    }

    @Benchmark
    public long rowsInAndOut(Rows rows) {
        return rows.inAndOut(rows.echo);
    }

    @Benchmark
    public long rowsInAndOutAndACondition(Rows rows) {
        return rows.inAndOut(rows.asking);
    }

    @Benchmark
    public long rowsInAndOutToTheNetwork(Rows rows) throws IOException {
        rows.fill();
        rows.network.clear();
        NativeOperator.push(rows.echo, 0, rows.writer.export(), 0);
        for (int n = rows.poll(rows.echo); n > 0; n = rows.poll(rows.echo)) {
            rows.reader.attach(n);
            for (int i = 0; i < n; i++) {
                rows.serializer.serialize(rows.reader.row(i), rows.network);
            }
        }
        return rows.network.length();
    }

    /** What Flink pays for the same rows without any crossing. */
    @Benchmark
    public long rowsToTheNetwork(Rows rows) throws IOException {
        rows.network.clear();
        for (BinaryRowData row : rows.data) {
            rows.serializer.serialize(row, rows.network);
        }
        return rows.network.length();
    }

    @Benchmark
    public long rowsIntoALocalAggregate(Sums sums) {
        sums.writer.clear();
        for (BinaryRowData row : sums.data) {
            sums.writer.add((byte) 0, row);
        }
        long total = 0;
        if (NativeOperator.push(sums.handle, 0, sums.writer.export(), 0) > 0) {
            int n;
            while ((n = (int) NativeOperator.poll(sums.handle, sums.reader.address())) > 0) {
                sums.reader.attach(n);
                for (int i = 0; i < n; i++) {
                    total += sums.reader.row(i).getLong(1);
                }
            }
        }
        return total;
    }
}
