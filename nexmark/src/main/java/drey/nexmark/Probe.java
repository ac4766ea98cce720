package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.Recording;
import java.lang.management.ManagementFactory;
import java.util.Map;
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
     * every thread's account takes milliseconds.
     */
    private static final long SAMPLE_MILLIS = 2_000;

    private final Queue<AtomicLong> rowsIn = new ConcurrentLinkedQueue<>();
    private final Queue<AtomicLong> rowsOut = new ConcurrentLinkedQueue<>();
    private final Queue<ChangelogDigest> digests = new ConcurrentLinkedQueue<>();
    private final Queue<Recording> recordings = new ConcurrentLinkedQueue<>();
    private final CpuSplit cpu = new CpuSplit();
    private volatile boolean running;
    private long startNanos;
    private long startCpu;
    private long endNanos;
    private long endCpu;

    private Probe() {}

    public static Probe of(String run) {
        return RUNS.computeIfAbsent(run, name -> new Probe());
    }

    static void forget(String run) {
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

    public synchronized void started() {
        if (startNanos == 0) {
            cpu.start();
            running = true;
            Thread sampler = new Thread(this::sampleCpu, "cpu-sampler");
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
    synchronized void jobEnded() {
        running = false;
        if (endNanos == 0) {
            endNanos = System.nanoTime();
            endCpu = processCpu();
        }
    }

    private void sampleCpu() {
        while (running) {
            synchronized (this) {
                // After the end only what the cluster does to stop would come in.
                if (endNanos == 0) {
                    cpu.sample();
                }
            }
            try {
                Thread.sleep(SAMPLE_MILLIS);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** CPU nanoseconds by group of threads. */
    Map<CpuSplit.Group, Long> cpuSplit() {
        return cpu.split();
    }

    long rowsIn() {
        return rowsIn.stream().mapToLong(AtomicLong::get).sum();
    }

    long rowsOut() {
        return rowsOut.stream().mapToLong(AtomicLong::get).sum();
    }

    synchronized double seconds() {
        return (endNanos - startNanos) / 1e9;
    }

    synchronized long cpuNanos() {
        return endCpu - startCpu;
    }

    /** The changelog digest over all sink subtasks, or null if no sink reported one. */
    ChangelogDigest digest() {
        ChangelogDigest all = null;
        for (ChangelogDigest one : digests) {
            if (all == null) {
                all = new ChangelogDigest(one.sameness());
            }
            all.add(one);
        }
        return all;
    }

    Recording recording() {
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
