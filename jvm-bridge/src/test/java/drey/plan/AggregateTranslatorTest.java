package drey.plan;

import static drey.spec.Calls.appendOnly;
import static drey.spec.Calls.call;
import static drey.spec.Calls.retracting;

import static org.assertj.core.api.Assertions.assertThat;

import drey.spec.AggregateCalls;
import drey.spec.AggregateCalls.Call;
import drey.spec.AggregateCalls.Function;
import drey.spec.GlobalGroupAggregateSpec;
import drey.spec.GroupAggregateSpec;
import drey.spec.LocalGroupAggregateSpec;
import drey.spec.OperatorSpec;

import org.apache.flink.streaming.api.operators.AbstractUdfStreamOperator;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.delegation.InternalPlan;
import org.apache.flink.table.functions.AggregateFunction;
import org.apache.flink.table.planner.delegation.StreamPlanner;
import org.apache.flink.table.planner.plan.ExecNodeGraphInternalPlan;
import org.apache.flink.table.types.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** Each form of GROUP BY from SQL to spec, held against the function that Flink made of the same node. */
class AggregateTranslatorTest {

    /**
     * @param table where the result goes
     * @param specs from the source to the sink
     */
    record Case(
            String name,
            String query,
            Sink table,
            List<String> settings,
            List<OperatorSpec> specs) {
        @Override
        public String toString() {
            return name;
        }
    }

    /** Flink's PRINT wants {@code -U}, its BLACKHOLE doesn't. */
    enum Sink {
        PRINT,
        BLACKHOLE
    }

    private static final List<String> NO_SETTINGS = List.of();
    private static final List<String> BUNDLES =
            List.of(
                    "table.exec.mini-batch.enabled", "true",
                    "table.exec.mini-batch.allow-latency", "1 s",
                    "table.exec.mini-batch.size", "70",
                    "table.optimizer.agg-phase-strategy", "ONE_PHASE");
    private static final List<String> TWO_PHASES = and(BUNDLES, "TWO_PHASE");
    private static final List<String> SPLIT =
            new ArrayList<>(TWO_PHASES) {
                {
                    addAll(List.of("table.optimizer.distinct-agg.split.enabled", "true"));
                }
            };

    private static List<String> and(List<String> settings, String strategy) {
        List<String> all = new ArrayList<>(settings);
        all.set(all.size() - 1, strategy);
        return all;
    }

    private static final Call COUNT_STAR = call(Function.COUNT, "BIGINT NOT NULL");
    private static final OptionalLong ONE_BY_ONE = OptionalLong.empty();
    private static final String INPUT = "ROW<`k` INT, `v` BIGINT>";

