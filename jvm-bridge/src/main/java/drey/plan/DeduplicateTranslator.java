package drey.plan;

import static org.apache.flink.table.types.logical.utils.LogicalTypeChecks.isRowtimeAttribute;

import drey.spec.DeduplicateSpec;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.table.api.config.ExecutionConfigOptions;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecDeduplicate;
import org.apache.flink.table.runtime.operators.bundle.KeyedMapBundleOperator;
import org.apache.flink.table.runtime.operators.deduplicate.ProcTimeDeduplicateKeepFirstRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.ProcTimeDeduplicateKeepLastRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.ProcTimeMiniBatchDeduplicateKeepFirstRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.ProcTimeMiniBatchDeduplicateKeepLastRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.RowTimeDeduplicateFunction;
import org.apache.flink.table.runtime.operators.deduplicate.RowTimeDeduplicateKeepFirstRowFunction;
import org.apache.flink.table.runtime.operators.deduplicate.RowTimeMiniBatchDeduplicateFunction;
import org.apache.flink.table.runtime.operators.deduplicate.RowTimeMiniBatchLatestChangeDeduplicateFunction;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** {@code StreamExecDeduplicate}: follows its choice of function, case by case. */
final class DeduplicateTranslator implements Translator {

    @Override
    public String operator() {
        return DeduplicateSpec.OPERATOR;
    }

    @Override
    public List<Class<? extends ExecNode<?>>> nodes() {
        return List.of(StreamExecDeduplicate.class);
    }

    @Override
    public Translation translate(NodeView node) {
        NodeJson json = node.json();
        json.requireType("stream-exec-deduplicate_1");
        ReadableConfig config = node.config();
        RowType input = node.inputs().get(0);

        List<Integer> uniqueKeys = json.integers("uniqueKeys");
        boolean isRowtime = json.bool("isRowtime");
        boolean keepLastRow = json.bool("keepLastRow");
        boolean generateUpdateBefore = json.bool("generateUpdateBefore");
        // Absent in plans compiled before Flink had the insert-only variant: those keep the
        // updating one.
        boolean outputInsertOnly = json.optionalBool("outputInsertOnly").orElse(false);
        boolean generateInsert =
                config.get(
                        ExecutionConfigOptions
                                .TABLE_EXEC_DEDUPLICATE_INSERT_UPDATE_AFTER_SENSITIVE_ENABLED);
        long ttl = json.stateTtlMillis(1, config).get(0);

        Optional<String> unsupported =
                RowTypes.unsupportedRow(input).or(() -> RowTypes.unsupportedKey(input, uniqueKeys));
        if (unsupported.isPresent()) {
            return new Translation.Fallback(unsupported.get());
        }
        OptionalInt rowtimeIndex = isRowtime ? firstRowtime(input) : OptionalInt.empty();
        if (isRowtime && rowtimeIndex.isEmpty()) {
            return new Translation.Fallback("the input has no rowtime column");
        }

        Optional<DeduplicateSpec.MiniBatch> miniBatch = Optional.empty();
        if (config.get(ExecutionConfigOptions.TABLE_EXEC_MINIBATCH_ENABLED)) {
            miniBatch =
                    Optional.of(
                            new DeduplicateSpec.MiniBatch(
                                    config.get(ExecutionConfigOptions.TABLE_EXEC_MINIBATCH_SIZE),
                                    isRowtime
                                            && config.get(
                                                    ExecutionConfigOptions
                                                            .TABLE_EXEC_DEDUPLICATE_MINIBATCH_COMPACT_CHANGES_ENABLED)));
        }

        boolean waitsForWatermark = isRowtime && !keepLastRow && outputInsertOnly;
        if (isRowtime
                && miniBatch.isEmpty()
                && !waitsForWatermark
                && config.get(ExecutionConfigOptions.TABLE_EXEC_ASYNC_STATE_ENABLED)) {
            return Translation.Fallback.ASYNC_STATE;
        }

        return new Translation.Native(
                new DeduplicateSpec(
                        uniqueKeys,
                        isRowtime,
                        rowtimeIndex,
                        keepLastRow,
                        outputInsertOnly,
                        generateUpdateBefore,
                        generateInsert,
                        miniBatch,
                        ttl),
                stock(isRowtime, keepLastRow, waitsForWatermark, miniBatch));
    }

    private static StockOperator stock(
            boolean isRowtime,
            boolean keepLastRow,
            boolean waitsForWatermark,
            Optional<DeduplicateSpec.MiniBatch> miniBatch) {
        if (miniBatch.isPresent()) {
            Class<?> function;
            if (isRowtime) {
                function =
                        miniBatch.get().compactChanges()
                                ? RowTimeMiniBatchLatestChangeDeduplicateFunction.class
                                : RowTimeMiniBatchDeduplicateFunction.class;
            } else {
                function =
                        keepLastRow
                                ? ProcTimeMiniBatchDeduplicateKeepLastRowFunction.class
                                : ProcTimeMiniBatchDeduplicateKeepFirstRowFunction.class;
            }
            return new StockOperator(KeyedMapBundleOperator.class, function);
        }
        Class<?> function;
        if (isRowtime) {
            function =
                    waitsForWatermark
                            ? RowTimeDeduplicateKeepFirstRowFunction.class
                            : RowTimeDeduplicateFunction.class;
        } else {
            function =
                    keepLastRow
                            ? ProcTimeDeduplicateKeepLastRowFunction.class
                            : ProcTimeDeduplicateKeepFirstRowFunction.class;
        }
        return new StockOperator(KeyedProcessOperator.class, function);
    }

    /** Flink orders by the first rowtime attribute of the input, whichever the query named. */
    private static OptionalInt firstRowtime(RowType input) {
        for (int i = 0; i < input.getFieldCount(); i++) {
            if (isRowtimeAttribute(input.getTypeAt(i))) {
                return OptionalInt.of(i);
            }
        }
        return OptionalInt.empty();
    }
}
