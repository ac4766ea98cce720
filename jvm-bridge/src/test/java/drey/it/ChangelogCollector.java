package drey.it;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.types.Row;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Collects a changelog exactly once: rows count as emitted when the checkpoint after them completes, as a transactional
 * sink would have it. What it collected stays in this JVM, by name, across the jobs that continue one another.
 */
final class ChangelogCollector extends AbstractStreamOperator<Void>
        implements OneInputStreamOperator<Row, Void> {

    private static final long serialVersionUID = 1L;

    /** Rows that became visible with one checkpoint, of one subtask. */
    record Part(long checkpoint, int subtask, ArrayList<String> rows) {}

    private static final class Collected {
        // By checkpoint and subtask: committing a part twice changes nothing.
        final TreeMap<Long, Map<Integer, List<String>>> parts = new TreeMap<>();
        long base;
        boolean failed;
    }

    private static final Map<String, Collected> BY_NAME = new ConcurrentHashMap<>();

    private final String name;
    private final long failAfterCheckpoints;

    private transient ArrayList<String> current;
    private transient List<Part> pending;
    private transient ListState<Part> state;

    /**
     * @param failAfterCheckpoints the job fails once, at the first row after this many checkpoints are complete; 0: never
     */
    ChangelogCollector(String name, long failAfterCheckpoints) {
        this.name = name;
        this.failAfterCheckpoints = failAfterCheckpoints;
    }

    static void forget(String name) {
        BY_NAME.put(name, new Collected());
    }

    /**
     * Tells that the next job continues from a savepoint of the one before; its checkpoints may be numbered anew, its rows
     * come after all those collected.
     */
    static void continueWith(String name) {
        Collected c = BY_NAME.get(name);
        synchronized (c) {
            c.base = c.parts.isEmpty() ? 0 : c.parts.lastKey() + 1_000_000;
        }
    }

    /** The changelog of each key, in order; the key is the row's field at the given position. */
    static Map<String, List<String>> byKey(String name) {
        Collected c = BY_NAME.get(name);
        Map<String, List<String>> byKey = new LinkedHashMap<>();
        synchronized (c) {
            for (Map<Integer, List<String>> bySubtask : c.parts.values()) {
                for (List<String> rows : bySubtask.values()) {
                    for (String row : rows) {
                        int tab = row.indexOf('\t');
                        byKey.computeIfAbsent(row.substring(0, tab), k -> new ArrayList<>())
                                .add(row.substring(tab + 1));
                    }
                }
            }
        }
        return byKey;
    }

    static boolean failed(String name) {
        return BY_NAME.get(name).failed;
    }

    static long completedCheckpoints(String name) {
        Collected c = BY_NAME.get(name);
        synchronized (c) {
            return c.parts.size();
        }
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        current = new ArrayList<>();
        pending = new ArrayList<>();
        state =
                context.getOperatorStateStore()
                        .getListState(
                                new ListStateDescriptor<>(
                                        "parts", new TypeHint<Part>() {}.getTypeInfo()));
        // What a snapshot holds was before its barrier, and the snapshot is complete.
        for (Part part : state.get()) {
            commit(part);
        }
    }

    @Override
    public void processElement(StreamRecord<Row> element) {
        Collected c = BY_NAME.get(name);
        if (failAfterCheckpoints > 0) {
            synchronized (c) {
                if (!c.failed && c.parts.size() >= failAfterCheckpoints) {
                    c.failed = true;
                    throw new IllegalStateException("failure on purpose");
                }
            }
        }
        Row row = element.getValue();
        current.add(row.getField(0) + "\t" + row.getKind().shortString() + " " + row);
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        Collected c = BY_NAME.get(name);
        pending.add(
                new Part(
                        c.base + context.getCheckpointId(),
                        getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(),
                        current));
        current = new ArrayList<>();
        state.update(pending);
    }

    @Override
    public void notifyCheckpointComplete(long checkpointId) throws Exception {
        super.notifyCheckpointComplete(checkpointId);
        long upTo = BY_NAME.get(name).base + checkpointId;
        for (Part part : pending) {
            if (part.checkpoint() <= upTo) {
                commit(part);
            }
        }
        pending.removeIf(p -> p.checkpoint() <= upTo);
    }

    private void commit(Part part) {
        Collected c = BY_NAME.get(name);
        synchronized (c) {
            c.parts
                    .computeIfAbsent(part.checkpoint(), k -> new TreeMap<>())
                    .put(part.subtask(), part.rows());
        }
    }
}
