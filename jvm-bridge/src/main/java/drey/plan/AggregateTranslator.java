package drey.plan;

import drey.spec.AggregateCalls;
import drey.spec.GlobalGroupAggregateSpec;
import drey.spec.GroupAggregateSpec;
import drey.spec.IncrementalGroupAggregateSpec;
import drey.spec.LocalGroupAggregateSpec;
import drey.spec.OperatorSpec;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.table.api.config.ExecutionConfigOptions;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecGlobalGroupAggregate;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecGroupAggregate;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecIncrementalGroupAggregate;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecLocalGroupAggregate;
import org.apache.flink.table.runtime.operators.aggregate.GroupAggFunction;
import org.apache.flink.table.runtime.operators.aggregate.MiniBatchGlobalGroupAggFunction;
import org.apache.flink.table.runtime.operators.aggregate.MiniBatchGroupAggFunction;
import org.apache.flink.table.runtime.operators.aggregate.MiniBatchIncrementalGroupAggFunction;
import org.apache.flink.table.runtime.operators.aggregate.MiniBatchLocalGroupAggFunction;
import org.apache.flink.table.runtime.operators.bundle.KeyedMapBundleOperator;
import org.apache.flink.table.runtime.operators.bundle.MapBundleOperator;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The four exec nodes of a GROUP BY without windows. Local and global phase are translated each by itself: what crosses
 * between them is the same whichever of them is native.
 */
abstract class AggregateTranslator implements Translator {

    static final List<Translator> ALL =
            List.of(new OnePhase(), new Local(), new Global(), new Incremental());

    private final String operator;
    private final Class<? extends ExecNode<?>> node;
    private final String type;

    private AggregateTranslator(String operator, Class<? extends ExecNode<?>> node, String type) {
        this.operator = operator;
        this.node = node;
        this.type = type;
    }

    @Override
    public String operator() {
        return operator;
    }

    @Override
    public List<Class<? extends ExecNode<?>>> nodes() {
        return List.of(node);
    }

    @Override
    public Translation translate(NodeView view) {
        NodeJson json = view.json();
        json.requireType(type);
        RowType input = view.inputs().get(0);
        RowType arguments = arguments(json, input);
        AggregateCallReader reader = reader(json, arguments);
        // What can't be done is told in the order in which users can do something about it.
        Optional<String> unsupported =
                reader.unsupported()
                        .or(() -> unsupported(reader, json, view.config()))
                        .or(() -> RowTypes.unsupportedRow(arguments))
                        .or(() -> RowTypes.unsupportedRow(input))
                        .or(() -> RowTypes.unsupportedKey(input, grouping(json)));
        if (unsupported.isPresent()) {
            return new Translation.Fallback(unsupported.get());
        }
        AggregateCalls calls = reader.read();
        return new Translation.Native(
                spec(json, view.config(), calls, arguments), stock(view.config()));
    }

    /** The row type in which the calls have their arguments. */
    RowType arguments(NodeJson json, RowType input) {
        return input;
    }

    AggregateCallReader reader(NodeJson json, RowType arguments) {
        return AggregateCallReader.of(json, arguments);
    }

    List<Integer> grouping(NodeJson json) {
        return json.integers("grouping");
    }

    abstract Optional<String> unsupported(
            AggregateCallReader reader, NodeJson json, ReadableConfig config);

    abstract OperatorSpec spec(
            NodeJson json, ReadableConfig config, AggregateCalls calls, RowType arguments);

    abstract StockOperator stock(ReadableConfig config);

    static boolean miniBatch(ReadableConfig config) {
        return config.get(ExecutionConfigOptions.TABLE_EXEC_MINIBATCH_ENABLED);
    }

    static long miniBatchSize(ReadableConfig config) {
        return config.get(ExecutionConfigOptions.TABLE_EXEC_MINIBATCH_SIZE);
    }

    private static final class OnePhase extends AggregateTranslator {

        OnePhase() {
            super(
                    GroupAggregateSpec.OPERATOR,
                    StreamExecGroupAggregate.class,
                    "stream-exec-group-aggregate_1");
        }

        @Override
        Optional<String> unsupported(
                AggregateCallReader reader, NodeJson json, ReadableConfig config) {
            // As AggregateUtil.isAsyncStateEnabled: not where an accumulator has views on state.
            boolean async =
                    config.get(ExecutionConfigOptions.TABLE_EXEC_ASYNC_STATE_ENABLED)
                            && !miniBatch(config)
                            && !reader.hasDataViews();
            return async
                    ? Optional.of(Translation.Fallback.ASYNC_STATE.reason())
                    : reader.unsupportedRetention(json.stateTtlMillis(1, config).get(0));
        }

