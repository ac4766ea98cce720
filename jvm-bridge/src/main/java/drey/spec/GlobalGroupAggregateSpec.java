package drey.spec;

import java.util.List;
import java.util.Map;

/**
 * {@code StreamExecGlobalGroupAggregate}: merges the accumulators that a local aggregate has sent.
 *
 * @param grouping the key columns, in the order of Flink's key projection
 * @param calls with arguments that are columns of the local aggregate's input
 * @param localAggInputRowType the type of that input
 * @param generateUpdateBefore consumers want {@code -U}
 * @param miniBatch the number of rows that ends a bundle
 * @param stateTtlMillis retention of a group's state, 0 for ever
 */
public record GlobalGroupAggregateSpec(
        List<Integer> grouping,
        AggregateCalls calls,
        String localAggInputRowType,
        boolean generateUpdateBefore,
        long miniBatch,
        long stateTtlMillis)
        implements OperatorSpec {

    public static final String OPERATOR = "globalGroupAggregate";

    public GlobalGroupAggregateSpec {
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
        fields.put("localAggInputRowType", localAggInputRowType);
        fields.put("generateUpdateBefore", generateUpdateBefore);
        fields.put("miniBatch", AggregateCalls.miniBatch(miniBatch));
        fields.put("stateTtlMillis", stateTtlMillis);
        return fields;
    }
}
