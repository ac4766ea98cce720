package drey.jni;

/**
 * The natives of libdrey: {@link #bind}, and one per function of {@code cgo/abi.h} that a host in Java needs. That file
 * documents them and says who owns what.
 *
 * <p>A handle is one operator of one parallel subtask; calls on it must not be concurrent. Addresses are those of {@code struct
 * ArrowSchema}, {@code struct ArrowArray} and plain buffers. Any status but OK becomes a {@link NativeException}.
 *
 * <p>Nothing here may be called before {@link NativeLibrary#load()} has returned.
 */
public final class NativeOperator {

    /** The event of {@link #advance} that says event time has reached the value. */
    public static final int WATERMARK = 0;

    /** The event of {@link #advance} that says the host's clock shows the value. */
    public static final int PROCESSING_TIME = 1;

    /** The input of {@link #push} for a batch of rows of both inputs, in order of arrival. */
    public static final int MIXED = -1;

    private NativeOperator() {}

    /**
     * Returns the library's version of the contract. {@code target}, unless null, is a copy of this class that another class
     * loader has loaded; its natives become these. The JVM gives a library to one class loader only, so the copies have no other
     * way.
     */
    public static native int bind(Class<?> target);

    /**
     * Creates an operator and returns its handle. The schemas are borrowed for the call; the condition, null if there is none, is
     * kept until the operator is closed.
     */
    public static native long open(
            String spec,
            long[] inputSchemas,
            long outputSchema,
            int maxParallelism,
            int firstKeyGroup,
            int lastKeyGroup,
            long memoryBudget,
            PairCondition condition);

    /**
     * Processes a batch and returns the number of output rows to {@link #poll}; there may be more in the end, but not if it is 0.
     * The array is moved: it is released when all output has been polled, or this throws. All output must be polled before the
     * next call of another kind.
     */
    public static native long push(long handle, int input, long array, long processingTime);

    /** Tells of progress in time and returns the number of output rows to poll. */
    public static native long advance(long handle, int event, long value);

    /** Ends a mini-batch bundle and returns the number of output rows to poll. */
    public static native long flush(long handle);

    /**
     * Moves the next output rows into the array at the address and returns their number, 0 when nothing is left. In row form and
     * joined form they stay where they are until the next call.
     */
    public static native long poll(long handle, long array);

    /** Writes the next bytes of a key group's snapshot and returns their number, 0 when the group is complete. */
    public static native int snapshot(long handle, int keyGroup, long address, int capacity);

    /** Feeds bytes of a key group's snapshot; length 0 ends the group and verifies it. */
    public static native void restore(long handle, int keyGroup, long address, int length);

    /** Returns the operator's counters and gauges as a JSON object of integers. */
    public static native String stats(long handle);

    /** Frees the operator. */
    public static native void close(long handle);

    /** Describes every open handle and every live exported byte; empty when there are none. */
    public static native String live();

    /** Panics inside the guard, on the handle or (0) on none. */
    public static native void panicForTest(long handle, int kind);
}
