package drey.parity;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.operators.testutils.MockInputSplitProvider;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperatorFactory;
import org.apache.flink.streaming.util.OneInputStreamOperatorTestHarness;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;

import java.util.List;

/** Flink's operator harness, keyed, with as much managed memory as asked for and the output collected in a {@link Log}. */
final class Harness extends OneInputStreamOperatorTestHarness<RowData, RowData> {

    static final int MAX_PARALLELISM = 128;
    static final long MEMORY = 256L << 20;

    /** The part of the job a harness plays. */
    record Subtask(int parallelism, int index) {
        static final Subtask ONLY = new Subtask(1, 0);
    }

    private final MockEnvironment environment;
    private Metrics metrics;

    private Harness(OneInputStreamOperator<RowData, RowData> operator, MockEnvironment environment)
            throws Exception {
        super(operator, environment);
        this.environment = environment;
    }

    private Harness(
            OneInputStreamOperatorFactory<RowData, RowData> factory, MockEnvironment environment)
            throws Exception {
        super(factory, environment);
        this.environment = environment;
    }

    /**
     * A harness that is set up but neither restored nor open.
     *
     * @param operatorOrFactory a one-input operator, or a factory of one
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
        return create(operatorOrFactory, schema, log, backend, memory, subtask, false);
    }

    static Harness create(
            Object operatorOrFactory,
            Schema schema,
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
        if (objectReuse) {
            harness.executionConfig.enableObjectReuse();
        }
        RowDataKeySelector selector = schema.selector();
        harness.config.setStatePartitioner(0, selector);
        TypeInformation<RowData> keyType = selector.getProducedType();
        harness.config.setStateKeySerializer(
                keyType.createSerializer(harness.executionConfig.getSerializerConfig()));
        harness.config.serializeAllConfigs();
        if (backend != null) {
            harness.setStateBackend(backend);
        }
        harness.setOutputCreator(serializer -> log);
        harness.setup(schema.serializer());
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

    Metrics metrics() {
        return metrics;
    }

    MockEnvironment environment() {
        return environment;
    }

    @Override
    public void close() throws Exception {
        try {
            super.close();
        } finally {
            environment.close();
        }
    }

    @SuppressWarnings("unchecked")
    private static Harness make(Object operatorOrFactory, MockEnvironment environment)
            throws Exception {
        return operatorOrFactory instanceof OneInputStreamOperatorFactory
                ? new Harness(
                        (OneInputStreamOperatorFactory<RowData, RowData>) operatorOrFactory,
                        environment)
                : new Harness(
                        (OneInputStreamOperator<RowData, RowData>) operatorOrFactory, environment);
    }

    static List<Subtask> subtasks(int parallelism) {
        return java.util.stream.IntStream.range(0, parallelism)
                .mapToObj(i -> new Subtask(parallelism, i))
                .toList();
    }
}
