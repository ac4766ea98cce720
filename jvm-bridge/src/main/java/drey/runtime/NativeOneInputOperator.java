package drey.runtime;

import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.BoundedOneInput;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorParameters;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;

/**
 * Runs any native operator that has one input. Everything of substance is in {@link NativeLifecycle}; here stands which of
 * Flink's callbacks cuts the batch, always before Flink's own handling, so that nothing overtakes a row.
 */
public final class NativeOneInputOperator extends AbstractStreamOperator<RowData>
        implements OneInputStreamOperator<RowData, RowData>, BoundedOneInput {

    private static final long serialVersionUID = 1L;

    private final transient NativeLifecycle lifecycle;

    NativeOneInputOperator(
            StreamOperatorParameters<RowData> parameters,
            String spec,
            List<RowType> inputs,
            RowType outputType,
            BatchOptions options) {
        super(parameters);
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

    /** Flink then doesn't project the key of every record: the native side knows the key columns itself. */
    @Override
    public boolean hasKeyContext1() {
        return false;
    }

    @Override
    public void initializeState(StateInitializationContext context) throws Exception {
        super.initializeState(context);
        lifecycle.open(context, getKeyedStateBackend(), null);
    }

    @Override
    public void processElement(StreamRecord<RowData> element) throws Exception {
        lifecycle.process(0, element);
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        lifecycle.watermark(mark.getTimestamp());
        super.processWatermark(mark);
    }

    @Override
    public void processWatermark(WatermarkEvent watermark) throws Exception {
        lifecycle.cutBatch();
        super.processWatermark(watermark);
    }

    @Override
    public void processWatermarkStatus(WatermarkStatus status) throws Exception {
        lifecycle.cutBatch();
        super.processWatermarkStatus(status);
    }

    @Override
    public void processRecordAttributes(RecordAttributes attributes) throws Exception {
        lifecycle.cutBatch();
        super.processRecordAttributes(attributes);
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
    public void endInput() throws Exception {
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
            super.close();
        }
    }
}
