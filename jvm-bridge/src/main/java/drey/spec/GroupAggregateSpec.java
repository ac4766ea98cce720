package drey.spec;

import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * {@code StreamExecGroupAggregate}: the aggregates of each group, in one phase.
 *
 * @param grouping the key columns, in the order of Flink's key projection
 * @param generateUpdateBefore consumers want {@code -U}
 * @param miniBatch the number of rows that ends a bundle, absent when mini-batch is off
 * @param stateTtlMillis retention of a group's state, 0 for ever
 */
public record GroupAggregateSpec(
        List<Integer> grouping,
        AggregateCalls calls,
        boolean generateUpdateBefore,
        OptionalLong miniBatch,
        long stateTtlMillis)
        implements OperatorSpec {

    public static final String OPERATOR = "groupAggregate";

    public GroupAggregateSpec {
        grouping = List.copyOf(grouping);
        AggregateCalls.checkTtl(OPERATOR, stateTtlMillis);
    }

    @Override
    public String operator() {
        return OPERATOR;
    }

    @Override
    public Map<String, Object> fields() {
        Map<String, Object> fields = calls.fields();
        fields.put("grouping", grouping);
        fields.put("generateUpdateBefore", generateUpdateBefore);
        miniBatch.ifPresent(size -> fields.put("miniBatch", AggregateCalls.miniBatch(size)));
        fields.put("stateTtlMillis", stateTtlMillis);
        return fields;
    }
}
