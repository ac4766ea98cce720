package drey.batch;

import static drey.batch.ArrowArrays.BUFFERS;
import static drey.batch.ArrowArrays.CHILDREN;
import static drey.batch.ArrowArrays.LENGTH;
import static drey.batch.ArrowArrays.RELEASE;
import static drey.batch.ArrowArrays.SIZE;
import static drey.batch.OffHeap.UNSAFE;

import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.data.RowData;

/**
 * Reads output batches where the library has written them: one reused row that points into them.
 *
 * <p>The rows are valid until the next call on the same handle. Reading a row allocates nothing; a batch costs a segment only when
 * it lies elsewhere than the one before, or reaches further. Whoever keeps parts of a row needs {@link #attachCopy}, whoever keeps
 * rows for long {@link #copy}.
 */
public abstract class BatchReader implements AutoCloseable {

    // Hot.
    private long sources;

    private final long struct = OffHeap.allocate(SIZE);
    private boolean closed;

    BatchReader() {}

    /** The address of the struct to poll into. */
    public final long address() {
        // The library owns what the last poll put there: no release to call.
        UNSAFE.putLong(struct + RELEASE, 0);
        return struct;
    }

    /** Turns to the batch just polled. */
    public final void attach(int rows) {
        attach(rows, false);
    }

    /**
     * Turns to a copy of the batch just polled, on the heap, that is never written to again: what has been read from a row, a
     * string say, stays as it was. It keeps the whole copy alive.
     */
    public final void attachCopy(int rows) {
        attach(rows, true);
    }

    private void attach(int rows, boolean copy) {
        if (UNSAFE.getLong(struct + LENGTH) != rows) {
            throw new IllegalStateException(
                    "the batch has "
                            + UNSAFE.getLong(struct + LENGTH)
                            + " rows, poll said "
                            + rows);
        }
        sources = buffer(turn(rows, copy), 1);
    }

    /** Looks up the columns' addresses and returns the number of the source column. */
    abstract int turn(int rows, boolean copy);

    /** Row i of the batch, its kind set; the same object for every i. */
    public abstract RowData row(int i);

    /** Row i in the kind of object that Flink's own operators emit: joined rows in a reused one, others each in its own. */
    public abstract RowData asFlinks(int i);

    /** Row i of the batch in memory of its own. */
    public abstract RowData copy(int i);

    /** The index, in the batch last pushed, of the row that has caused row i, or -1. */
    public final int source(int i) {
        return UNSAFE.getInt(sources + 4L * i);
    }

    /** The address of a column's buffer. */
    final long buffer(int column, int i) {
        return ArrowArrays.pointer(ArrowArrays.pointer(struct + CHILDREN, column) + BUFFERS, i);
    }

    @Override
    public final void close() {
        if (!closed) {
            closed = true;
            OffHeap.free(struct, SIZE);
        }
    }

    /** Memory of the library that rows point into; in an array, as they want it. */
    static final class Window {

        MemorySegment[] segment;
        private long start;
        private int size;

        /** Makes it one that starts at the address and has at least so many bytes, or a copy of those. */
        void cover(long address, int bytes, boolean copy) {
            if (copy) {
                byte[] onHeap = new byte[bytes];
                UNSAFE.copyMemory(null, address, onHeap, OffHeap.BYTES, bytes);
                segment = new MemorySegment[] {MemorySegmentFactory.wrap(onHeap)};
                start = size = 0;
            } else {
                cover(address, bytes);
            }
        }

        /** Makes it one that starts at the address and has at least so many bytes. */
        void cover(long address, int bytes) {
            if (address != start || bytes > size) {
                segment = new MemorySegment[] {OffHeap.segment(address, bytes)};
                start = address;
                size = bytes;
            }
        }
    }
}
