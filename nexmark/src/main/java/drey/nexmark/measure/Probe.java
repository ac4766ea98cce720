package drey.nexmark.measure;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.Recording;
import drey.nexmark.generator.GeneratorConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the sources and sinks of one run tell the runner. They share a JVM (the cluster is a MiniCluster), so a run is a
 * name in the table options and this class is the meeting place.
 *
 * <p>Time and CPU count from the first row a source emits until the last sink has seen the end of its input: planning,
 * deployment and tear-down of the embedded cluster are no part of either engine's work.
 */
public final class Probe {

    private static final ConcurrentHashMap<String, Probe> RUNS = new ConcurrentHashMap<>();

    private static final com.sun.management.OperatingSystemMXBean OS =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    /**
     * Task threads are sampled when they end; this is for those that come and go by themselves, as the compiler's. Reading
     * every thread's account takes milliseconds, looking at memory nearly nothing.
     */
    private static final long MEMORY_MILLIS = 50;

    private static final int CPU_SAMPLE = 40;

    private final Queue<AtomicLong> rowsIn = new ConcurrentLinkedQueue<>();
    private final Queue<AtomicLong> rowsOut = new ConcurrentLinkedQueue<>();
    private final Queue<ChangelogDigest> digests = new ConcurrentLinkedQueue<>();
    private final Queue<Recording> recordings = new ConcurrentLinkedQueue<>();
    private final CpuSplit cpu = new CpuSplit();
    private final Latency latency = new Latency();
    private volatile EventClock clock;
    private volatile long peakHeap;
    private volatile long peakNative;
    private volatile boolean running;
    private long startNanos;
    private long startCpu;
    private long endNanos;
    private long endCpu;

    private Probe() {}

    public static Probe of(String run) {
        return RUNS.computeIfAbsent(run, name -> new Probe());
    }

    public static void forget(String run) {
        RUNS.remove(run);
    }

    /** CPU time of the whole process so far, every thread of it. */
    static long processCpu() {
        return OS.getProcessCpuTime();
    }

    /** A counter of emitted rows for one source subtask; written by that subtask only. */
    public AtomicLong source() {
        return add(rowsIn);
    }

    /** A counter of received rows for one sink subtask; written by that subtask only. */
    public AtomicLong sink() {
        return add(rowsOut);
    }

    private static AtomicLong add(Queue<AtomicLong> counters) {
        AtomicLong counter = new AtomicLong();
        counters.add(counter);
        return counter;
    }

    /** The clock that all sources of this run set, and its sinks read. */
    public synchronized EventClock clock(GeneratorConfig config) {
        if (clock == null) {
            clock = new EventClock(config);
        }
        return clock;
    }

    /** Nanoseconds since the event that caused a watermark was emitted, or -1 if that is unknown. */
    public long since(long watermark) {
        EventClock known = clock;
        return known == null ? -1 : known.since(watermark, System.nanoTime());
    }

    /** What a sink subtask has measured. */
    public synchronized void add(Latency measured) {
        latency.add(measured);
    }

    public synchronized void started() {
        if (startNanos == 0) {
            cpu.start();
            running = true;
            Thread sampler = new Thread(this::sample, "probe-sampler");
            sampler.setDaemon(true);
            sampler.start();
            startCpu = processCpu();
            startNanos = System.nanoTime();
        }
    }

    /** A source has emitted its last row; its thread is about to end. */
    public synchronized void sourceEnds() {
        cpu.sample();
    }

    /** A source that stays has emitted everything. Whoever waits for that in another process has named a file. */
    public void sourceStays() {
        String signal = System.getProperty("nexmark.signal");
        if (signal != null) {
            try {
                Files.writeString(Path.of(signal), "");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    public synchronized void finished(ChangelogDigest digest, Recording recording) {
        endNanos = System.nanoTime();
        endCpu = processCpu();
        cpu.sample();
        digests.add(digest);
        if (recording != null) {
            recordings.add(recording);
        }
    }

    /** The job has ended. For sinks that don't report this is also when the run did. */
    public synchronized void jobEnded() {
        running = false;
        if (endNanos == 0) {
            endNanos = System.nanoTime();
            endCpu = processCpu();
        }
    }

    private void sample() {
        for (int i = 1; running; i++) {
            peakHeap = Math.max(peakHeap, Memory.heap());
            peakNative = Math.max(peakNative, StateMetrics.bytes());
            synchronized (this) {
                // After the end only what the cluster does to stop would come in.
                if (endNanos == 0 && i % CPU_SAMPLE == 0) {
                    cpu.sample();
                }
            }
            try {
                Thread.sleep(MEMORY_MILLIS);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /**
     * What the run cost, after its end.
     *
     * @param rowsIn events by which costs are divided
     * @param prepared bytes of resident memory that are not the run's
     */
    public synchronized Figures figures(
            long rowsIn, long rowsOut, long prepared, Checkpoints checkpoints) {
        long rss = Memory.peak();
        return new Figures(
                rowsIn,
                rowsOut,
                seconds(),
                (double) (endCpu - startCpu) / rowsIn,
                cpu.perEvent(rowsIn),
                rss == 0 ? 0 : Math.max(0, rss - prepared),
                peakHeap,
                Math.max(peakNative, StateMetrics.bytes()),
                latency.quantile(0.5),
                latency.quantile(0.99),
                NativeProof.p99Nanos(),
                NativeProof.rowsIn(),
                checkpoints);
    }

    public long rowsIn() {
        return rowsIn.stream().mapToLong(AtomicLong::get).sum();
    }

    public long rowsOut() {
        return rowsOut.stream().mapToLong(AtomicLong::get).sum();
    }

    private double seconds() {
        return (endNanos - startNanos) / 1e9;
    }

    /** The changelog digest over all sink subtasks, or null if no sink reported one. */
    public ChangelogDigest digest() {
        ChangelogDigest all = null;
        for (ChangelogDigest one : digests) {
            if (all == null) {
                all = new ChangelogDigest(one.sameness());
            }
            all.add(one);
        }
        return all;
    }

    public Recording recording() {
        Recording all = null;
        for (Recording one : recordings) {
            if (all == null) {
                all = one;
            } else {
                all.append(one);
            }
        }
        return all;
    }
}
