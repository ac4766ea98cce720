package drey.nexmark.source;

import drey.nexmark.measure.EventClock;
import drey.nexmark.measure.Probe;
import drey.nexmark.generator.GeneratorConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.table.data.RowData;

/**
 * Emits the events of its splits, always of the split that is furthest behind, so that event time advances in all of them
 * together. Rows are reused: Flink copies between chained operators itself unless object reuse is on.
 */
final class NexmarkReader implements SourceReader<RowData, NexmarkSplit> {

    /**
     * Rows per call. The task looks at its mailbox (timers, checkpoints) between calls; 64 rows keep both that delay and
     * the cost of the call out of the measurement.
     */
    private static final int ROWS_PER_POLL = 64;

    private record Open(NexmarkSplit split, EventCursor cursor) {}

    private final GeneratorConfig config;
    private final boolean replay;
    private final Pace pace;
    private final boolean stay;
    private final Probe probe;
    private final EventClock clock;
    private final AtomicLong emitted;
    private final List<Open> open = new ArrayList<>();
    private CompletableFuture<Void> available = new CompletableFuture<>();
    private boolean noMoreSplits;
    private boolean started;
    private long count;

    /**
     * @param pace events per second to emit, or 0 for as fast as possible
     * @param stay whether the reader stays when it has emitted everything, and with it the job and its state
     */
    NexmarkReader(GeneratorConfig config, boolean replay, long pace, boolean stay, String run) {
        this.config = config;
        this.replay = replay;
        this.pace = new Pace(pace);
        this.stay = stay;
        this.probe = Probe.of(run);
        this.clock = probe.clock(config);
        this.emitted = probe.source();
    }

    @Override
    public void start() {}

    @Override
    public InputStatus pollNext(ReaderOutput<RowData> output) {
        if (open.isEmpty()) {
            if (noMoreSplits && !stay) {
                probe.sourceEnds();
                return InputStatus.END_OF_INPUT;
            }
            if (noMoreSplits) {
                probe.sourceStays();
            }
            if (available.isDone()) {
                available = new CompletableFuture<>();
            }
            return InputStatus.NOTHING_AVAILABLE;
        }
        if (!started) {
            started = true;
            probe.started();
        }
        Open furthestBehind = open.get(0);
        for (int i = 1; i < open.size(); i++) {
            if (open.get(i).cursor.position() < furthestBehind.cursor.position()) {
                furthestBehind = open.get(i);
            }
        }
        EventCursor cursor = furthestBehind.cursor;
        pace.await(cursor.position());
        clock.emitting(cursor.position());
        int rows = 0;
        while (rows < ROWS_PER_POLL) {
            RowData row = cursor.next();
            if (row == null) {
                open.remove(furthestBehind);
                break;
            }
            output.collect(row);
            rows++;
        }
        count += rows;
        emitted.lazySet(count);
        return InputStatus.MORE_AVAILABLE;
    }

    @Override
    public List<NexmarkSplit> snapshotState(long checkpointId) {
        List<NexmarkSplit> state = new ArrayList<>();
        for (Open one : open) {
            state.add(one.split.at(one.cursor.position()));
        }
        return state;
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
        return available;
    }

    @Override
    public void addSplits(List<NexmarkSplit> splits) {
        for (NexmarkSplit split : splits) {
            EventCursor cursor =
                    replay
                            ? ReplayStore.of(config).cursor(split, config.events())
                            : new GeneratingCursor(config, split);
            open.add(new Open(split, cursor));
        }
        available.complete(null);
    }

    @Override
    public void notifyNoMoreSplits() {
        noMoreSplits = true;
        available.complete(null);
    }

    @Override
    public void close() {}
}
