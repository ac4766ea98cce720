package drey.batch;

import static drey.batch.OffHeap.UNSAFE;

import org.apache.flink.table.data.binary.BinaryRowData;

/** Reads batches in row form. A row's kind is in its header byte, as the library puts it there. */
public final class RowBatchReader extends BatchReader {

    // Hot.
    private long offsets;
    private final Window data = new Window();
    private final BinaryRowData row;

    public RowBatchReader(int arity) {
        row = new BinaryRowData(arity);
    }

    @Override
    int turn(int rows, boolean copy) {
        offsets = buffer(1, 1);
        data.cover(buffer(1, 2), UNSAFE.getInt(offsets + 4L * rows), copy);
        return 2;
    }

    @Override
    public BinaryRowData row(int i) {
        return point(row, i);
    }

    @Override
    public BinaryRowData asFlinks(int i) {
        return point(new BinaryRowData(row.getArity()), i);
    }

    private BinaryRowData point(BinaryRowData to, int i) {
        int start = UNSAFE.getInt(offsets + 4L * i);
        to.pointTo(data.segment, start, UNSAFE.getInt(offsets + 4L * i + 4) - start);
        return to;
    }

    @Override
    public BinaryRowData copy(int i) {
        return row(i).copy();
    }
}
