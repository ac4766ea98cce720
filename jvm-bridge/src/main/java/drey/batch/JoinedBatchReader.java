package drey.batch;

import static drey.batch.OffHeap.UNSAFE;

import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.utils.JoinedRowData;
import org.apache.flink.types.RowKind;

import java.util.Arrays;

/**
 * Reads batches in joined form: one reused {@link JoinedRowData} of two reused rows. The kind is the joined row's, as in Flink's
 * operators; those of the two rows mean nothing.
 */
public final class JoinedBatchReader extends BatchReader {

    private static final int VIEW = 16;

    /** Up to so many bytes stand in the view itself: rows without fields do. */
    private static final int INLINE = 12;

    private static final RowKind[] KINDS = {
        RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
    };

    // Hot.
    private long kinds;
    private final Side left;
    private final Side right;
    private final Window data = new Window();
    private final JoinedRowData joined;

    public JoinedBatchReader(int leftArity, int rightArity) {
        left = new Side(leftArity);
        right = new Side(rightArity);
        joined = new JoinedRowData(left.row, right.row);
    }

    @Override
    int turn(int rows, boolean copy) {
        kinds = buffer(0, 1);
        left.views = buffer(1, 1);
        right.views = buffer(2, 1);
        left.begin(rows);
        right.begin(rows);
        // The buffer behind the data's says how long that is.
        data.cover(buffer(1, 2), (int) UNSAFE.getLong(buffer(1, 3)), copy);
        return 3;
    }

    @Override
    public JoinedRowData row(int i) {
        left.turn(i, data);
        right.turn(i, data);
        joined.setRowKind(KINDS[UNSAFE.getByte(kinds + i)]);
        return joined;
    }

    @Override
    public JoinedRowData asFlinks(int i) {
        return row(i);
    }

    /** Copies of rows that share a side share its copy, as Flink's operators emit one row in many. */
    @Override
    public JoinedRowData copy(int i) {
        row(i);
        JoinedRowData copy = new JoinedRowData(left.copy(data), right.copy(data));
        copy.setRowKind(joined.getRowKind());
        return copy;
    }

    private static final class Side {

        /** A power of two, and more than the rows that one cascade of a Top-N 10 has at hand. */
        private static final int COPIES = 64;

        private final BinaryRowData row;
        private long views;
        private int rows;
        private Window inViews;

        // The last copies of this batch, by where in the data their originals are.
        private final BinaryRowData[] copies = new BinaryRowData[COPIES];
        private final int[] copied = new int[COPIES];
        private boolean hasCopies;

        Side(int arity) {
            row = new BinaryRowData(arity);
        }

        void begin(int rows) {
            this.rows = rows;
            if (hasCopies) {
                Arrays.fill(copies, null);
                hasCopies = false;
            }
        }

        /** The row just turned to, in memory of its own. */
        BinaryRowData copy(Window data) {
            if (row.getSegments() != data.segment) {
                return row.copy();
            }
            int at = row.getOffset();
            int slot = at >>> 3 & COPIES - 1;
            if (copies[slot] == null || copied[slot] != at) {
                copies[slot] = row.copy();
                hasCopies = true;
                copied[slot] = at;
            }
            return copies[slot];
        }

        void turn(int i, Window data) {
            long view = views + (long) VIEW * i;
            int length = UNSAFE.getInt(view);
            if (length > INLINE) {
                row.pointTo(data.segment, UNSAFE.getInt(view + 12), length);
                return;
            }
            if (inViews == null) {
                inViews = new Window();
            }
            inViews.cover(views, VIEW * rows);
            row.pointTo(inViews.segment, VIEW * i + 4, length);
        }
    }
}
