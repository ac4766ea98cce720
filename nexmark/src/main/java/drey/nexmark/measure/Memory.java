package drey.nexmark.measure;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.nio.file.Files;
import java.nio.file.Path;

/** The process's memory: resident as Linux counts it (elsewhere nothing is known), and the Java heap. */
public final class Memory {

    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path CLEAR = Path.of("/proc/self/clear_refs");
    private static final MemoryMXBean HEAP = ManagementFactory.getMemoryMXBean();

    private Memory() {}

    /** Forgets the peak so far, where that is permitted. */
    public static void resetPeak() {
        try {
            Files.writeString(CLEAR, "5");
        } catch (IOException | SecurityException e) {
            // The peak then includes what came before: an upper bound, the same for both engines.
        }
    }

    /** Highest resident memory since the last reset, in bytes; 0 if unknown. */
    public static long peak() {
        try {
            for (String line : Files.readAllLines(STATUS)) {
                if (line.startsWith("VmHWM:")) {
                    return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
                }
            }
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
        return 0;
    }

    /** Bytes of the Java heap in use, garbage included. */
    static long heap() {
        return HEAP.getHeapMemoryUsage().getUsed();
    }

    /** Bytes of the Java heap that are in use after all garbage has gone. */
    public static long liveHeap() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return heap();
    }
}
