package drey.fuzz;

import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The clock by which state expires, taken in hand. Flink's backends get theirs from a constant, which is exchanged once
 * per JVM before any job; until it is set it is the system's.
 */
final class Clock {

    static final long START = 1_700_000_000_000L;

    /** Negative: the system's time. */
    private static final AtomicLong NOW = new AtomicLong(-1);

    private Clock() {}

    static void set(long millis) {
        NOW.set(millis);
    }

    static void release() {
        NOW.set(-1);
    }

    static void install() {
        try {
            Class<?> unsafeClass = Class.forName("sun.misc.Unsafe");
            Field theUnsafe = unsafeClass.getDeclaredField("theUnsafe");
            theUnsafe.setAccessible(true);
            sun.misc.Unsafe unsafe = (sun.misc.Unsafe) theUnsafe.get(null);
            // Whose own constant would otherwise take the place of ours when it is first used.
            Class.forName(TtlTimeProvider.class.getName());
            Field field = TtlTimeProvider.class.getField("DEFAULT");
            TtlTimeProvider ours =
                    () -> {
                        long now = NOW.get();
                        return now < 0 ? System.currentTimeMillis() : now;
                    };
            unsafe.putObject(unsafe.staticFieldBase(field), unsafe.staticFieldOffset(field), ours);
            if (field.get(null) != ours) {
                throw new IllegalStateException("state still expires by the system's clock");
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
