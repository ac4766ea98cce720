package drey.suite;

import drey.suite.HarnessSwap.Fields;

import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.streaming.api.operators.AbstractUdfStreamOperator;
import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.table.runtime.operators.aggregate.MiniBatchGroupAggFunction;
import org.apache.flink.table.runtime.operators.bundle.KeyedMapBundleOperator;
import org.apache.flink.table.runtime.generated.GeneratedAggsHandleFunction;
import org.apache.flink.table.runtime.generated.GeneratedJoinCondition;
import org.apache.flink.table.runtime.operators.join.stream.MiniBatchStreamingJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.StreamingJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.StreamingSemiAntiJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.utils.JoinInputSideSpec;
import org.apache.flink.table.runtime.operators.rank.AbstractTopNFunction;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeFamily;

import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The specification of the native twin of a stock operator that a test built by hand.
 *
 * <p>Written out here rather than by {@code drey.spec}: this is the test's own statement of what the planner has to write
 * for such an operator.
 */
final class StockSpecs {
    private StockSpecs() {}

    /** Empty if there is no native twin; the test then stays stock and counts no native execution. */
    static Optional<String> of(StreamOperator<?> operator, int[] keyFields) {
        if (operator.getClass() == KeyedProcessOperator.class) {
            Object function = ((AbstractUdfStreamOperator<?, ?>) operator).getUserFunction();
            if (function instanceof AbstractTopNFunction topN) {
                return rank(topN, keyFields);
            }
            return deduplicate(function, "stateRetentionTime", keyFields, null);
        }
        if (operator.getClass() == KeyedMapBundleOperator.class) {
            Object function = Fields.get(operator, "function");
            long size = (Long) Fields.get(Fields.get(operator, "bundleTrigger"), "maxCount");
            return function instanceof MiniBatchGroupAggFunction
                    ? sum(function, keyFields, size)
                    : deduplicate(function, "minRetentionTime", keyFields, size);
        }
        return Optional.empty();
    }

    private static Optional<String> deduplicate(
            Object function, String ttl, int[] keyFields, Long bundle) {
        String name = function.getClass().getSimpleName();
        boolean rowtime;
        boolean keepLast;
        boolean insertOnly = false;
        switch (name) {
            case "ProcTimeDeduplicateKeepFirstRowFunction",
                    "ProcTimeMiniBatchDeduplicateKeepFirstRowFunction" -> {
                rowtime = false;
                keepLast = false;
                insertOnly = bundle == null;
            }
            case "ProcTimeDeduplicateKeepLastRowFunction",
                    "ProcTimeMiniBatchDeduplicateKeepLastRowFunction" -> {
                // ChangelogNormalize uses the same functions for a changelog, a filter included.
                String inserts = bundle == null ? "inputIsInsertOnly" : "inputInsertOnly";
                if (!(Boolean) Fields.get(function, inserts)) {
                    return Optional.empty();
                }
                rowtime = false;
                keepLast = true;
            }
            case "RowTimeDeduplicateKeepFirstRowFunction" -> {
                rowtime = true;
                keepLast = false;
                insertOnly = true;
            }
            case "RowTimeDeduplicateFunction",
                    "RowTimeMiniBatchDeduplicateFunction",
                    "RowTimeMiniBatchLatestChangeDeduplicateFunction" -> {
                rowtime = true;
                keepLast = (Boolean) Fields.get(function, "keepLastRow");
            }
            default -> {
                return Optional.empty();
            }
        }
        // Functions without these fields emit inserts only: no flag changes what they do.
        boolean flags = keepLast || (rowtime && !insertOnly);
        boolean before = flags && (Boolean) Fields.get(function, "generateUpdateBefore");
        boolean insert = !flags || (Boolean) Fields.get(function, "generateInsert");
        String keys =
                Arrays.stream(keyFields)
                        .mapToObj(Integer::toString)
                        .collect(Collectors.joining(","));
        StringBuilder spec = new StringBuilder();
        spec.append("{\"generateInsert\":").append(insert);
        spec.append(",\"generateUpdateBefore\":").append(before);
        spec.append(",\"isRowtime\":").append(rowtime);
        spec.append(",\"keepLastRow\":").append(keepLast);
        if (bundle != null) {
            boolean compact = name.contains("LatestChange");
            spec.append(",\"miniBatch\":{\"compactChanges\":").append(compact);
            spec.append(",\"size\":").append(bundle).append('}');
        }
        spec.append(",\"operator\":\"deduplicate\"");
        spec.append(",\"outputInsertOnly\":").append(insertOnly);
        if (rowtime) {
            spec.append(",\"rowtimeIndex\":").append(Fields.get(function, "rowtimeIndex"));
        }
        spec.append(",\"stateTtlMillis\":").append(Fields.get(function, ttl));
        spec.append(",\"uniqueKeys\":[").append(keys).append("],\"version\":1}");
        return Optional.of(spec.toString());
    }

