package drey.it.join;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Takes turns: which of its two inputs a join reads first is otherwise up to the network.
 *
 * <p>Time goes in epochs, and the watermark is their number. A source emits what it has for an epoch and the watermark behind it,
 * and goes on once every observer behind the joins has seen that watermark, so that the joins have read all of it.
 */
final class Turns {

    private static final Map<String, Turns> BY_RUN = new ConcurrentHashMap<>();

    /** Of each query, for each subtask of its observer, the epoch whose end it has seen. */
    private final Map<String, long[]> seen = new HashMap<>();

    private int queries;

    static Turns of(String run) {
        return BY_RUN.computeIfAbsent(run, name -> new Turns());
    }

    static void forget(String run) {
        BY_RUN.remove(run);
    }

    synchronized void expect(int more) {
        queries += more;
    }

    /** A subtask of an observer, of so many, starts (again). */
    synchronized void starts(String query, int subtask, int subtasks) {
        seen.computeIfAbsent(
                                query,
                                q -> {
                                    long[] none = new long[subtasks];
                                    Arrays.fill(none, -2);
                                    return none;
                                })[subtask] =
                -1;
        notifyAll();
    }

    /** A subtask of an observer has seen the end of an epoch. */
    synchronized void saw(String query, int subtask, long epoch) {
        long[] subtasks = seen.get(query);
        if (subtasks != null) {
            subtasks[subtask] = epoch;
            notifyAll();
        }
    }

    /** The job is about to fail: nobody goes on until all observers have started again. */
    synchronized void fail() {
        seen.clear();
    }

    private boolean allSaw(long epoch) {
        return seen.size() == queries
                && seen.values().stream().flatMapToLong(Arrays::stream).allMatch(at -> at >= epoch);
    }

    /** Waits until all observers have seen the end of the epoch. */
    synchronized void await(long epoch) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
        while (!allSaw(epoch)) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException(
                        "not everybody has seen the end of epoch " + epoch + " in two minutes");
            }
            wait(1000);
        }
    }
}
