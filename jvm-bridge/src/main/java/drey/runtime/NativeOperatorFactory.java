package drey.runtime;

import drey.jni.NativeLibrary;

import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.runtime.checkpoint.PrioritizedOperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateObjectCollection;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.streaming.api.operators.AbstractStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.ChainingStrategy;
import org.apache.flink.streaming.api.operators.OneInputStreamOperatorFactory;
import org.apache.flink.streaming.api.operators.OperatorAttributes;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.api.operators.TwoInputStreamOperatorFactory;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;

/**
 * Takes the place of the stock operator factory inside a finished transformation. Everything the job graph sees (chaining
 * strategy, operator attributes, type configuration) is answered by the stock factory, which is kept inside: a
 * TaskManager that can't run the native operator creates the stock one, and so does a job that goes on from the stock one's state.
 */
public final class NativeOperatorFactory extends AbstractStreamOperatorFactory<RowData>
        implements OneInputStreamOperatorFactory<RowData, RowData>,
                TwoInputStreamOperatorFactory<RowData, RowData, RowData> {

    private static final long serialVersionUID = 1L;

    private static final Logger LOG = LoggerFactory.getLogger(NativeOperatorFactory.class);

    private static final SaidOnce WARNED = new SaidOnce();

    private final StreamOperatorFactory<RowData> stock;
    private final String spec;
    private final List<RowType> inputs;
    private final RowType output;
    private final BatchOptions options;

    /**
     * @param stock the factory of Flink's own operator
     * @param spec the operator's specification, canonical JSON
     * @param inputs the row type of each input
     * @param output the row type of the output
     * @param options when batches are cut
     */
    public NativeOperatorFactory(
            StreamOperatorFactory<RowData> stock,
            String spec,
            List<RowType> inputs,
            RowType output,
            BatchOptions options) {
        this.stock = stock;
        this.spec = spec;
        this.inputs = List.copyOf(inputs);
        this.output = output;
        this.options = options;
        this.chainingStrategy = stock.getChainingStrategy();
    }

    /** Flink's own factory. */
    public StreamOperatorFactory<RowData> stock() {
        return stock;
    }

    /** The specification, canonical JSON. */
    public String spec() {
        return spec;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T extends StreamOperator<RowData>> T createStreamOperator(
            StreamOperatorParameters<RowData> parameters) {
        String reason = reasonForStock(parameters);
        if (reason != null) {
            if (WARNED.first(parameters.getContainingTask().getEnvironment().getJobID(), reason)) {
                LOG.warn("Running {} on Flink's own operator: {}", name(parameters), reason);
            }
            return stock.createStreamOperator(parameters);
        }
        return (T)
                (inputs.size() == 1
                        ? new NativeOneInputOperator(parameters, spec, inputs, output, options)
                        : new NativeTwoInputOperator(
                                parameters,
                                spec,
                                inputs,
                                output,
                                options,
                                OperatorTraits.of(spec, inputs).asksHost()
                                        ? StockCondition.of(stock)
                                        : null));
    }

    /** Why the native operator can't run in this process; null if it can. */
    private static String reasonForStock(StreamOperatorParameters<RowData> parameters) {
        if (restoresStockState(parameters)) {
            return "it is restored from state that Flink's operator has written";
        }
        String unavailable = NativeLibrary.unavailableReason();
        if (unavailable != null) {
            return unavailable;
        }
        if (NativeLifecycle.managedMemory(
                        parameters.getContainingTask().getEnvironment(),
                        parameters.getStreamConfig())
                <= 0) {
            return "the slot has no managed memory for it"
                    + " (taskmanager.memory.managed.fraction or taskmanager.memory.managed.size)";
        }
        return null;
    }

    /**
     * Flink's operator keeps managed keyed state, the native one raw keyed state and nothing else. Managed state covers whole
     * key-group ranges, also where they hold no keys, so all subtasks of a job come to the same answer.
     */
    private static boolean restoresStockState(StreamOperatorParameters<RowData> parameters) {
        PrioritizedOperatorSubtaskState state =
                parameters
                        .getContainingTask()
                        .getEnvironment()
                        .getTaskStateManager()
                        .prioritizedOperatorState(parameters.getStreamConfig().getOperatorID());
        return state.isRestored()
                && holdsAny(state.getPrioritizedManagedKeyedState())
                && !holdsAny(state.getPrioritizedRawKeyedState());
    }

    private static boolean holdsAny(List<StateObjectCollection<KeyedStateHandle>> alternatives) {
        return alternatives.stream().anyMatch(StateObjectCollection::hasState);
    }

    private static String name(StreamOperatorParameters<RowData> parameters) {
        return parameters.getStreamConfig().getOperatorName();
    }

    @Override
    public void setProcessingTimeService(ProcessingTimeService service) {
        super.setProcessingTimeService(service);
        if (stock instanceof AbstractStreamOperatorFactory<RowData> aware) {
            aware.setProcessingTimeService(service);
        }
    }

    @Override
    public void setChainingStrategy(ChainingStrategy strategy) {
        super.setChainingStrategy(strategy);
        stock.setChainingStrategy(strategy);
    }

    @Override
    public boolean isOutputTypeConfigurable() {
        return stock.isOutputTypeConfigurable();
    }

    @Override
    public void setOutputType(TypeInformation<RowData> type, ExecutionConfig config) {
        stock.setOutputType(type, config);
    }

    @Override
    public boolean isInputTypeConfigurable() {
        return stock.isInputTypeConfigurable();
    }

    @Override
    public void setInputType(TypeInformation<?> type, ExecutionConfig config) {
        stock.setInputType(type, config);
    }

    @Override
    public Class<? extends StreamOperator> getStreamOperatorClass(ClassLoader loader) {
        return stock.getStreamOperatorClass(loader);
    }

    @Override
    public OperatorAttributes getOperatorAttributes() {
        return stock.getOperatorAttributes();
    }
}
