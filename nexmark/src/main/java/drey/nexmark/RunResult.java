package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.Recording;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;

/**
 * One run of one query by one engine.
 *
 * @param engine {@code stock} or {@code drey}
 * @param cpuSplit {@code cpuNanos} by group of threads, as far as it was seen
 * @param peakRss highest resident memory during the run, less that of the replayed rows; 0 if unknown
 * @param p99Nanos quantile 0.99 of the time that batching held a row back
 * @param nativeRows rows that went into native operators, by their own count
 * @param nativeNodes how many nodes of the plan are native, by EXPLAIN
 * @param plan EXPLAIN's section about Drey, or nothing
 * @param checkpoints taken during the run
 * @param digest of the sink's changelog, or null where the sink is a blackhole
 * @param recording of the bucket that was asked for, or null
 */
record RunResult(
        String engine,
        long rowsIn,
        long rowsOut,
        double seconds,
        long cpuNanos,
        Map<CpuSplit.Group, Long> cpuSplit,
        long peakRss,
        long p99Nanos,
        long nativeRows,
        int nativeNodes,
        String plan,
        Checkpoints checkpoints,
        ChangelogDigest digest,
        Recording recording) {

    double eventsPerSecond() {
        return rowsIn / seconds;
    }

    double cpuPerEvent() {
        return (double) cpuNanos / rowsIn;
    }

    /** CPU of a group of threads per event, in nanoseconds. */
    double cpuPerEvent(CpuSplit.Group group) {
        return (double) cpuSplit.get(group) / rowsIn;
    }

    void write(Path file) throws IOException {
        try (DataOutputStream out =
                new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
            out.writeUTF(engine);
            out.writeLong(rowsIn);
            out.writeLong(rowsOut);
            out.writeDouble(seconds);
            out.writeLong(cpuNanos);
            for (CpuSplit.Group group : CpuSplit.Group.values()) {
                out.writeLong(cpuSplit.get(group));
            }
            out.writeLong(peakRss);
            out.writeLong(p99Nanos);
            out.writeLong(nativeRows);
            out.writeInt(nativeNodes);
            out.writeUTF(plan);
            checkpoints.write(out);
            out.writeBoolean(digest != null);
            if (digest != null) {
                digest.write(out);
            }
        }
    }

    static RunResult read(Path file) throws IOException {
        try (DataInputStream in =
                new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
            return new RunResult(
                    in.readUTF(),
                    in.readLong(),
                    in.readLong(),
                    in.readDouble(),
                    in.readLong(),
                    readSplit(in),
                    in.readLong(),
                    in.readLong(),
                    in.readLong(),
                    in.readInt(),
                    in.readUTF(),
                    Checkpoints.read(in),
                    in.readBoolean() ? ChangelogDigest.read(in) : null,
                    null);
        }
    }

    private static Map<CpuSplit.Group, Long> readSplit(DataInputStream in) throws IOException {
        Map<CpuSplit.Group, Long> split = new EnumMap<>(CpuSplit.Group.class);
        for (CpuSplit.Group group : CpuSplit.Group.values()) {
            split.put(group, in.readLong());
        }
        return split;
    }
}
