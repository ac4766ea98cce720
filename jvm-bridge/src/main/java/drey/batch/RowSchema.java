package drey.batch;

import static drey.batch.ArrowArrays.JAVA_OWNS;
import static drey.batch.ArrowArrays.SCHEMA_CHILDREN;
import static drey.batch.ArrowArrays.SCHEMA_FORMAT;
import static drey.batch.ArrowArrays.SCHEMA_METADATA;
import static drey.batch.ArrowArrays.SCHEMA_NAME;
import static drey.batch.ArrowArrays.SCHEMA_N_CHILDREN;
import static drey.batch.ArrowArrays.SCHEMA_RELEASE;
import static drey.batch.ArrowArrays.SCHEMA_SIZE;
import static drey.batch.OffHeap.UNSAFE;

import org.apache.flink.table.types.logical.RowType;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The {@code struct ArrowSchema} of a batch in row form or joined form, for the time of {@link drey.jni.NativeOperator#open}: a
 * struct of {@code kind}, {@code row} and, in output, {@code source}, or of {@code kind}, {@code left}, {@code right} and {@code
 * source}. The logical types ride in the metadata of the rows' columns.
 */
public final class RowSchema implements AutoCloseable {

    private record Column(String name, String format, byte[] metadata) {}

    private static final Column KIND = new Column("kind", "c", new byte[0]);
    private static final Column SOURCE = new Column("source", "i", new byte[0]);

    private final long block;
    private final long size;
    private boolean closed;

    /** The schema of batches that {@link RowBatchWriter} fills. */
    public static RowSchema input(RowType type) {
        return new RowSchema(KIND, row(type));
    }

    /** The schema of batches that {@link RowBatchReader} reads. */
    public static RowSchema output(RowType type) {
        return new RowSchema(KIND, row(type), SOURCE);
    }

    /** The schema of batches that {@link JoinedBatchReader} reads. */
    public static RowSchema joinedOutput(RowType left, RowType right) {
        return new RowSchema(
                KIND,
                new Column(
                        "left",
                        "vz",
                        metadata("drey.form", "joined", "flink.fields", fields(left))),
                new Column("right", "vz", metadata("flink.fields", fields(right))),
                SOURCE);
    }

    private static Column row(RowType type) {
        return new Column("row", "z", metadata("drey.form", "row", "flink.fields", fields(type)));
    }

    private RowSchema(Column... columns) {
        // Structs first, then the pointers to the children, then text.
        long structs = (columns.length + 1L) * SCHEMA_SIZE;
        long text = structs + 8L * columns.length;
        long bytes = text + 16L * (2 * columns.length + 1);
        for (Column column : columns) {
            bytes += column.metadata.length;
        }
        size = bytes;
        block = OffHeap.allocate(size);
        long end = block + text;
        end = text(block + SCHEMA_FORMAT, "+s", end);
        UNSAFE.putLong(block + SCHEMA_N_CHILDREN, columns.length);
        UNSAFE.putLong(block + SCHEMA_CHILDREN, block + structs);
        UNSAFE.putLong(block + SCHEMA_RELEASE, JAVA_OWNS);
        for (int i = 0; i < columns.length; i++) {
            long child = block + (i + 1L) * SCHEMA_SIZE;
            UNSAFE.putLong(block + structs + 8L * i, child);
            end = text(child + SCHEMA_FORMAT, columns[i].format, end);
            end = text(child + SCHEMA_NAME, columns[i].name, end);
            UNSAFE.putLong(child + SCHEMA_RELEASE, JAVA_OWNS);
            byte[] metadata = columns[i].metadata;
            if (metadata.length > 0) {
                UNSAFE.putLong(child + SCHEMA_METADATA, end);
                UNSAFE.copyMemory(metadata, OffHeap.BYTES, null, end, metadata.length);
                end += metadata.length;
            }
        }
    }

    /** The address of the struct. It is borrowed: nobody calls its release. */
    public long address() {
        return block;
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            OffHeap.free(block, size);
        }
    }

    private static long text(long place, String value, long at) {
        UNSAFE.putLong(place, at);
        for (int i = 0; i < value.length(); i++) {
            UNSAFE.putByte(at + i, (byte) value.charAt(i));
        }
        return at + value.length() + 1; // the block is zeroed
    }

    /** The number of pairs, then key and value with their lengths; native byte order, as the format has it. */
    private static byte[] metadata(String... pairs) {
        byte[][] texts = new byte[pairs.length][];
        int size = 4;
        for (int i = 0; i < pairs.length; i++) {
            texts[i] = pairs[i].getBytes(StandardCharsets.UTF_8);
            size += 4 + texts[i].length;
        }
        ByteBuffer buffer =
                ByteBuffer.allocate(size).order(ByteOrder.nativeOrder()).putInt(pairs.length / 2);
        for (byte[] text : texts) {
            buffer.putInt(text.length).put(text);
        }
        return buffer.array();
    }

    static String fields(RowType type) {
        StringBuilder json = new StringBuilder("[");
        for (RowType.RowField field : type.getFields()) {
            json.append(json.length() > 1 ? "," : "").append("{\"name\":");
            quote(json, field.getName());
            json.append(",\"type\":");
            quote(json, field.getType().asSerializableString());
            json.append('}');
        }
        return json.append(']').toString();
    }

    private static void quote(StringBuilder json, String value) {
        json.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        json.append('"');
    }
}
