package drey.parity;

import com.sun.management.OperatingSystemMXBean;

import drey.jni.NativeLibrary;
import drey.jni.NativeOperator;
import drey.runtime.BatchOptions;

import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.RowType;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * The operator alone, on Flink's harness: Flink's own against the native one, on the same rows, by turns: CPU time of the
 * whole process, so that what state costs the garbage collector counts.
 *
 * <p>Everything that both pay alike is out of the measure: the clock stops while rows are made, and what is emitted is folded
 * into a digest of a few nanoseconds. The digests of both engines must be equal, or the run counts for nothing.
 *
 * <p>Arguments: operator, rows, keys, pairs, and a file to append the figures to, for the report on Nexmark.
 */
public final class OperatorBenchmark {

    private static final long MEMORY = 4L << 30;

    /** Flink's default is off: it copies what it has to, in front of the next operator. */
    private static final boolean OBJECT_REUSE = Boolean.getBoolean("drey.bench.objectReuse");

    private static final long FACTOR = 0x9E3779B97F4A7C15L;
    private static final OperatingSystemMXBean CPU =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final BenchmarkInput input;
    private final List<RowDataKeySelector> selectors;
    private final int distinctKeys;

    private OperatorBenchmark(BenchmarkInput input) throws Exception {
        this.input = input;
        selectors = input.subject().selectors();
        Set<RowData> seen = new HashSet<>();
        PackedRows rows = input.rows();
        BinaryRowData[] fresh = new BinaryRowData[PackedRows.CHUNK];
        for (int chunk = 0, at = 0; chunk < rows.chunks(); chunk++) {
            int n = rows.unpack(chunk, fresh);
            for (int i = 0; i < n; i++, at++) {
                seen.add(((BinaryRowData) selectors.get(rows.input(at)).getKey(fresh[i])).copy());
            }
        }
        distinctKeys = seen.size();
    }

    /** What a run took and gave. */
    private record Run(double cpuNanosPerRow, long digest, long emitted, double stateBytesPerKey) {}

    public static void main(String[] args) throws Exception {
        NativeLibrary.load();
        int rowCount = Integer.parseInt(args[1]);
        int keys = Integer.parseInt(args[2]);
        int pairs = Integer.parseInt(args[3]);
        Path csv = args.length > 4 ? Path.of(args[4]) : null;
        new OperatorBenchmark(BenchmarkInput.of(args[0], rowCount, keys))
                .compare(args[0], keys, pairs, csv);
    }

