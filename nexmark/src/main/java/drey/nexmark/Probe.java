package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.Recording;
import java.lang.management.ManagementFactory;
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

    private final Queue<AtomicLong> rowsIn = new ConcurrentLinkedQueue<>();
    private final Queue<AtomicLong> rowsOut = new ConcurrentLinkedQueue<>();
    private final Queue<ChangelogDigest> digests = new ConcurrentLinkedQueue<>();
    private final Queue<Recording> recordings = new ConcurrentLinkedQueue<>();
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
            startCpu = processCpu();
            startNanos = System.nanoTime();
        }
    }

    public synchronized void finished(ChangelogDigest digest, Recording recording) {
        endNanos = System.nanoTime();
        endCpu = processCpu();
        digests.add(digest);
        if (recording != null) {
            recordings.add(recording);
        }
    }

    /** For sinks that don't report: the run ends when the job does. */
    synchronized void finished() {
        endNanos = System.nanoTime();
        endCpu = processCpu();
    }

    long rowsIn() {
        return rowsIn.stream().mapToLong(AtomicLong::get).sum();
    }

    long rowsOut() {
        return rowsOut.stream().mapToLong(AtomicLong::get).sum();
    }

    synchronized boolean isFinished() {
        return endNanos != 0;
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
                all = new ChangelogDigest();
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
