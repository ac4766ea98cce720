package drey.plan;

import static org.apache.flink.table.api.Expressions.$;
import static org.apache.flink.table.api.Expressions.call;
import static org.assertj.core.api.Assertions.assertThat;

import drey.runtime.NativeOperatorFactory;
import drey.spec.Expression;
import drey.spec.JoinSpec;
import drey.spec.JoinSpec.Side;

import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.transformations.TwoInputTransformation;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.delegation.InternalPlan;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.table.planner.delegation.StreamPlanner;
import org.apache.flink.table.planner.plan.ExecNodeGraphInternalPlan;
import org.apache.flink.table.runtime.operators.join.stream.AbstractStreamingJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.utils.JoinInputSideSpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

/** Each form of regular join from SQL to spec, held against the operator that Flink made of the same node. */
class JoinTranslatorTest {

    private static final Optional<List<Integer>> NONE = Optional.empty();
    private static final Optional<JoinSpec.Condition> ALWAYS = Optional.empty();
    private static final OptionalLong NO_BUNDLES = OptionalLong.empty();
    private static final List<Boolean> EQUAL = List.of(true);

    /**
     * @param sql selects from the tables {@code plain} (no key), {@code byKey} (primary key k) and {@code byId} (primary key
     *     id), all with the columns id, k, v, s
     */
    record Case(String sql, List<String> settings, JoinSpec spec) {
        @Override
        public String toString() {
            return sql + " " + settings;
        }
    }

    private static Case of(String sql, String type, Side left, Side right) {
        return new Case(sql, List.of(), new JoinSpec(type, left, right, EQUAL, ALWAYS, NO_BUNDLES));
    }

    private static Side side(int key, Optional<List<Integer>> unique) {
        return new Side(List.of(key), unique, 0);
    }

    static Stream<Case> cases() {
        String all = "SELECT L.id, R.id, L.v";
        Side plain = side(1, NONE);
        Side byKey = side(1, Optional.of(List.of(1)));
        Side byId = side(1, Optional.of(List.of(0)));
        List<Case> cases = new ArrayList<>();
        for (String type : List.of("INNER", "LEFT", "RIGHT", "FULL")) {
            // What isn't needed is projected away below the join.
            cases.add(
                    of(
                            all + " FROM plain L " + type + " JOIN plain R ON L.k = R.k",
                            type,
                            plain,
                            plain));
            cases.add(
                    of(
                            all + " FROM byKey L " + type + " JOIN byId R ON L.k = R.k",
                            type,
                            byKey,
                            byId));
        }
        cases.add(
                of(
                        "SELECT id, k, v FROM byId L WHERE EXISTS (SELECT * FROM byKey R WHERE L.k = R.k)",
                        "SEMI",
                        byId,
                        side(0, Optional.of(List.of(0)))));
        cases.add(
                of(
                        "SELECT id, k, v FROM byId L WHERE NOT EXISTS (SELECT * FROM plain R WHERE L.k = R.k)",
                        "ANTI",
                        byId,
                        side(0, NONE)));
        cases.add(
                new Case(
                        all + " FROM byId L JOIN byKey R ON L.id = R.id AND L.k = R.k",
                        List.of(),
                        new JoinSpec(
                                "INNER",
                                new Side(List.of(0, 1), Optional.of(List.of(0)), 0),
                                new Side(List.of(0, 1), Optional.of(List.of(1)), 0),
                                List.of(true, true),
                                ALWAYS,
                                NO_BUNDLES)));
        cases.add(
                new Case(
                        all
                                + " FROM plain L JOIN plain R ON L.k IS NOT DISTINCT FROM R.k AND L.id = R.id",
                        List.of(),
                        new JoinSpec(
                                "INNER",
                                new Side(List.of(1, 0), NONE, 0),
                                new Side(List.of(1, 0), NONE, 0),
                                List.of(false, true),
                                ALWAYS,
                                NO_BUNDLES)));
        cases.add(
                new Case(
                        all + " FROM plain L CROSS JOIN byId R",
                        List.of(),
                        new JoinSpec(
                                "INNER",
                                new Side(List.of(), NONE, 0),
                                new Side(List.of(), Optional.of(List.of(0)), 0),
                                List.of(),
                                ALWAYS,
                                NO_BUNDLES)));
        cases.add(
                new Case(
                        "SELECT /*+ STATE_TTL('L'='1 h', 'R'='3 d') */ L.id, R.id, L.v"
                                + " FROM plain L JOIN plain R ON L.k = R.k",
                        List.of(),
                        new JoinSpec(
                                "INNER",
                                new Side(List.of(1), NONE, 3_600_000),
                                new Side(List.of(1), NONE, 259_200_000),
                                EQUAL,
                                ALWAYS,
                                NO_BUNDLES)));
        cases.add(
                new Case(
                        all + " FROM plain L JOIN plain R ON L.k = R.k",
                        List.of("table.exec.state.ttl", "7 s"),
                        new JoinSpec(
                                "INNER",
                                new Side(List.of(1), NONE, 7_000),
                                new Side(List.of(1), NONE, 7_000),
                                EQUAL,
                                ALWAYS,
                                NO_BUNDLES)));
        List<String> bundles =
                List.of(
                        "table.exec.mini-batch.enabled", "true",
                        "table.exec.mini-batch.allow-latency", "1 s",
                        "table.exec.mini-batch.size", "77");
        for (String type : List.of("INNER", "LEFT", "RIGHT", "FULL")) {
            cases.add(
                    new Case(
                            all + " FROM plain L " + type + " JOIN byKey R ON L.k = R.k",
                            bundles,
                            new JoinSpec(type, plain, byKey, EQUAL, ALWAYS, OptionalLong.of(77))));
        }
        cases.add(
                new Case(
                        "SELECT id, k, v FROM byId L WHERE EXISTS (SELECT * FROM byKey R WHERE L.k = R.k)",
                        bundles,
                        new JoinSpec(
                                "SEMI",
                                byId,
                                side(0, Optional.of(List.of(0))),
                                EQUAL,
                                ALWAYS,
                                NO_BUNDLES)));
        Expression less =
                new Expression.Call(
                        "<",
                        "BOOLEAN",
                        List.of(new Expression.Ref(2, "BIGINT"), new Expression.Ref(5, "BIGINT")));
        cases.add(
                new Case(
                        all + " FROM plain L LEFT JOIN plain R ON L.k = R.k AND L.v < R.v",
                        List.of(),
                        new JoinSpec(
                                "LEFT",
                                plain,
                                plain,
                                EQUAL,
                                Optional.of(new JoinSpec.Condition.Native(less)),
                                NO_BUNDLES)));
        for (String function : List.of("L.s LIKE R.s", "LOWER(L.s) < R.s", "isOdd(L.v + R.v)")) {
            cases.add(
                    new Case(
                            all + " FROM byId L JOIN byId R ON L.k = R.k AND " + function,
                            List.of(),
                            new JoinSpec(
                                    "INNER",
                                    byId,
                                    byId,
                                    EQUAL,
                                    Optional.of(new JoinSpec.Condition.Host()),
                                    NO_BUNDLES)));
        }
        return cases.stream();
    }

