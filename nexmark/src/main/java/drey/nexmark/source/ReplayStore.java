package drey.nexmark.source;

import drey.nexmark.generator.EventGenerator;
import drey.nexmark.generator.GeneratorConfig;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;

/**
 * All events of a configuration as rows outside the Java heap, made once and shared by every run in the JVM. Emitting one
 * is pointing a row at it, so a run measures the operators and not the generator.
 *
 * <p>A chunk holds the rows of {@link #CHUNK} consecutive events, each as: int size, int partition, the row's bytes.
 */
public final class ReplayStore {

    static final int CHUNK = 50_000;
    private static final int HEADER = 8;

    private static ReplayStore latest;

    private final GeneratorConfig config;
    private final MemorySegment[][] chunks;
    private final long bytes;

    private ReplayStore(GeneratorConfig config, MemorySegment[][] chunks) {
        this.config = config;
        this.chunks = chunks;
        this.bytes = Arrays.stream(chunks).mapToLong(chunk -> chunk[0].size()).sum();
    }

    /**
     * A store with the events of this configuration, and maybe more: fewer events are the beginning of more. The one kept
     * before is given up if it doesn't have them.
     */
    public static synchronized ReplayStore of(GeneratorConfig config) {
        if (latest == null || !latest.holds(config)) {
            latest = null;
            latest = generate(config);
        }
        return latest;
    }

    private boolean holds(GeneratorConfig wanted) {
        return wanted.events() <= config.events()
                && wanted.withEvents(config.events()).equals(config);
    }

    public long bytes() {
        return bytes;
    }

    private static ReplayStore generate(GeneratorConfig config) {
        int count = Math.toIntExact((config.events() + CHUNK - 1) / CHUNK);
        MemorySegment[][] chunks = new MemorySegment[count][];
        int threads = Math.max(1, Math.min(count, Runtime.getRuntime().availableProcessors()));
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<?>> done = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                int first = t;
                done.add(
                        pool.submit(
                                () -> {
                                    EventGenerator generator = new EventGenerator(config);
                                    byte[] buffer = new byte[16 << 20];
                                    for (int c = first; c < count; c += threads) {
                                        buffer = fill(chunks, c, generator, buffer);
                                    }
                                }));
            }
            for (Future<?> future : done) {
                future.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException("could not prepare the replay", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while preparing the replay", e);
        } finally {
            pool.shutdownNow();
        }
        return new ReplayStore(config, chunks);
    }

    private static byte[] fill(
            MemorySegment[][] chunks, int chunk, EventGenerator generator, byte[] buffer) {
        long first = (long) chunk * CHUNK;
        long last = Math.min(first + CHUNK, generator.config().events());
        int size = 0;
        MemorySegment target = MemorySegmentFactory.wrap(buffer);
        for (long event = first; event < last; event++) {
            int partition = (int) generator.partition(event);
            generator.write(event);
            int needed = size + HEADER + generator.size();
            if (needed > buffer.length) {
                buffer = Arrays.copyOf(buffer, Math.max(needed, buffer.length * 2));
                target = MemorySegmentFactory.wrap(buffer);
            }
            target.putInt(size, generator.size());
            target.putInt(size + 4, partition);
            target.put(size + HEADER, generator.bytes(), 0, generator.size());
            size = needed;
        }
        MemorySegment segment = MemorySegmentFactory.allocateOffHeapUnsafeMemory(size);
        segment.put(0, buffer, 0, size);
        chunks[chunk] = new MemorySegment[] {segment};
        return buffer;
    }

    EventCursor cursor(NexmarkSplit split, long events) {
        return new Cursor(split, events);
    }

    private final class Cursor implements EventCursor {

        private final NexmarkSplit split;
        private final long events;
        private final BinaryRowData row = new BinaryRowData(4);
        private MemorySegment[] chunk;
        private MemorySegment segment;
        private int offset;
        private long position;

        Cursor(NexmarkSplit split, long events) {
            this.split = split;
            this.events = events;
            this.position = split.position() / CHUNK * CHUNK;
            if (split.position() < events) {
                openChunk();
                while (position < split.position()) {
                    skip();
                }
            } else {
                position = split.position();
            }
        }

        @Override
        public RowData next() {
            while (position < events) {
                if (offset == segment.size()) {
                    openChunk();
                }
                int size = segment.getInt(offset);
                int partition = segment.getInt(offset + 4);
                if (EventCursor.owns(split.index(), split.splits(), partition)) {
                    row.pointTo(chunk, offset + HEADER, size);
                    skip();
                    return row;
                }
                skip();
            }
            return null;
        }

        @Override
        public long position() {
            return position;
        }

        private void skip() {
            offset += HEADER + segment.getInt(offset);
            position++;
        }

        private void openChunk() {
            chunk = chunks[Math.toIntExact(position / CHUNK)];
            segment = chunk[0];
            offset = 0;
        }
    }
}