    private void compare(String operator, int keys, int pairs, Path csv) throws Exception {
        Subject subject = input.subject();
        PackedRows rows = input.rows();
        Supplier<Object> stock = subject::stock;
        Supplier<Object> ours = () -> subject.ours(BatchOptions.DEFAULT);
        System.out.printf(
                Locale.ROOT,
                "%s, %s: %,d rows of %d bytes, %,d keys; object reuse %s%n",
                operator,
                input.what(),
                rows.size(),
                rows.bytes() / rows.size(),
                distinctKeys,
                OBJECT_REUSE ? "on" : "off");
        for (boolean rocks : new boolean[] {false, true}) {
            String name = rocks ? "RocksDB" : "heap";
            Supplier<StateBackend> backend =
                    rocks ? () -> new EmbeddedRocksDBStateBackend() : () -> null;
            int runs = rocks ? Math.min(pairs, 2) : pairs;
            int count = rocks ? input.onDisk() : rows.size();
            if (count == 0) {
                continue;
            }
            if (count < rows.size()) {
                System.out.printf(Locale.ROOT, "%-8s the first %,d rows of them%n", name, count);
            }
            run(stock, backend, Math.min(count, 200_000)); // warms both up
            run(ours, () -> null, Math.min(count, 200_000));
            List<Run> theirs = new ArrayList<>();
            List<Run> natives = new ArrayList<>();
            for (int i = 0; i < runs; i++) {
                boolean stockFirst = i % 2 == 0;
                if (stockFirst) {
                    theirs.add(run(stock, backend, count));
                }
                natives.add(run(ours, () -> null, count));
                if (!stockFirst) {
                    theirs.add(run(stock, backend, count));
                }
            }
            report(name, theirs, natives);
            if (csv != null) {
                String what = "%s,%s,%d,%d,".formatted(operator, name, count, keys);
                append(csv, what + "stock", theirs);
                append(csv, what + "drey", natives);
            }
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

    /** The columns are those of {@code KeysLine} in nexmark/. */
    private static void append(Path csv, String what, List<Run> runs) throws IOException {
        String header =
                Files.exists(csv)
                        ? ""
                        : "operator,backend,rows,keys,engine,cpu_ns_per_row,state_bytes_per_key\n";
        Files.createDirectories(csv.toAbsolutePath().getParent());
        String line =
                String.format(
                        Locale.ROOT,
                        "%s,%.4f,%.4f%n",
                        what,
                        median(runs),
                        runs.get(0).stateBytesPerKey);
        Files.writeString(csv, header + line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static double median(List<Run> runs) {
        return median(runs.stream().mapToDouble(Run::cpuNanosPerRow).sorted().toArray());
    }

    private static double median(double[] sorted) {
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    private Run run(Supplier<Object> operator, Supplier<StateBackend> backend, int count)
            throws Exception {
        PackedRows rows = input.rows();
        BinaryRowData[] fresh = new BinaryRowData[PackedRows.CHUNK];
        long heapBefore = usedHeap();
        StateBackend used = backend.get();
        Digest digest = new Digest(input.subject());
        try (Harness harness =
                Harness.create(
                        operator.get(),
                        selectors,
                        input.subject().output(),
                        digest,
                        used,
                        MEMORY,
                        Harness.Subtask.ONLY,
                        OBJECT_REUSE)) {
            // The default one takes 5 MB.
            harness.setCheckpointStorage(new JobManagerCheckpointStorage(Integer.MAX_VALUE));
            harness.start(null);
            // What was before has left something to the collector.
            System.gc();
            long took = 0;
            StreamRecord<RowData> record = new StreamRecord<>(null);
            for (int chunk = 0, at = 0; at < count; chunk++) {
                // Flink hands a keyed operator rows of their own, fresh from the network, and
                // forgets them.
                int n = Math.min(rows.unpack(chunk, fresh), count - at);
                long start = CPU.getProcessCpuTime();
                for (int i = 0; i < n; i++, at++) {
                    harness.processElement(rows.input(at), record.replace(fresh[i]));
                }
                if (at == count) {
                    harness.processWatermark(0);
                }
                took += CPU.getProcessCpuTime() - start;
            }
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

    /**
     * Folds what is emitted into one number that depends on every row, its kind, and the order where Flink determines it. It looks
     * at the columns of 64 bits and at the others' being there.
     */
    private static final class Digest extends Log {

        private final int[] longs;
        private final boolean ordered;
        private long value;
        private long rows;

        Digest(Subject subject) {
            super(subject.output());
            RowType type = subject.output();
            longs =
                    IntStream.range(0, type.getFieldCount())
                            .filter(
                                    i ->
                                            type.getTypeAt(i).is(LogicalTypeRoot.BIGINT)
                                                    // A timestamp of milliseconds is its number.
                                                    || type.getFieldNames().get(i).equals("rt"))
                            .toArray();
            ordered = subject.identity() == Subject.Identity.SEQUENCE;
        }

        @Override
        public void collect(StreamRecord<RowData> record) {
            RowData row = record.getValue();
            rows++;
            long hash = row.getRowKind().toByteValue();
            for (int i : longs) {
                hash = (hash ^ (row.isNullAt(i) ? 0x5bd1e995 : row.getLong(i))) * FACTOR;
                hash = Long.rotateLeft(hash, 29);
            }
            value = ordered ? (value ^ hash) * FACTOR : value + hash * FACTOR;
        }
    }
}
