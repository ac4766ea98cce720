package drey.nexmark.measure;

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
 * @param nativeNodes how many nodes of the plan are native, by EXPLAIN
 * @param plan EXPLAIN's section about Drey, or nothing
 * @param digest of the sink's changelog, or null where the sink is a blackhole
 * @param recording of the bucket that was asked for, or null
 */
public record RunResult(
        String engine,
        Figures figures,
        int nativeNodes,
        String plan,
        ChangelogDigest digest,
        Recording recording) {

    private static final Csv<Figures> FIGURES = new Csv<>(Figures.class);

    public void write(Path file) throws IOException {
        try (DataOutputStream out =
                new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
            out.writeUTF(engine);
            out.writeUTF(FIGURES.line(figures));
            out.writeInt(nativeNodes);
            out.writeUTF(plan);
            out.writeBoolean(digest != null);
            if (digest != null) {
                digest.write(out);
            }
        }
    }

    public static RunResult read(Path file) throws IOException {
        try (DataInputStream in =
                new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
            return new RunResult(
                    in.readUTF(),
                    FIGURES.parse(in.readUTF()),
                    in.readInt(),
                    in.readUTF(),
                    in.readBoolean() ? ChangelogDigest.read(in) : null,
                    null);
        }
    }
}
