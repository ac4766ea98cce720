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
 * What it costs to cross into the library and back: calls that do nothing, and batches of rows of 120 bytes into and out of an
 * operator that echoes them. Times are per batch: divide by {@code rows}.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--add-opens=java.base/java.nio=ALL-UNNAMED")
public class BoundaryJmh {

    private static final RowType TYPE =
            (RowType)
                    DataTypes.ROW(
                                    DataTypes.FIELD("auction", DataTypes.BIGINT()),
                                    DataTypes.FIELD("bidder", DataTypes.BIGINT()),
                                    DataTypes.FIELD("price", DataTypes.BIGINT()),
                                    DataTypes.FIELD("quantity", DataTypes.BIGINT()),
                                    DataTypes.FIELD("channel", DataTypes.STRING()),
                                    DataTypes.FIELD("url", DataTypes.STRING()),
                                    DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
                                    DataTypes.FIELD("flags", DataTypes.INT()))
                            .getLogicalType();

    @Param({"1", "64", "1024"})
    public int rows;

    private RowDataSerializer serializer;
    private BinaryRowData[] data;
    private RowBatchWriter writer;
    private RowBatchReader reader;
    private DataOutputSerializer network;
    private long handle;

    @Setup(Level.Trial)
    public void open() throws IOException {
        NativeLibrary.load();
        serializer = new RowDataSerializer(TYPE);
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
        handle = RowBatchTest.openEcho(TYPE);
        writer = new RowBatchWriter(rows, 1 << 20);
        reader = new RowBatchReader(TYPE.getFieldCount());
        network = new DataOutputSerializer(1 << 20);
    }

    @TearDown(Level.Trial)
    public void close() {
        NativeOperator.close(handle);
        writer.close();
        reader.close();
    }

    @Benchmark
    public long callThatDoesNothing() {
        return NativeOperator.flush(handle);
    }

    @Benchmark
    public long rowsIntoABatch() {
        fill();
        return writer.rows();
    }

    @Benchmark
    public long rowsInAndOut() {
        fill();
        NativeOperator.push(handle, 0, writer.export(), 0);
        long sum = 0;
        for (int n = poll(); n > 0; n = poll()) {
            reader.attach(n);
            for (int i = 0; i < n; i++) {
                sum += reader.row(i).getLong(0) + reader.source(i);
            }
        }
        return sum;
    }

    @Benchmark
    public long rowsInAndOutToTheNetwork() throws IOException {
        fill();
        network.clear();
        NativeOperator.push(handle, 0, writer.export(), 0);
        for (int n = poll(); n > 0; n = poll()) {
            reader.attach(n);
            for (int i = 0; i < n; i++) {
                serializer.serialize(reader.row(i), network);
            }
        }
        return network.length();
    }

    /** What Flink pays for the same rows without any crossing. */
    @Benchmark
    public long rowsToTheNetwork() throws IOException {
        network.clear();
        for (BinaryRowData row : data) {
            serializer.serialize(row, network);
        }
        return network.length();
    }

    private void fill() {
        writer.clear();
        for (BinaryRowData row : data) {
            writer.add((byte) 0, row);
        }
    }

    private int poll() {
        return (int) NativeOperator.poll(handle, reader.address());
    }
}
