package drey.parity;

import drey.runtime.BatchOptions;
import drey.runtime.NativeOperatorFactory;

import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.AbstractStreamOperatorTestHarness;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Plays the steps of a {@link Scenario} on an operator, Flink's or ours, of as many subtasks as they ask for. */
final class Runner implements AutoCloseable {

    private final Subject subject;
    private final Supplier<Object> operators;
    private final Supplier<StateBackend> backends;
    private final List<RowDataKeySelector> selectors;

    private List<Harness> subtasks = new ArrayList<>();
    private List<Log> logs = new ArrayList<>();
    private long clock;
    private long checkpoints;

    private Runner(Subject subject, Supplier<Object> operators, Supplier<StateBackend> backends)
            throws Exception {
        this.subject = subject;
        this.operators = operators;
        this.backends = backends;
        this.selectors = subject.selectors();
        start(1, null);
    }

    static Runner stock(Subject subject) throws Exception {
        return new Runner(subject, subject::stock, subject::backend);
    }

    static Runner ours(Subject subject, BatchOptions options) throws Exception {
        return new Runner(subject, () -> subject.ours(options), () -> null);
    }

    static NativeOperatorFactory factory(Schema schema, Deduplication dedup, BatchOptions options) {
        return new NativeOperatorFactory(
                SimpleOperatorFactory.of(dedup.stock(schema)),
                dedup.spec(schema),
                List.of(schema.type()),
                schema.type(),
                options);
    }

    /** Plays a step. Behind a checkpoint or a restart everything the operator had to emit is in the logs. */
    void play(Scenario.Step step) throws Exception {
        if (step instanceof Scenario.Row row) {
            process(row);
        } else if (step instanceof Scenario.WatermarkStep mark) {
            for (int i = 0; i < subtasks.size(); i++) {
                logs.get(i).mark();
                subtasks.get(i).processWatermark(mark.input(), mark.timestamp());
            }
        } else if (step instanceof Scenario.Clock tick) {
            clock = tick.millis();
            for (Harness h : subtasks) {
                h.setClock(clock);
            }
        } else if (step instanceof Scenario.Checkpoint) {
            snapshot();
        } else if (step instanceof Scenario.Restart restart) {
            OperatorSubtaskState state = snapshot();
            int before = subtasks.size();
            List<Log> emitted = logs;
            close();
            start(restart.parallelism(), new Restored(state, before));
            // Until they are taken, those of the operators that are gone come first.
            emitted.addAll(logs);
            logs = emitted;
        }
    }

    /** The end of the input. */
    void end() throws Exception {
        for (Harness h : subtasks) {
            h.endInput();
            h.streamOperator().finish();
        }
    }

    /** What the subtasks have emitted since the last time; between subtasks there is no order. */
    List<Log> take() {
        List<Log> taken = logs;
        logs = new ArrayList<>();
        for (Harness h : subtasks) {
            Log old = h.log();
            Log taking = new Log(old);
            taken.set(taken.indexOf(old), taking);
            old.clear();
            logs.add(old);
        }
        return taken;
    }

    private record Restored(OperatorSubtaskState state, int parallelism) {}

    private void start(int parallelism, Restored from) throws Exception {
        logs = new ArrayList<>();
        for (Harness.Subtask subtask : Harness.subtasks(parallelism)) {
            Log log = new Log(subject.output());
            logs.add(log);
            Harness h =
                    Harness.create(
                            operators.get(),
                            selectors,
                            subject.output(),
                            log,
                            backends.get(),
                            Harness.MEMORY,
                            subtask,
                            false);
            subtasks.add(h);
            h.setClock(clock);
            h.start(
                    from == null
                            ? null
                            : AbstractStreamOperatorTestHarness.repartitionOperatorState(
                                    from.state,
                                    Harness.MAX_PARALLELISM,
                                    from.parallelism,
                                    parallelism,
                                    subtask.index()));
        }
    }

    private void process(Scenario.Row step) throws Exception {
        BinaryRowData row = step.row().copy(); // the operator may keep it, or change its kind
        int index =
                subtasks.size() == 1
                        ? 0
                        : KeyGroupRangeAssignment.assignKeyToParallelOperator(
                                selectors.get(step.input()).getKey(row),
                                Harness.MAX_PARALLELISM,
                                subtasks.size());
        subtasks.get(index).log().mark();
        subtasks.get(index)
                .processElement(
                        step.input(),
                        step.timestamp() == null
                                ? new StreamRecord<RowData>(row)
                                : new StreamRecord<>(row, step.timestamp()));
    }

    private OperatorSubtaskState snapshot() throws Exception {
        OperatorSubtaskState[] states = new OperatorSubtaskState[subtasks.size()];
        long id = ++checkpoints;
        for (int i = 0; i < states.length; i++) {
            subtasks.get(i).log().mark();
            states[i] = subtasks.get(i).checkpoint(id);
        }
        return AbstractStreamOperatorTestHarness.repackageState(states);
    }

    @Override
    public void close() throws Exception {
        List<Harness> closing = subtasks;
        subtasks = new ArrayList<>();
        for (Harness h : closing) {
            h.close();
        }
    }
}
