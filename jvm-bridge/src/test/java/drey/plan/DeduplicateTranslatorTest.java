package drey.plan;

import static org.assertj.core.api.Assertions.assertThat;

import drey.runtime.NativeOperatorFactory;
import drey.spec.DeduplicateSpec;
import drey.spec.DeduplicateSpec.MiniBatch;

import org.apache.flink.streaming.api.operators.AbstractUdfStreamOperator;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.runtime.operators.bundle.AbstractMapBundleOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;

/** Each variant of the node from SQL to spec, held against the function that Flink made of the same node. */
class DeduplicateTranslatorTest {

    private static final String MINI_BATCH = "table.exec.mini-batch.enabled";
    private static final String SIZE = "table.exec.mini-batch.size";
    private static final String LATENCY = "table.exec.mini-batch.allow-latency";
    private static final String COMPACT =
            "table.exec.deduplicate.mini-batch.compact-changes-enabled";
    private static final String SENSITIVE =
            "table.exec.deduplicate.insert-update-after-sensitive-enabled";
    private static final String TTL = "table.exec.state.ttl";

    record Case(
            String name,
            String insert,
            List<String> settings,
            DeduplicateSpec spec,
            String stockFunction) {
        @Override
        public String toString() {
            return name;
        }
    }

    /** Columns of {@code bid} that the node sees: auction, bidder, price and the time it is ordered by. */
    private static final OptionalInt ROWTIME = OptionalInt.of(3);

    private static final OptionalInt PROCTIME = OptionalInt.empty();
    private static final Optional<MiniBatch> OFF = Optional.empty();

    private static final String UPSERT = "INSERT INTO upserts ";
    private static final String RETRACT = "INSERT INTO retracts ";

    /** A consumer that needs -U: an aggregate over the deduplicated rows. */
    private static String aggregate(String deduplicated) {
        return RETRACT
                + "SELECT auction, bidder, SUM(price) FROM ("
                + deduplicated
                + ") GROUP BY auction, bidder";
    }

    private static final String LAST_BY_ROWTIME = Plans.deduplicate("auction, bidder", "ts DESC");
    private static final String FIRST_BY_ROWTIME = Plans.deduplicate("auction, bidder", "ts ASC");
    private static final String LAST_BY_PROCTIME = Plans.deduplicate("auction, bidder", "pt DESC");
    private static final String FIRST_BY_PROCTIME = Plans.deduplicate("auction, bidder", "pt ASC");