        @Override
        OperatorSpec spec(
                NodeJson json, ReadableConfig config, AggregateCalls calls, RowType arguments) {
            return new GroupAggregateSpec(
                    grouping(json),
                    calls,
                    json.bool("generateUpdateBefore"),
                    miniBatch(config)
                            ? OptionalLong.of(miniBatchSize(config))
                            : OptionalLong.empty(),
                    json.stateTtlMillis(1, config).get(0));
        }

        @Override
        StockOperator stock(ReadableConfig config) {
            return miniBatch(config)
                    ? new StockOperator(
                            KeyedMapBundleOperator.class, MiniBatchGroupAggFunction.class)
                    : new StockOperator(KeyedProcessOperator.class, GroupAggFunction.class);
        }
    }

    private static final class Local extends AggregateTranslator {

        Local() {
            super(
                    LocalGroupAggregateSpec.OPERATOR,
                    StreamExecLocalGroupAggregate.class,
                    "stream-exec-local-group-aggregate_1");
        }

        @Override
        Optional<String> unsupported(
                AggregateCallReader reader, NodeJson json, ReadableConfig config) {
            return reader.unsupportedAccumulator();
        }

        @Override
        OperatorSpec spec(
                NodeJson json, ReadableConfig config, AggregateCalls calls, RowType arguments) {
            return new LocalGroupAggregateSpec(grouping(json), calls, miniBatchSize(config));
        }

        @Override
        StockOperator stock(ReadableConfig config) {
            return new StockOperator(MapBundleOperator.class, MiniBatchLocalGroupAggFunction.class);
        }
    }

    private static final class Global extends AggregateTranslator {

        Global() {
            super(
                    GlobalGroupAggregateSpec.OPERATOR,
                    StreamExecGlobalGroupAggregate.class,
                    "stream-exec-global-group-aggregate_1");
        }

        @Override
        RowType arguments(NodeJson json, RowType input) {
            return json.rowType("localAggInputRowType");
        }

        @Override
        Optional<String> unsupported(
                AggregateCallReader reader, NodeJson json, ReadableConfig config) {
            return reader.unsupportedAccumulator();
        }

        @Override
        OperatorSpec spec(
                NodeJson json, ReadableConfig config, AggregateCalls calls, RowType arguments) {
            return new GlobalGroupAggregateSpec(
                    grouping(json),
                    calls,
                    arguments.asSerializableString(),
                    json.bool("generateUpdateBefore"),
                    miniBatchSize(config),
                    json.stateTtlMillis(1, config).get(0));
        }

        @Override
        StockOperator stock(ReadableConfig config) {
            return new StockOperator(
                    KeyedMapBundleOperator.class, MiniBatchGlobalGroupAggFunction.class);
        }
    }

    private static final class Incremental extends AggregateTranslator {

        Incremental() {
            super(
                    IncrementalGroupAggregateSpec.OPERATOR,
                    StreamExecIncrementalGroupAggregate.class,
                    "stream-exec-incremental-group-aggregate_1");
        }

        @Override
        RowType arguments(NodeJson json, RowType input) {
            return json.rowType("partialLocalAggInputRowType");
        }

        @Override
        AggregateCallReader reader(NodeJson json, RowType arguments) {
            return new AggregateCallReader(
                    json.objects("partialOriginalAggCalls"),
                    json.bools("partialAggCallNeedRetractions"),
                    json.bool("partialAggNeedRetraction"),
                    OptionalInt.empty(),
                    arguments);
        }

        @Override
        List<Integer> grouping(NodeJson json) {
            return json.integers("partialAggGrouping");
        }

        @Override
        Optional<String> unsupported(
                AggregateCallReader reader, NodeJson json, ReadableConfig config) {
            return reader.unsupportedAccumulator();
        }

        @Override
        OperatorSpec spec(
                NodeJson json, ReadableConfig config, AggregateCalls calls, RowType arguments) {
            return new IncrementalGroupAggregateSpec(
                    grouping(json),
                    json.integers("finalAggGrouping"),
                    calls,
                    arguments.asSerializableString(),
                    miniBatchSize(config),
                    json.stateTtlMillis(1, config).get(0));
        }

        @Override
        StockOperator stock(ReadableConfig config) {
            return new StockOperator(
                    KeyedMapBundleOperator.class, MiniBatchIncrementalGroupAggFunction.class);
        }
    }
}
