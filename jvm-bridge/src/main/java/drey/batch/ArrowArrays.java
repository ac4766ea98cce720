package drey.batch;

import static drey.batch.OffHeap.UNSAFE;

/** Offsets in {@code struct ArrowArray} and {@code struct ArrowSchema} of the Arrow C data interface, 64 bit. */
final class ArrowArrays {

    static final int SIZE = 80;
    static final int LENGTH = 0;
    static final int N_BUFFERS = 24;
    static final int N_CHILDREN = 32;
    static final int BUFFERS = 40;
    static final int CHILDREN = 48;
    static final int RELEASE = 64;
    static final int PRIVATE_DATA = 72;

    static final int SCHEMA_SIZE = 72;
    static final int SCHEMA_FORMAT = 0;
    static final int SCHEMA_NAME = 8;
    static final int SCHEMA_METADATA = 16;
    static final int SCHEMA_N_CHILDREN = 32;
    static final int SCHEMA_CHILDREN = 40;
    static final int SCHEMA_RELEASE = 56;

    /**
     * What stands where a C host has a function of its own: the library knows the memory for Java's, and neither calls nor frees
     * it. See ROW_BATCH_MARK in {@code cgo/jni.c}.
     */
    static final long JAVA_OWNS = 0x6472657962617463L;

    private ArrowArrays() {}

    /** Reads the i-th pointer of the pointer array whose address is stored at the given place. */
    static long pointer(long place, int i) {
        return UNSAFE.getLong(UNSAFE.getLong(place) + 8L * i);
    }
}
