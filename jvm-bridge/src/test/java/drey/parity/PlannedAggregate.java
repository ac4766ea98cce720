package drey.parity;

import org.apache.calcite.rel.RelCollations;
import org.apache.calcite.rel.core.AggregateCall;
import org.apache.calcite.sql.SqlAggFunction;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.internal.TableEnvironmentImpl;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.planner.calcite.FlinkTypeFactory;
import org.apache.flink.table.planner.delegation.PlannerBase;
import org.apache.flink.table.planner.functions.sql.FlinkSqlOperatorTable;
import org.apache.flink.table.planner.plan.nodes.exec.ExecEdge;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeBase;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeConfig;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeContext;
import org.apache.flink.table.planner.plan.nodes.exec.InputProperty;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecGlobalGroupAggregate;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecGroupAggregate;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecLocalGroupAggregate;
import org.apache.flink.table.planner.plan.utils.KeySelectorUtil;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;

import java.util.ArrayList;
import java.util.List;

/** The operator that Flink's exec node makes of the specification of a native group aggregate. */
final class PlannedAggregate {

    private final JsonNode spec;
    private final RowType input;
    private final RowType output;
    private final PlannerBase planner;

    PlannedAggregate(JsonNode spec, RowType input, RowType output) {
        this.spec = spec;
        this.input = input;
        this.output = output;
        Configuration options = new Configuration();
        options.setString("table.exec.state.ttl", spec.path("stateTtlMillis").asLong(0) + " ms");
        if (spec.has("miniBatch")) {
            options.setString("table.exec.mini-batch.enabled", "true");
            options.setString("table.exec.mini-batch.allow-latency", "1 h");
            options.setString(
                    "table.exec.mini-batch.size", spec.get("miniBatch").get("size").asText());
        }
        TableEnvironment env =
                TableEnvironment.create(
                        EnvironmentSettings.newInstance()
                                .inStreamingMode()
                                .withConfiguration(options)
                                .build());
        planner = (PlannerBase) ((TableEnvironmentImpl) env).getPlanner();
    }

    RowDataKeySelector selector() {
        return KeySelectorUtil.getRowDataSelector(
                getClass().getClassLoader(), ints("grouping"), InternalTypeInfo.of(input));
    }

    Object operator() {
        ExecNode<RowData> node = node();
        node.setInputEdges(
                List.of(ExecEdge.builder().source(new Source(input)).target(node).build()));
        OneInputTransformation<?, ?> planned =
                (OneInputTransformation<?, ?>) node.translateToPlan(planner);
        return ((SimpleOperatorFactory<?>) planned.getOperatorFactory()).getOperator();
    }

    private ExecNode<RowData> node() {
        ReadableConfig config = planner.getTableConfig();
        RowType arguments =
                spec.has("localAggInputRowType")
                        ? (RowType) type(spec.get("localAggInputRowType").asText())
                        : input;
        AggregateCall[] calls = calls();
        boolean[] retract = new boolean[calls.length];
        for (int i = 0; i < retract.length; i++) {
            retract[i] = spec.get("aggCallNeedRetractions").get(i).asBoolean();
        }
        boolean needRetraction = spec.get("needRetraction").asBoolean();
        boolean updateBefore = spec.path("generateUpdateBefore").asBoolean();
        return switch (spec.get("operator").asText()) {
            case "groupAggregate" ->
                    new StreamExecGroupAggregate(
                            config,
                            ints("grouping"),
                            calls,
                            retract,
                            updateBefore,
                            needRetraction,
                            null,
                            InputProperty.DEFAULT,
                            output,
                            "");
            case "localGroupAggregate" ->
                    new StreamExecLocalGroupAggregate(
                            config,
                            ints("grouping"),
                            calls,
                            retract,
                            needRetraction,
                            InputProperty.DEFAULT,
                            output,
                            "");
            case "globalGroupAggregate" ->
                    new StreamExecGlobalGroupAggregate(
                            config,
                            ints("grouping"),
                            calls,
                            retract,
                            arguments,
                            updateBefore,
                            needRetraction,
                            null,
                            null,
                            InputProperty.DEFAULT,
                            output,
                            "");
            default -> throw new IllegalArgumentException(spec.get("operator").asText());
        };
    }

    private AggregateCall[] calls() {
        FlinkTypeFactory types = planner.getTypeFactory();
        List<AggregateCall> calls = new ArrayList<>();
        for (JsonNode call : spec.get("aggCalls")) {
            List<Integer> arguments = new ArrayList<>();
            call.get("argList").forEach(a -> arguments.add(a.asInt()));
            calls.add(
                    AggregateCall.create(
                            function(call.get("function").asText()),
                            call.get("distinct").asBoolean(),
                            false,
                            false,
                            List.of(),
                            arguments,
                            call.get("filterArg").asInt(),
                            null,
                            RelCollations.EMPTY,
                            types.createFieldTypeFromLogicalType(type(call.get("type").asText())),
                            "EXPR$" + calls.size()));
        }
        if (spec.get("countStarInserted").asBoolean()) {
            calls.remove(calls.size() - 1); // the node inserts it again
        }
        return calls.toArray(new AggregateCall[0]);
    }

    private static SqlAggFunction function(String name) {
        return switch (name) {
            case "$SUM0" -> FlinkSqlOperatorTable.SUM0;
            case "AVG" -> FlinkSqlOperatorTable.AVG;
            case "COUNT" -> FlinkSqlOperatorTable.COUNT;
            case "FIRST_VALUE" -> FlinkSqlOperatorTable.FIRST_VALUE;
            case "LAST_VALUE" -> FlinkSqlOperatorTable.LAST_VALUE;
            case "LISTAGG" -> FlinkSqlOperatorTable.LISTAGG;
            case "MAX" -> FlinkSqlOperatorTable.MAX;
            case "MIN" -> FlinkSqlOperatorTable.MIN;
            case "SINGLE_VALUE" -> FlinkSqlOperatorTable.SINGLE_VALUE;
            case "SUM" -> FlinkSqlOperatorTable.SUM;
            default -> throw new IllegalArgumentException(name);
        };
    }

    private int[] ints(String name) {
        int[] values = new int[spec.get(name).size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = spec.get(name).get(i).asInt();
        }
        return values;
    }

    private static LogicalType type(String text) {
        return LogicalTypeParser.parse(text, PlannedAggregate.class.getClassLoader());
    }

    /** What the node's input comes from. */
    private static final class Source extends ExecNodeBase<RowData> {

        Source(RowType type) {
            super(
                    ExecNodeContext.newNodeId(),
                    new ExecNodeContext("stream-exec-nothing_1"),
                    new Configuration(),
                    List.of(),
                    type,
                    "");
        }

        @Override
        protected Transformation<RowData> translateToPlanInternal(
                PlannerBase planner, ExecNodeConfig config) {
            return new Transformation<>(
                    "nothing", InternalTypeInfo.of((RowType) getOutputType()), 1) {
                @Override
                protected List<Transformation<?>> getTransitivePredecessorsInternal() {
                    return List.of(this);
                }

                @Override
                public List<Transformation<?>> getInputs() {
                    return List.of();
                }
            };
        }
    }
}
