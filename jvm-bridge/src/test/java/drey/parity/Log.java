package drey.parity;

import org.apache.flink.runtime.event.WatermarkEvent;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.OutputTag;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Everything an operator emitted, in order. Rows are copied: the operator may reuse what it emits. */
class Log implements Output<StreamRecord<RowData>> {

    /** A row with its kind and record timestamp, or another stream element ({@code row} null, {@code other} not). */
    record Entry(RowKind kind, BinaryRowData row, Long timestamp, String other) {

        String format(RowType type) {
            if (row == null) {
                return other;
            }
            row.setRowKind(kind);
            String text = Schema.format(type, row) + (timestamp == null ? "" : " @" + timestamp);
            row.setRowKind(RowKind.INSERT);
            return other == null ? text : text + " in " + other;
        }
    }

    final List<Entry> entries = new ArrayList<>();

    /** Where in the entries begins what the next element of the input causes. */
    final List<Integer> marks = new ArrayList<>();

    private final RowDataSerializer serializer;

    Log(Schema schema) {
        this(schema.type());
    }

    Log(RowType type) {
        serializer = new RowDataSerializer(type);
    }

    /** A copy of what is in a log. */
    Log(Log other) {
        serializer = other.serializer;
        entries.addAll(other.entries);
        marks.addAll(other.marks);
    }

    /** An element of the input follows. */
    void mark() {
        marks.add(entries.size());
    }

    void clear() {
        entries.clear();
        marks.clear();
    }

    @Override
    public void collect(StreamRecord<RowData> record) {
        RowKind kind = record.getValue().getRowKind();
        BinaryRowData copy = serializer.toBinaryRow(record.getValue()).copy();
        copy.setRowKind(RowKind.INSERT);
        entries.add(
                new Entry(kind, copy, record.hasTimestamp() ? record.getTimestamp() : null, null));
    }

    @Override
    public void emitWatermark(Watermark mark) {
        other("watermark " + mark.getTimestamp());
    }

    @Override
    public void emitWatermark(WatermarkEvent watermark) {
        other(Objects.toString(watermark));
    }

    @Override
    public void emitWatermarkStatus(WatermarkStatus status) {
        other(status.toString());
    }

    @Override
    public void emitLatencyMarker(LatencyMarker marker) {
        other("latency marker");
    }

    @Override
    public void emitRecordAttributes(RecordAttributes attributes) {
        other(attributes.toString());
    }

    @Override
    public <X> void collect(OutputTag<X> tag, StreamRecord<X> record) {
        other("side output " + tag + " " + record);
    }

    void other(String text) {
        entries.add(new Entry(null, null, null, text));
    }

    @Override
    public void close() {}
}
