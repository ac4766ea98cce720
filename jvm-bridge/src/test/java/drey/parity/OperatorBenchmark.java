package drey.parity;

import com.sun.management.OperatingSystemMXBean;

import drey.jni.NativeLibrary;
import drey.jni.NativeOperator;
import drey.runtime.BatchOptions;

import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The operator alone, on Flink's harness: Flink's own against the native one, on the same rows, by turns: CPU time of the
 * whole process, so that what state costs the garbage collector counts.
 *
 * <p>Everything that both pay alike is out of the measure: rows are made before the clock starts, and what is emitted is folded
 * into a digest of a few nanoseconds. The digests of both engines must be equal, or the run counts for nothing.
 *
 * <p>Arguments: operator, rows, keys, pairs.
 */
public final class OperatorBenchmark {

    private static final long MEMORY = 4L << 30;
    private static final OperatingSystemMXBean CPU =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final Schema SCHEMA = new Schema(List.of(new BigIntType(), new BigIntType()));

    private final BinaryRowData[] rows;
    private final int distinctKeys;

    private OperatorBenchmark(int rowCount, int keys) throws Exception {
        Random rng = new Random(42);
        RowDataSerializer serializer = SCHEMA.serializer();
        rows = new BinaryRowData[rowCount];
        Set<RowData> seen = new HashSet<>();
        RowDataKeySelector selector = SCHEMA.selector();
        for (int i = 0; i < rowCount; i++) {
            // Event time in disorder: about a third of the rows of a key are older than one before.
            long time = 1_000_000L + i + rng.nextInt(2 * keys);
            rows[i] = serializer.toBinaryRow(SCHEMA.row(rng, keys, time)).copy();
            seen.add(((BinaryRowData) selector.getKey(rows[i])).copy());
        }
        distinctKeys = seen.size();
    }

    /** What a run took and gave. */
    private record Run(double cpuNanosPerRow, long digest, long emitted, double stateBytesPerKey) {}

    public static void main(String[] args) throws Exception {
        NativeLibrary.load();
        String operator = args[0];
        if (!operator.equals("deduplicate")) {
            throw new IllegalArgumentException(
                    "no benchmark for operator '" + operator + "', there is: deduplicate");
        }
        int rowCount = Integer.parseInt(args[1]);
        int keys = Integer.parseInt(args[2]);
        int pairs = Integer.parseInt(args[3]);
        new OperatorBenchmark(rowCount, keys).compare(pairs);
    }

    private void compare(int pairs) throws Exception {
        Deduplication dedup = new Deduplication(true, true, true, true, false, 0, false, 0);
        Supplier<Object> stock = () -> dedup.stock(SCHEMA);
        Supplier<Object> ours = () -> Runner.factory(SCHEMA, dedup, BatchOptions.DEFAULT);
        long bytes = 0;
        for (BinaryRowData row : rows) {
            bytes += row.getSizeInBytes();
        }
        System.out.printf(
                Locale.ROOT,
                "deduplicate, keep last by event time, with -U: %,d rows of %d bytes, %,d keys%n",
                rows.length,
                bytes / rows.length,
                distinctKeys);
        for (boolean rocks : new boolean[] {false, true}) {
            String name = rocks ? "RocksDB" : "heap";
            Supplier<StateBackend> backend =
                    rocks ? () -> new EmbeddedRocksDBStateBackend() : () -> null;
            int runs = rocks ? Math.min(pairs, 2) : pairs;
            run(stock, backend, Math.min(rows.length, 200_000)); // warms both up
            run(ours, () -> null, Math.min(rows.length, 200_000));
            List<Run> theirs = new ArrayList<>();
            List<Run> natives = new ArrayList<>();
            for (int i = 0; i < runs; i++) {
                boolean stockFirst = i % 2 == 0;
                if (stockFirst) {
                    theirs.add(run(stock, backend, rows.length));
                }
                natives.add(run(ours, () -> null, rows.length));
                if (!stockFirst) {
                    theirs.add(run(stock, backend, rows.length));
                }
            }
            report(name, theirs, natives);
        }
    }