    /**
     * Flink's test takes the generated function from a class of its own, which sums a BIGINT that is never NULL. It names no call
     * that counts the rows of a group; with rows taken back the planner always adds one.
     */
    private static Optional<String> sum(Object function, int[] keyFields, long bundle) {
        Object handler =
                ((GeneratedAggsHandleFunction) Fields.get(function, "genAggsHandler"))
                        .newInstance(StockSpecs.class.getClassLoader());
        if (!handler.getClass().getSimpleName().equals("SumAggsHandleFunction")) {
            return Optional.empty();
        }
        String call =
                "{\"argList\":%s,\"distinct\":false,\"filterArg\":-1,\"function\":\"%s\",\"type\":\"%s\"}";
        String sum =
                String.format(call, "[" + Fields.get(handler, "inputIndex") + "]", "SUM", "BIGINT");
        String count = String.format(call, "[]", "COUNT", "BIGINT NOT NULL");
        return Optional.of(
                "{\"aggCallNeedRetractions\":[true,true],\"aggCalls\":["
                        + sum
                        + ","
                        + count
                        + "],\"countStarInserted\":true,\"generateUpdateBefore\":"
                        + Fields.get(function, "generateUpdateBefore")
                        + ",\"grouping\":"
                        + list(keyFields)
                        + ",\"indexOfCountStar\":1,\"miniBatch\":{\"size\":"
                        + bundle
                        + "},\"needRetraction\":true,\"operator\":\"groupAggregate\""
                        + ",\"stateTtlMillis\":"
                        + Fields.get(function, "stateRetentionTime")
                        + ",\"version\":1}");
    }

    /** Whether the output has the rank as a last column. */
    static boolean addsRank(StreamOperator<?> operator) {
        return operator instanceof AbstractUdfStreamOperator<?, ?> udf
                && udf.getUserFunction() instanceof AbstractTopNFunction topN
                && (Boolean) Fields.get(topN, "outputRankNumber");
    }

    /** The types of the rows that go in, if the operator knows them. */
    static Optional<LogicalType[]> inputTypes(StreamOperator<?> operator) {
        return operator instanceof AbstractUdfStreamOperator<?, ?> udf
                        && udf.getUserFunction() instanceof AbstractTopNFunction topN
                ? Optional.of(inputTypes(topN))
                : Optional.empty();
    }

    private static LogicalType[] inputTypes(AbstractTopNFunction function) {
        return ((InternalTypeInfo<?>) Fields.get(function, "inputRowType")).toRowFieldTypes();
    }

