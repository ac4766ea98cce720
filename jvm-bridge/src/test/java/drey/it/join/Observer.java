package drey.it.join;

import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.types.Row;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** Keeps the messages of a query by epoch, and after a restart those that the checkpoint covers. */
final class Observer extends AbstractStreamOperator<Void>
        implements OneInputStreamOperator<Row, Void> {

    private static final long serialVersionUID = 1L;

    private static final Map<String, TreeMap<Long, List<Row>>> SEEN = new ConcurrentHashMap<>();

    /** What had been seen at a checkpoint; the end of its last epoch may have been yet to come. */
    private record Kept(TreeMap<Long, List<Row>> epochs, List<Row> current, long last) {}

    private static final Map<String, Kept> KEPT = new ConcurrentHashMap<>();

    private final String run;
    private final String query;

    private transient int subtask;
    private transient String name;
    private transient List<Row> current;
    private transient long last;
    private transient TreeMap<Long, List<Row>> epochs;

    Observer(String run, String query) {
        this.run = run;
        this.query = query;
    }

    /** The messages of each epoch, subtask after subtask. */
    static TreeMap<Long, List<Row>> take(String run, String query, int parallelism) {
        TreeMap<Long, List<Row>> all = new TreeMap<>();
        for (int i = 0; i < parallelism; i++) {
            // A join without a key has one subtask.
            TreeMap<Long, List<Row>> subtask = SEEN.remove(run + "/" + query + "/" + i);
            if (subtask != null) {
                subtask.forEach(
                        (epoch, rows) ->
                                all.computeIfAbsent(epoch, e -> new ArrayList<>()).addAll(rows));
            }
        }
        return all;
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
        name = run + "/" + query + "/" + subtask;
        epochs = new TreeMap<>();
        current = new ArrayList<>();
        last = -1;
        if (context.isRestored()) {
            Kept kept = KEPT.get(name + "/" + context.getRestoredCheckpointId().getAsLong());
            epochs.putAll(kept.epochs());
            current.addAll(kept.current());
            last = kept.last();
        }
        SEEN.put(name, epochs);
        Turns.of(run)
                .starts(
                        query,
                        subtask,
                        getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks());
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        KEPT.put(
                name + "/" + context.getCheckpointId(),
                new Kept(new TreeMap<>(epochs), List.copyOf(current), last));
    }

    @Override
    public void processElement(StreamRecord<Row> element) {
        current.add(Row.copy(element.getValue()));
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        super.processWatermark(mark);
        // After a restart an epoch ends once more that had ended before the checkpoint.
        if (mark.getTimestamp() > last) {
            last = mark.getTimestamp();
            if (!current.isEmpty()) {
                epochs.put(last, current);
                current = new ArrayList<>();
            }
        }
        Turns.of(run).saw(query, subtask, mark.getTimestamp());
    }
}
