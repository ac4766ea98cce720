package drey.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.jni.NativeException;
import drey.jni.NativeOperator;

import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.ToLongFunction;

class RowBatchTest extends EchoTest {

    static final String ECHO = "{\"operator\":\"echo\",\"version\":1}";

    static long openEcho(RowType type) {
        try (RowSchema in = RowSchema.input(type);
                RowSchema out = RowSchema.output(type)) {
            return NativeOperator.open(
                    ECHO, new long[] {in.address()}, out.address(), 128, 0, 127, 1 << 20, null);
        }
    }

    /** Pushes the rows and returns what comes back, as (kind, source, row) text. */
    private static List<String> roundTrip(
            long handle, RowBatchWriter writer, RowBatchReader reader) {
        long pending = NativeOperator.push(handle, 0, writer.export(), 0);
        List<String> rows = new ArrayList<>();
        int n;
        while ((n = (int) NativeOperator.poll(handle, reader.address())) > 0) {
            reader.attach(n);
            for (int i = 0; i < n; i++) {
                RowData row = reader.row(i);
                rows.add(
                        row.getRowKind().shortString()
                                + reader.source(i)
                                + " "
                                + row.getLong(0)
                                + " "
                                + row.getString(1));
            }
        }
        assertThat((long) rows.size()).isEqualTo(pending);
        writer.clear();
        return rows;
    }

