package drey.cluster;

import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceReader;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.util.NumberSequenceIterator;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Counts from 1 to a number of rows, and can be held up until a file exists.
 *
 * <p>Then the first quarter comes at full speed and the second and the third at 2,000 rows a second; the last quarter waits. So
 * there is a stream for as long as it takes to do something to it, and the job can't end before. It is the source that
 * waits: an operator that did would hold up checkpoints, too.
 */
final class CountSource extends NumberSequenceSource {

    private static final long serialVersionUID = 1;

    private static final int BURST = 100;
    private static final int BURST_MILLIS = 50;

    private final long quarter;
    private final String file;

    /** The file may be null: nothing is held up then. */
    CountSource(long rows, String file) {
        super(1, rows);
        this.quarter = rows / 4;
        this.file = file;
    }

    @Override
    public SourceReader<Long, NumberSequenceSplit> createReader(SourceReaderContext context) {
        return file == null ? super.createReader(context) : new Held(context);
    }

    private final class Held
            extends IteratorSourceReader<Long, NumberSequenceIterator, NumberSequenceSplit> {

        private boolean open;
        private int burst;
        private CompletableFuture<Void> pause = CompletableFuture.completedFuture(null);

        Held(SourceReaderContext context) {
            super(context);
        }

        @Override
        public InputStatus pollNext(ReaderOutput<Long> output) {
            return holds() ? InputStatus.NOTHING_AVAILABLE : super.pollNext(output);
        }

        private boolean holds() {
            if (open || iterator == null || !iterator.hasNext()) {
                return false;
            }
            long next = iterator.getCurrent();
            if (next <= quarter) {
                return false;
            }
            if (burst > 0 && next <= 3 * quarter) {
                burst--;
                return false;
            }
            burst = BURST;
            open = Files.exists(Path.of(file));
            if (!open) {
                pause =
                        new CompletableFuture<Void>()
                                .completeOnTimeout(null, BURST_MILLIS, TimeUnit.MILLISECONDS);
            }
            return !open;
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return pause.isDone() ? super.isAvailable() : pause;
        }
    }
}
