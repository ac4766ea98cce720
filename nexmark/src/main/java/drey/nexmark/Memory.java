package drey.nexmark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The process's resident memory as Linux counts it; elsewhere nothing is known. */
final class Memory {

    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path CLEAR = Path.of("/proc/self/clear_refs");

    private Memory() {}

    /** Forgets the peak so far, where that is permitted. */
    static void resetPeak() {
        try {
            Files.writeString(CLEAR, "5");
        } catch (IOException | SecurityException e) {
            // The peak then includes what came before: an upper bound, the same for both engines.
        }
    }

    /** Highest resident memory since the last reset, in bytes; 0 if unknown. */
    static long peak() {
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
}
