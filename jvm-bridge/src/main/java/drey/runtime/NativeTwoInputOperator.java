package drey.runtime;

import drey.batch.RowPairs;

import org.apache.flink.api.common.functions.DefaultOpenContext;
import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.BoundedMultiInput;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.api.operators.TwoInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.generated.GeneratedJoinCondition;
import org.apache.flink.table.runtime.generated.JoinCondition;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.util.ExceptionUtils;

import java.util.List;

/**
 * Runs any native operator that has two inputs. As with one input, it says which of Flink's callbacks cuts the batch, which holds
 * rows of both inputs in the order they came. Watermarks, their statuses and record attributes of the two inputs are combined by
 * Flink's own code.
 */
public final class NativeTwoInputOperator extends AbstractStreamOperator<RowData>
        implements TwoInputStreamOperator<RowData, RowData, RowData>, BoundedMultiInput {

    private static final long serialVersionUID = 1L;

    private final transient NativeLifecycle lifecycle;
    private final transient List<RowType> inputs;
    private final transient GeneratedJoinCondition generatedCondition;
    private transient JoinCondition condition;

    /**
     * @param generatedCondition the join condition that the operator asks Flink about, null if it doesn't
     */
    NativeTwoInputOperator(
            StreamOperatorParameters<RowData> parameters,
            String spec,
            List<RowType> inputs,
            RowType outputType,
            BatchOptions options,
            GeneratedJoinCondition generatedCondition) {
        super(parameters);
        this.inputs = inputs;
        this.generatedCondition = generatedCondition;
        lifecycle =
                new NativeLifecycle(
                        spec,
                        inputs,
                        outputType,
                        options,
                        parameters.getContainingTask(),
                        parameters.getStreamConfig(),
                        parameters.getProcessingTimeService(),
                        output,
                        metrics);
    }

    @Override
    public boolean isUsingCustomRawKeyedState() {
        return true;
    }

    /** The native side knows the key columns itself, as with one input. */
    @Override
    public boolean hasKeyContext1() {
        return false;
    }

    @Override
    public boolean hasKeyContext2() {
        return false;
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        RowPairs pairs = null;
        if (generatedCondition != null) {
            condition =
                    generatedCondition.newInstance(getRuntimeContext().getUserCodeClassLoader());
            pairs =
                    new RowPairs(
                            inputs.get(0).getFieldCount(),
                            inputs.get(1).getFieldCount(),
                            condition::apply);
        }
        lifecycle.open(context, getKeyedStateBackend(), pairs);
    }

    @Override
    public void open() throws Exception {
        super.open();
        if (condition != null) {
            condition.setRuntimeContext(getRuntimeContext());
            condition.open(DefaultOpenContext.INSTANCE);
        }
    }

    @Override
    public void processElement1(StreamRecord<RowData> element) throws Exception {
        lifecycle.process(0, element);
    }

    @Override
    public void processElement2(StreamRecord<RowData> element) throws Exception {
        lifecycle.process(1, element);
    }

    // MiniBatchStreamingJoinOperator ends its bundle with the watermark of either input, whether or
    // not the operator's own advances, and not when that advances because an input has become idle.

    @Override
    public void processWatermark1(Watermark mark) throws Exception {
        lifecycle.inputWatermark();
        super.processWatermark1(mark);
    }

    @Override
    public void processWatermark2(Watermark mark) throws Exception {
        lifecycle.inputWatermark();
        super.processWatermark2(mark);
    }

    /** The operator's own watermark advances. */
    @Override
    public void processWatermark(Watermark mark) throws Exception {
        lifecycle.advanceEventTime(mark.getTimestamp());
        super.processWatermark(mark);
    }

    @Override
    public void processWatermark1(WatermarkEvent watermark) throws Exception {
        lifecycle.cutBatch();
        super.processWatermark1(watermark);
    }

    @Override
    public void processWatermark2(WatermarkEvent watermark) throws Exception {
        lifecycle.cutBatch();
        super.processWatermark2(watermark);
    }

    @Override
    protected void processWatermarkStatus(WatermarkStatus status, int index) throws Exception {
        lifecycle.cutBatch();
        super.processWatermarkStatus(status, index);
    }

    @Override
    public void processRecordAttributes1(RecordAttributes attributes) {
        cutBatch();
        super.processRecordAttributes1(attributes);
    }

    @Override
    public void processRecordAttributes2(RecordAttributes attributes) {
        cutBatch();
        super.processRecordAttributes2(attributes);
    }

    private void cutBatch() {
        try {
            lifecycle.cutBatch();
        } catch (Exception e) {
            ExceptionUtils.rethrow(e);
        }
    }

    @Override
    public void prepareSnapshotPreBarrier(long checkpointId) throws Exception {
        lifecycle.endBundle();
        super.prepareSnapshotPreBarrier(checkpointId);
    }

    @Override
    public void snapshotState(StateSnapshotContext context) throws Exception {
        super.snapshotState(context);
        lifecycle.snapshot(context);
    }

    @Override
    public void endInput(int inputId) throws Exception {
        lifecycle.cutBatch();
    }

    @Override
    public void finish() throws Exception {
        lifecycle.endBundle();
        super.finish();
    }

    @Override
    public void close() throws Exception {
        try {
            lifecycle.close();
        } finally {
            try {
                if (condition != null) {
                    JoinCondition closing = condition;
                    condition = null;
                    closing.close();
                }
            } finally {
                super.close();
            }
        }
    }
}
