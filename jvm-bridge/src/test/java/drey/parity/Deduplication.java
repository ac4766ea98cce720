package drey.parity;

import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.planner.codegen.EqualiserCodeGenerator;
import org.apache.flink.table.runtime.generated.GeneratedRecordEqualiser;
import org.apache.flink.table.runtime.operators.bundle.KeyedMapBundleOperator;
import org.apache.flink.table.runtime.operators.bundle.MapBundleFunction;
import org.apache.flink.table.runtime.operators.bundle.trigger.CountBundleTrigger;
import org.apache.flink.table.runtime.operators.deduplicate.ProcTimeDeduplicateKeepFirstRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.ProcTimeDeduplicateKeepLastRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.ProcTimeMiniBatchDeduplicateKeepFirstRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.ProcTimeMiniBatchDeduplicateKeepLastRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.RowTimeDeduplicateFunction;
import org.apache.flink.table.runtime.operators.deduplicate.RowTimeDeduplicateKeepFirstRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.RowTimeMiniBatchDeduplicateFunction;
import org.apache.flink.table.runtime.operators.deduplicate.RowTimeMiniBatchLatestChangeDeduplicateFunction;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * One way StreamExecDeduplicate can be translated. Knows Flink's own operator for it and the specification of the native
 * one.
 *
 * @param miniBatch size of the bundle; 0: off
 * @param ttl state retention in milliseconds; 0: off
 */
record Deduplication(
        boolean rowtime,
        boolean keepLast,
        boolean generateUpdateBefore,
        boolean generateInsert,
        boolean outputInsertOnly,
        int miniBatch,
        boolean compactChanges,
        long ttl) {

    /** Every combination the planner can produce, with and without state retention. */
    static List<Deduplication> all(long ttl) {
        List<Deduplication> all = new ArrayList<>();
        for (int miniBatch : new int[] {0, 7, 1000}) {
            // Processing time, keep first: no flag matters.
            all.add(
                    new Deduplication(
                            false, false, false, true, miniBatch == 0, miniBatch, false, ttl));
            for (int flags = 0; flags < 4; flags++) {
                boolean before = (flags & 1) != 0;
                boolean insert = (flags & 2) != 0;
                all.add(
                        new Deduplication(
                                false, true, before, insert, false, miniBatch, false, ttl));
                for (boolean keepLast : new boolean[] {true, false}) {
                    for (boolean compact :
                            miniBatch == 0 ? new boolean[] {false} : new boolean[] {false, true}) {
                        all.add(
                                new Deduplication(
                                        true, keepLast, before, insert, false, miniBatch, compact,
                                        ttl));
                    }
                }
            }
        }
        all.add(new Deduplication(true, false, false, true, true, 0, false, ttl));
        return all;
    }

    /** Whether output is driven by event-time timers. */
    boolean usesTimers() {
        return rowtime && outputInsertOnly;
    }

    /**
     * Whether the heap backend hands out the very object that was emitted before, with its row kind changed in place, so
     * that an equal row no longer compares equal; on RocksDB it does.
     */
    boolean heapDiffersFromRocks() {
        return !rowtime && keepLast && ttl == 0;
    }

    OneInputStreamOperator<RowData, RowData> stock(Schema schema) {
        InternalTypeInfo<RowData> type = InternalTypeInfo.of(schema.type());
        if (rowtime) {
            int time = schema.rowtimeIndex();
            if (miniBatch > 0) {
                return compactChanges
                        ? bundle(
                                new RowTimeMiniBatchLatestChangeDeduplicateFunction(
                                        type,
                                        schema.serializer(),
                                        ttl,
                                        time,
                                        generateUpdateBefore,
                                        generateInsert,
                                        keepLast))
                        : bundle(
                                new RowTimeMiniBatchDeduplicateFunction(
                                        type,
                                        schema.serializer(),
                                        ttl,
                                        time,
                                        generateUpdateBefore,
                                        generateInsert,
                                        keepLast));
            }
            return new KeyedProcessOperator<>(
                    outputInsertOnly
                            ? new RowTimeDeduplicateKeepFirstRowFunction(type, ttl, time)
                            : new RowTimeDeduplicateFunction(
                                    type,
                                    ttl,
                                    time,
                                    generateUpdateBefore,
                                    generateInsert,
                                    keepLast));
        }
        if (!keepLast) {
            return miniBatch > 0
                    ? bundle(
                            new ProcTimeMiniBatchDeduplicateKeepFirstRowFunction(
                                    schema.serializer(), ttl))
                    : new KeyedProcessOperator<>(new ProcTimeDeduplicateKeepFirstRowFunction(ttl));
        }
        GeneratedRecordEqualiser equaliser =
                new EqualiserCodeGenerator(schema.type(), getClass().getClassLoader())
                        .generateRecordEqualiser("DeduplicateRowEqualiser");
        return miniBatch > 0
                ? bundle(
                        new ProcTimeMiniBatchDeduplicateKeepLastRowFunction(
                                type,
                                schema.serializer(),
                                ttl,
                                generateUpdateBefore,
                                generateInsert,
                                true,
                                equaliser,
                                null))
                : new KeyedProcessOperator<>(
                        new ProcTimeDeduplicateKeepLastRowFunction(
                                type,
                                ttl,
                                generateUpdateBefore,
                                generateInsert,
                                true,
                                equaliser,
                                null));
    }

    private <V> KeyedMapBundleOperator<RowData, V, RowData, RowData> bundle(
            MapBundleFunction<RowData, V, RowData, RowData> function) {
        return new KeyedMapBundleOperator<>(function, new CountBundleTrigger<>(miniBatch));
    }

    /** The specification, written by hand here so that a fault of the planner's writer can't hide in the comparison. */
    String spec(Schema schema) {
        String keys =
                Arrays.stream(schema.keys())
                        .mapToObj(String::valueOf)
                        .collect(Collectors.joining(","));
        return "{\"generateInsert\":"
                + generateInsert
                + ",\"generateUpdateBefore\":"
                + generateUpdateBefore
                + ",\"isRowtime\":"
                + rowtime
                + ",\"keepLastRow\":"
                + keepLast
                + (miniBatch > 0
                        ? ",\"miniBatch\":{\"compactChanges\":"
                                + compactChanges
                                + ",\"size\":"
                                + miniBatch
                                + "}"
                        : "")
                + ",\"operator\":\"deduplicate\",\"outputInsertOnly\":"
                + outputInsertOnly
                + (rowtime ? ",\"rowtimeIndex\":" + schema.rowtimeIndex() : "")
                + ",\"stateTtlMillis\":"
                + ttl
                + ",\"uniqueKeys\":["
                + keys
                + "],\"version\":1}";
    }
}
