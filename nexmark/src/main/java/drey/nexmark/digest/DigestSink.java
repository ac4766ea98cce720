package drey.nexmark.digest;

import drey.nexmark.digest.ChangelogDigest.Sameness;
import drey.nexmark.measure.Latency;
import drey.nexmark.measure.Probe;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;

/** A sink that keeps nothing but a digest of what it was given, and hands that to the run's probe at the end. */
final class DigestSink implements Sink<RowData> {

    private static final long serialVersionUID = 1L;

    private final RowType type;
    private final int[] key;
    private final Sameness sameness;
    private final boolean keyed;
    private final int record;
    private final String run;

    /**
     * @param sameness what the digest is to be good for
     * @param keyed whether UPDATE_BEFORE is left out and the result must be tracked by key
     * @param record the bucket to record, or -1
     */
    DigestSink(RowType type, int[] key, Sameness sameness, boolean keyed, int record, String run) {
        this.type = type;
        this.key = key;
        this.sameness = sameness;
        this.keyed = keyed;
        this.record = record;
        this.run = run;
    }

    @Override
    public SinkWriter<RowData> createWriter(WriterInitContext context) {
        return new Writer(this);
    }

    private static final class Writer implements SinkWriter<RowData> {

        private final RowHasher hasher;
        private final boolean keyed;
        private final int record;
        private final RowText text;
        private final Recording recording;
        private final ChangelogDigest digest;
        private final Probe probe;
        private final Latency latency = new Latency();
        private final AtomicLong received;
        private final boolean hashes;
        private long count;

        Writer(DigestSink sink) {
            digest = new ChangelogDigest(sink.sameness);
            keyed = sink.keyed;
            hashes = sink.sameness != Sameness.NOTHING || sink.record >= 0;
            hasher = hashes ? new RowHasher(sink.type, sink.key) : null;
            record = sink.record;
            text = record >= 0 ? new RowText(sink.type) : null;
            recording = record >= 0 ? new Recording() : null;
            probe = Probe.of(sink.run);
            received = probe.sink();
        }

        @Override
        public void write(RowData row, Context context) {
            RowKind kind = row.getRowKind();
            if (!hashes) {
                digest.apply(kind, 0, 0);
            } else {
                hasher.hash(row);
                digest(kind, row);
            }
            if ((++count & 1023) == 0) {
                received.lazySet(count);
            }
        }

        private void digest(RowKind kind, RowData row) {
            if (keyed) {
                digest.applyKeyed(kind, hasher.keyHash(), hasher.rowHash());
            } else {
                digest.apply(kind, hasher.keyHash(), hasher.rowHash());
            }
            if (recording != null && ChangelogDigest.bucket(hasher.keyHash()) == record) {
                record(kind, row);
            }
        }

        private void record(RowKind kind, RowData row) {
            if (!recording.isFull()) {
                long change = hasher.rowHash() * 4 + kind.toByteValue();
                recording.add(new Recording.Change(hasher.keyHash(), kind, change, text.of(row)));
            }
        }

        @Override
        public void writeWatermark(Watermark watermark) {
            long since = probe.since(watermark.getTimestamp());
            if (since >= 0) {
                latency.add(since);
            }
        }

        @Override
        public void flush(boolean endOfInput) {
            received.lazySet(count);
            if (endOfInput) {
                probe.add(latency);
                probe.finished(digest, recording);
            }
        }

        @Override
        public void close() {}
    }
}
