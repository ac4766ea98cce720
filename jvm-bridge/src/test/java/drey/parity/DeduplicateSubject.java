package drey.parity;

import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;
import java.util.random.RandomGenerator;

/** Deduplication on rows of chosen types. Operator and specification are written by hand, every variant there is. */
record DeduplicateSubject(Deduplication dedup, Schema schema) implements Subject {

    @Override
    public String operator() {
        return "deduplicate";
    }

    @Override
    public List<RowType> inputs() {
        return List.of(schema.type());
    }

    @Override
    public List<RowDataKeySelector> selectors() {
        return List.of(schema.selector());
    }

    @Override
    public RowType output() {
        return schema.type();
    }

    @Override
    public StreamOperator<RowData> stock() {
        return dedup.stock(schema);
    }

    @Override
    public String spec() {
        return dedup.spec(schema);
    }

    /** Timers of equal time fire in the order of Flink's heap, which nothing else can know. */
    @Override
    public Identity identity() {
        return dedup.usesTimers() ? Identity.SEQUENCE_PER_KEY : Identity.SEQUENCE;
    }

    @Override
    public Feed.Rows feed(RandomGenerator rng, int keySpace) {
        return (input, rowtime) -> schema.binary(schema.row(rng, keySpace, rowtime));
    }

    @Override
    public long ttl() {
        return dedup.ttl();
    }

    @Override
    public StateBackend backend() {
        return dedup.heapDiffersFromRocks() ? new EmbeddedRocksDBStateBackend() : null;
    }

    /** Timers fire in ascending order: rows between two watermarks come in ascending event time. */
    @Override
    public void check(Log ours, String what) {
        if (!dedup.usesTimers()) {
            return;
        }
        long last = Long.MIN_VALUE;
        for (Log.Entry e : ours.entries) {
            long time = e.row() == null ? Long.MIN_VALUE : e.row().getLong(schema.rowtimeIndex());
            if (e.row() != null && time < last) {
                throw new AssertionError(what + ": goes back in time: " + e.format(schema.type()));
            }
            last = time;
        }
    }

    @Override
    public String toString() {
        return dedup.toString();
    }
}
