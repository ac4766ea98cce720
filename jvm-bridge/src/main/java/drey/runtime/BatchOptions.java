package drey.runtime;

import java.io.Serializable;

/**
 * When a batch of input rows is cut, beside the cuts that correctness asks for (watermark, barrier, end of input).
 *
 * @param rows most rows in a batch, at most {@value #MOST_ROWS}
 * @param bytes a batch is cut once its rows take this many bytes
 * @param latencyMillis longest time a row may wait for its batch to fill; 0 hands every row over at once
 */
public record BatchOptions(int rows, int bytes, long latencyMillis) implements Serializable {

    /** Each subtask has arrays of so many elements. */
    private static final int MOST_ROWS = 1 << 20;

    public static final BatchOptions DEFAULT = new BatchOptions(1024, 1 << 20, 5);

    public BatchOptions {
        if (rows < 1 || rows > MOST_ROWS) {
            throw new IllegalArgumentException(
                    "drey.batch.rows must be from 1 to " + MOST_ROWS + ", is " + rows);
        }
        if (bytes < 1) {
            throw new IllegalArgumentException("drey.batch.bytes must be at least 1, is " + bytes);
        }
        if (latencyMillis < 0) {
            throw new IllegalArgumentException(
                    "drey.batch.latency must not be negative, is " + latencyMillis + " ms");
        }
    }
}
