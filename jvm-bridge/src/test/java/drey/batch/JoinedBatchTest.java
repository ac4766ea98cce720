package drey.batch;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.NativeOperator;

import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.utils.JoinedRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.ToLongFunction;

/** Rows that come out joined; here each one to itself. */
class JoinedBatchTest extends EchoTest {

    private static long open(RowType type, int copies) {
        try (RowSchema in = RowSchema.input(type);
                RowSchema out = RowSchema.joinedOutput(type, type)) {
            String spec =
                    "{\"copies\":"
                            + copies
                            + ",\"joined\":true,\"operator\":\"echo\",\"version\":1}";
            return NativeOperator.open(
                    spec, new long[] {in.address()}, out.address(), 128, 0, 127, 1 << 20, null);
        }
    }

    private static String text(RowData row, int source) {
        return row.getRowKind().shortString()
                + source
                + " "
                + row.getLong(0)
                + row.getString(1)
                + " "
                + row.getLong(2)
                + row.getString(3);
    }

    /** Many copies of large batches: the operator stops and goes on, and the batch's memory is there all the while. */
    @Test
    void rowsOfAllSizes() {
        int copies = 50;
        long handle = open(TYPE, copies);
        Random rng = new Random(2);
        try (RowBatchWriter writer = new RowBatchWriter(2_000, 1 << 20);
                JoinedBatchReader reader = new JoinedBatchReader(2, 2)) {
            for (int rows : new int[] {1, 2_000, 0, 3, 1}) {
                List<String> expected = new ArrayList<>();
                for (int i = 0; i < rows; i++) {
                    String name = "x".repeat(i == 2 ? 3_000_000 : rng.nextInt(100));
                    RowKind kind = RowKind.fromByteValue((byte) rng.nextInt(4));
                    writer.add(kind.toByteValue(), binary(i, name));
                    expected.add(kind.shortString() + i + " " + i + name + " " + i + name);
                }
                long pending = NativeOperator.push(handle, 0, writer.export(), 0);
                assertThat(pending).isLessThan(20_000);
                int total = 0;
                int n;
                while ((n = (int) NativeOperator.poll(handle, reader.address())) > 0) {
                    reader.attach(n);
                    for (int i = 0; i < n; i++) {
                        String want = expected.get(total++ / copies);
                        String got = text(reader.row(i), reader.source(i));
                        if (!got.equals(want)) {
                            assertThat(got).as("row %d", total - 1).isEqualTo(want);
                        }
                    }
                }
                assertThat(total).isEqualTo(rows * copies);
                writer.clear();
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** Rows without fields have 8 bytes, which stand in the views. */
    @Test
    void rowsWithoutFields() {
        long handle = open(RowType.of(), 3);
        BinaryRowData empty =
                new RowDataSerializer(RowType.of()).toBinaryRow(new GenericRowData(0));
        try (RowBatchWriter writer = new RowBatchWriter(4, 1 << 20);
                JoinedBatchReader reader = new JoinedBatchReader(0, 0)) {
            writer.add((byte) 3, empty);
            assertThat(NativeOperator.push(handle, 0, writer.export(), 0)).isEqualTo(3);
            assertThat(NativeOperator.poll(handle, reader.address())).isEqualTo(3);
            reader.attach(3);
            for (int i = 0; i < 3; i++) {
                assertThat(reader.row(i).getArity()).isZero();
                JoinedRowData copy = reader.copy(i);
                assertThat(copy.getRowKind()).isEqualTo(RowKind.DELETE);
                assertThat(copy.getArity()).isZero();
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** A copy keeps its kind and both its rows when everything they were read from is written over. */
    @Test
    void copiesLast() {
        long handle = open(TYPE, 1);
        try (RowBatchWriter writer = new RowBatchWriter(4, 1 << 20);
                JoinedBatchReader reader = new JoinedBatchReader(2, 2)) {
            List<RowData> kept = new ArrayList<>();
            for (int round = 0; round < 20; round++) {
                writer.add((byte) (round % 4), binary(round, "a name of some length " + round));
                NativeOperator.push(handle, 0, writer.export(), 0);
                NativeOperator.poll(handle, reader.address());
                reader.attach(1);
                kept.add(reader.copy(0));
                assertThat(NativeOperator.poll(handle, reader.address())).isZero();
                writer.clear();
            }
            for (int round = 0; round < 20; round++) {
                String side = round + "a name of some length " + round;
                assertThat(text(kept.get(round), 0))
                        .isEqualTo(
                                RowKind.fromByteValue((byte) (round % 4)).shortString()
                                        + "0 "
                                        + side
                                        + " "
                                        + side);
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** A row that occurs in many is copied once: what each of them costs is an object that has two. */
    @Test
    void copiesShareTheirSides() {
        long handle = open(TYPE, 10);
        BinaryRowData row = binary(7, "a name of some length ".repeat(50));
        try (RowBatchWriter writer = new RowBatchWriter(4, 1 << 20);
                JoinedBatchReader reader = new JoinedBatchReader(2, 2)) {
            com.sun.management.ThreadMXBean threads =
                    (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            JoinedRowData[] copies = new JoinedRowData[10];
            long allocated = 0;
            for (int round = 0; round < 3; round++) {
                writer.add((byte) 0, row);
                NativeOperator.push(handle, 0, writer.export(), round);
                assertThat(NativeOperator.poll(handle, reader.address())).isEqualTo(10);
                reader.attach(10);
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < 10; i++) {
                    copies[i] = reader.copy(i);
                }
                allocated = threads.getCurrentThreadAllocatedBytes() - before;
                assertThat(NativeOperator.poll(handle, reader.address())).isZero();
                writer.clear();
            }
            for (JoinedRowData copy : copies) {
                assertThat(copy.getString(1).toString())
                        .isEqualTo("a name of some length ".repeat(50));
                assertThat(copy.getString(3)).isEqualTo(copy.getString(1));
            }
            // Twenty sides of more than a kilobyte each.
            assertThat(allocated).isLessThan(5_000);
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** Whoever keeps fields keeps them as they were, in the one row that is used over and over. */
    @Test
    void fieldsOfACopiedBatchLast() {
        long handle = open(TYPE, 1);
        try (RowBatchWriter writer = new RowBatchWriter(4, 1 << 20);
                JoinedBatchReader reader = new JoinedBatchReader(2, 2)) {
            List<StringData> kept = new ArrayList<>();
            for (int round = 0; round < 20; round++) {
                writer.add((byte) 0, binary(round, "a name of some length " + round));
                NativeOperator.push(handle, 0, writer.export(), 0);
                NativeOperator.poll(handle, reader.address());
                reader.attachCopy(1);
                assertThat(reader.asFlinks(0)).isSameAs(reader.row(0));
                kept.add(reader.asFlinks(0).getString(3));
                assertThat(NativeOperator.poll(handle, reader.address())).isZero();
                writer.clear();
            }
            for (int round = 0; round < 20; round++) {
                assertThat(kept.get(round).toString()).isEqualTo("a name of some length " + round);
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    @Test
    void rowsCostNoAllocation() {
        long handle = open(TYPE, 10);
        BinaryRowData row = binary(1, "twelve bytes and some more");
        try (RowBatchWriter writer = new RowBatchWriter(1000, 1 << 20);
                JoinedBatchReader reader = new JoinedBatchReader(2, 2)) {
            ToLongFunction<Integer> batches =
                    count -> {
                        long sum = 0;
                        for (int b = 0; b < count; b++) {
                            for (int i = 0; i < 1000; i++) {
                                writer.add((byte) 0, row);
                            }
                            NativeOperator.push(handle, 0, writer.export(), b);
                            int n;
                            while ((n = (int) NativeOperator.poll(handle, reader.address())) > 0) {
                                reader.attach(n);
                                for (int i = 0; i < n; i++) {
                                    sum += reader.row(i).getLong(2) + reader.source(i);
                                }
                            }
                            writer.clear();
                        }
                        return sum;
                    };
            batches.applyAsLong(50);
            com.sun.management.ThreadMXBean threads =
                    (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            long before = threads.getCurrentThreadAllocatedBytes();
            long sum = batches.applyAsLong(50);
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            assertThat(sum).isEqualTo(50L * 10 * (1000 + 999 * 1000 / 2));
            // 500,000 rows, in chunks that may lie in four places: a byte per row would be 500,000.
            assertThat(allocated).isLessThan(100_000);
        } finally {
            NativeOperator.close(handle);
        }
    }
}
