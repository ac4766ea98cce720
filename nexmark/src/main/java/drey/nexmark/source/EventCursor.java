package drey.nexmark.source;

import org.apache.flink.table.data.RowData;

/** The events of one split in order. A row is valid until the next call. */
interface EventCursor {

    /** The next event of the split, or null at its end. */
    RowData next();

    /** Number of the first event that {@link #next} has not considered yet: where to resume. */
    long position();

    /** Whether an event with this partition id belongs to the split. */
    static boolean owns(int split, int splits, long partition) {
        if (splits == 1) {
            return true;
        }
        long hash = (partition * 0x9E3779B97F4A7C15L) >>> 32;
        return hash * splits >>> 32 == split;
    }
}
