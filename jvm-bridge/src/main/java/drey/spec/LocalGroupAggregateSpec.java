package drey.spec;

import java.util.List;
import java.util.Map;

/**
 * {@code StreamExecLocalGroupAggregate}: the accumulators of each group of a bundle, before the exchange.
 *
 * @param grouping the key columns
 * @param miniBatch the number of rows that ends a bundle
 */
public record LocalGroupAggregateSpec(List<Integer> grouping, AggregateCalls calls, long miniBatch)
        implements OperatorSpec {

    public static final String OPERATOR = "localGroupAggregate";

    public LocalGroupAggregateSpec {
        grouping = List.copyOf(grouping);
    }

    @Override
    public String operator() {
        return OPERATOR;
    }

    @Override
    public Map<String, Object> fields() {
        Map<String, Object> fields = calls.fields();
        fields.put("grouping", grouping);
        fields.put("miniBatch", AggregateCalls.miniBatch(miniBatch));
        return fields;
    }
}
