package drey.batch;

import static drey.batch.ArrowArrays.BUFFERS;
import static drey.batch.ArrowArrays.CHILDREN;
import static drey.batch.ArrowArrays.JAVA_OWNS;
import static drey.batch.ArrowArrays.LENGTH;
import static drey.batch.ArrowArrays.N_BUFFERS;
import static drey.batch.ArrowArrays.N_CHILDREN;
import static drey.batch.ArrowArrays.PRIVATE_DATA;
import static drey.batch.ArrowArrays.SIZE;
import static drey.batch.OffHeap.UNSAFE;

import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.table.data.binary.BinaryRowData;

/**
 * A batch in row form, filled row by row and handed over as a {@code struct ArrowArray} that is written once and whose lengths
 * alone change from batch to batch. The memory stays this object's; it is free for the next batch once the push has returned.
 * Adding a row allocates nothing.
 *
 * <p>A mixed batch takes rows of two inputs, in order of arrival; all are added with their input.
 */
public final class RowBatchWriter implements AutoCloseable {

    /** Readable bytes behind the last row, so that kernels may load whole vectors. */
    private static final int PADDING = 64;

    /** Data starts small: a trickle needs no more, and a burst grows it within a few rows. */
    private static final int INITIAL_BYTES = 16 << 10;

    /** Root, kind, row, and the input of a mixed batch; the pointers to the children; those to 1, 2, 3 and 2 buffers. */
    private static final int STRUCTS = 4 * SIZE + 3 * 8 + 8 * 8;

    // Hot.
    private int rows;
    private long end;
    private long limit;
    private long data;
    private final long kinds;
    private final long offsets;
    private final long inputs;
    private final int maxRows;

    private final long block;
    private final long blockSize;
    private final long dataPointer;
    private boolean closed;

    /**
     * @param maxRows most rows of a batch
     * @param byteHint bytes after which the caller means to cut a batch; larger ones are possible
     */
    public RowBatchWriter(int maxRows, int byteHint) {
        this(maxRows, byteHint, false);
    }

    /** A writer of mixed batches. */
    public static RowBatchWriter mixed(int maxRows, int byteHint) {
        return new RowBatchWriter(maxRows, byteHint, true);
    }

    private RowBatchWriter(int maxRows, int byteHint, boolean mixed) {
        this.maxRows = maxRows;
        long column = (maxRows + 63) & ~63L;
        long kindsAt = (STRUCTS + 63) & ~63L;
        long inputsAt = kindsAt + column;
        long offsetsAt = inputsAt + (mixed ? column : 0);
        blockSize = offsetsAt + 4L * (maxRows + 1);
        block = OffHeap.allocate(blockSize);
        kinds = block + kindsAt;
        inputs = block + inputsAt;
        offsets = block + offsetsAt;

        // A column's first buffer, the validity, is null everywhere.
        long kind = block + SIZE;
        long row = block + 2 * SIZE;
        long input = block + 3 * SIZE;
        long children = block + 4 * SIZE;
        long buffers = children + 3 * 8;
        UNSAFE.putLong(children, kind);
        UNSAFE.putLong(children + 8, row);
        UNSAFE.putLong(children + 16, input);
        struct(block, 1, buffers);
        UNSAFE.putLong(block + N_CHILDREN, mixed ? 3 : 2);
        UNSAFE.putLong(block + CHILDREN, children);
        UNSAFE.putLong(block + PRIVATE_DATA, JAVA_OWNS);
        struct(kind, 2, buffers + 8);
        UNSAFE.putLong(buffers + 16, kinds);
        struct(row, 3, buffers + 24);
        UNSAFE.putLong(buffers + 32, offsets);
        dataPointer = buffers + 40;
        struct(input, 2, buffers + 48);
        UNSAFE.putLong(buffers + 56, inputs);
        setData(
                OffHeap.allocate(Math.min(byteHint, INITIAL_BYTES) + PADDING),
                Math.min(byteHint, INITIAL_BYTES));
        end = data;
    }

    private static void struct(long at, int buffers, long pointers) {
        UNSAFE.putLong(at + N_BUFFERS, buffers);
        UNSAFE.putLong(at + BUFFERS, pointers);
    }

    private void setData(long address, long capacity) {
        data = address;
        limit = address + capacity;
        UNSAFE.putLong(dataPointer, address);
    }

    /** Adds a row. The kind is the one given; the row's own is ignored. */
    public void add(byte kind, BinaryRowData row) {
        int size = row.getSizeInBytes();
        if (rows == maxRows) {
            throw new IllegalStateException("the batch is full: " + maxRows + " rows");
        }
        if (size > limit - end) {
            grow(size);
        }
        MemorySegment[] segments = row.getSegments();
        MemorySegment segment = segments[0];
        int offset = row.getOffset();
        if (segments.length == 1 && !segment.isOffHeap() && size <= segment.size() - offset) {
            UNSAFE.copyMemory(segment.getArray(), OffHeap.BYTES + offset, null, end, size);
        } else {
            copy(segments, offset, end, size);
        }
        end += size;
        UNSAFE.putByte(kinds + rows, kind);
        rows++;
        UNSAFE.putInt(offsets + 4L * rows, (int) (end - data));
    }

    /** Adds a row of one of a mixed batch's inputs, 0 or 1. */
    public void add(int input, byte kind, BinaryRowData row) {
        add(kind, row);
        UNSAFE.putByte(inputs + rows - 1, (byte) input);
    }

    /** Rows may lie off-heap, and across segments of equal size (Flink's paged buffers). */
    private static void copy(MemorySegment[] segments, int offset, long target, int size) {
        int segmentSize = segments[0].size();
        int index = offset / segmentSize;
        int at = offset - index * segmentSize;
        while (size > 0) {
            MemorySegment segment = segments[index++];
            int n = Math.min(size, segment.size() - at);
            if (segment.isOffHeap()) {
                UNSAFE.copyMemory(segment.getAddress() + at, target, n);
            } else {
                UNSAFE.copyMemory(segment.getArray(), OffHeap.BYTES + at, null, target, n);
            }
            target += n;
            size -= n;
            at = 0;
        }
    }

    private void grow(int size) {
        long used = end - data;
        long capacity = limit - data;
        long needed = used + size;
        if (needed > Integer.MAX_VALUE) {
            throw new IllegalStateException(
                    "a batch can't hold more than 2 GiB, needs " + needed + " bytes");
        }
        long larger = Math.min(Math.max(2 * capacity, needed), Integer.MAX_VALUE);
        setData(OffHeap.reallocate(data, capacity + PADDING, larger + PADDING), larger);
        end = data + used;
    }

    /** Rows added since the last {@link #clear}. */
    public int rows() {
        return rows;
    }

    /** Bytes of the rows added since the last {@link #clear}. */
    public int bytes() {
        return (int) (end - data);
    }

    /** The address of the batch, for one push. */
    public long export() {
        UNSAFE.putLong(block + LENGTH, rows);
        UNSAFE.putLong(block + SIZE + LENGTH, rows);
        UNSAFE.putLong(block + 2 * SIZE + LENGTH, rows);
        UNSAFE.putLong(block + 3 * SIZE + LENGTH, rows);
        return block;
    }

    /** Begins the next batch. */
    public void clear() {
        rows = 0;
        end = data;
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            OffHeap.free(data, limit - data + PADDING);
            OffHeap.free(block, blockSize);
        }
    }
}
