package drey.runtime;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * The native operator's statistics as Flink metrics. The library may be asked on the task thread only, so what other
 * threads read is a copy, at most {@link #MAX_AGE_NANOS} older than the last batch; on the task thread it is exact.
 *
 * <p>What Flink's own operators report appears under their names and in their kind, everything else below {@code drey}.
 */
final class NativeMetrics {

    private static final long MAX_AGE_NANOS = 1_000_000_000L;

    /** Counters of Flink's deduplicate, window and OVER operators, and of its Top-N. */
    private static final Set<String> FLINKS_COUNTERS =
            Set.of("numLateRecordsDropped", "topn.invalidTopSize");

    /**
     * What Flink's operators log for every row, which is too much where it happens at all: here there is a line for the first,
     * and each time that the number has doubled.
     */
    private static final Map<String, String> WARNINGS =
            Map.of(
                    "topn.unmatchedRetractions",
                    "retractions of rows that are not there were left out: the input retracts what it never said, or"
                            + " a row's state has expired before. Results may be wrong; a longer"
                            + " table.exec.state.ttl may help",
                    "topn.expiredGroups",
                    "groups of rows were still counted when their state had expired. Results may be wrong; a"
                            + " longer table.exec.state.ttl may help",
                    "topn.worsenedRows",
                    "updates made the rank of a row worse, where the query promises that they never do: state of an"
                            + " operator in front of this one may have expired. Results may be wrong; a longer"
                            + " table.exec.state.ttl may help");

    private static final Logger LOG = LoggerFactory.getLogger(NativeMetrics.class);

    private final ObjectMapper mapper = new ObjectMapper();
    private final Map<String, Long> values = new ConcurrentHashMap<>();
    private final Map<String, Long> warned = new HashMap<>();
    private final Supplier<String> statistics;
    private final Thread taskThread = Thread.currentThread();

    private long refreshedAt;
    private boolean stale;

    NativeMetrics(MetricGroup group, Supplier<String> statistics) {
        this.statistics = statistics;
        refresh();
        MetricGroup ours = group.addGroup("drey");
        for (String name : values.keySet()) {
            if (FLINKS_COUNTERS.contains(name)) {
                group.counter(name, new NativeCounter(name));
            } else if (name.equals("bundleSize")) {
                group.gauge(name, (Gauge<Integer>) () -> (int) get(name));
                group.gauge("bundleRatio", (Gauge<Double>) this::bundleRatio);
            } else {
                ours.gauge(name, (Gauge<Long>) () -> get(name));
            }
        }
    }

    /** As AbstractMapBundleOperator has it. */
    private double bundleRatio() {
        long keys = get("bundleKeys");
        return keys == 0 ? 0.0 : 1.0 * get("bundleSize") / keys;
    }

    /** Tells that the native side has done something; says whether it is time to {@link #refresh()}. */
    boolean changed(long nowNanos) {
        stale = true;
        return nowNanos - refreshedAt > MAX_AGE_NANOS;
    }

    /** Whether there is something to be fetched that {@link #changed} left for later. */
    boolean stale() {
        return stale;
    }

    /** Stays with the numbers of the last refresh. */
    void giveUp() {
        stale = false;
    }

    void refresh() {
        JsonNode json;
        try {
            json = mapper.readTree(statistics.get());
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("the library's statistics are not JSON", e);
        }
        for (Iterator<Map.Entry<String, JsonNode>> it = json.fields(); it.hasNext(); ) {
            Map.Entry<String, JsonNode> stat = it.next();
            values.put(stat.getKey(), stat.getValue().asLong());
        }
        stale = false;
        refreshedAt = System.nanoTime();
        WARNINGS.forEach(this::warn);
    }

    private void warn(String name, String what) {
        long count = values.getOrDefault(name, 0L);
        if (count > 0 && count >= 2 * warned.getOrDefault(name, 0L)) {
            warned.put(name, count);
            LOG.warn("{} {} ({})", count, what, name);
        }
    }

    private long get(String name) {
        if (stale && Thread.currentThread() == taskThread) {
            refresh();
        }
        return values.getOrDefault(name, 0L);
    }

    private final class NativeCounter implements Counter {
        private final String name;

        NativeCounter(String name) {
            this.name = name;
        }

        @Override
        public long getCount() {
            return get(name);
        }

        @Override
        public void inc() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void inc(long n) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void dec() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void dec(long n) {
            throw new UnsupportedOperationException();
        }
    }
}