    /** Only Flink can evaluate it. */
    public static final class IsOdd extends ScalarFunction {
        private static final long serialVersionUID = 1L;

        public Boolean eval(Long v) {
            return v == null ? null : v % 2 != 0;
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void formIsTranslated(Case expected) throws Exception {
        TableEnvironment env = environment(expected.settings());
        Translated translated = translate(env, expected.sql());

        assertThat(translated.verdict()).isEqualTo("native");
        assertThat(translated.factory().spec()).isEqualTo(expected.spec().toJson());
        var stock =
                (AbstractStreamingJoinOperator)
                        ((SimpleOperatorFactory<?>) translated.factory().stock()).getOperator();
        JoinSpec spec = expected.spec();
        assertThat(shape(stock, "left")).isEqualTo(shape(spec.left()));
        assertThat(shape(stock, "right")).isEqualTo(shape(spec.right()));
        assertThat(Plans.field(stock, "leftStateRetentionTime"))
                .contains(spec.left().stateTtlMillis());
        assertThat(Plans.field(stock, "rightStateRetentionTime"))
                .contains(spec.right().stateTtlMillis());
        boolean[] filterNulls = (boolean[]) Plans.field(stock, "filterNullKeys").orElseThrow();
        for (int i = 0; i < filterNulls.length; i++) {
            assertThat(filterNulls[i]).isEqualTo(spec.filterNulls().get(i));
        }
        assertThat(filterNulls).hasSize(spec.filterNulls().size());
        spec.miniBatchSize()
                .ifPresent(
                        size ->
                                assertThat(
                                                Plans.field(stock, "coBundleTrigger")
                                                        .flatMap(t -> Plans.field(t, "maxCount")))
                                        .contains(size));
    }

    /** Keys and unique keys of an input as Flink's operator has them. */
    private static String shape(AbstractStreamingJoinOperator stock, String side) {
        JoinInputSideSpec spec =
                (JoinInputSideSpec) Plans.field(stock, side + "InputSideSpec").orElseThrow();
        return spec
                + (spec.hasUniqueKey()
                        ? " of " + spec.getUniqueKeyType().toRowFieldTypes().length
                        : "");
    }

    private static String shape(Side side) {
        if (side.uniqueKey().isEmpty()) {
            return "NoUniqueKey";
        }
        List<Integer> key = side.uniqueKey().get();
        return (side.keys().containsAll(key) ? "JoinKeyContainsUniqueKey" : "HasUniqueKey")
                + " of "
                + key.size();
    }

    @Test
    void asynchronousStateStaysOnFlinkWhereFlinkHasIt() {
        TableEnvironment env = environment(List.of("table.exec.async-state.enabled", "true"));

        assertThat(
                        translate(
                                        env,
                                        "SELECT L.id, R.id, L.v FROM plain L JOIN plain R ON L.k = R.k")
                                .verdict())
                .isEqualTo(
                        "flink: asynchronous state access is on (table.exec.async-state.enabled)");
        assertThat(
                        translate(env, "SELECT id, k, v FROM plain WHERE k IN (SELECT k FROM byId)")
                                .verdict())
                .isEqualTo("native");
    }

    @Test
    void severalJoinsAtOnceStayOnFlinkAndTheUserLearnsOfTheOption() {
        TableEnvironment env = environment(List.of("table.optimizer.multi-join.enabled", "true"));
        String sql =
                "SELECT L.id, R.id, M.v FROM plain L JOIN plain R ON L.k = R.k JOIN plain M ON L.k = M.k";

        assertThat(Plans.section(env.explainSql(sql)))
                .singleElement()
                .asString()
                .startsWith("MultiJoin(")
                .endsWith(
                        "): flink: no native operator for StreamExecMultiJoin; joins one by one are"
                                + " native, table.optimizer.multi-join.enabled has put them together");
    }

    @Test
    void joinsOfOtherKindsStayOnFlink() {
        TableEnvironment env = environment(List.of());
        String interval =
                "SELECT L.auction FROM bid L JOIN bid R ON L.auction = R.auction AND L.ts BETWEEN R.ts"
                        + " AND R.ts + INTERVAL '1' MINUTE";

        assertThat(Plans.section(env.explainSql(interval)))
                .singleElement()
                .asString()
                .endsWith("flink: no native operator for StreamExecIntervalJoin");
    }

    /** A function object without a name makes the node unwritable, which must not keep it from being native. */
    @Test
    void predicateThatNoPlanCanHoldIsTheHosts() {
        TableEnvironment env = environment(List.of());
        Table left = env.sqlQuery("SELECT id AS a, k AS b, v AS c FROM plain");
        Table right = env.sqlQuery("SELECT id, k, v FROM byId");
        Table joined =
                left.join(
                        right,
                        $("b").isEqual($("k")).and(call(new Threshold(7), $("c").plus($("v")))));

        assertThat(Plans.section(joined.explain()))
                .singleElement()
                .asString()
                .startsWith("Join(")
                .endsWith(": native");
    }

    /** It has state of its own, so its class alone doesn't say what it does. */
    public static final class Threshold extends ScalarFunction {
        private static final long serialVersionUID = 1L;
        private final long threshold;

        public Threshold(long threshold) {
            this.threshold = threshold;
        }

        public Boolean eval(Long v) {
            return v != null && v > threshold;
        }
    }

    private static TableEnvironment environment(List<String> settings) {
        TableEnvironment env = Plans.environment(settings.toArray(String[]::new));
        env.createTemporarySystemFunction("isOdd", IsOdd.class);
        String columns = "(id BIGINT, k BIGINT, v BIGINT, s STRING";
        String options = ") WITH ('connector' = 'datagen')";
        env.executeSql("CREATE TABLE plain " + columns + options);
        env.executeSql(
                "CREATE TABLE byKey " + columns + ", PRIMARY KEY (k) NOT ENFORCED" + options);
        env.executeSql(
                "CREATE TABLE byId " + columns + ", PRIMARY KEY (id) NOT ENFORCED" + options);
        return env;
    }

    private record Translated(String verdict, NativeOperatorFactory factory) {}

    /** Translates with Flink's planner, then lets the translator look at the result. */
    private static Translated translate(TableEnvironment env, String sql) {
        StreamPlanner planner = (StreamPlanner) Plans.planner(env);
        InternalPlan plan =
                Plans.load(env, env.compilePlanSql("INSERT INTO retracts " + sql).asJsonString());
        var transformations = planner.translatePlan(plan);
        PlanReport report =
                new Acceleration(
                                List.of(new JoinTranslator()),
                                env.getConfig(),
                                planner::createSerdeContext)
                        .apply(((ExecNodeGraphInternalPlan) plan).getExecNodeGraph());
        assertThat(report.nodes()).hasSize(1);
        NativeOperatorFactory factory = null;
        for (var transformation : Plans.all(transformations)) {
            if (transformation instanceof TwoInputTransformation<?, ?, ?> two
                    && two.getOperatorFactory() instanceof NativeOperatorFactory ours) {
                factory = ours;
            }
        }
        return new Translated(report.nodes().get(0).verdict(), factory);
    }
}
