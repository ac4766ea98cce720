package drey.spec;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * {@code StreamExecRank}, {@code StreamExecSortLimit} and {@code StreamExecLimit}: of each partition the rows of some
 * ranks.
 *
 * @param function which of Flink's functions it behaves like
 * @param partition the key columns, in the order of Flink's key projection
 * @param orderBy the sort key, empty where any order will do: then rows rank by arrival
 * @param rankRange the ranks that are kept
 * @param primaryKeys the row key of {@link Function#UPDATABLE_TOP_N}, absent in the JSON where empty, as for the others
 * @param outputRowNumber the output has the rank as a last column
 * @param generateUpdateBefore consumers want {@code -U}
 * @param stateTtlMillis retention of a key's state, 0 for ever
 */
public record RankSpec(
        Function function,
        List<Integer> partition,
        List<SortField> orderBy,
        RankRange rankRange,
        List<Integer> primaryKeys,
        boolean outputRowNumber,
        boolean generateUpdateBefore,
        long stateTtlMillis)
        implements OperatorSpec {

    public static final String OPERATOR = "rank";

    /** Flink's functions. */
    public enum Function {
        APPEND_ONLY_FIRST_N("AppendOnlyFirstN"),
        FAST_TOP_1("FastTop1"),
        APPEND_ONLY_TOP_N("AppendOnlyTopN"),
        UPDATABLE_TOP_N("UpdatableTopN"),
        RETRACTABLE_TOP_N("RetractableTopN");

        private final String text;

        Function(String text) {
            this.text = text;
        }
    }

    /**
     * A part of the sort key.
     *
     * @param index the column
     * @param nullIsLast where null sorts, whatever the direction
     */
    public record SortField(int index, boolean isAscending, boolean nullIsLast) {}

    /** The ranks that are kept, from 1. */
    public sealed interface RankRange {
        /** From start to end, both included. */
        record Constant(long start, long end) implements RankRange {}

        /** From 1 to what a column says. */
        record Variable(int endIndex) implements RankRange {}
    }

    public RankSpec {
        partition = List.copyOf(partition);
        orderBy = List.copyOf(orderBy);
        primaryKeys = List.copyOf(primaryKeys);
        if (function != Function.UPDATABLE_TOP_N && !primaryKeys.isEmpty()) {
            throw new IllegalArgumentException("rank: primaryKeys go with UpdatableTopN only");
        }
        if (stateTtlMillis < 0) {
            throw new IllegalArgumentException(
                    "rank: stateTtlMillis " + stateTtlMillis + " is negative");
        }
    }

    @Override
    public String operator() {
        return OPERATOR;
    }

    @Override
    public Map<String, Object> fields() {
        Map<String, Object> fields = new TreeMap<>();
        fields.put("function", function.text);
        fields.put("partition", partition);
        fields.put("orderBy", orderBy.stream().map(RankSpec::fields).toList());
        fields.put("rankRange", fields(rankRange));
        if (!primaryKeys.isEmpty()) {
            fields.put("primaryKeys", primaryKeys);
        }
        fields.put("outputRowNumber", outputRowNumber);
        fields.put("generateUpdateBefore", generateUpdateBefore);
        fields.put("stateTtlMillis", stateTtlMillis);
        return fields;
    }

    private static Map<String, Object> fields(SortField field) {
        return new TreeMap<>(
                Map.of(
                        "index", field.index(),
                        "isAscending", field.isAscending(),
                        "nullIsLast", field.nullIsLast()));
    }

    private static Map<String, Object> fields(RankRange range) {
        if (range instanceof RankRange.Constant constant) {
            return new TreeMap<>(
                    Map.of("type", "Constant", "start", constant.start(), "end", constant.end()));
        }
        RankRange.Variable variable = (RankRange.Variable) range;
        return new TreeMap<>(Map.of("type", "Variable", "endIndex", variable.endIndex()));
    }
}