    private static Optional<String> rank(AbstractTopNFunction function, int[] partition) {
        String name = function.getClass().getSimpleName().replaceFirst("Function$", "");
        if (!FUNCTIONS.contains(name)) {
            return Optional.empty();
        }
        StringBuilder spec = new StringBuilder();
        spec.append("{\"function\":\"").append(name).append('"');
        spec.append(",\"generateUpdateBefore\":")
                .append(Fields.get(function, "generateUpdateBefore"));
        spec.append(",\"operator\":\"rank\"");
        // All of Flink's tests sort ascending by integers that are never NULL. AppendOnlyFirstN
        // doesn't sort.
        int[] sort = (int[]) Fields.get(Fields.get(function, "sortKeySelector"), "keyFields");
        String fields =
                Arrays.stream(sort)
                        .mapToObj(
                                i ->
                                        "{\"index\":"
                                                + i
                                                + ",\"isAscending\":true,\"nullIsLast\":false}")
                        .collect(Collectors.joining(","));
        spec.append(",\"orderBy\":[")
                .append(name.equals("AppendOnlyFirstN") ? "" : fields)
                .append(']');
        spec.append(",\"outputRowNumber\":").append(Fields.get(function, "outputRankNumber"));
        spec.append(",\"partition\":").append(list(partition));
        if (name.equals("UpdatableTopN")) {
            Object keys = Fields.get(Fields.get(function, "rowKeySelector"), "keyFields");
            spec.append(",\"primaryKeys\":").append(list((int[]) keys));
        }
        if ((Boolean) Fields.get(function, "isConstantRankEnd")) {
            spec.append(",\"rankRange\":{\"end\":").append(Fields.get(function, "constantRankEnd"));
            spec.append(",\"start\":").append(Fields.get(function, "rankStart"));
            spec.append(",\"type\":\"Constant\"}");
        } else {
            int end = (Integer) Fields.get(function, "rankEndIndex");
            if (!inputTypes(function)[end].isAnyOf(LogicalTypeFamily.INTEGER_NUMERIC)) {
                // Flink refuses it, too.
                return Optional.empty();
            }
            spec.append(",\"rankRange\":{\"endIndex\":").append(end);
            spec.append(",\"type\":\"Variable\"}");
        }
        StateTtlConfig ttl = (StateTtlConfig) Fields.get(function, "ttlConfig");
        spec.append(",\"stateTtlMillis\":")
                .append(ttl.isEnabled() ? ttl.getTimeToLive().toMillis() : 0);
        spec.append(",\"version\":1}");
        return Optional.of(spec.toString());
    }

    /** The same for a join. */
    static Optional<String> join(StreamOperator<?> operator, int[] leftKeys, int[] rightKeys) {
        String type;
        if (operator.getClass() == StreamingSemiAntiJoinOperator.class) {
            type = (Boolean) Fields.get(operator, "isAntiJoin") ? "ANTI" : "SEMI";
        } else if (operator.getClass() == StreamingJoinOperator.class
                || operator instanceof MiniBatchStreamingJoinOperator) {
            boolean left = (Boolean) Fields.get(operator, "leftIsOuter");
            boolean right = (Boolean) Fields.get(operator, "rightIsOuter");
            type = left ? right ? "FULL" : "LEFT" : right ? "RIGHT" : "INNER";
        } else {
            return Optional.empty();
        }
        String code =
                ((GeneratedJoinCondition) Fields.get(operator, "generatedJoinCondition")).getCode();
        StringBuilder spec = new StringBuilder("{");
        // The condition of most tests is that every pair matches.
        if (!code.contains("return true;")) {
            spec.append("\"condition\":\"host\",");
        }
        spec.append("\"filterNulls\":")
                .append(Arrays.toString((boolean[]) Fields.get(operator, "filterNullKeys")));
        spec.append(",\"joinType\":\"").append(type).append('"');
        spec.append(",\"left\":").append(side(operator, "left", leftKeys));
        if (operator instanceof MiniBatchStreamingJoinOperator) {
            Object size = Fields.get(Fields.get(operator, "coBundleTrigger"), "maxCount");
            spec.append(",\"miniBatch\":{\"size\":").append(size).append('}');
        }
        spec.append(",\"operator\":\"join\"");
        spec.append(",\"right\":").append(side(operator, "right", rightKeys));
        return Optional.of(spec.append(",\"version\":1}").toString().replace(", ", ","));
    }

    private static String side(StreamOperator<?> operator, String side, int[] keys) {
        JoinInputSideSpec input = (JoinInputSideSpec) Fields.get(operator, side + "InputSideSpec");
        String unique =
                input.hasUniqueKey()
                        ? ",\"uniqueKey\":"
                                + list(
                                        (int[])
                                                Fields.get(
                                                        input.getUniqueKeySelector(), "keyFields"))
                        : "";
        return "{\"keys\":"
                + list(keys)
                + ",\"stateTtlMillis\":"
                + Fields.get(operator, side + "StateRetentionTime")
                + unique
                + "}";
    }

    private static String list(int[] numbers) {
        return Arrays.stream(numbers)
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(",", "[", "]"));
    }

    private static final Set<String> FUNCTIONS =
            Set.of(
                    "AppendOnlyFirstN",
                    "FastTop1",
                    "AppendOnlyTopN",
                    "UpdatableTopN",
                    "RetractableTopN");
}
