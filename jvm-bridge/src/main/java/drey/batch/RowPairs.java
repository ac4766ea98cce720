package drey.batch;

import static drey.batch.OffHeap.UNSAFE;

import drey.batch.BatchReader.Window;
import drey.jni.PairCondition;

import org.apache.flink.table.data.binary.BinaryRowData;

/** Asks a predicate on rows about pairs that lie in the library's memory: two reused rows point into it. */
public final class RowPairs implements PairCondition {

    /** What is asked. The rows are borrowed for the call. */
    @FunctionalInterface
    public interface Predicate {
        boolean test(BinaryRowData left, BinaryRowData right) throws Exception;
    }

    private final BinaryRowData left;
    private final BinaryRowData right;
    private final Window leftData = new Window();
    private final Window rightData = new Window();
    private final Predicate predicate;

    public RowPairs(int leftArity, int rightArity, Predicate predicate) {
        left = new BinaryRowData(leftArity);
        right = new BinaryRowData(rightArity);
        this.predicate = predicate;
    }

    @Override
    public void evaluate(
            long leftStart,
            long leftOffsets,
            long rightStart,
            long rightOffsets,
            int pairs,
            long matches)
            throws Exception {
        leftData.cover(leftStart, UNSAFE.getInt(leftOffsets + 4L * pairs));
        rightData.cover(rightStart, UNSAFE.getInt(rightOffsets + 4L * pairs));
        for (int i = 0; i < pairs; i++) {
            point(left, leftData, leftOffsets + 4L * i);
            point(right, rightData, rightOffsets + 4L * i);
            UNSAFE.putByte(matches + i, (byte) (predicate.test(left, right) ? 1 : 0));
        }
    }

    private static void point(BinaryRowData row, Window data, long offset) {
        int start = UNSAFE.getInt(offset);
        row.pointTo(data.segment, start, UNSAFE.getInt(offset + 4) - start);
    }
}
