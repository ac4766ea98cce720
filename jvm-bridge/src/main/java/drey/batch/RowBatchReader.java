package drey.batch;

import static drey.batch.ArrowArrays.BUFFERS;
import static drey.batch.ArrowArrays.CHILDREN;
import static drey.batch.ArrowArrays.LENGTH;
import static drey.batch.ArrowArrays.RELEASE;
import static drey.batch.ArrowArrays.SIZE;
import static drey.batch.OffHeap.UNSAFE;

import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.table.data.binary.BinaryRowData;

/**
 * Reads output batches in row form where the library has written them: one reused row that points into them, its kind in its
 * header byte as the library puts it there.
 *
 * <p>The rows are valid until the next call of another kind than poll on the same handle. Reading a row allocates nothing; a batch
 * costs a segment only when it lies elsewhere than the one before, or reaches further.
 */
public final class RowBatchReader implements AutoCloseable {

    // Hot.
    private long offsets;
    private long sources;
    private final MemorySegment[] segment = new MemorySegment[1];
    private final BinaryRowData row;

    private long data;
    private int size;
    private final long struct;
    private boolean closed;

    public RowBatchReader(int arity) {
        row = new BinaryRowData(arity);
        struct = OffHeap.allocate(SIZE);
    }

    /** The address of the struct to poll into. */
    public long address() {
        UNSAFE.putLong(
                struct + RELEASE,
                0); // the library owns what the last poll put there: no release to call
        return struct;
    }

    /** Turns to the batch just polled. */
    public void attach(int rows) {
        if (UNSAFE.getLong(struct + LENGTH) != rows) {
            throw new IllegalStateException(
                    "the batch has "
                            + UNSAFE.getLong(struct + LENGTH)
                            + " rows, poll said "
                            + rows);
        }
        long column = ArrowArrays.pointer(struct + CHILDREN, 1);
        offsets = ArrowArrays.pointer(column + BUFFERS, 1);
        sources = ArrowArrays.pointer(ArrowArrays.pointer(struct + CHILDREN, 2) + BUFFERS, 1);
        long address = ArrowArrays.pointer(column + BUFFERS, 2);
        int bytes = UNSAFE.getInt(offsets + 4L * rows);
        if (address != data || bytes > size) {
            segment[0] = OffHeap.segment(address, bytes);
            data = address;
            size = bytes;
        }
    }

    /** Row i of the batch; the same object for every i. */
    public BinaryRowData row(int i) {
        int start = UNSAFE.getInt(offsets + 4L * i);
        row.pointTo(segment, start, UNSAFE.getInt(offsets + 4L * i + 4) - start);
        return row;
    }

    /** The index, in the batch last pushed, of the row that has caused row i, or -1. */
    public int source(int i) {
        return UNSAFE.getInt(sources + 4L * i);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            OffHeap.free(struct, SIZE);
        }
    }
}