    static Stream<Case> cases() {
        return Stream.of(
                new Case(
                        "every function",
                        "SELECT k, COUNT(*), COUNT(s), SUM(v), AVG(d), MIN(s),"
                                + " MAX(ts), FIRST_VALUE(v), LAST_VALUE(s), LISTAGG(s, '-') FROM t GROUP"
                                + " BY k",
                        Sink.PRINT,
                        NO_SETTINGS,
                        List.of(
                                new GroupAggregateSpec(
                                        List.of(0),
                                        appendOnly(
                                                COUNT_STAR,
                                                call(Function.COUNT, "BIGINT NOT NULL", 1),
                                                call(Function.SUM, "BIGINT", 2),
                                                call(Function.AVG, "DECIMAL(38, 6)", 3),
                                                call(Function.MIN, "VARCHAR(2147483647)", 1),
                                                call(Function.MAX, "TIMESTAMP(3)", 4),
                                                call(Function.FIRST_VALUE, "BIGINT", 2),
                                                call(Function.LAST_VALUE, "VARCHAR(2147483647)", 1),
                                                call(
                                                        Function.LISTAGG,
                                                        "VARCHAR(2147483647)",
                                                        1,
                                                        5)),
                                        true,
                                        ONE_BY_ONE,
                                        0))),
                new Case(
                        "filter, distinct, upserts, retention",
                        "SELECT k, COUNT(DISTINCT v) FILTER (WHERE v > 5), SUM(v) FROM"
                                + " t GROUP BY k",
                        Sink.BLACKHOLE,
                        List.of("table.exec.state.ttl", "7 s"),
                        List.of(
                                new GroupAggregateSpec(
                                        List.of(0),
                                        appendOnly(
                                                new Call(
                                                        Function.COUNT,
                                                        List.of(1),
                                                        true,
                                                        2,
                                                        "BIGINT NOT NULL"),
                                                call(Function.SUM, "BIGINT", 1)),
                                        false,
                                        ONE_BY_ONE,
                                        7000))),
                new Case(
                        "no group",
                        "SELECT COUNT(*) FROM t",
                        Sink.PRINT,
                        NO_SETTINGS,
                        List.of(
                                new GroupAggregateSpec(
                                        List.of(), appendOnly(COUNT_STAR), true, ONE_BY_ONE, 0))),
                new Case(
                        "no calls",
                        "SELECT DISTINCT k, v FROM t",
                        Sink.PRINT,
                        NO_SETTINGS,
                        List.of(
                                new GroupAggregateSpec(
                                        List.of(0, 1), appendOnly(), true, ONE_BY_ONE, 0))),
                new Case(
                        "retracting input without a count",
                        "SELECT k, MAX(v) FROM c GROUP BY k",
                        Sink.PRINT,
                        NO_SETTINGS,
                        List.of(
                                new GroupAggregateSpec(
                                        List.of(0),
                                        retracting(
                                                1,
                                                true,
                                                call(Function.MAX, "BIGINT", 1),
                                                COUNT_STAR),
                                        true,
                                        ONE_BY_ONE,
                                        0))),
                new Case(
                        "retracting input with a count",
                        "SELECT k, COUNT(*), SUM(v) FROM c GROUP BY k",
                        Sink.PRINT,
                        NO_SETTINGS,
                        List.of(
                                new GroupAggregateSpec(
                                        List.of(0),
                                        retracting(
                                                0,
                                                false,
                                                COUNT_STAR,
                                                call(Function.SUM, "BIGINT", 1)),
                                        true,
                                        ONE_BY_ONE,
                                        0))),
                new Case(
                        "one phase in bundles",
                        "SELECT k, MAX(v) FROM t GROUP BY k",
                        Sink.PRINT,
                        BUNDLES,
                        List.of(
                                new GroupAggregateSpec(
                                        List.of(0),
                                        appendOnly(call(Function.MAX, "BIGINT", 1)),
                                        true,
                                        OptionalLong.of(70),
                                        0))),
                new Case(
                        "two phases",
                        "SELECT k, MAX(v) FROM t GROUP BY k",
                        Sink.PRINT,
                        TWO_PHASES,
                        List.of(
                                new LocalGroupAggregateSpec(
                                        List.of(0),
                                        appendOnly(call(Function.MAX, "BIGINT", 1)),
                                        70),
                                new GlobalGroupAggregateSpec(
                                        List.of(0),
                                        appendOnly(call(Function.MAX, "BIGINT", 1)),
                                        INPUT,
                                        true,
                                        70,
                                        0))),
                new Case(
                        "two phases, retracting input",
                        "SELECT k, SUM(v) FROM c GROUP BY k",
                        Sink.PRINT,
                        TWO_PHASES,
                        List.of(
                                new LocalGroupAggregateSpec(
                                        List.of(0),
                                        retracting(
                                                1,
                                                true,
                                                call(Function.SUM, "BIGINT", 1),
                                                COUNT_STAR),
                                        70),
                                new GlobalGroupAggregateSpec(
                                        List.of(0),
                                        retracting(
                                                1,
                                                true,
                                                call(Function.SUM, "BIGINT", 1),
                                                COUNT_STAR),
                                        INPUT,
                                        true,
                                        70,
                                        0))));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void formIsTranslated(Case expected) {
        List<OneInputTransformation<?, ?>> found =
                accelerate(
                        environment(expected.settings()),
                        expected.query(),
                        expected.table(),
                        new PlanReport[1]);

        assertThat(found.stream().map(one -> Plans.factory(one).spec()))
                .containsExactlyElementsOf(
                        expected.specs().stream().map(OperatorSpec::toJson).toList());
        for (int i = 0; i < found.size(); i++) {
            Object function = stockFunction(found.get(i));
            if (expected.specs().get(i) instanceof GroupAggregateSpec spec) {
                held(function, spec.calls(), spec.generateUpdateBefore());
            } else if (expected.specs().get(i) instanceof GlobalGroupAggregateSpec spec) {
                held(function, spec.calls(), spec.generateUpdateBefore());
            }
        }
    }

    private static void held(Object function, AggregateCalls calls, boolean generateUpdateBefore) {
        assertThat(Plans.field(function, "generateUpdateBefore")).contains(generateUpdateBefore);
        Object counter = Plans.field(function, "recordCounter").orElseThrow();
        if (calls.indexOfCountStar().isEmpty()) {
            assertThat(counter.getClass().getSimpleName()).isEqualTo("AccumulationRecordCounter");
        } else {
            // Flink counts fields of the accumulator, of which SUM, MAX and AVG have two here.
            int fields = 0;
            for (Call call : calls.calls().subList(0, calls.indexOfCountStar().getAsInt())) {
                fields += call.function() == Function.SUM ? 2 : 1;
            }
            assertThat(Plans.field(counter, "indexOfCountStar")).contains(fields);
        }
    }

    private static Object stockFunction(OneInputTransformation<?, ?> transformation) {
        StreamOperator<?> operator =
                ((SimpleOperatorFactory<?>) Plans.factory(transformation).stock()).getOperator();
        return operator instanceof AbstractUdfStreamOperator<?, ?> udf
                ? udf.getUserFunction()
                : Plans.field(operator, "function").orElseThrow();
    }

    /** The second level sums the counts of the first, and a sum of COUNT(*) tells when a group is empty. */
    @Test
    void splitDistinctIsNativeOnBothLevels() {
        PlanReport[] report = new PlanReport[1];
        List<OneInputTransformation<?, ?>> found =
                accelerate(
                        environment(SPLIT),
                        "SELECT k, COUNT(DISTINCT v), COUNT(*) FROM c GROUP BY k",
                        Sink.PRINT,
                        report);

        assertThat(verdicts(report[0])).containsExactly("native", "native", "native");
        assertThat(found.stream().map(one -> Plans.factory(one).spec()))
                .satisfiesExactly(
                        local -> assertThat(local).contains("\"operator\":\"localGroupAggregate\""),
                        incremental ->
                                assertThat(incremental)
                                        .contains(
                                                "\"operator\":\"incrementalGroupAggregate\"",
                                                "\"partialAggGrouping\":[0,1]",
                                                "\"finalAggGrouping\":[0]"),
                        global ->
                                assertThat(global)
                                        .contains(
                                                "\"operator\":\"globalGroupAggregate\"",
                                                "\"indexOfCountStar\":1",
                                                "\"countStarInserted\":false",
                                                "\"function\":\"$SUM0\""));
    }

    @Test
    void retractingAccumulatorsGoThroughTheIncrementalPhase() {
        assertThat(
                        verdicts(
                                SPLIT,
                                "SELECT k, COUNT(DISTINCT v), MAX(v), MIN(s), LISTAGG(s) FROM c GROUP BY k"))
                .containsExactly("native", "native", "native");
    }

    @Test
    void reasonsNameTheFunction() {
        assertThat(verdicts(NO_SETTINGS, "SELECT k, mine(v) FROM t GROUP BY k"))
                .containsExactly("flink: no native aggregate function mine");
        assertThat(verdicts(NO_SETTINGS, "SELECT k, COLLECT(v) FROM t GROUP BY k"))
                .containsExactly("flink: no native aggregate function COLLECT");
        assertThat(verdicts(NO_SETTINGS, "SELECT k, JSON_ARRAYAGG(v) FROM t GROUP BY k").get(0))
                .startsWith("flink: no native aggregate function JSON_ARRAYAGG");
        assertThat(verdicts(NO_SETTINGS, "SELECT k, ARRAY_AGG(v) FROM t GROUP BY k"))
                .containsExactly("flink: no native aggregate function ARRAY_AGG");
        assertThat(verdicts(NO_SETTINGS, "SELECT k, LAST_VALUE(ARRAY[v]) FROM t GROUP BY k"))
                .containsExactly("flink: LAST_VALUE of ARRAY<BIGINT> NOT NULL");
    }

    @Test
    void retractingAccumulatorsCross() {
        assertThat(
                        verdicts(
                                TWO_PHASES,
                                "SELECT k, MIN(v), MAX(d), LISTAGG(s), LISTAGG(s, '|') FROM c GROUP BY k"))
                .containsExactly("native", "native");
    }

    @Test
    void firstAndLastValueHaveOnePhase() {
        for (String table : List.of("t", "c")) {
            assertThat(
                            verdicts(
                                    TWO_PHASES,
                                    "SELECT k, FIRST_VALUE(v), LAST_VALUE(v) FROM "
                                            + table
                                            + " GROUP BY k"))
                    .containsExactly("native");
        }
    }

    @Test
    void whatExpiresValueByValueStaysOnFlink() {
        List<String> ttl = List.of("table.exec.state.ttl", "7 s");

        assertThat(verdicts(ttl, "SELECT k, LAST_VALUE(v) FROM c GROUP BY k"))
                .containsExactly(
                        "flink: state expires after 7000 ms, value by value for LAST_VALUE with"
                                + " retraction");
        assertThat(verdicts(ttl, "SELECT k, LAST_VALUE(v), LISTAGG(s) FROM t GROUP BY k"))
                .containsExactly("native");
        assertThat(verdicts(ttl, "SELECT k, LISTAGG(s) FROM c GROUP BY k"))
                .containsExactly("native");
        assertThat(verdicts(ttl, "SELECT k, MAX(v) FROM c GROUP BY k")).containsExactly("native");
    }

    @Test
    void whatDependsOnOrderStaysOnFlinkInTwoPhases() {
        for (String call :
                List.of(
                        "SUM(DISTINCT CAST(v AS DOUBLE))",
                        "SUM(DISTINCT CAST(v AS DECIMAL(23, 2)))",
                        "LISTAGG(DISTINCT s)")) {
            String query = "SELECT k, " + call + " FROM t GROUP BY k";
            assertThat(verdicts(TWO_PHASES, query))
                    .hasSize(2)
                    .allMatch(
                            ("flink: the accumulator of "
                                            + call.substring(0, call.indexOf('('))
                                            + " depends on the order of distinct values, which goes"
                                            + " natively in one phase only (set"
                                            + " table.optimizer.agg-phase-strategy to ONE_PHASE)")
                                    ::equals);
            // What the reason advises helps.
            assertThat(verdicts(BUNDLES, query)).containsExactly("native");
        }
        assertThat(
                        verdicts(
                                TWO_PHASES,
                                "SELECT k, SUM(DISTINCT v), MIN(DISTINCT d), AVG(DISTINCT d) FROM t"
                                        + " GROUP BY k"))
                .containsExactly("native", "native");
    }

    /** Of the distinct values of one there is one. */
    @Test
    void singleValueOfDistinctValuesIsSingleValue() {
        assertThat(verdicts(TWO_PHASES, "SELECT k, SINGLE_VALUE(DISTINCT v) FROM c GROUP BY k"))
                .containsExactly("native", "native");
    }

    @Test
    void asynchronousStateStaysOnFlinkWhereFlinkHasIt() {
        List<String> async = List.of("table.exec.async-state.enabled", "true");

        assertThat(verdicts(async, "SELECT k, MAX(v) FROM t GROUP BY k"))
                .containsExactly(
                        "flink: asynchronous state access is on (table.exec.async-state.enabled)");
        assertThat(verdicts(async, "SELECT k, MAX(v) FROM c GROUP BY k")).containsExactly("native");
        assertThat(verdicts(async, "SELECT k, COUNT(DISTINCT v) FROM t GROUP BY k"))
                .containsExactly("native");
    }

    private static List<String> verdicts(List<String> settings, String query) {
        PlanReport[] report = new PlanReport[1];
        accelerate(environment(settings), query, Sink.PRINT, report);
        return verdicts(report[0]);
    }

    private static List<String> verdicts(PlanReport report) {
        return report.nodes().stream()
                .filter(node -> node.description().contains("Aggregate"))
                .map(PlanReport.Node::verdict)
                .toList();
    }

    /** A function of a user. */
    public static class Mine extends AggregateFunction<Long, Long[]> {
        @Override
        public Long[] createAccumulator() {
            return new Long[] {0L};
        }

        public void accumulate(Long[] accumulator, Long value) {
            accumulator[0] = value;
        }

        @Override
        public Long getValue(Long[] accumulator) {
            return accumulator[0];
        }
    }

    private static TableEnvironment environment(List<String> settings) {
        TableEnvironment env = Plans.environment(settings.toArray(String[]::new));
        env.createTemporarySystemFunction("mine", Mine.class);
        env.executeSql(
                "CREATE TABLE t (k INT, s STRING, v BIGINT, d DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK"
                        + " FOR ts AS ts) WITH ('connector' = 'datagen')");
        // Retracts, and has no aggregate in it.
        env.executeSql(
                "CREATE VIEW c AS SELECT k, v, s, d FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY v ORDER BY ts"
                        + " DESC) AS rn FROM t) WHERE rn = 1");
        return env;
    }

    /** Translates with Flink's planner, then lets the translators look at the result. */
    private static List<OneInputTransformation<?, ?>> accelerate(
            TableEnvironment env, String query, Sink table, PlanReport[] report) {
        List<String> columns = new ArrayList<>();
        for (DataType type : env.sqlQuery(query).getResolvedSchema().getColumnDataTypes()) {
            columns.add("c" + columns.size() + " " + type.getLogicalType().asSerializableString());
        }
        env.executeSql(
                "CREATE TABLE answers (%s) WITH ('connector' = '%s')"
                        .formatted(
                                String.join(", ", columns), table.name().toLowerCase(Locale.ROOT)));
        String sql = "INSERT INTO answers " + query;
        StreamPlanner planner = (StreamPlanner) Plans.planner(env);
        InternalPlan plan = Plans.load(env, env.compilePlanSql(sql).asJsonString());
        var transformations = planner.translatePlan(plan);
        report[0] =
                new Acceleration(
                                AggregateTranslator.ALL,
                                env.getConfig(),
                                planner::createSerdeContext)
                        .apply(((ExecNodeGraphInternalPlan) plan).getExecNodeGraph());
        return Plans.nativeOnes(transformations).stream()
                .filter(one -> Plans.factory(one).spec().contains("roupAggregate"))
                .toList();
    }
}
