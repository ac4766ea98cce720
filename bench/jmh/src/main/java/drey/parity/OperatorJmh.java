package drey.parity;

import drey.jni.NativeLibrary;
import drey.runtime.BatchOptions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.types.logical.RowType;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * An operator alone on Flink's harness, Flink's own beside the native one: time per row from an empty state on, so that growing
 * it is part of the measure. {@code make bench-operator} compares what both emit, and counts the collector's threads.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(OperatorJmh.ROWS)
@Warmup(iterations = 5)
@Measurement(iterations = 10)
@Fork(
        value = 1,
        jvmArgsAppend = {
            "-Xmx4g",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "--add-opens=java.base/java.util=ALL-UNNAMED",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "--add-opens=java.base/java.time=ALL-UNNAMED"
        })
public class OperatorJmh {

    static final int ROWS = 200_000;
    private static final int KEYS = 50_000;

    @Param({"deduplicate", "rank", "join", "aggregate"})
    public String operator;

    @Param({"stock-heap", "stock-rocksdb", "native"})
    public String engine;

    private BenchmarkInput input;
    private List<RowDataKeySelector> selectors;
    private BinaryRowData[] fresh;
    private Harness harness;

    /** Counts what is emitted and forgets it. */
    private static final class Count extends Log {

        private long rows;

        Count(RowType type) {
            super(type);
        }

        @Override
        public void collect(StreamRecord<RowData> record) {
            rows += record.getValue().getRowKind().toByteValue() + 1;
        }
    }

    @Setup(Level.Trial)
    public void makeRows() throws Exception {
        NativeLibrary.load();
        input = BenchmarkInput.of(operator, ROWS, KEYS);
        selectors = input.subject().selectors();
    }

    @Setup(Level.Iteration)
    public void open() throws Exception {
        PackedRows rows = input.rows();
        fresh = new BinaryRowData[ROWS];
        BinaryRowData[] chunk = new BinaryRowData[PackedRows.CHUNK];
        for (int i = 0, at = 0; i < rows.chunks(); i++) {
            int n = rows.unpack(i, chunk);
            System.arraycopy(chunk, 0, fresh, at, n);
            at += n;
        }
        StateBackend backend =
                engine.equals("stock-rocksdb") ? new EmbeddedRocksDBStateBackend() : null;
        Object made =
                engine.equals("native")
                        ? input.subject().ours(BatchOptions.DEFAULT)
                        : input.subject().stock();
        RowType output = input.subject().output();
        harness =
                Harness.create(
                        made,
                        selectors,
                        output,
                        new Count(output),
                        backend,
                        1L << 30,
                        Harness.Subtask.ONLY,
                        true);
        harness.start(null);
        System.gc();
    }

    @TearDown(Level.Iteration)
    public void close() throws Exception {
        harness.close();
    }

    @Benchmark
    public long row() throws Exception {
        StreamRecord<RowData> record = new StreamRecord<>(null);
        PackedRows rows = input.rows();
        for (int i = 0; i < ROWS; i++) {
            harness.processElement(rows.input(i), record.replace(fresh[i]));
            fresh[i] = null;
        }
        harness.processWatermark(0);
        return ((Count) harness.log()).rows;
    }
}
