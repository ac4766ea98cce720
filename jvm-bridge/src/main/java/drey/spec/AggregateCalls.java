package drey.spec;

import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;

/**
 * The calls of an aggregate, with what Flink adds to those of the query.
 *
 * @param calls those of the query, and behind them the COUNT(*) that Flink inserts where a retracting input needs one and
 *     the query has none
 * @param needRetractions for each call whether it is the variant of its function that can retract
 * @param needRetraction the input retracts
 * @param indexOfCountStar the call that counts the rows of a group, present iff {@code needRetraction}
 * @param countStarInserted that call is not the query's and has no place in the output
 */
public record AggregateCalls(
        List<Call> calls,
        List<Boolean> needRetractions,
        boolean needRetraction,
        OptionalInt indexOfCountStar,
        boolean countStarInserted) {

    /**
     * One call.
     *
     * @param argList the columns of its arguments
     * @param filterArg the column of its FILTER condition, -1 without one
     * @param type the type of its result
     */
    public record Call(
            Function function,
            List<Integer> argList,
            boolean distinct,
            int filterArg,
            String type) {

        public Call {
            argList = List.copyOf(argList);
        }
    }

    /** The aggregate functions there are. */
    public enum Function {
        AVG("AVG"),
        COUNT("COUNT"),
        FIRST_VALUE("FIRST_VALUE"),
        LAST_VALUE("LAST_VALUE"),
        LISTAGG("LISTAGG"),
        MAX("MAX"),
        MIN("MIN"),
        SINGLE_VALUE("SINGLE_VALUE"),
        SUM("SUM"),
        /** A sum that is 0 of no rows. */
        SUM0("$SUM0");

        private final String text;

        Function(String text) {
            this.text = text;
        }

        /** The name in SQL, or in Flink's plans where SQL has none. */
        public String text() {
            return text;
        }
    }

    public AggregateCalls {
        calls = List.copyOf(calls);
        needRetractions = List.copyOf(needRetractions);
        if (calls.size() != needRetractions.size()) {
            throw new IllegalArgumentException(
                    "aggregate: "
                            + needRetractions.size()
                            + " needRetractions for "
                            + calls.size()
                            + " calls");
        }
        if (needRetraction != indexOfCountStar.isPresent()) {
            throw new IllegalArgumentException(
                    "aggregate: indexOfCountStar goes with needRetraction and only with it");
        }
    }

    /** The fields as the specification of an aggregate node has them. */
    Map<String, Object> fields() {
        return fields("aggCalls", "aggCallNeedRetractions", "needRetraction");
    }

    /** The fields under the names of an incremental aggregate, which has two aggregates in it and speaks of the partial one. */
    Map<String, Object> partialFields() {
        return fields(
                "partialOriginalAggCalls",
                "partialAggCallNeedRetractions",
                "partialAggNeedRetraction");
    }

    private Map<String, Object> fields(
            String callsName, String needRetractionsName, String needRetractionName) {
        Map<String, Object> fields = new TreeMap<>();
        fields.put(callsName, calls.stream().map(AggregateCalls::fields).toList());
        fields.put(needRetractionsName, needRetractions);
        fields.put(needRetractionName, needRetraction);
        indexOfCountStar.ifPresent(index -> fields.put("indexOfCountStar", index));
        fields.put("countStarInserted", countStarInserted);
        return fields;
    }

    private static Map<String, Object> fields(Call call) {
        return new TreeMap<>(
                Map.of(
                        "function", call.function().text(),
                        "argList", call.argList(),
                        "distinct", call.distinct(),
                        "filterArg", call.filterArg(),
                        "type", call.type()));
    }

    /** A mini-batch as the specifications write it: the number of rows that ends a bundle. */
    static Map<String, Object> miniBatch(long size) {
        if (size <= 0) {
            throw new IllegalArgumentException("aggregate: a bundle of " + size + " rows");
        }
        return Map.of("size", size);
    }

    static void checkTtl(String operator, long stateTtlMillis) {
        if (stateTtlMillis < 0) {
            throw new IllegalArgumentException(
                    operator + ": stateTtlMillis " + stateTtlMillis + " is negative");
        }
    }
}