    @Test
    void kindsRowsAndOrderSurvive() {
        long handle = openEcho(TYPE);
        try (RowBatchWriter writer = new RowBatchWriter(4, 1 << 20);
                RowBatchReader reader = new RowBatchReader(2)) {
            for (int round = 0; round < 3; round++) {
                // The kind given counts, not the row's own.
                writer.add((byte) 0, binary(1, "Alice"));
                writer.add((byte) 1, binary(2, "a name that does not fit into eight bytes"));
                writer.add((byte) 2, binary(3, ""));
                writer.add((byte) 3, binary(4, "žluťoučký \uD83D\uDE00"));
                assertThat(writer.rows()).isEqualTo(4);
                assertThatThrownBy(() -> writer.add((byte) 0, binary(5, "")))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("full");
                assertThat(roundTrip(handle, writer, reader))
                        .containsExactly(
                                "+I0 1 Alice",
                                "-U1 2 a name that does not fit into eight bytes",
                                "+U2 3 ",
                                "-D3 4 žluťoučký \uD83D\uDE00");
                assertThat(writer.rows()).isZero();
                assertThat(roundTrip(handle, writer, reader)).isEmpty();
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** Rows of a copied batch are objects of their own and stay as they were. */
    @Test
    void rowsOfACopiedBatchLast() {
        long handle = openEcho(TYPE);
        try (RowBatchWriter writer = new RowBatchWriter(4, 1 << 20);
                RowBatchReader reader = new RowBatchReader(2)) {
            List<RowData> kept = new ArrayList<>();
            for (int round = 0; round < 20; round++) {
                writer.add((byte) (round % 4), binary(round, "a name of some length " + round));
                NativeOperator.push(handle, 0, writer.export(), 0);
                NativeOperator.poll(handle, reader.address());
                reader.attachCopy(1);
                kept.add(reader.asFlinks(0));
                assertThat(NativeOperator.poll(handle, reader.address())).isZero();
                writer.clear();
            }
            for (int round = 0; round < 20; round++) {
                RowData row = kept.get(round);
                assertThat(row.getRowKind().toByteValue()).isEqualTo((byte) (round % 4));
                assertThat(row.getLong(0)).isEqualTo(round);
                assertThat(row.getString(1).toString()).isEqualTo("a name of some length " + round);
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** Rows on the heap, off it, at an offset, and across segments are the same rows. */
    @Test
    void rowsMayLieAnywhere() {
        long handle = openEcho(TYPE);
        BinaryRowData row = binary(7, "a name that is long enough to be cut into several segments");
        byte[] bytes = row.getSegments()[0].getArray();
        int size = row.getSizeInBytes();
        try (RowBatchWriter writer = new RowBatchWriter(100, 64);
                RowBatchReader reader = new RowBatchReader(2)) {
            List<String> expected = new ArrayList<>();
            for (boolean offHeap : new boolean[] {false, true}) {
                for (int offset : new int[] {0, 8, 40}) {
                    for (int segmentSize : new int[] {16, 32, 64, 1024}) {
                        // The fixed part of a row is never split: BinaryRowData reads it from the
                        // first segment.
                        if (segmentSize - offset % segmentSize < 24) {
                            continue;
                        }
                        MemorySegment[] segments =
                                new MemorySegment[(offset + size + segmentSize - 1) / segmentSize];
                        for (int i = 0; i < segments.length; i++) {
                            segments[i] =
                                    offHeap
                                            ? MemorySegmentFactory.allocateUnpooledOffHeapMemory(
                                                    segmentSize)
                                            : MemorySegmentFactory.allocateUnpooledSegment(
                                                    segmentSize);
                        }
                        for (int i = 0; i < size; i++) {
                            segments[(offset + i) / segmentSize].put(
                                    (offset + i) % segmentSize, bytes[i]);
                        }
                        BinaryRowData placed = new BinaryRowData(2);
                        placed.pointTo(segments, offset, size);
                        expected.add("+U" + expected.size() + " 7 " + row.getString(1));
                        writer.add((byte) 2, placed);
                    }
                }
            }
            assertThat(expected).hasSizeGreaterThan(12);
            assertThat(roundTrip(handle, writer, reader)).isEqualTo(expected);
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** Many chunks in one answer, rows larger than any buffer, and batches that grow and shrink. */
    @Test
    void batchesOfAllSizes() {
        long handle = openEcho(TYPE);
        Random rng = new Random(1);
        try (RowBatchWriter writer = new RowBatchWriter(20_000, 1 << 20);
                RowBatchReader reader = new RowBatchReader(2)) {
            for (int rows : new int[] {1, 20_000, 0, 3, 9_000, 1}) {
                List<String> expected = new ArrayList<>();
                for (int i = 0; i < rows; i++) {
                    String name = "x".repeat(i == 2 ? 3_000_000 : rng.nextInt(200));
                    RowKind kind = RowKind.fromByteValue((byte) rng.nextInt(4));
                    writer.add(kind.toByteValue(), binary(i, name));
                    expected.add(kind.shortString() + i + " " + i + " " + name);
                }
                assertThat(roundTrip(handle, writer, reader)).isEqualTo(expected);
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** A row in and out again allocates nothing on the Java heap. */
    @Test
    void rowsCostNoAllocation() {
        long handle = openEcho(TYPE);
        BinaryRowData row = binary(1, "twelve bytes and some more");
        try (RowBatchWriter writer = new RowBatchWriter(1000, 1 << 20);
                RowBatchReader reader = new RowBatchReader(2)) {
            ToLongFunction<Integer> batches =
                    count -> {
                        long sum = 0;
                        for (int b = 0; b < count; b++) {
                            for (int i = 0; i < 1000; i++) {
                                writer.add((byte) 0, row);
                            }
                            NativeOperator.push(handle, 0, writer.export(), b);
                            writer.clear();
                            int n;
                            while ((n = (int) NativeOperator.poll(handle, reader.address())) > 0) {
                                reader.attach(n);
                                for (int i = 0; i < n; i++) {
                                    sum += reader.row(i).getLong(0) + reader.source(i);
                                }
                            }
                        }
                        return sum;
                    };
            batches.applyAsLong(100);
            com.sun.management.ThreadMXBean threads =
                    (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            long before = threads.getCurrentThreadAllocatedBytes();
            long sum = batches.applyAsLong(100);
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            assertThat(sum).isEqualTo(100 * (1000 + 999 * 1000 / 2));
            // 100,000 rows: a byte per row would be 100,000.
            assertThat(allocated).isLessThan(10_000);
        } finally {
            NativeOperator.close(handle);
        }
    }

    @Test
    void failuresNameTheirStatus() {
        long handle = openEcho(TYPE);
        try (RowBatchWriter writer = new RowBatchWriter(4, 1 << 20)) {
            writer.add((byte) 9, binary(1, "a"));
            assertThatThrownBy(() -> NativeOperator.push(handle, 0, writer.export(), 0))
                    .isInstanceOfSatisfying(
                            NativeException.class,
                            e -> assertThat(e.status()).isEqualTo(NativeException.CORRUPT))
                    .hasMessageContaining("CORRUPT: batch: field kind: row 0 has kind 9");
            writer.clear();
            // The writer is as good as new: the batch was released although it was refused.
            writer.add((byte) 0, binary(1, "a"));
            assertThat(NativeOperator.push(handle, 0, writer.export(), 0)).isEqualTo(1);
        } finally {
            NativeOperator.close(handle);
        }
        assertThatThrownBy(() -> NativeOperator.flush(handle))
                .isInstanceOfSatisfying(
                        NativeException.class,
                        e -> assertThat(e.status()).isEqualTo(NativeException.CLOSED));
    }

    @Test
    void namesAreQuoted() {
        RowType odd =
                RowType.of(
                        new org.apache.flink.table.types.logical.LogicalType[] {
                            new BigIntType(false)
                        },
                        new String[] {"a\"b\\c\n\u0001"});
        assertThat(RowSchema.fields(odd))
                .isEqualTo(
                        "[{\"name\":\"a\\\"b\\\\c\\u000a\\u0001\",\"type\":\"BIGINT NOT NULL\"}]");
        NativeOperator.close(openEcho(odd));
    }
}
