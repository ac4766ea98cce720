package drey.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.spec.RankSpec;
import drey.spec.RankSpec.Function;
import drey.spec.RankSpec.RankRange;
import drey.spec.RankSpec.RankRange.Constant;
import drey.spec.RankSpec.RankRange.Variable;
import drey.spec.RankSpec.SortField;

import org.apache.flink.streaming.api.operators.AbstractUdfStreamOperator;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableException;
import org.apache.flink.table.delegation.InternalPlan;
import org.apache.flink.table.planner.delegation.StreamPlanner;
import org.apache.flink.table.planner.plan.ExecNodeGraphInternalPlan;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;
import java.util.stream.Stream;

/** Each form of Top-N from SQL to spec, held against the function that Flink made of the same node. */
class RankTranslatorTest {

    record Case(String name, String sql, List<String> settings, RankSpec spec) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static final SortField PRICE_DESC = new SortField(2, false, true);
    private static final SortField PRICE_ASC = new SortField(2, true, false);
    private static final List<Integer> NO_ROW_KEY = List.of();

    private static String topN(String columns, String partition, String order, String condition) {
        return "INSERT INTO retracts SELECT %s FROM (SELECT *, ROW_NUMBER() OVER (%s ORDER BY %s) AS rn FROM bid) WHERE %s"
                .formatted(columns, partition, order, condition);
    }

    private static final String NUMBERED = "auction, bidder, rn";
    private static final String PLAIN = "auction, bidder, price";
    private static final String BY_BIDDER = "PARTITION BY bidder, auction";

    /** Updating input: COUNT only grows, MIN only shrinks, SUM does either. */
    private static String topNOf(String aggregate, String order, String columns, String condition) {
        return ("INSERT INTO retracts SELECT %s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction"
                        + " ORDER BY %s) AS rn FROM (SELECT auction, bidder, %s AS price FROM bid GROUP BY"
                        + " auction, bidder)) WHERE %s")
                .formatted(columns, order, aggregate, condition);
    }

    static Stream<Case> cases() {
        List<Integer> key = List.of(0, 1);
        return Stream.of(
                new Case(
                        "append-only, numbered",
                        topN(NUMBERED, BY_BIDDER, "price DESC", "rn <= 10"),
                        List.of(),
                        spec(
                                Function.APPEND_ONLY_TOP_N,
                                key,
                                List.of(PRICE_DESC),
                                new Constant(1, 10),
                                NO_ROW_KEY,
                                true,
                                false,
                                0)),
                new Case(
                        "append-only, two sort columns, offset",
                        topN(
                                PLAIN,
                                BY_BIDDER,
                                "price NULLS LAST, channel DESC",
                                "rn BETWEEN 3 AND 5"),
                        List.of(),
                        spec(
                                Function.APPEND_ONLY_TOP_N,
                                key,
                                List.of(
                                        new SortField(2, true, true),
                                        new SortField(3, false, true)),
                                new Constant(3, 5),
                                NO_ROW_KEY,
                                false,
                                false,
                                0)),
                new Case(
                        "append-only, first",
                        topN(PLAIN, BY_BIDDER, "price DESC", "rn = 1"),
                        List.of(),
                        spec(
                                Function.FAST_TOP_1,
                                key,
                                List.of(PRICE_DESC),
                                new Constant(1, 1),
                                NO_ROW_KEY,
                                false,
                                false,
                                0)),
                new Case(
                        "append-only, bound in a column",
                        topN(PLAIN, BY_BIDDER, "price DESC, channel", "rn <= extra"),
                        List.of(),
                        spec(
                                Function.APPEND_ONLY_TOP_N,
                                key,
                                List.of(PRICE_DESC, new SortField(3, true, false)),
                                new Variable(4),
                                NO_ROW_KEY,
                                false,
                                false,
                                0)),
                new Case(
                        "append-only, whole table",
                        topN(PLAIN, "", "price DESC", "rn <= 10"),
                        List.of(),
                        spec(
                                Function.APPEND_ONLY_TOP_N,
                                List.of(),
                                List.of(PRICE_DESC),
                                new Constant(1, 10),
                                NO_ROW_KEY,
                                false,
                                false,
                                0)),
                new Case(
                        "first to arrive",
                        topN(PLAIN, "PARTITION BY bidder", "pt ASC", "rn <= 3"),
                        List.of(),
                        spec(
                                Function.APPEND_ONLY_FIRST_N,
                                List.of(1),
                                List.of(new SortField(3, true, false)),
                                new Constant(1, 3),
                                NO_ROW_KEY,
                                false,
                                false,
                                0)),
                new Case(
                        "last to arrive",
                        topN(PLAIN, "PARTITION BY bidder", "pt DESC", "rn <= 3"),
                        List.of(),
                        spec(
                                Function.APPEND_ONLY_TOP_N,
                                List.of(1),
                                List.of(new SortField(3, false, true)),
                                new Constant(1, 3),
                                NO_ROW_KEY,
                                false,
                                false,
                                0)),
                new Case(
                        "ORDER BY LIMIT",
                        "INSERT INTO retracts SELECT auction, bidder, price FROM bid ORDER BY price LIMIT 5 OFFSET 2",
                        List.of(),
                        spec(
                                Function.APPEND_ONLY_TOP_N,
                                List.of(),
                                List.of(PRICE_ASC),
                                new Constant(3, 7),
                                NO_ROW_KEY,
                                false,
                                false,
                                0)),
                new Case(
                        "LIMIT",
                        "INSERT INTO retracts SELECT auction, bidder, price FROM bid LIMIT 5",
                        List.of(),
                        spec(
                                Function.APPEND_ONLY_TOP_N,
                                List.of(),
                                List.of(),
                                new Constant(1, 5),
                                NO_ROW_KEY,
                                false,
                                false,
                                0)),
                new Case(
                        "updating, only ever better",
                        topNOf("COUNT(*)", "price DESC", PLAIN, "rn <= 4"),
                        List.of(),
                        spec(
                                Function.UPDATABLE_TOP_N,
                                List.of(0),
                                List.of(PRICE_DESC),
                                new Constant(1, 4),
                                List.of(0, 1),
                                false,
                                false,
                                0)),
                new Case(
                        "updating, only ever better, first",
                        topNOf("COUNT(*)", "price DESC", PLAIN, "rn <= 1"),
                        List.of(),
                        spec(
                                Function.FAST_TOP_1,
                                List.of(0),
                                List.of(PRICE_DESC),
                                new Constant(1, 1),
                                NO_ROW_KEY,
                                false,
                                false,
                                0)),
                new Case(
                        "updating, better or worse, -U wanted",
                        "INSERT INTO retracts SELECT auction, rn, SUM(price) FROM ("
                                + topNOf(
                                                "SUM(price)",
                                                "price DESC",
                                                NUMBERED + ", price",
                                                "rn <= 4")
                                        .replace("INSERT INTO retracts ", "")
                                + ") GROUP BY auction, rn",
                        List.of(),
                        spec(
                                Function.RETRACTABLE_TOP_N,
                                List.of(0),
                                List.of(PRICE_DESC),
                                new Constant(1, 4),
                                NO_ROW_KEY,
                                true,
                                true,
                                0)));
    }

