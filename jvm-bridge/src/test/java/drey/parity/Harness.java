package drey.parity;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.operators.testutils.MockInputSplitProvider;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;
import org.apache.flink.streaming.api.operators.BoundedMultiInput;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;
import org.apache.flink.streaming.api.operators.TwoInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.streaming.util.AbstractStreamOperatorTestHarness;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;

/**
 * Flink's operator harness, keyed, for operators of one input or two, with as much managed memory as asked for and the output
 * collected in a {@link Log}.
 */
final class Harness extends AbstractStreamOperatorTestHarness<RowData> {

    static final int MAX_PARALLELISM = 128;
    static final long MEMORY = 256L << 20;

    /** The part of the job a harness plays. */
    record Subtask(int parallelism, int index) {
        static final Subtask ONLY = new Subtask(1, 0);
    }

    private final MockEnvironment environment;
    private Metrics metrics;
    private Log log;

    private Harness(StreamOperator<RowData> operator, MockEnvironment environment)
            throws Exception {
        super(operator, environment);
        this.environment = environment;
    }

    private Harness(StreamOperatorFactory<RowData> factory, MockEnvironment environment)
            throws Exception {
        super(factory, environment);
        this.environment = environment;
    }

    /**
     * A harness that is set up but neither restored nor open, for an operator that emits rows of its only input's type.
     *
     * @param operatorOrFactory an operator, or a factory of one
     * @param backend null: heap
     */
    static Harness create(
            Object operatorOrFactory,
            Schema schema,
            Log log,
            StateBackend backend,
            long memory,
            Subtask subtask)
            throws Exception {
        return create(
                operatorOrFactory,
                List.of(schema.selector()),
                schema.type(),
                log,
                backend,
                memory,
                subtask,
                false);
    }

    /**
     * A harness that is set up but neither restored nor open.
     *
     * @param selectors the key of each input
     */
    static Harness create(
            Object operatorOrFactory,
            List<RowDataKeySelector> selectors,
            RowType output,
            Log log,
            StateBackend backend,
            long memory,
            Subtask subtask,
            boolean objectReuse)
            throws Exception {
        Metrics metrics = new Metrics();
        MockEnvironment environment =
                new MockEnvironmentBuilder()
                        .setTaskName("parity")
                        .setManagedMemorySize(memory)
                        .setInputSplitProvider(new MockInputSplitProvider())
                        .setBufferSize(1024)
                        .setMaxParallelism(MAX_PARALLELISM)
                        .setParallelism(subtask.parallelism())
                        .setSubtaskIndex(subtask.index())
                        .setMetricGroup(metrics)
                        .build();
        Harness harness = make(operatorOrFactory, environment);
        harness.metrics = metrics;
        harness.log = log;
        if (objectReuse) {
            harness.executionConfig.enableObjectReuse();
        }
        for (int i = 0; i < selectors.size(); i++) {
            harness.config.setStatePartitioner(i, selectors.get(i));
        }
        TypeSerializer<RowData> keys =
                selectors
                        .get(0)
                        .getProducedType()
                        .createSerializer(harness.executionConfig.getSerializerConfig());
        harness.config.setStateKeySerializer(keys);
        harness.config.serializeAllConfigs();
        if (backend != null) {
            harness.setStateBackend(backend);
        }
        // Of five megabytes at most, if nothing is said: a long run has more state.
        harness.setCheckpointStorage(new JobManagerCheckpointStorage(Integer.MAX_VALUE));
        harness.setOutputCreator(serializer -> log);
        harness.setup(new RowDataSerializer(output));
        return harness;
    }

    /** Initializes, from a snapshot unless that is null, and opens. */
    void start(OperatorSubtaskState state) throws Exception {
        if (state == null) {
            initializeEmptyState();
        } else {
            initializeState(state);
        }
        open();
    }

    /** Sets every clock an operator can see. */
    void setClock(long millis) throws Exception {
        setStateTtlProcessingTime(millis);
        setProcessingTime(millis);
    }

    /** Barrier, then snapshot, in the task's order. */
    OperatorSubtaskState checkpoint(long id) throws Exception {
        prepareSnapshotPreBarrier(id);
        return snapshot(id, id);
    }

    Log log() {
        return log;
    }

    Metrics metrics() {
        return metrics;
    }

    MockEnvironment environment() {
        return environment;
    }

    // --- what a task calls ----------------------------------------------------------------------

    StreamOperator<RowData> streamOperator() {
        return operator;
    }

    private OneInputStreamOperator<RowData, RowData> one() {
        return cast(operator);
    }

    private TwoInputStreamOperator<RowData, RowData, RowData> two() {
        return cast(operator);
    }

    @SuppressWarnings("unchecked")
    private static <T> T cast(Object operator) {
        return (T) operator;
    }

    private boolean hasTwoInputs() {
        return operator instanceof TwoInputStreamOperator;
    }

    void processElement(StreamRecord<RowData> record) throws Exception {
        processElement(0, record);
    }

    void processElement(int input, StreamRecord<RowData> record) throws Exception {
        if (!hasTwoInputs()) {
            if (getOperator().hasKeyContext1()) {
                operator.setKeyContextElement1(record);
            }
            one().processElement(record);
        } else if (input == 0) {
            if (getOperator().hasKeyContext1()) {
                operator.setKeyContextElement1(record);
            }
            two().processElement1(record);
        } else {
            if (getOperator().hasKeyContext2()) {
                operator.setKeyContextElement2(record);
            }
            two().processElement2(record);
        }
    }

    /** A watermark on every input. */
    void processWatermark(long timestamp) throws Exception {
        processWatermark(0, timestamp);
        if (hasTwoInputs()) {
            processWatermark(1, timestamp);
        }
    }

    void processWatermark(int input, long timestamp) throws Exception {
        Watermark mark = new Watermark(timestamp);
        if (!hasTwoInputs()) {
            one().processWatermark(mark);
        } else if (input == 0) {
            two().processWatermark1(mark);
        } else {
            two().processWatermark2(mark);
        }
    }

    void processWatermarkStatus(int input, WatermarkStatus status) throws Exception {
        if (!hasTwoInputs()) {
            one().processWatermarkStatus(status);
        } else if (input == 0) {
            two().processWatermarkStatus1(status);
        } else {
            two().processWatermarkStatus2(status);
        }
    }

    void processRecordAttributes(int input, RecordAttributes attributes) throws Exception {
        if (!hasTwoInputs()) {
            one().processRecordAttributes(attributes);
        } else if (input == 0) {
            two().processRecordAttributes1(attributes);
        } else {
            two().processRecordAttributes2(attributes);
        }
    }

    /** The end of every input. */
    void endInput() throws Exception {
        if (operator instanceof BoundedOneInput bounded) {
            bounded.endInput();
        } else if (operator instanceof BoundedMultiInput bounded) {
            bounded.endInput(1);
            bounded.endInput(2);
        }
    }

    @Override
    public void close() throws Exception {
        try {
            super.close();
        } finally {
            environment.close();
        }
    }

    private static Harness make(Object operatorOrFactory, MockEnvironment environment)
            throws Exception {
        return operatorOrFactory instanceof StreamOperatorFactory
                ? new Harness(
                        Harness.<StreamOperatorFactory<RowData>>cast(operatorOrFactory),
                        environment)
                : new Harness(
                        Harness.<StreamOperator<RowData>>cast(operatorOrFactory), environment);
    }

    static List<Subtask> subtasks(int parallelism) {
        return java.util.stream.IntStream.range(0, parallelism)
                .mapToObj(i -> new Subtask(parallelism, i))
                .toList();
    }
}
