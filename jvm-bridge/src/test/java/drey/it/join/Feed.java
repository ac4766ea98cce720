package drey.it.join;

import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichSourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.types.Row;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** A changelog that comes epoch by epoch, see {@link Turns}. It may ask for a checkpoint to complete, and fail after it. */
final class Feed extends RichSourceFunction<Row>
        implements CheckpointedFunction, CheckpointListener {

    private static final long serialVersionUID = 1L;

    /** Runs that have failed already. */
    private static final Set<String> FAILED = ConcurrentHashMap.newKeySet();

    private final String run;
    private final List<List<Row>> epochs;
    private final boolean fails;

    private transient volatile boolean canceled;
    private transient volatile boolean checkpointed;
    private transient ListState<Integer> state;
    private transient int next;
    private transient int snapshotAt;
    private transient long snapshotId;

    /**
     * @param epochs the rows of each epoch
     * @param fails throw once, when a checkpoint from the middle of the feed is complete
     */
    Feed(String run, List<List<Row>> epochs, boolean fails) {
        this.run = run;
        this.epochs = epochs;
        this.fails = fails;
    }

    static void forget(String run) {
        FAILED.remove(run);
    }

    static boolean failed(String run) {
        return FAILED.contains(run);
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        state =
                context.getOperatorStateStore()
                        .getListState(new ListStateDescriptor<>("next", Types.INT));
        for (int epoch : state.get()) {
            next = epoch;
        }
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        state.update(List.of(next));
        snapshotAt = next;
        snapshotId = context.getCheckpointId();
    }

    @Override
    public void notifyCheckpointComplete(long id) {
        checkpointed |= id == snapshotId && snapshotAt >= epochs.size() / 3;
    }

    @Override
    public void run(SourceContext<Row> context) throws Exception {
        Turns turns = Turns.of(run);
        if (next > 0) {
            // After a restart nobody knows a watermark: this one says where the feed goes on.
            context.emitWatermark(new Watermark(next - 1));
        }
        while (next < epochs.size() && !canceled) {
            turns.await(next - 1);
            EpochClock.reach(next);
            if (fails && next == epochs.size() / 2 && !FAILED.contains(run)) {
                awaitCheckpoint();
            }
            if (fails && next == epochs.size() * 2 / 3 && FAILED.add(run)) {
                turns.fail();
                throw new IllegalStateException("the failure this test asks for");
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

    private void awaitCheckpoint() throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!checkpointed && !canceled) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("no checkpoint within a minute");
            }
            TimeUnit.MILLISECONDS.sleep(2);
        }
    }

    @Override
    public void cancel() {
        canceled = true;
    }
}
