package drey.parity;

import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.data.binary.BinaryRowData;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Rows as bytes, in chunks. A row object is made shortly before somebody needs it, in memory of its own, as an exchange makes
 * them: a million that wait in the heap would be marked and moved by the collector while an operator is measured.
 */
final class PackedRows {

    /** About what comes in one buffer from the network. */
    static final int CHUNK = 1000;

    private final int[] arities;
    private final List<byte[]> chunks = new ArrayList<>();
    private final int[] ends = new int[CHUNK];
    private final List<int[]> chunkEnds = new ArrayList<>();
    private byte[] filling = new byte[64 * CHUNK];
    private int rows;
    private int inChunk;
    private byte[] inputs = new byte[CHUNK];

    /**
     * @param arities how many fields the rows of each input have
     */
    PackedRows(int... arities) {
        this.arities = arities;
    }

    void add(int input, BinaryRowData row) {
        int from = inChunk == 0 ? 0 : ends[inChunk - 1];
        int end = from + row.getSizeInBytes();
        if (end > filling.length) {
            filling = Arrays.copyOf(filling, 2 * end);
        }
        row.getSegments()[0].get(row.getOffset(), filling, from, row.getSizeInBytes());
        if (rows == inputs.length) {
            inputs = Arrays.copyOf(inputs, 2 * rows);
        }
        inputs[rows++] = (byte) input;
        ends[inChunk++] = end;
        if (inChunk == CHUNK) {
            seal();
        }
    }

    /** Ends the last chunk; nothing can be added behind it. */
    PackedRows seal() {
        if (inChunk > 0) {
            chunks.add(Arrays.copyOf(filling, ends[inChunk - 1]));
            chunkEnds.add(Arrays.copyOf(ends, inChunk));
            inChunk = 0;
        }
        return this;
    }

    int size() {
        return rows;
    }

    /** Which input a row is of. */
    int input(int row) {
        return inputs[row];
    }

    long bytes() {
        return chunks.stream().mapToLong(chunk -> chunk.length).sum();
    }

    int chunks() {
        return chunks.size();
    }

    /** Makes the rows of a chunk and returns how many there are. */
    int unpack(int chunk, BinaryRowData[] into) {
        int[] end = chunkEnds.get(chunk);
        for (int i = 0, from = 0; i < end.length; from = end[i++]) {
            byte[] bytes = Arrays.copyOfRange(chunks.get(chunk), from, end[i]);
            into[i] = new BinaryRowData(arities[inputs[chunk * CHUNK + i]]);
            into[i].pointTo(
                    new MemorySegment[] {MemorySegmentFactory.wrap(bytes)}, 0, bytes.length);
        }
        return end.length;
    }
}
