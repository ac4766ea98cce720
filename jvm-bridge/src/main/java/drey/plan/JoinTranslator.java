package drey.plan;

import drey.spec.JoinSpec;

import org.apache.flink.table.api.config.ExecutionConfigOptions;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecJoin;
import org.apache.flink.table.runtime.operators.join.stream.MiniBatchStreamingJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.StreamingJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.StreamingSemiAntiJoinOperator;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/** {@code StreamExecJoin}: follows its choice of operator and of each input's unique key. */
final class JoinTranslator implements Translator {

    private static final Set<String> TYPES =
            Set.of("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI");

    @Override
    public String operator() {
        return JoinSpec.OPERATOR;
    }

    @Override
    public List<Class<? extends ExecNode<?>>> nodes() {
        return List.of(StreamExecJoin.class);
    }

    @Override
    public Translation translate(NodeView node) {
        NodeJson json = node.json();
        json.requireType("stream-exec-join_1");
        RowType left = node.inputs().get(0);
        RowType right = node.inputs().get(1);
        NodeJson join = json.object("joinSpec");
        String type = join.text("joinType");
        if (!TYPES.contains(type)) {
            return new Translation.Fallback("join type is " + type);
        }
        boolean emitsLeftOnly = type.equals("SEMI") || type.equals("ANTI");
        List<Integer> leftKeys = join.integers("leftKeys");
        List<Integer> rightKeys = join.integers("rightKeys");
        Optional<List<Integer>> leftUnique = uniqueKey(json.lists("leftUpsertKeys"), leftKeys);
        Optional<List<Integer>> rightUnique = uniqueKey(json.lists("rightUpsertKeys"), rightKeys);

        Optional<String> unsupported =
                RowTypes.unsupportedRow(left)
                        .or(() -> RowTypes.unsupportedRow(right))
                        .or(() -> RowTypes.unsupportedKey(left, leftKeys))
                        .or(() -> RowTypes.unsupportedKey(right, rightKeys))
                        .or(() -> RowTypes.unsupportedKey(left, leftUnique.orElse(List.of())))
                        .or(() -> RowTypes.unsupportedKey(right, rightUnique.orElse(List.of())));
        if (unsupported.isPresent()) {
            return new Translation.Fallback(unsupported.get());
        }

        // Flink's operators for SEMI and ANTI have neither a mini-batch nor an asynchronous form.
        boolean miniBatch =
                !emitsLeftOnly
                        && node.config().get(ExecutionConfigOptions.TABLE_EXEC_MINIBATCH_ENABLED);
        if (!emitsLeftOnly
                && !miniBatch
                && node.config().get(ExecutionConfigOptions.TABLE_EXEC_ASYNC_STATE_ENABLED)) {
            return Translation.Fallback.ASYNC_STATE;
        }
        List<Long> ttl = json.stateTtlMillis(2, node.config());
        return new Translation.Native(
                new JoinSpec(
                        type,
                        new JoinSpec.Side(leftKeys, leftUnique, ttl.get(0)),
                        new JoinSpec.Side(rightKeys, rightUnique, ttl.get(1)),
                        join.bools("filterNulls"),
                        join.optional("nonEquiCondition").map(c -> condition(c, left, right)),
                        miniBatch
                                ? OptionalLong.of(
                                        node.config()
                                                .get(
                                                        ExecutionConfigOptions
                                                                .TABLE_EXEC_MINIBATCH_SIZE))
                                : OptionalLong.empty()),
                stock(type, emitsLeftOnly, miniBatch));
    }

    private static JoinSpec.Condition condition(NodeJson condition, RowType left, RowType right) {
        return Predicates.translate(condition.tree(), left, right)
                .<JoinSpec.Condition>map(JoinSpec.Condition.Native::new)
                .orElseGet(JoinSpec.Condition.Host::new);
    }

    /**
     * As {@code JoinUtil.analyzeJoinInput} chooses it: the smallest that lies within the join key, else the smallest; of
     * several as small the first.
     */
    private static Optional<List<Integer>> uniqueKey(
            List<List<Integer>> uniqueKeys, List<Integer> joinKey) {
        List<List<Integer>> within = uniqueKeys.stream().filter(joinKey::containsAll).toList();
        return (within.isEmpty() ? uniqueKeys : within)
                .stream().reduce((a, b) -> a.size() <= b.size() ? a : b);
    }

    private static StockOperator stock(String type, boolean emitsLeftOnly, boolean miniBatch) {
        if (emitsLeftOnly) {
            return StockOperator.without(StreamingSemiAntiJoinOperator.class);
        }
        if (!miniBatch) {
            return StockOperator.without(StreamingJoinOperator.class);
        }
        String variant =
                switch (type) {
                    case "INNER" -> "MiniBatchInnerJoinStreamOperator";
                    case "LEFT" -> "MiniBatchLeftOuterJoinStreamOperator";
                    case "RIGHT" -> "MiniBatchRightOuterJoinStreamOperator";
                    default -> "MiniBatchFullOuterJoinStreamOperator";
                };
        Class<?> owner = MiniBatchStreamingJoinOperator.class;
        try {
            return StockOperator.without(
                    Class.forName(owner.getName() + "$" + variant, false, owner.getClassLoader()));
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException("this Flink has no " + variant, e);
        }
    }
}
