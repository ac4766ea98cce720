package drey.cluster;

import org.apache.flink.api.common.functions.RichMapFunction;

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Lets 5,000 rows a second through until a file exists, and everything from then on. It sleeps in the task's thread: what comes
 * faster stands in the buffers in front of the task, as behind any slow sink.
 */
final class Jam extends RichMapFunction<String, String> {

    private static final long serialVersionUID = 1;

    private static final int BURST = 50;
    private static final int BURST_MILLIS = 10;

    private final String file;
    private boolean over;
    private int burst;

    Jam(String file) {
        this.file = file;
    }

    @Override
    public String map(String row) throws InterruptedException {
        if (!over && ++burst == BURST) {
            burst = 0;
            over = Files.exists(Path.of(file));
            if (!over) {
                Thread.sleep(BURST_MILLIS);
            }
        }
        return row;
    }
}
