package drey.runtime;

import drey.batch.BatchReader;
import drey.batch.JoinedBatchReader;
import drey.batch.RowBatchReader;
import drey.batch.RowSchema;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The little that the Java side has to know of an operator, read from its specification.
 *
 * @param operator the operator's name
 * @param retention whether state expires: then a batch must not span two ticks of the clock
 * @param bundles whether the operator holds rows back in mini-batch bundles
 * @param forwardsTimestamps whether Flink's operator stamps what it emits with the timestamp of the record it came from.
 *     Operators on KeyedProcessOperator do; bundle, join and window operators emit records without a timestamp
 * @param timerField the field whose value is the time of the timer that emitted a row, -1 if the operator has no timers
 * @param leftFields how many of the output's fields are those of the left row, where rows come out as Flink's JoinedRowData of two;
 *     -1 where they come out as one
 * @param asksHost whether the operator asks the condition of Flink's join about pairs of rows
 */
record OperatorTraits(
        String operator,
        boolean retention,
        boolean bundles,
        boolean forwardsTimestamps,
        int timerField,
        int leftFields,
        boolean asksHost) {

    /** The value of {@link #leftFields} where a row comes out as one. */
    static final int ONE_ROW = -1;

    private static final Set<String> SEMI_JOINS = Set.of("SEMI", "ANTI");

    /** Names of the keyed states that Flink's own operators keep, by native operator. */
    private static final Map<String, List<String>> STOCK_STATES =
            Map.of(
                    "deduplicate",
                    List.of(
                            "deduplicate-state",
                            "waiting-to-emit-on-timer",
                            "already-emitted-state-boolean"),
                    "rank",
                    List.of(
                            "data-state-with-append",
                            "Top1-Rank-State",
                            "counterState",
                            "data-state-with-update",
                            "data-state",
                            "rankEnd"),
                    "groupAggregate",
                    List.of("accState"),
                    "globalGroupAggregate",
                    List.of("accState"),
                    "incrementalGroupAggregate",
                    List.of("distinctAcc_0"),
                    "join",
                    List.of("left-records", "right-records"));

    static OperatorTraits of(String spec, List<RowType> inputs) {
        JsonNode json;
        try {
            json = new ObjectMapper().readTree(spec);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("operator specification is not JSON: " + spec, e);
        }
        String operator = json.path("operator").asText();
        boolean bundles = json.has("miniBatch");
        return switch (operator) {
            case "deduplicate" ->
                    new OperatorTraits(
                            operator,
                            json.path("stateTtlMillis").asLong() > 0,
                            bundles,
                            !bundles,
                            json.path("outputInsertOnly").asBoolean()
                                    ? json.path("rowtimeIndex").asInt(-1)
                                    : -1,
                            ONE_ROW,
                            false);
            // All its functions run on KeyedProcessOperator.
            case "rank" ->
                    new OperatorTraits(
                            operator,
                            json.path("stateTtlMillis").asLong() > 0,
                            false,
                            true,
                            -1,
                            json.path("outputRowNumber").asBoolean()
                                    ? inputs.get(0).getFieldCount()
                                    : ONE_ROW,
                            false);
            // The row of the key and the row of the values, or of the accumulators.
            case "groupAggregate",
                    "localGroupAggregate",
                    "globalGroupAggregate",
                    "incrementalGroupAggregate" ->
                    new OperatorTraits(
                            operator,
                            json.path("stateTtlMillis").asLong() > 0,
                            bundles,
                            !bundles,
                            -1,
                            (json.has("finalAggGrouping")
                                            ? json.path("finalAggGrouping")
                                            : json.path("grouping"))
                                    .size(),
                            false);
            // Its collector never has a timestamp. Semi and anti joins emit the left row as it is.
            case "join" ->
                    new OperatorTraits(
                            operator,
                            json.path("left").path("stateTtlMillis").asLong() > 0
                                    || json.path("right").path("stateTtlMillis").asLong() > 0,
                            bundles,
                            false,
                            -1,
                            SEMI_JOINS.contains(json.path("joinType").asText())
                                    ? ONE_ROW
                                    : inputs.get(0).getFieldCount(),
                            json.path("condition").asText().equals("host"));
            // The library's own, for tests of the runtime.
            case "echo" ->
                    new OperatorTraits(
                            operator,
                            false,
                            false,
                            true,
                            -1,
                            json.path("joined").asBoolean()
                                    ? inputs.get(0).getFieldCount()
                                    : ONE_ROW,
                            json.path("condition").asText().equals("host"));
            default ->
                    throw new IllegalArgumentException(
                            "no native operator is called '" + operator + "'");
        };
    }

    /** The schema of the output. */
    RowSchema outputSchema(RowType type) {
        return leftFields == ONE_ROW
                ? RowSchema.output(type)
                : RowSchema.joinedOutput(
                        fields(type, 0, leftFields),
                        fields(type, leftFields, type.getFieldCount()));
    }

    /** The reader of the output. */
    BatchReader outputReader(RowType type) {
        return leftFields == ONE_ROW
                ? new RowBatchReader(type.getFieldCount())
                : new JoinedBatchReader(leftFields, type.getFieldCount() - leftFields);
    }

    private static RowType fields(RowType type, int from, int to) {
        return new RowType(type.getFields().subList(from, to));
    }

    /** The keyed states in which a savepoint of Flink's own operator would hold what this one keeps natively. */
    List<String> stockStates() {
        return STOCK_STATES.getOrDefault(operator, List.of());
    }
}