    private static RankSpec spec(
            Function function,
            List<Integer> partition,
            List<SortField> orderBy,
            RankRange range,
            List<Integer> primaryKeys,
            boolean outputRowNumber,
            boolean generateUpdateBefore,
            long ttl) {
        return new RankSpec(
                function,
                partition,
                orderBy,
                range,
                primaryKeys,
                outputRowNumber,
                generateUpdateBefore,
                ttl);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void formIsTranslated(Case expected) throws Exception {
        TableEnvironment env = environment(expected.settings());
        List<OneInputTransformation<?, ?>> found =
                accelerate(env, expected.sql(), new PlanReport[1]);

        assertThat(found).hasSize(1);
        assertThat(Plans.factory(found.get(0)).spec()).isEqualTo(expected.spec().toJson());
        Object function =
                ((AbstractUdfStreamOperator<?, ?>)
                                ((SimpleOperatorFactory<?>) Plans.factory(found.get(0)).stock())
                                        .getOperator())
                        .getUserFunction();
        assertThat(Plans.field(function, "outputRankNumber"))
                .contains(expected.spec().outputRowNumber());
        assertThat(Plans.field(function, "generateUpdateBefore"))
                .contains(expected.spec().generateUpdateBefore());
        if (expected.spec().rankRange() instanceof Constant range) {
            assertThat(Plans.field(function, "rankStart")).contains(range.start());
            assertThat(
                            Plans.field(function, "constantRankEnd")
                                    .or(() -> Plans.field(function, "rankEnd")))
                    .contains(range.end());
        }
    }

    @Test
    void asynchronousStateStaysOnFlinkWhereFlinkHasIt() {
        List<String> async = List.of("table.exec.async-state.enabled", "true");
        PlanReport[] report = new PlanReport[1];

        assertThat(
                        accelerate(
                                environment(async),
                                topN(PLAIN, BY_BIDDER, "price DESC", "rn <= 10"),
                                report))
                .isEmpty();
        assertThat(report[0].nodes().get(0).verdict())
                .isEqualTo(
                        "flink: asynchronous state access is on (table.exec.async-state.enabled)");
        assertThat(
                        accelerate(
                                environment(async),
                                topN(PLAIN, BY_BIDDER, "pt ASC", "rn <= 10"),
                                report))
                .hasSize(1);
    }

    @Test
    void stateMayExpire() {
        List<OneInputTransformation<?, ?>> found =
                accelerate(
                        environment(List.of("table.exec.state.ttl", "7 s")),
                        topN(PLAIN, BY_BIDDER, "price DESC", "rn <= 10"),
                        new PlanReport[1]);

        assertThat(found).hasSize(1);
        assertThat(Plans.factory(found.get(0)).spec()).contains("\"stateTtlMillis\":7000");
    }

    @Test
    void sortKeyOfNestedTypeStaysOnFlink() {
        PlanReport[] report = new PlanReport[1];
        String sql =
                "INSERT INTO retracts SELECT auction, bidder, price FROM (SELECT *, ROW_NUMBER() OVER"
                        + " (PARTITION BY bidder ORDER BY k DESC) AS rn FROM (SELECT *, ARRAY[price] AS k"
                        + " FROM bid)) WHERE rn <= 3";

        assertThat(accelerate(environment(List.of()), sql, report)).isEmpty();
        assertThat(report[0].nodes().get(0).verdict()).startsWith("flink: sort column ");
    }

    @Test
    void windowTopNAndWindowDeduplicationStayOnFlink() {
        for (String condition : List.of("rn <= 3", "rn = 1")) {
            PlanReport[] report = new PlanReport[1];
            String sql =
                    "INSERT INTO retracts SELECT auction, bidder, price FROM (SELECT *, ROW_NUMBER() OVER"
                            + " (PARTITION BY window_start, window_end, bidder ORDER BY %s DESC) AS rn FROM"
                                    .formatted(condition.equals("rn = 1") ? "ts" : "price")
                            + " TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) WHERE "
                            + condition;

            assertThat(accelerate(Plans.environment(), sql, report)).isEmpty();
            assertThat(report[0].nodes().get(0).verdict())
                    .startsWith("flink: no native operator for StreamExecWindow");
        }
    }

    @Test
    void whatFlinkRejectsStaysItsError() {
        for (String function : List.of("RANK()", "DENSE_RANK()")) {
            String sql = topN(PLAIN, BY_BIDDER, "price DESC", "rn <= 10");
            assertThatThrownBy(
                            () ->
                                    accelerate(
                                            environment(List.of()),
                                            sql.replace("ROW_NUMBER()", function),
                                            new PlanReport[1]))
                    .isInstanceOf(TableException.class)
                    .hasMessage(function + " on streaming table is not supported currently");
        }
    }

    @Test
    void specIsCanonical() {
        assertThat(
                        spec(
                                        Function.UPDATABLE_TOP_N,
                                        List.of(1),
                                        List.of(PRICE_DESC),
                                        new Constant(1, 4),
                                        List.of(0, 1),
                                        true,
                                        false,
                                        5)
                                .toJson())
                .isEqualTo(
                        "{\"function\":\"UpdatableTopN\",\"generateUpdateBefore\":false,"
                                + "\"operator\":\"rank\",\"orderBy\":[{\"index\":2,"
                                + "\"isAscending\":false,\"nullIsLast\":true}],\"outputRowNumber\":true,"
                                + "\"partition\":[1],\"primaryKeys\":[0,1],\"rankRange\":{\"end\":4,"
                                + "\"start\":1,\"type\":\"Constant\"},\"stateTtlMillis\":5,\"version\":1}");
        assertThat(
                        spec(
                                        Function.APPEND_ONLY_TOP_N,
                                        List.of(),
                                        List.of(),
                                        new Variable(3),
                                        NO_ROW_KEY,
                                        false,
                                        true,
                                        0)
                                .toJson())
                .isEqualTo(
                        "{\"function\":\"AppendOnlyTopN\",\"generateUpdateBefore\":true,"
                                + "\"operator\":\"rank\",\"orderBy\":[],\"outputRowNumber\":false,"
                                + "\"partition\":[],\"rankRange\":{\"endIndex\":3,\"type\":\"Variable\"},"
                                + "\"stateTtlMillis\":0,\"version\":1}");
    }

    private static TableEnvironment environment(List<String> settings) {
        TableEnvironment env = Plans.environment(settings.toArray(String[]::new));
        env.executeSql("DROP TABLE bid");
        env.executeSql(
                "CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING,"
                        + " extra INT, pt AS PROCTIME()) WITH ('connector' = 'datagen')");
        return env;
    }

    /** Translates with Flink's planner, then lets the translator look at the result. */
    private static List<OneInputTransformation<?, ?>> accelerate(
            TableEnvironment env, String sql, PlanReport[] report) {
        StreamPlanner planner = (StreamPlanner) Plans.planner(env);
        InternalPlan plan = Plans.load(env, env.compilePlanSql(sql).asJsonString());
        var transformations = planner.translatePlan(plan);
        report[0] =
                new Acceleration(
                                List.of(new RankTranslator()),
                                env.getConfig(),
                                planner::createSerdeContext)
                        .apply(((ExecNodeGraphInternalPlan) plan).getExecNodeGraph());
        return Plans.nativeOnes(transformations, RankSpec.OPERATOR);
    }
}
