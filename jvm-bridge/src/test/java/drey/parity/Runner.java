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

/** Plays a {@link Scenario} on an operator of as many subtasks as it asks for. */
final class Runner {

    private final Schema schema;
    private final Supplier<Object> operators;
    private final Supplier<StateBackend> backends;

    /** The logs of all subtasks, one after the other: between subtasks there is no order to compare. */
    private final Log log;

    private final RowDataKeySelector selector;

    private List<Harness> subtasks = new ArrayList<>();
    private final List<Log> subtaskLogs = new ArrayList<>();
    private long clock;
    private long checkpoints;

    private Runner(Schema schema, Supplier<Object> operators, Supplier<StateBackend> backends) {
        this.schema = schema;
        this.operators = operators;
        this.backends = backends;
        this.log = new Log(schema);
        this.selector = schema.selector();
    }

    static Log stock(Scenario scenario, Deduplication dedup, Supplier<StateBackend> backends)
            throws Exception {
        return new Runner(scenario.schema, () -> dedup.stock(scenario.schema), backends)
                .run(scenario);
    }

    static Log ours(Scenario scenario, Deduplication dedup, BatchOptions options) throws Exception {
        return new Runner(
                        scenario.schema, () -> factory(scenario.schema, dedup, options), () -> null)
                .run(scenario);
    }

    static NativeOperatorFactory factory(Schema schema, Deduplication dedup, BatchOptions options) {
        return new NativeOperatorFactory(
                SimpleOperatorFactory.of(dedup.stock(schema)),
                dedup.spec(schema),
                List.of(schema.type()),
                schema.type(),
                options);
    }

    private Log run(Scenario scenario) throws Exception {
        try {
            start(1, null);
            for (Scenario.Step step : scenario.steps) {
                if (step instanceof Scenario.Row row) {
                    process(row);
                } else if (step instanceof Scenario.WatermarkStep mark) {
                    for (Harness h : subtasks) {
                        h.processWatermark(mark.timestamp());
                    }
                } else if (step instanceof Scenario.Clock tick) {
                    clock = tick.millis();
                    for (Harness h : subtasks) {
                        h.setClock(clock);
                    }
                } else if (step instanceof Scenario.Checkpoint) {
                    snapshot();
                    subtaskLogs.forEach(l -> l.other("checkpoint"));
                } else if (step instanceof Scenario.Restart restart) {
                    OperatorSubtaskState state = snapshot();
                    int before = subtasks.size();
                    close();
                    log.other("restart at parallelism " + restart.parallelism());
                    start(restart.parallelism(), new Restored(state, before));
                }
            }
            for (Harness h : subtasks) {
                h.endInput();
                h.streamOperator().finish();
            }
        } finally {
            close();
        }
        return log;
    }

    private record Restored(OperatorSubtaskState state, int parallelism) {}

    private void start(int parallelism, Restored from) throws Exception {
        for (Harness.Subtask subtask : Harness.subtasks(parallelism)) {
            Log subtaskLog = new Log(schema);
            subtaskLogs.add(subtaskLog);
            Harness h =
                    Harness.create(
                            operators.get(),
                            schema,
                            subtaskLog,
                            backends.get(),
                            Harness.MEMORY,
                            subtask);
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
        BinaryRowData row = step.row().copy();
        int index =
                subtasks.size() == 1
                        ? 0
                        : KeyGroupRangeAssignment.assignKeyToParallelOperator(
                                selector.getKey(row), Harness.MAX_PARALLELISM, subtasks.size());
        subtasks.get(index)
                .processElement(
                        step.timestamp() == null
                                ? new StreamRecord<RowData>(row)
                                : new StreamRecord<>(row, step.timestamp()));
    }

    private OperatorSubtaskState snapshot() throws Exception {
        OperatorSubtaskState[] states = new OperatorSubtaskState[subtasks.size()];
        long id = ++checkpoints;
        for (int i = 0; i < states.length; i++) {
            states[i] = subtasks.get(i).checkpoint(id);
        }
        return AbstractStreamOperatorTestHarness.repackageState(states);
    }

    private void close() throws Exception {
        List<Harness> closing = subtasks;
        subtasks = new ArrayList<>();
        for (Harness h : closing) {
            h.close();
        }
        subtaskLogs.forEach(l -> log.entries.addAll(l.entries));
        subtaskLogs.clear();
    }
}
