package drey.plan;

import drey.spec.RankSpec;
import drey.spec.RankSpec.Function;
import drey.spec.RankSpec.RankRange;
import drey.spec.RankSpec.SortField;

import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.table.api.config.ExecutionConfigOptions;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecLimit;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecRank;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecSortLimit;
import org.apache.flink.table.runtime.operators.rank.AppendOnlyFirstNFunction;
import org.apache.flink.table.runtime.operators.rank.AppendOnlyTopNFunction;
import org.apache.flink.table.runtime.operators.rank.FastTop1Function;
import org.apache.flink.table.runtime.operators.rank.RetractableTopNFunction;
import org.apache.flink.table.runtime.operators.rank.UpdatableTopNFunction;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.RowType;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import static org.apache.flink.table.types.logical.utils.LogicalTypeChecks.isProctimeAttribute;

/** {@code StreamExecRank} and its subclasses for LIMIT: follows the choice of function. */
final class RankTranslator implements Translator {

    @Override
    public String operator() {
        return RankSpec.OPERATOR;
    }

    @Override
    public List<Class<? extends ExecNode<?>>> nodes() {
        return List.of(StreamExecRank.class, StreamExecSortLimit.class, StreamExecLimit.class);
    }

    @Override
    public Translation translate(NodeView node) {
        NodeJson json = node.json();
        json.requireType("stream-exec-rank_1", "stream-exec-sort-limit_1", "stream-exec-limit_1");
        RowType input = node.inputs().get(0);
        // Flink itself refuses to translate the others.
        if (!json.text("rankType").equals("ROW_NUMBER")) {
            return new Translation.Fallback("ranks by " + json.text("rankType"));
        }
        List<Integer> partition = json.object("partition").integers("fields");
        List<SortField> orderBy = orderBy(json.object("orderBy"));
        NodeJson range = json.object("rankRange");
        RankRange rankRange;
        switch (range.text("type")) {
            case "Constant" -> {
                long start = range.number("start");
                long end = range.number("end");
                if (start > end) {
                    return new Translation.Fallback("rank range is from " + start + " to " + end);
                }
                rankRange = new RankRange.Constant(start, end);
            }
            case "Variable" -> rankRange = new RankRange.Variable((int) range.number("endIndex"));
            default -> {
                return new Translation.Fallback("rank range is " + range.text("type"));
            }
        }
        boolean outputRowNumber = json.bool("outputRowNumber");
        List<Integer> primaryKeys = List.of();
        Function function;
        boolean top1 = rankRange.equals(new RankRange.Constant(1, 1));
        NodeJson strategy = json.object("rankStrategy");
        switch (strategy.text("type")) {
            case "AppendFast" -> {
                if (isByArrival(input, orderBy)) {
                    function = Function.APPEND_ONLY_FIRST_N;
                } else {
                    function = top1 ? Function.FAST_TOP_1 : Function.APPEND_ONLY_TOP_N;
                }
            }
            case "UpdateFast" -> {
                function = top1 ? Function.FAST_TOP_1 : Function.UPDATABLE_TOP_N;
                if (!top1) {
                    primaryKeys = strategy.integers("primaryKeys");
                }
            }
            case "Retract" -> function = Function.RETRACTABLE_TOP_N;
            default -> {
                return new Translation.Fallback("rank strategy is " + strategy.text("type"));
            }
        }

        Optional<String> unsupported =
                RowTypes.unsupportedRow(input)
                        .or(() -> RowTypes.unsupportedKey(input, partition))
                        .or(() -> RowTypes.unsupportedSortKey(input, indices(orderBy)))
                        .or(() -> unsupportedRange(input, rankRange));
        if (unsupported.isEmpty()) {
            unsupported = RowTypes.unsupportedKey(input, primaryKeys);
        }
        if (unsupported.isPresent()) {
            return new Translation.Fallback(unsupported.get());
        }
        boolean hasAsyncForm =
                function == Function.FAST_TOP_1 || function == Function.APPEND_ONLY_TOP_N;
        if (hasAsyncForm
                && node.config().get(ExecutionConfigOptions.TABLE_EXEC_ASYNC_STATE_ENABLED)) {
            return Translation.Fallback.ASYNC_STATE;
        }
        long ttl = json.stateTtlMillis(1, node.config()).get(0);
        return new Translation.Native(
                new RankSpec(
                        function,
                        partition,
                        orderBy,
                        fromOne(rankRange),
                        primaryKeys,
                        outputRowNumber,
                        json.bool("generateUpdateBefore"),
                        ttl),
                new StockOperator(KeyedProcessOperator.class, stock(function)));
    }

    /**
     * A range that starts before the first rank holds the same ranks as one that starts there. Flink's choice of a function tells them
     * apart, so that comes first.
     */
    private static RankRange fromOne(RankRange range) {
        return range instanceof RankRange.Constant constant && constant.start() < 1
                ? new RankRange.Constant(1, constant.end())
                : range;
    }

    private static Class<?> stock(Function function) {
        return switch (function) {
            case APPEND_ONLY_FIRST_N -> AppendOnlyFirstNFunction.class;
            case FAST_TOP_1 -> FastTop1Function.class;
            case APPEND_ONLY_TOP_N -> AppendOnlyTopNFunction.class;
            case UPDATABLE_TOP_N -> UpdatableTopNFunction.class;
            case RETRACTABLE_TOP_N -> RetractableTopNFunction.class;
        };
    }

    private static List<SortField> orderBy(NodeJson json) {
        List<SortField> fields = new ArrayList<>();
        for (NodeJson field : json.objects("fields")) {
            fields.add(
                    new SortField(
                            (int) field.number("index"),
                            field.bool("isAscending"),
                            field.bool("nullIsLast")));
        }
        return fields;
    }

    private static List<Integer> indices(List<SortField> orderBy) {
        return orderBy.stream().map(SortField::index).toList();
    }

    private static boolean isByArrival(RowType input, List<SortField> orderBy) {
        return orderBy.size() == 1
                && orderBy.get(0).isAscending()
                && isProctimeAttribute(input.getTypeAt(orderBy.get(0).index()));
    }

    /** Flink reads the bound by the column's type and knows three. */
    private static Optional<String> unsupportedRange(RowType input, RankRange range) {
        if (!(range instanceof RankRange.Variable variable)) {
            return Optional.empty();
        }
        LogicalTypeRoot root = input.getTypeAt(variable.endIndex()).getTypeRoot();
        return switch (root) {
            case SMALLINT, INTEGER, BIGINT -> Optional.empty();
            default -> Optional.of("rank end has type " + root);
        };
    }
}
