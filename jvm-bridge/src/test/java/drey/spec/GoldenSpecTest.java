package drey.spec;

import static drey.spec.Calls.appendOnly;
import static drey.spec.Calls.distinct;
import static drey.spec.Calls.retracting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.spec.AggregateCalls.Call;
import drey.spec.AggregateCalls.Function;
import drey.spec.DeduplicateSpec.MiniBatch;
import drey.spec.JoinSpec.Side;
import drey.spec.RankSpec.RankRange.Constant;
import drey.spec.RankSpec.RankRange.Variable;
import drey.spec.RankSpec.SortField;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The texts that the native side's tests read too: neither side can change a spec's form alone. */
class GoldenSpecTest {

    private static final Path TESTDATA = Path.of("..", "native", "spec", "testdata");

    private static final Optional<MiniBatch> NO_BUNDLES = Optional.empty();
    private static final OptionalInt PROCTIME = OptionalInt.empty();
    private static final OptionalInt ROWTIME = OptionalInt.of(5);

    private static Map<String, OperatorSpec> specs() {
        Map<String, OperatorSpec> specs = new TreeMap<>();
        specs.put(
                "deduplicate_no_key",
                new DeduplicateSpec(
                        List.of(), false, PROCTIME, true, false, false, true, NO_BUNDLES, 0));
        specs.put(
                "deduplicate_proctime_keep_first",
                new DeduplicateSpec(
                        List.of(0),
                        false,
                        PROCTIME,
                        false,
                        true,
                        false,
                        true,
                        NO_BUNDLES,
                        86_400_000));
        specs.put(
                "deduplicate_proctime_keep_last",
                new DeduplicateSpec(
                        List.of(0), false, PROCTIME, true, false, true, false, NO_BUNDLES, 0));
        specs.put(
                "deduplicate_rowtime_keep_first_insert_only",
                new DeduplicateSpec(
                        List.of(1),
                        true,
                        ROWTIME,
                        false,
                        true,
                        false,
                        true,
                        NO_BUNDLES,
                        3_600_000));
        specs.put(
                "deduplicate_rowtime_keep_first_updating",
                new DeduplicateSpec(
                        List.of(1), true, ROWTIME, false, false, true, true, NO_BUNDLES, 0));
        specs.put(
                "deduplicate_rowtime_keep_last",
                new DeduplicateSpec(
                        List.of(1, 0), true, ROWTIME, true, false, false, true, NO_BUNDLES, 0));
        specs.put(
                "deduplicate_rowtime_keep_last_mini_batch",
                new DeduplicateSpec(
                        List.of(1, 0),
                        true,
                        ROWTIME,
                        true,
                        false,
                        false,
                        true,
                        Optional.of(new MiniBatch(50_000, false)),
                        0));
        specs.put(
                "deduplicate_rowtime_keep_last_mini_batch_compact",
                new DeduplicateSpec(
                        List.of(1, 0),
                        true,
                        ROWTIME,
                        true,
                        false,
                        true,
                        true,
                        Optional.of(new MiniBatch(1, true)),
                        0));
        specs.put(
                "rank_append_top10_numbered",
                new RankSpec(
                        RankSpec.Function.APPEND_ONLY_TOP_N,
                        List.of(0),
                        List.of(new SortField(2, false, true), new SortField(5, true, false)),
                        new Constant(1, 10),
                        List.of(),
                        true,
                        true,
                        0));
        specs.put(
                "rank_append_variable_end",
                new RankSpec(
                        RankSpec.Function.APPEND_ONLY_TOP_N,
                        List.of(0),
                        List.of(new SortField(2, false, true)),
                        new Variable(1),
                        List.of(),
                        false,
                        true,
                        0));
        specs.put(
                "rank_first_three_to_arrive",
                new RankSpec(
                        RankSpec.Function.APPEND_ONLY_FIRST_N,
                        List.of(1),
                        List.of(new SortField(5, true, false)),
                        new Constant(1, 3),
                        List.of(),
                        false,
                        false,
                        0));
        specs.put(
                "rank_limit",
                new RankSpec(
                        RankSpec.Function.APPEND_ONLY_TOP_N,
                        List.of(),
                        List.of(),
                        new Constant(1, 5),
                        List.of(),
                        false,
                        false,
                        0));
        specs.put(
                "rank_order_by_limit_offset",
                new RankSpec(
                        RankSpec.Function.APPEND_ONLY_TOP_N,
                        List.of(),
                        List.of(new SortField(3, true, true)),
                        new Constant(3, 7),
                        List.of(),
                        false,
                        false,
                        0));
        specs.put(
                "rank_top1",
                new RankSpec(
                        RankSpec.Function.FAST_TOP_1,
                        List.of(1, 0),
                        List.of(new SortField(2, false, true)),
                        new Constant(1, 1),
                        List.of(),
                        false,
                        false,
                        0));
        specs.put(
                "rank_update_top4",
                new RankSpec(
                        RankSpec.Function.UPDATABLE_TOP_N,
                        List.of(0),
                        List.of(new SortField(2, false, true)),
                        new Constant(1, 4),
                        List.of(0, 1),
                        true,
                        false,
                        0));
        specs.put(
                "rank_update_one_row",
                new RankSpec(
                        RankSpec.Function.UPDATABLE_TOP_N,
                        List.of(),
                        List.of(new SortField(2, false, true)),
                        new Constant(1, 4),
                        List.of(),
                        false,
                        false,
                        0));
        specs.put(
                "rank_retract_offset",
                new RankSpec(
                        RankSpec.Function.RETRACTABLE_TOP_N,
                        List.of(0),
                        List.of(new SortField(2, true, false)),
                        new Constant(2, 3),
                        List.of(),
                        false,
                        true,
                        3600000));
        joins(specs);
        addAggregates(specs);
        return specs;
    }