    static Stream<Case> cases() {
        List<Integer> key = List.of(0, 1);
        return Stream.of(
                new Case(
                        "rowtime keep-last",
                        UPSERT + LAST_BY_ROWTIME,
                        List.of(),
                        new DeduplicateSpec(key, true, ROWTIME, true, false, false, true, OFF, 0),
                        "RowTimeDeduplicateFunction"),
                new Case(
                        "rowtime keep-last, -U wanted, retention",
                        aggregate(Plans.deduplicate("auction, bidder", "ts DESC")),
                        List.of(TTL, "90 s"),
                        new DeduplicateSpec(
                                key, true, ROWTIME, true, false, true, true, OFF, 90_000),
                        "RowTimeDeduplicateFunction"),
                new Case(
                        "rowtime keep-last, kinds of updates don't matter",
                        UPSERT + LAST_BY_ROWTIME,
                        List.of(SENSITIVE, "false"),
                        new DeduplicateSpec(key, true, ROWTIME, true, false, false, false, OFF, 0),
                        "RowTimeDeduplicateFunction"),
                new Case(
                        "rowtime keep-first",
                        UPSERT + FIRST_BY_ROWTIME,
                        List.of(TTL, "1 h"),
                        new DeduplicateSpec(
                                key, true, ROWTIME, false, true, false, true, OFF, 3_600_000),
                        "RowTimeDeduplicateKeepFirstRowFunction"),
                new Case(
                        "rowtime keep-last, bundles",
                        UPSERT + LAST_BY_ROWTIME,
                        List.of(MINI_BATCH, "true", SIZE, "77", LATENCY, "1 s"),
                        new DeduplicateSpec(
                                key,
                                true,
                                ROWTIME,
                                true,
                                false,
                                false,
                                true,
                                Optional.of(new MiniBatch(77, false)),
                                0),
                        "RowTimeMiniBatchDeduplicateFunction"),
                new Case(
                        "rowtime keep-first, bundles",
                        UPSERT + FIRST_BY_ROWTIME,
                        List.of(MINI_BATCH, "true", SIZE, "77", LATENCY, "1 s"),
                        new DeduplicateSpec(
                                key,
                                true,
                                ROWTIME,
                                false,
                                false,
                                false,
                                true,
                                Optional.of(new MiniBatch(77, false)),
                                0),
                        "RowTimeMiniBatchDeduplicateFunction"),
                new Case(
                        "rowtime keep-last, bundles, compact",
                        aggregate(Plans.deduplicate("auction, bidder", "ts DESC")),
                        List.of(MINI_BATCH, "true", SIZE, "8", LATENCY, "1 s", COMPACT, "true"),
                        new DeduplicateSpec(
                                key,
                                true,
                                ROWTIME,
                                true,
                                false,
                                true,
                                true,
                                Optional.of(new MiniBatch(8, true)),
                                0),
                        "RowTimeMiniBatchLatestChangeDeduplicateFunction"),
                new Case(
                        "proctime keep-last",
                        UPSERT + LAST_BY_PROCTIME,
                        List.of(TTL, "1 min"),
                        new DeduplicateSpec(
                                key, false, PROCTIME, true, false, false, true, OFF, 60_000),
                        "ProcTimeDeduplicateKeepLastRowFunction"),
                new Case(
                        "proctime keep-last, -U wanted",
                        aggregate(LAST_BY_PROCTIME),
                        List.of(SENSITIVE, "false"),
                        new DeduplicateSpec(key, false, PROCTIME, true, false, true, false, OFF, 0),
                        "ProcTimeDeduplicateKeepLastRowFunction"),
                new Case(
                        "proctime keep-first",
                        UPSERT + FIRST_BY_PROCTIME,
                        List.of(),
                        new DeduplicateSpec(key, false, PROCTIME, false, true, false, true, OFF, 0),
                        "ProcTimeDeduplicateKeepFirstRowFunction"),
                new Case(
                        "proctime keep-last, bundles (compaction is none of its business)",
                        UPSERT + LAST_BY_PROCTIME,
                        List.of(MINI_BATCH, "true", SIZE, "5", LATENCY, "1 s", COMPACT, "true"),
                        new DeduplicateSpec(
                                key,
                                false,
                                PROCTIME,
                                true,
                                false,
                                false,
                                true,
                                Optional.of(new MiniBatch(5, false)),
                                0),
                        "ProcTimeMiniBatchDeduplicateKeepLastRowFunction"),
                new Case(
                        "proctime keep-first, bundles",
                        UPSERT + FIRST_BY_PROCTIME,
                        List.of(MINI_BATCH, "true", SIZE, "5", LATENCY, "1 s", TTL, "2 s"),
                        new DeduplicateSpec(
                                key,
                                false,
                                PROCTIME,
                                false,
                                false,
                                false,
                                true,
                                Optional.of(new MiniBatch(5, false)),
                                2_000),
                        "ProcTimeMiniBatchDeduplicateKeepFirstRowFunction"),
                new Case(
                        "no key",
                        RETRACT
                                + "SELECT auction, bidder, price FROM (SELECT *, ROW_NUMBER() OVER"
                                + " (ORDER BY pt ASC) AS rn FROM bid) WHERE rn = 1",
                        List.of(),
                        new DeduplicateSpec(
                                List.of(), false, PROCTIME, false, true, false, true, OFF, 0),
                        "ProcTimeDeduplicateKeepFirstRowFunction"));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void variantIsTranslated(Case expected) throws Exception {
        TableEnvironment env = Plans.environment(expected.settings().toArray(String[]::new));
        List<OneInputTransformation<?, ?>> found =
                Plans.nativeOnes(Plans.translate(env, expected.insert()), DeduplicateSpec.OPERATOR);

        assertThat(found).hasSize(1);
        NativeOperatorFactory factory = Plans.factory(found.get(0));
        assertThat(factory.spec()).isEqualTo(expected.spec().toJson());
        Object function = function(factory);
        assertThat(function.getClass().getSimpleName()).isEqualTo(expected.stockFunction());
        assertSameParameters(expected.spec(), factory, function);
    }

    /** Whatever of the spec the stock function has too must have the same value there. */
    private static void assertSameParameters(
            DeduplicateSpec spec, NativeOperatorFactory factory, Object function) throws Exception {
        Map<String, Object> ours = new LinkedHashMap<>();
        ours.put("keepLastRow", spec.keepLastRow());
        ours.put("generateUpdateBefore", spec.generateUpdateBefore());
        ours.put("generateInsert", spec.generateInsert());
        ours.put("rowtimeIndex", spec.rowtimeIndex().orElse(-1));
        ours.put("stateRetentionTime", spec.stateTtlMillis());
        ours.put("minRetentionTime", spec.stateTtlMillis());
        int compared = 0;
        for (Map.Entry<String, Object> parameter : ours.entrySet()) {
            Optional<Object> stock = Plans.field(function, parameter.getKey());
            if (stock.isPresent()) {
                assertThat(stock.get()).as(parameter.getKey()).isEqualTo(parameter.getValue());
                compared++;
            }
        }
        assertThat(compared).isPositive();
        if (spec.miniBatch().isPresent()) {
            Object trigger = Plans.field(operator(factory), "bundleTrigger").orElseThrow();
            assertThat(Plans.field(trigger, "maxCount")).contains(spec.miniBatch().get().size());
        }
    }

    private static StreamOperator<?> operator(NativeOperatorFactory factory) {
        return ((SimpleOperatorFactory<?>) factory.stock()).getOperator();
    }

    private static Object function(NativeOperatorFactory factory) throws Exception {
        StreamOperator<?> operator = operator(factory);
        return operator instanceof AbstractMapBundleOperator<?, ?, ?, ?>
                ? Plans.field(operator, "function").orElseThrow()
                : ((AbstractUdfStreamOperator<?, ?>) operator).getUserFunction();
    }

    @Test
    void retentionOfTheCompiledPlanWins() {
        TableEnvironment env = Plans.environment(TTL, "10 s");
        String plan = env.compilePlanSql(UPSERT + LAST_BY_ROWTIME).asJsonString();
        assertThat(plan).contains("\"ttl\" : \"10 s\"");
        String changed = plan.replace("\"ttl\" : \"10 s\"", "\"ttl\" : \"3 d\"");

        assertThat(specOfPlan(Plans.environment(TTL, "1 s"), changed))
                .contains("\"stateTtlMillis\":259200000");
    }

    @Test
    void optionsKeptInTheCompiledPlanWin() {
        TableEnvironment env = Plans.environment(MINI_BATCH, "true", SIZE, "77", LATENCY, "1 s");
        String plan = env.compilePlanSql(UPSERT + LAST_BY_ROWTIME).asJsonString();

        assertThat(specOfPlan(Plans.environment(MINI_BATCH, "false"), plan))
                .contains("\"size\":77");
    }

    @Test
    void planOfAnOlderFlinkHasNeitherStateNorInsertOnly() {
        TableEnvironment env = Plans.environment();
        String plan = env.compilePlanSql(UPSERT + FIRST_BY_ROWTIME).asJsonString();
        String old =
                plan.replaceAll("\"outputInsertOnly\" : true,?", "")
                        .replaceAll("(?s)\"state\" : \\[ \\{.*?} ],", "");
        assertThat(old).doesNotContain("outputInsertOnly\"").doesNotContain("\"state\"");

        assertThat(specOfPlan(Plans.environment(TTL, "5 s"), old))
                .contains("\"outputInsertOnly\":false")
                .contains("\"stateTtlMillis\":5000");
    }

    private static String specOfPlan(TableEnvironment env, String json) {
        List<OneInputTransformation<?, ?>> found =
                Plans.nativeOnes(Plans.translate(env, Plans.load(env, json)));
        assertThat(found).hasSize(1);
        return Plans.factory(found.get(0)).spec();
    }

    @Test
    void asynchronousStateStaysOnFlink() {
        TableEnvironment env = Plans.environment("table.exec.async-state.enabled", "true");

        assertThat(Plans.section(env.explainSql(UPSERT + LAST_BY_ROWTIME)))
                .singleElement()
                .asString()
                .endsWith(
                        ": flink: asynchronous state access is on"
                                + " (table.exec.async-state.enabled)");
        // Flink itself has no asynchronous form of this one.
        assertThat(Plans.section(env.explainSql(UPSERT + FIRST_BY_ROWTIME)))
                .singleElement()
                .asString()
                .endsWith(": native");
    }

    @Test
    void keyOfNestedTypeIsNative() {
        String sql =
                "SELECT k, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt DESC)"
                        + " AS rn FROM (SELECT ROW(auction, CAST(bidder AS DECIMAL(30, 0))) AS k,"
                        + " price, pt FROM bid)) WHERE rn = 1";

        assertThat(Plans.section(Plans.environment().explainSql(sql)))
                .singleElement()
                .asString()
                .endsWith(": native");
    }

    @Test
    void payloadOfNestedTypeIsNative() {
        TableEnvironment env = Plans.environment();
        String sql =
                "SELECT auction, r, a, m FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction"
                        + " ORDER BY pt DESC) AS rn FROM (SELECT auction, ROW(bidder, url) AS r,"
                        + " ARRAY[price] AS a, MAP[url, price] AS m, pt FROM bid)) WHERE rn = 1";

        assertThat(Plans.section(env.explainSql(sql)))
                .singleElement()
                .asString()
                .endsWith(": native");
    }
}
