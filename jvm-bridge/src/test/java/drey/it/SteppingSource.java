package drey.it;

import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichSourceFunction;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * A source that goes through steps in one subtask, and after a restart goes on where its checkpoint was. It may wait for a
 * checkpoint, which means that all operators are done with what came before, and fail once.
 */
public abstract class SteppingSource<T> extends RichSourceFunction<T>
        implements CheckpointedFunction, CheckpointListener {

    private static final long serialVersionUID = 1L;

    /** Runs that have failed already. */
    private static final Set<String> FAILED = ConcurrentHashMap.newKeySet();

    protected final String run;

    /** The step that comes next. It goes on under the checkpoint lock. */
    protected transient int next;

    private transient ListState<Integer> state;
    private transient Map<Long, Integer> pending;
    private transient volatile int completed;
    private transient volatile boolean canceled;

    /**
     * @param run names this execution, so that its failure is remembered over the restart
     */
    protected SteppingSource(String run) {
        this.run = run;
    }

    /** Whether a run's source has failed. */
    public static boolean failed(String run) {
        return FAILED.contains(run);
    }

    public static void forget(String run) {
        FAILED.remove(run);
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        state =
                context.getOperatorStateStore()
                        .getListState(new ListStateDescriptor<>("next", Types.INT));
        for (int step : state.get()) {
            next = step;
        }
        pending = new TreeMap<>();
        completed = -1;
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        state.update(List.of(next));
        synchronized (pending) {
            pending.put(context.getCheckpointId(), next);
        }
    }

    @Override
    public void notifyCheckpointComplete(long id) {
        synchronized (pending) {
            Integer at = pending.remove(id);
            if (at != null) {
                completed = Math.max(completed, at);
            }
        }
    }

    protected final boolean canceled() {
        return canceled;
    }

    /** Waits until a checkpoint is complete that this source has taken at a step or behind it. */
    protected final void awaitCheckpoint(int step) throws InterruptedException {
        await(() -> completed >= step);
    }

    /** A condition to wait for. */
    protected interface Condition {
        boolean holds();
    }

    protected final void await(Condition condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
        while (!condition.holds() && !canceled) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("nothing came for two minutes at step " + next);
            }
            TimeUnit.MILLISECONDS.sleep(2);
        }
    }

    /** Throws, unless the run has failed before. */
    protected final void failOnce() {
        if (FAILED.add(run)) {
            throw new IllegalStateException("the failure this test asks for");
        }
    }

    @Override
    public void cancel() {
        canceled = true;
    }
}
