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

/**
 * One run of one query by one engine.
 *
 * @param engine {@code stock} or {@code drey}
 * @param peakRss highest resident memory during the run, less that of the replayed rows; 0 if unknown
 * @param p99Nanos quantile 0.99 of the time that batching held a row back
 * @param nativeRows rows that went into native operators, by their own count
 * @param nativeNodes how many nodes of the plan are native, by EXPLAIN
 * @param plan EXPLAIN's section about Drey, or nothing
 * @param digest of the sink's changelog, or null where the sink is a blackhole
 * @param recording of the bucket that was asked for, or null
 */
record RunResult(
        String engine,
        long rowsIn,
        long rowsOut,
        double seconds,
        long cpuNanos,
        long peakRss,
        long p99Nanos,
        long nativeRows,
        int nativeNodes,
        String plan,
        ChangelogDigest digest,
        Recording recording) {

    double eventsPerSecond() {
        return rowsIn / seconds;
    }

    double cpuPerEvent() {
        return (double) cpuNanos / rowsIn;
    }

    void write(Path file) throws IOException {
        try (DataOutputStream out =
                new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
            out.writeUTF(engine);
            out.writeLong(rowsIn);
            out.writeLong(rowsOut);
            out.writeDouble(seconds);
            out.writeLong(cpuNanos);
            out.writeLong(peakRss);
            out.writeLong(p99Nanos);
            out.writeLong(nativeRows);
            out.writeInt(nativeNodes);
            out.writeUTF(plan);
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
                    in.readLong(),
                    in.readLong(),
                    in.readLong(),
                    in.readInt(),
                    in.readUTF(),
                    in.readBoolean() ? ChangelogDigest.read(in) : null,
                    null);
        }
    }
}
