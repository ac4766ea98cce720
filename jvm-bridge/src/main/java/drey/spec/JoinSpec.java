package drey.spec;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * {@code StreamExecJoin}: a join whose state is kept as long as its retention says.
 *
 * @param joinType Flink's name of it: INNER, LEFT, RIGHT, FULL, SEMI, ANTI
 * @param filterNulls per key column whether NULL matches nothing, as with {@code =}
 * @param condition what a pair must fulfil beside its keys, absent where that is nothing
 * @param miniBatchSize the number of rows of both inputs that ends a bundle, absent when mini-batch is off
 */
public record JoinSpec(
        String joinType,
        Side left,
        Side right,
        List<Boolean> filterNulls,
        Optional<Condition> condition,
        OptionalLong miniBatchSize)
        implements OperatorSpec {

    public static final String OPERATOR = "join";

    /**
     * One input.
     *
     * @param keys the key columns, in the order of Flink's key projection
     * @param uniqueKey the unique key that Flink tells rows apart by, if there is one
     * @param stateTtlMillis retention of its rows, 0 for ever
     */
    public record Side(List<Integer> keys, Optional<List<Integer>> uniqueKey, long stateTtlMillis) {
        public Side {
            keys = List.copyOf(keys);
            uniqueKey = uniqueKey.map(List::copyOf);
            if (stateTtlMillis < 0) {
                throw new IllegalArgumentException(
                        "join: stateTtlMillis " + stateTtlMillis + " is negative");
            }
        }

        private Map<String, Object> fields() {
            Map<String, Object> fields = new TreeMap<>();
            fields.put("keys", keys);
            uniqueKey.ifPresent(key -> fields.put("uniqueKey", key));
            fields.put("stateTtlMillis", stateTtlMillis);
            return fields;
        }
    }

    /** A predicate over pairs of rows. */
    public sealed interface Condition {
        /** One that the library evaluates. */
        record Native(Expression expression) implements Condition {}

        /** One that it asks the host about. */
        record Host() implements Condition {}
    }

    public JoinSpec {
        filterNulls = List.copyOf(filterNulls);
        if (left.keys().size() != right.keys().size() || left.keys().size() != filterNulls.size()) {
            throw new IllegalArgumentException(
                    "join: keys %s, %s, filterNulls %s"
                            .formatted(left.keys(), right.keys(), filterNulls));
        }
    }

    @Override
    public String operator() {
        return OPERATOR;
    }

    @Override
    public Map<String, Object> fields() {
        Map<String, Object> fields = new TreeMap<>();
        fields.put("joinType", joinType);
        fields.put("left", left.fields());
        fields.put("right", right.fields());
        fields.put("filterNulls", new ArrayList<>(filterNulls));
        condition.ifPresent(
                c ->
                        fields.put(
                                "condition",
                                c instanceof Condition.Native predicate
                                        ? predicate.expression().fields()
                                        : "host"));
        miniBatchSize.ifPresent(size -> fields.put("miniBatch", Map.of("size", size)));
        return fields;
    }
}
