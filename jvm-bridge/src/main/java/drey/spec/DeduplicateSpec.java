package drey.spec;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

/**
 * {@code StreamExecDeduplicate}: one row per key, the first or the last by rowtime or by arrival.
 *
 * @param uniqueKeys the key columns, in the order of Flink's key projection
 * @param isRowtime ordered by event time; otherwise by arrival
 * @param rowtimeIndex the event time column, present iff {@code isRowtime}
 * @param keepLastRow keep the last row of a key; otherwise the first
 * @param outputInsertOnly keep-first by rowtime waits for the watermark and never updates
 * @param generateUpdateBefore consumers want {@code -U}
 * @param generateInsert consumers tell {@code +I} from {@code +U}
 * @param miniBatch absent when mini-batch is off
 * @param stateTtlMillis retention of a key's state, 0 for ever
 */
public record DeduplicateSpec(
        List<Integer> uniqueKeys,
        boolean isRowtime,
        OptionalInt rowtimeIndex,
        boolean keepLastRow,
        boolean outputInsertOnly,
        boolean generateUpdateBefore,
        boolean generateInsert,
        Optional<MiniBatch> miniBatch,
        long stateTtlMillis)
        implements OperatorSpec {

    public static final String OPERATOR = "deduplicate";

    /**
     * A bundle of rows processed together.
     *
     * @param size the number of rows that ends a bundle
     * @param compactChanges only the net change of a bundle is emitted
     */
    public record MiniBatch(long size, boolean compactChanges) {}

    public DeduplicateSpec {
        uniqueKeys = List.copyOf(uniqueKeys);
        if (isRowtime != rowtimeIndex.isPresent()) {
            throw new IllegalArgumentException(
                    "deduplicate: rowtimeIndex goes with isRowtime and only with it");
        }
        if (stateTtlMillis < 0) {
            throw new IllegalArgumentException(
                    "deduplicate: stateTtlMillis " + stateTtlMillis + " is negative");
        }
    }

    @Override
    public String operator() {
        return OPERATOR;
    }

    @Override
    public Map<String, Object> fields() {
        Map<String, Object> fields = new TreeMap<>();
        fields.put("uniqueKeys", uniqueKeys);
        fields.put("isRowtime", isRowtime);
        rowtimeIndex.ifPresent(index -> fields.put("rowtimeIndex", index));
        fields.put("keepLastRow", keepLastRow);
        fields.put("outputInsertOnly", outputInsertOnly);
        fields.put("generateUpdateBefore", generateUpdateBefore);
        fields.put("generateInsert", generateInsert);
        miniBatch.ifPresent(
                bundle ->
                        fields.put(
                                "miniBatch",
                                new TreeMap<>(
                                        Map.of(
                                                "size",
                                                bundle.size(),
                                                "compactChanges",
                                                bundle.compactChanges()))));
        fields.put("stateTtlMillis", stateTtlMillis);
        return fields;
    }
}
