package drey.it.join;

import drey.it.SteppingSource;

import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.types.Row;

import java.util.List;

/** A changelog that comes epoch by epoch, see {@link Turns}. It may ask for a checkpoint to complete, and fail after it. */
final class Feed extends SteppingSource<Row> {

    private static final long serialVersionUID = 1L;

    private final List<List<Row>> epochs;
    private final boolean fails;

    /**
     * @param epochs the rows of each epoch
     * @param fails throw once, when a checkpoint from the middle of the feed is complete
     */
    Feed(String run, List<List<Row>> epochs, boolean fails) {
        super(run);
        this.epochs = epochs;
        this.fails = fails;
    }

    @Override
    public void run(SourceContext<Row> context) throws Exception {
        Turns turns = Turns.of(run);
        if (next > 0) {
            // After a restart nobody knows a watermark: this one says where the feed goes on.
            context.emitWatermark(new Watermark(next - 1));
        }
        while (next < epochs.size() && !canceled()) {
            turns.await(next - 1);
            EpochClock.reach(next);
            if (fails && next == epochs.size() / 2 && !failed(run)) {
                awaitCheckpoint(epochs.size() / 3);
            }
            if (fails && next == epochs.size() * 2 / 3 && !failed(run)) {
                turns.fail();
                failOnce();
            }
            synchronized (context.getCheckpointLock()) {
                // Time stamps are not looked at, but a rowtime must have one.
                epochs.get(next).forEach(row -> context.collectWithTimestamp(row, next));
                context.emitWatermark(new Watermark(next));
                next++;
            }
        }
        turns.await(epochs.size() - 1);
    }
}