    private static void report(String backend, List<Run> theirs, List<Run> natives) {
        double[] ratios = new double[theirs.size()];
        for (int i = 0; i < ratios.length; i++) {
            if (theirs.get(i).digest != natives.get(i).digest
                    || theirs.get(i).emitted != natives.get(i).emitted) {
                throw new IllegalStateException(
                        "INVALID: Flink emitted "
                                + theirs.get(i)
                                + ", the native operator "
                                + natives.get(i));
            }
            ratios[i] = theirs.get(i).cpuNanosPerRow / natives.get(i).cpuNanosPerRow;
        }
        Arrays.sort(ratios);
        System.out.printf(
                Locale.ROOT,
                "%-8s state bytes per key: stock %.0f%s, native %.0f%n",
                backend,
                theirs.get(0).stateBytesPerKey,
                backend.equals("RocksDB") ? " in a full checkpoint" : "",
                natives.get(0).stateBytesPerKey);
        System.out.printf(
                Locale.ROOT,
                "%-8s native/stock %.2fx (%.2f to %.2f in %d pairs), rows per CPU second: stock %,.0f, native"
                        + " %,.0f%n",
                backend,
                median(ratios),
                ratios[0],
                ratios[ratios.length - 1],
                ratios.length,
                1e9 / median(theirs),
                1e9 / median(natives));
    }

    private static double median(List<Run> runs) {
        return median(runs.stream().mapToDouble(Run::cpuNanosPerRow).sorted().toArray());
    }

    private static double median(double[] sorted) {
        return sorted[sorted.length / 2];
    }

    private Run run(Supplier<Object> operator, Supplier<StateBackend> backend, int count)
            throws Exception {
        // Flink hands a keyed operator rows of their own, fresh from the network, and forgets them.
        BinaryRowData[] fresh = new BinaryRowData[count];
        long heapBefore = usedHeap();
        for (int i = 0; i < count; i++) {
            fresh[i] = rows[i].copy();
        }
        StateBackend used = backend.get();
        Digest digest = new Digest();
        try (Harness harness =
                Harness.create(
                        operator.get(),
                        List.of(SCHEMA.selector()),
                        SCHEMA.type(),
                        digest,
                        used,
                        MEMORY,
                        Harness.Subtask.ONLY,
                        true)) {
            harness.start(null);
            long start = CPU.getProcessCpuTime();
            StreamRecord<RowData> record = new StreamRecord<>(null);
            for (int i = 0; i < count; i++) {
                harness.processElement(record.replace(fresh[i]));
                fresh[i] = null;
            }
            harness.processWatermark(0);
            long took = CPU.getProcessCpuTime() - start;
            double stateBytes =
                    (used == null ? stateBytes(heapBefore) : harness.checkpoint(1).getStateSize())
                            / distinctKeys;
            return new Run((double) took / count, digest.value, digest.rows, stateBytes);
        }
    }

    /**
     * Bytes of state in memory: of the library by its own count, of the heap backend by what the heap grew. RocksDB's are on disk
     * and compacted at its leisure; its full checkpoint stands for them.
     */
    private static double stateBytes(long heapBefore) {
        Matcher handle = Pattern.compile("handle 0x([0-9a-f]+)").matcher(NativeOperator.live());
        return handle.find()
                ? number(
                        NativeOperator.stats(Long.parseUnsignedLong(handle.group(1), 16)),
                        "state.bytes")
                : usedHeap() - heapBefore;
    }

    private static long number(String json, String name) {
        Matcher m = Pattern.compile("\"" + Pattern.quote(name) + "\":(\\d+)").matcher(json);
        if (!m.find()) {
            throw new IllegalStateException("no " + name + " in " + json);
        }
        return Long.parseLong(m.group(1));
    }

    private static long usedHeap() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** Folds what is emitted into one number that depends on every row, its kind and the order. */
    private static final class Digest extends Log {
        private long value;
        private long rows;

        Digest() {
            super(SCHEMA);
        }

        @Override
        public void collect(StreamRecord<RowData> record) {
            BinaryRowData row = (BinaryRowData) record.getValue();
            rows++;
            value =
                    (value ^ row.getRowKind().toByteValue() ^ row.getLong(SCHEMA.rowtimeIndex()))
                            * 0x9E3779B97F4A7C15L;
            value = Long.rotateLeft(value, 29) + row.getSizeInBytes();
        }
    }
}
