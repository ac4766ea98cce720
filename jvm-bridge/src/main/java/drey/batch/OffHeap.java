package drey.batch;

import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.core.memory.MemoryUtils;

import sun.misc.Unsafe;

import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/** Memory outside the Java heap, by address, and what it takes to fill C structs there. */
final class OffHeap {

    static final Unsafe UNSAFE = MemoryUtils.UNSAFE;
    static final long BYTES = Unsafe.ARRAY_BYTE_BASE_OFFSET;

    private static final AtomicLong LIVE = new AtomicLong();
    private static final Class<?> DIRECT_BUFFER = ByteBuffer.allocateDirect(1).getClass();
    private static final long BUFFER_ADDRESS = bufferField("address");
    private static final long BUFFER_CAPACITY = bufferField("capacity");

    private OffHeap() {}

    /** Allocates zeroed memory. */
    static long allocate(long bytes) {
        long address = UNSAFE.allocateMemory(bytes);
        UNSAFE.setMemory(address, bytes, (byte) 0);
        LIVE.addAndGet(bytes);
        return address;
    }

    static long reallocate(long address, long oldBytes, long newBytes) {
        long moved = UNSAFE.reallocateMemory(address, newBytes);
        LIVE.addAndGet(newBytes - oldBytes);
        return moved;
    }

    static void free(long address, long bytes) {
        UNSAFE.freeMemory(address);
        LIVE.addAndGet(-bytes);
    }

    /** Bytes allocated and not freed, for tests. */
    static long liveBytes() {
        return LIVE.get();
    }

    /**
     * Makes a Flink memory segment of memory that somebody else owns. Flink does the same for its own off-heap memory
     * (MemoryUtils), but offers it only for memory that it allocates itself.
     */
    static MemorySegment segment(long address, int size) {
        try {
            ByteBuffer buffer = (ByteBuffer) UNSAFE.allocateInstance(DIRECT_BUFFER);
            UNSAFE.putLong(buffer, BUFFER_ADDRESS, address);
            UNSAFE.putInt(buffer, BUFFER_CAPACITY, size);
            buffer.clear();
            return MemorySegmentFactory.wrapOffHeapMemory(buffer);
        } catch (InstantiationException e) {
            throw new IllegalStateException(e);
        }
    }

    @SuppressWarnings("deprecation")
    private static long bufferField(String name) {
        try {
            Field field = Buffer.class.getDeclaredField(name);
            return UNSAFE.objectFieldOffset(field);
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("java.nio.Buffer has no field " + name, e);
        }
    }
}
