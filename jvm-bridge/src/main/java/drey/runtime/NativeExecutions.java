package drey.runtime;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * What native operators have done in this JVM, by operator name. A stock fallback gives the same results as a native
 * operator, so whoever wants to know that rows really went through the library asks here.
 */
public final class NativeExecutions {

    private static final Map<String, NativeExecutions> BY_OPERATOR = new ConcurrentHashMap<>();

    private final LongAdder opened = new LongAdder();
    private final LongAdder rowsIn = new LongAdder();
    private final LongAdder rowsOut = new LongAdder();
    private final LongAdder batches = new LongAdder();
    private final LatencyHistogram latency = new LatencyHistogram();

    private NativeExecutions() {}

    /** The counters of the operators of this name, e.g. {@code deduplicate}. */
    public static NativeExecutions of(String operator) {
        return BY_OPERATOR.computeIfAbsent(operator, name -> new NativeExecutions());
    }

    /** Forgets everything counted so far; operators that are running go on counting from there. */
    public static void reset() {
        BY_OPERATOR.values().forEach(NativeExecutions::clear);
    }

    /** One line per operator that processed anything, for logs and test failures. */
    public static String describe() {
        StringBuilder s = new StringBuilder();
        BY_OPERATOR.forEach((name, e) -> s.append(name).append(": ").append(e).append('\n'));
        return s.toString();
    }

    /** Operator instances that were opened. */
    public long opened() {
        return opened.sum();
    }

    /** Rows handed to the library. */
    public long rowsIn() {
        return rowsIn.sum();
    }

    /** Rows the library emitted. */
    public long rowsOut() {
        return rowsOut.sum();
    }

    /** Batches handed to the library. */
    public long batches() {
        return batches.sum();
    }

    /**
     * Quantile of the time by which batching delayed a row, in nanoseconds, over all operators closed since the last
     * reset.
     */
    public long latencyNanos(double quantile) {
        synchronized (latency) {
            return latency.quantile(quantile);
        }
    }

    @Override
    public String toString() {
        return "opened "
                + opened()
                + ", batches "
                + batches()
                + ", rows in "
                + rowsIn()
                + ", rows out "
                + rowsOut();
    }

    void countOpened() {
        opened.increment();
    }

    void countBatch(int rows) {
        batches.increment();
        rowsIn.add(rows);
    }

    void countRowsOut(long rows) {
        rowsOut.add(rows);
    }

    void addLatency(LatencyHistogram more) {
        synchronized (latency) {
            latency.add(more);
        }
    }

    private void clear() {
        opened.reset();
        rowsIn.reset();
        rowsOut.reset();
        batches.reset();
        synchronized (latency) {
            latency.clear();
        }
    }
}