    private static void addAggregates(Map<String, OperatorSpec> specs) {
        Call count = Calls.call(Function.COUNT, "BIGINT NOT NULL");
        Call sumOfPrice = Calls.call(Function.SUM, "BIGINT", 2);
        Call maxOfPrice = Calls.call(Function.MAX, "BIGINT", 2);
        Call avgOfPrice = Calls.call(Function.AVG, "BIGINT", 2);
        String bid =
                "ROW<`auction` BIGINT, `bidder` BIGINT, `price` BIGINT, `channel` STRING, `url` STRING,"
                        + " `dateTime` TIMESTAMP(3), `extra` STRING>";
        specs.put(
                "group_aggregate_append",
                new GroupAggregateSpec(
                        List.of(1),
                        appendOnly(
                                count,
                                sumOfPrice,
                                Calls.call(Function.MIN, "BIGINT", 2),
                                maxOfPrice,
                                avgOfPrice),
                        true,
                        OptionalLong.empty(),
                        0));
        specs.put(
                "group_aggregate_distinct",
                new GroupAggregateSpec(
                        List.of(0),
                        appendOnly(
                                count,
                                distinct(Function.COUNT, "BIGINT NOT NULL", 1),
                                distinct(Function.SUM, "BIGINT", 1),
                                distinct(Function.COUNT, "BIGINT NOT NULL", 2)),
                        false,
                        OptionalLong.empty(),
                        0));
        specs.put(
                "group_aggregate_global_count_star",
                new GroupAggregateSpec(
                        List.of(),
                        retracting(0, false, count, sumOfPrice),
                        true,
                        OptionalLong.empty(),
                        0));
        specs.put(
                "group_aggregate_mini_batch",
                new GroupAggregateSpec(
                        List.of(1), appendOnly(count), true, OptionalLong.of(5000), 0));
        specs.put(
                "group_aggregate_no_calls",
                new GroupAggregateSpec(List.of(1, 3), appendOnly(), true, OptionalLong.empty(), 0));
        specs.put(
                "group_aggregate_retract",
                new GroupAggregateSpec(
                        List.of(1, 3),
                        retracting(1, true, maxOfPrice, count),
                        false,
                        OptionalLong.empty(),
                        3_600_000));
        Call maxOfChannel = Calls.call(Function.MAX, "STRING", 3);
        specs.put(
                "local_group_aggregate",
                new LocalGroupAggregateSpec(
                        List.of(1), appendOnly(count, sumOfPrice, maxOfChannel), 50_000));
        specs.put(
                "local_group_aggregate_retract",
                new LocalGroupAggregateSpec(
                        List.of(1), retracting(1, true, avgOfPrice, count), 50_000));
        specs.put(
                "global_group_aggregate",
                new GlobalGroupAggregateSpec(
                        List.of(0),
                        appendOnly(count, sumOfPrice, maxOfChannel),
                        bid,
                        true,
                        50_000,
                        0));
        specs.put(
                "incremental_group_aggregate",
                new IncrementalGroupAggregateSpec(
                        List.of(0, 1),
                        List.of(0),
                        appendOnly(distinct(Function.COUNT, "BIGINT NOT NULL", 1)),
                        bid,
                        50_000,
                        0));
    }

