package drey.spec;

import java.util.List;
import java.util.Map;

/**
 * {@code StreamExecIncrementalGroupAggregate}: between the two levels of a split distinct aggregate, takes the place of the
 * global aggregate of the first and the local one of the second.
 *
 * @param partialAggGrouping the key columns of the first level
 * @param finalAggGrouping which of those the second level groups by
 * @param calls those of the first level, with arguments that are columns of its local aggregate's input
 * @param partialLocalAggInputRowType the type of that input
 * @param miniBatch the number of rows that ends a bundle
 * @param stateTtlMillis retention of a group's state, 0 for ever
 */
public record IncrementalGroupAggregateSpec(
        List<Integer> partialAggGrouping,
        List<Integer> finalAggGrouping,
        AggregateCalls calls,
        String partialLocalAggInputRowType,
        long miniBatch,
        long stateTtlMillis)
        implements OperatorSpec {

    public static final String OPERATOR = "incrementalGroupAggregate";

    public IncrementalGroupAggregateSpec {
        partialAggGrouping = List.copyOf(partialAggGrouping);
        finalAggGrouping = List.copyOf(finalAggGrouping);
        AggregateCalls.checkTtl(OPERATOR, stateTtlMillis);
    }

    @Override
    public String operator() {
        return OPERATOR;
    }

    @Override
    public Map<String, Object> fields() {
        Map<String, Object> fields = calls.partialFields();
        fields.put("partialAggGrouping", partialAggGrouping);
        fields.put("finalAggGrouping", finalAggGrouping);
        fields.put("partialLocalAggInputRowType", partialLocalAggInputRowType);
        fields.put("miniBatch", AggregateCalls.miniBatch(miniBatch));
        fields.put("stateTtlMillis", stateTtlMillis);
        return fields;
    }
}
