package drey.nexmark.measure;

import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/** Sees the metrics that native operators report of their state, as a metric reporter of the embedded cluster. */
public final class StateMetrics implements MetricReporter {

    /** Makes the reporter; Flink finds it by its name. */
    public static final class Factory implements MetricReporterFactory {
        @Override
        public MetricReporter createMetricReporter(Properties properties) {
            return new StateMetrics();
        }
    }

    private static final Map<Gauge<?>, String> GAUGES = new ConcurrentHashMap<>();

    /** What operators that are gone said last. */
    private static final Map<String, Long> GONE = new ConcurrentHashMap<>();

    /** Options of the embedded cluster that make it report here. */
    public static Map<String, String> options() {
        return Map.of("metrics.reporter.nexmark.factory.class", Factory.class.getName());
    }

    /** Forgets operators that are gone. */
    public static void reset() {
        GONE.clear();
    }

    /** Bytes that native state takes, or took at the end. */
    public static long bytes() {
        return sum("state.bytes");
    }

    /** Keys in native state, or at its end. */
    public static long keys() {
        return sum("state.keys");
    }

    private static long sum(String name) {
        long sum = GONE.getOrDefault(name, 0L);
        for (Map.Entry<Gauge<?>, String> gauge : GAUGES.entrySet()) {
            if (gauge.getValue().equals(name)) {
                sum += ((Number) gauge.getKey().getValue()).longValue();
            }
        }
        return sum;
    }

    @Override
    public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
        boolean known = name.equals("state.bytes") || name.equals("state.keys");
        if (known && metric instanceof Gauge<?> gauge) {
            GAUGES.put(gauge, name);
        }
    }

    @Override
    public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {
        if (metric instanceof Gauge<?> gauge && GAUGES.remove(gauge) != null) {
            GONE.merge(name, ((Number) gauge.getValue()).longValue(), Long::sum);
        }
    }

    @Override
    public void open(MetricConfig config) {}

    @Override
    public void close() {}
}