    private static void joins(Map<String, OperatorSpec> specs) {
        Side plain = side(List.of(0), Optional.empty(), 0);
        Side one = side(List.of(0), Optional.of(List.of(0)), 0);
        List<Boolean> equal = List.of(true);
        Optional<JoinSpec.Condition> always = Optional.empty();
        OptionalLong noBundles = OptionalLong.empty();
        specs.put("join_inner", new JoinSpec("INNER", plain, plain, equal, always, noBundles));
        specs.put(
                "join_inner_unique_keys",
                new JoinSpec(
                        "INNER",
                        side(List.of(0), Optional.of(List.of(1)), 0),
                        one,
                        equal,
                        always,
                        noBundles));
        specs.put("join_anti", new JoinSpec("ANTI", plain, one, equal, always, noBundles));
        specs.put(
                "join_full_null_safe_ttl",
                new JoinSpec(
                        "FULL",
                        side(List.of(1, 0), Optional.empty(), 3_600_000),
                        side(List.of(7, 0), Optional.of(List.of(8)), 7_200_000),
                        List.of(false, true),
                        always,
                        noBundles));
        specs.put(
                "join_left_condition",
                new JoinSpec(
                        "LEFT",
                        plain,
                        one,
                        equal,
                        Optional.of(
                                new JoinSpec.Condition.Native(
                                        call(
                                                "AND",
                                                call(
                                                        ">=",
                                                        ref(5, "TIMESTAMP(3)"),
                                                        ref(12, "TIMESTAMP(3)")),
                                                call(
                                                        "<=",
                                                        ref(5, "TIMESTAMP(3)"),
                                                        ref(13, "TIMESTAMP(3)"))))),
                        noBundles));
        specs.put(
                "join_semi",
                new JoinSpec(
                        "SEMI",
                        plain,
                        plain,
                        equal,
                        Optional.of(
                                new JoinSpec.Condition.Native(
                                        call(
                                                ">",
                                                ref(2, "BIGINT"),
                                                new Expression.Call(
                                                        "+",
                                                        "BIGINT",
                                                        List.of(
                                                                ref(10, "BIGINT"),
                                                                new Expression.Literal(
                                                                        "BIGINT",
                                                                        Optional.of("100"))))))),
                        noBundles));
        specs.put(
                "join_right_host_condition",
                new JoinSpec(
                        "RIGHT",
                        plain,
                        one,
                        equal,
                        Optional.of(new JoinSpec.Condition.Host()),
                        noBundles));
        specs.put(
                "join_mini_batch",
                new JoinSpec("LEFT", plain, one, equal, always, OptionalLong.of(5000)));
        Side none = side(List.of(), Optional.empty(), 0);
        specs.put(
                "join_no_key",
                new JoinSpec(
                        "INNER",
                        none,
                        side(List.of(), Optional.of(List.of()), 0),
                        List.of(),
                        always,
                        noBundles));
    }

    private static Side side(List<Integer> keys, Optional<List<Integer>> uniqueKey, long ttl) {
        return new Side(keys, uniqueKey, ttl);
    }

    private static Expression ref(int index, String type) {
        return new Expression.Ref(index, type);
    }

    private static Expression call(String op, Expression... args) {
        return new Expression.Call(op, "BOOLEAN", List.of(args));
    }

    @Test
    void specsAreWrittenAsTheGoldenFiles() throws IOException {
        for (Map.Entry<String, OperatorSpec> spec : specs().entrySet()) {
            assertThat(spec.getValue().toJson())
                    .as(spec.getKey())
                    .isEqualTo(Files.readString(TESTDATA.resolve(spec.getKey() + ".json")));
        }
    }

    @Test
    void everyGoldenFileIsWritten() throws IOException {
        try (Stream<Path> files = Files.list(TESTDATA)) {
            assertThat(files.map(file -> file.getFileName().toString().replace(".json", "")))
                    .containsExactlyInAnyOrderElementsOf(specs().keySet());
        }
    }

    @Test
    void rowtimeWithoutColumnIsRefused() {
        assertThatThrownBy(
                        () ->
                                new DeduplicateSpec(
                                        List.of(0),
                                        true,
                                        PROCTIME,
                                        true,
                                        false,
                                        false,
                                        true,
                                        NO_BUNDLES,
                                        0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("rowtimeIndex");
    }
}
