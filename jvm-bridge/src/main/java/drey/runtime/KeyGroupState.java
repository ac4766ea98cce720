package drey.runtime;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * How one key group's native snapshot lies in Flink's raw keyed state.
 *
 * <pre>
 *   44 52 45 59  FF FF FF  01        "DREY", three bytes that no UTF string holds, version of this framing
 *   00 00 40 00  ....                chunk: big-endian length, then that many bytes of the native stream
 *   00 00 00 00                      a chunk of length 0 ends the group
 * </pre>
 *
 * The framing is needed because Flink hands a restoring operator a stream that starts at the group's first byte but does
 * not end at its last one. The header is chosen for an operator that isn't ours: Flink's timer restore reads raw keyed
 * state as a count followed by modified UTF-8 names; "DREY" is a positive count and FF FF FF a name that is refused, so a
 * stock operator put over native state fails instead of starting empty.
 */
final class KeyGroupState {

    private static final byte[] MAGIC = {'D', 'R', 'E', 'Y', (byte) 0xFF, (byte) 0xFF, (byte) 0xFF};
    private static final int VERSION = 1;

    /** A chunk longer than this was not written by us: protects against allocating what a damaged length says. */
    static final int MAX_CHUNK = 1 << 24;

    private KeyGroupState() {}

    /** Writes one key group. */
    static final class Writer {
        private final DataOutputStream out;

        Writer(OutputStream stream) throws IOException {
            out = new DataOutputStream(stream);
            out.write(MAGIC);
            out.writeByte(VERSION);
        }

        void chunk(byte[] bytes, int length) throws IOException {
            if (length < 1 || length > MAX_CHUNK) {
                throw new IllegalArgumentException("chunk of " + length + " bytes");
            }
            out.writeInt(length);
            out.write(bytes, 0, length);
        }

        void end() throws IOException {
            out.writeInt(0);
        }
    }

    /** Reads one key group. Every failure is an {@link IOException} that says what was found. */
    static final class Reader {
        private final DataInputStream in;

        Reader(InputStream stream) throws IOException {
            in = new DataInputStream(stream);
            byte[] magic = new byte[MAGIC.length];
            try {
                in.readFully(magic);
            } catch (EOFException e) {
                throw new IOException("snapshot is truncated inside its header", e);
            }
            for (int i = 0; i < MAGIC.length; i++) {
                if (magic[i] != MAGIC[i]) {
                    throw new IOException(
                            "not a snapshot of a native operator: it starts with " + hex(magic));
                }
            }
            int version = in.read();
            if (version != VERSION) {
                throw new IOException(
                        version < 0
                                ? "snapshot is truncated inside its header"
                                : "snapshot framing version "
                                        + version
                                        + ", this library reads "
                                        + VERSION);
            }
        }

        /** Reads the next chunk into {@code buffer}, grown when too small; null at the end of the group. */
        byte[] chunk(byte[] buffer) throws IOException {
            try {
                length = in.readInt();
                if (length == 0) {
                    return null;
                }
                if (length < 0 || length > MAX_CHUNK) {
                    throw new IOException("snapshot is damaged: chunk of " + length + " bytes");
                }
                if (buffer.length < length) {
                    buffer = new byte[length];
                }
                in.readFully(buffer, 0, length);
                return buffer;
            } catch (EOFException e) {
                throw new IOException("snapshot is truncated", e);
            }
        }

        /** Length of the chunk read last. */
        int length() {
            return length;
        }

        private int length;

        private static String hex(byte[] bytes) {
            StringBuilder s = new StringBuilder();
            for (byte b : bytes) {
                s.append(String.format("%02x", b));
            }
            return s.toString();
        }
    }
}
