package drey.parity;

import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.metrics.groups.InternalOperatorMetricGroup;
import org.apache.flink.runtime.metrics.util.InterceptingOperatorMetricGroup;
import org.apache.flink.runtime.metrics.util.InterceptingTaskMetricGroup;

import java.util.HashMap;
import java.util.Map;

/** The metrics an operator registers, by name; those in a group of their own as {@code group.name}. */
final class Metrics extends InterceptingTaskMetricGroup {

    private final Map<String, Metric> grouped = new HashMap<>();
    private final Operator operator = new Operator();

    @Override
    public InternalOperatorMetricGroup getOrAddOperator(
            OperatorID id, String name, Map<String, String> variables) {
        return operator;
    }

    Metric metric(String name) {
        return grouped.containsKey(name) ? grouped.get(name) : operator.get(name);
    }

    long count(String name) {
        return ((Counter) metric(name)).getCount();
    }

    Object value(String name) {
        return ((Gauge<?>) metric(name)).getValue();
    }

    private final class Operator extends InterceptingOperatorMetricGroup {

        @Override
        public MetricGroup addGroup(String group) {
            return new UnregisteredMetricsGroup() {
                @Override
                public <T, G extends Gauge<T>> G gauge(String name, G gauge) {
                    grouped.put(group + "." + name, gauge);
                    return gauge;
                }
            };
        }
    }
}
