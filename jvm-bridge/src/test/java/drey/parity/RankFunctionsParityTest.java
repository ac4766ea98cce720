package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.NativeOperator;
import drey.runtime.BatchOptions;
import drey.runtime.NativeExecutions;
import drey.runtime.NativeOperatorFactory;
import drey.spec.RankSpec;
import drey.spec.RankSpec.Function;
import drey.spec.RankSpec.RankRange;
import drey.spec.RankSpec.SortField;

import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Flink's Top-N functions against ours, row by row, kinds and record timestamps included: random changelogs with updates,
 * retractions, retractions of what never was, duplicates, ties, nulls, checkpoints, restarts, and jumps of the clock
 * around the end of retention. A seed is the only input of a run; a failure names it, and
 * {@code -Ddrey.parity.seed=<seed>} plays it again. {@code -Ddrey.parity.rows=<n>} plays so many rows in all, with more seeds.
 */
class RankFunctionsParityTest {

    private static final int ROWS = 700;

    /** Retention is of many hours: the caches of Flink's functions go by the wall clock, and must not notice. */
    private static final long HOUR = 3_600_000;

    /** Partition, row key, sort keys, end of a variable range, something else. */
    static final RowType TYPE =
            RowType.of(
                    new LogicalType[] {
                        new IntType(),
                        new VarCharType(VarCharType.MAX_LENGTH),
                        new BigIntType(),
                        new VarCharType(VarCharType.MAX_LENGTH),
                        new IntType(),
                        new VarCharType(VarCharType.MAX_LENGTH)
                    },
                    new String[] {"p", "k", "s", "t", "e", "v"});

    private static final int P = 0;
    private static final int K = 1;
    private static final int S = 2;
    private static final int T = 3;
    private static final int E = 4;

    @AfterEach
    void nothingIsLeftOver() {
        assertThat(NativeOperator.live()).isEmpty();
    }

    @TestFactory
    Stream<DynamicTest> everyFunction() {
        long seed = Long.getLong("drey.parity.seed", 0);
        int runs = (int) (Long.getLong("drey.parity.rows", 120L * ROWS) / ROWS);
        List<Function> functions = List.of(Function.values());
        return seed != 0
                ? Stream.of(DynamicTest.dynamicTest("seed " + seed, () -> run(seed)))
                : functions.stream()
                        .map(
                                f ->
                                        DynamicTest.dynamicTest(
                                                f.toString(),
                                                () -> {
                                                    for (int i = 0;
                                                            i < runs / functions.size();
                                                            i++) {
                                                        run(i * 16L + f.ordinal() + 1);
                                                    }
                                                }));
    }

    /** Another seed each time, so that in the long run more is covered than what passed once. */
    @Test
    void freshSeeds() throws Exception {
        long fresh = System.nanoTime() & ~15L;
        System.out.println("parity with seeds from " + fresh);
        for (int i = 0; i < 20; i++) {
            run(fresh + i * 16L + 1 + i % Function.values().length);
        }
    }

    /** A step of a run: a row, a change of the clock, a checkpoint or a restart. */
    sealed interface Step {
        record Row(RowKind kind, GenericRowData row, Long timestamp) implements Step {}

        record Clock(long millis) implements Step {}

        record Checkpoint() implements Step {}

        record Restart() implements Step {}
    }

    private static void run(long seed) throws Exception {
        SplittableRandom rng = new SplittableRandom(seed);
        Function function = Function.values()[(int) ((seed & 15) - 1) % 5];
        Ranking ranking = ranking(function, rng);
        List<Step> steps = steps(ranking, rng, ROWS);
        BatchOptions options =
                new BatchOptions(
                        new int[] {1, 2, 3, 7, 64, 1024}[rng.nextInt(6)],
                        new int[] {100, 5_000, 1 << 20}[rng.nextInt(3)],
                        rng.nextInt(4) == 0 ? 0 : 5);
        boolean rocks = rng.nextInt(12) == 0;
        String what = "seed " + seed + ", " + ranking + ", " + options;
        try {
            Ranking oracle = ranking.losesMessages() ? ranking.numbered() : ranking;
            Log flink = new Log(oracle.output(TYPE));
            // Where a group has fewer rows than Flink counts it may fail: up to there.
            int played = play(oracle, oracle.stock(TYPE), flink, rocks, steps);
            if (ranking.losesMessages()) {
                flink = withoutRank(flink, ranking.output(TYPE));
            }
            Log drey = new Log(ranking.output(TYPE));
            long before = NativeExecutions.of("rank").rowsIn();
            play(
                    ranking,
                    new NativeOperatorFactory(
                            SimpleOperatorFactory.of(ranking.stock(TYPE)),
                            ranking.spec().toJson(),
                            List.of(TYPE),
                            ranking.output(TYPE).type(),
                            options),
                    drey,
                    false,
                    steps.subList(0, played));
            assertThat(NativeExecutions.of("rank").rowsIn()).isGreaterThan(before);
            Compare.sequences(ranking.output(TYPE), flink, drey, what);
        } catch (Exception e) {
            throw new AssertionError(what, e);
        }
    }

    static Ranking ranking(Function function, SplittableRandom rng) {
        RankRange range =
                function == Function.FAST_TOP_1
                        ? new RankRange.Constant(1, 1)
                        : switch (rng.nextInt(6)) {
                            case 0 -> new RankRange.Variable(E);
                            case 1 -> new RankRange.Constant(2, 2);
                            case 2 -> new RankRange.Constant(2, 4);
                            case 3 -> new RankRange.Constant(1, 30);
                            case 4 ->
                                    new RankRange.Constant(
                                            1, function == Function.APPEND_ONLY_FIRST_N ? 1 : 2);
                            default -> new RankRange.Constant(1, 3);
                        };
        long ttl = rng.nextBoolean() ? 0 : (1 + rng.nextInt(80)) * HOUR;
        boolean cached =
                function == Function.FAST_TOP_1
                        || function == Function.APPEND_ONLY_TOP_N
                        || function == Function.UPDATABLE_TOP_N;
        List<SortField> orderBy = new ArrayList<>();
        int[][] choices = {{S}, {T}, {S, T}};
        for (int c : choices[rng.nextInt(3)]) {
            orderBy.add(new SortField(c, rng.nextBoolean(), rng.nextBoolean()));
        }
        if (function == Function.APPEND_ONLY_FIRST_N) {
            orderBy = List.of(new SortField(S, true, false));
        } else if (function == Function.UPDATABLE_TOP_N && ttl > 0) {
            // Ties make Flink lose rows when the first of a group expires: there are none then.
            orderBy = List.of(new SortField(S, rng.nextBoolean(), false));
        }
        boolean global = !(cached && ttl > 0) && rng.nextInt(6) == 0;
        return new Ranking(
                new RankSpec(
                        function,
                        global ? List.of() : List.of(P),
                        function == Function.APPEND_ONLY_FIRST_N ? List.of() : orderBy,
                        range,
                        function == Function.UPDATABLE_TOP_N ? List.of(P, K) : List.of(),
                        rng.nextBoolean(),
                        rng.nextBoolean(),
                        ttl),
                ttl > 0 || rng.nextBoolean() ? 1 : 10_000);
    }

    static List<Step> steps(Ranking ranking, SplittableRandom rng, int rows) {
        RankSpec spec = ranking.spec();
        long ttl = spec.stateTtlMillis();
        long clock = 0;
        int partitions = 1 + rng.nextInt(4);
        int values = 1 + rng.nextInt(8);
        List<GenericRowData> there = new ArrayList<>();
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < rows; i++) {
            if (ttl > 0 && rng.nextInt(4) == 0) {
                long[] jumps = {1, rng.nextInt(6) * HOUR, ttl / 2 + 1, ttl - 1, ttl, ttl + 1};
                clock += jumps[Math.min(rng.nextInt(20), 5)];
                steps.add(new Step.Clock(clock));
            }
            if (rng.nextInt(100) == 0) {
                steps.add(rng.nextInt(4) == 0 ? new Step.Restart() : new Step.Checkpoint());
            }
            RowKind kind = RowKind.INSERT;
            GenericRowData row;
            if (spec.function() == Function.RETRACTABLE_TOP_N
                    && !there.isEmpty()
                    && rng.nextInt(5) < 2) {
                kind = rng.nextBoolean() ? RowKind.UPDATE_BEFORE : RowKind.DELETE;
                int at = rng.nextInt(there.size());
                // Mostly of what is there, else again later, of what no longer is.
                row = rng.nextInt(8) > 0 ? there.remove(at) : there.get(at);
            } else {
                row = row(rng, rng.nextInt(partitions), values, spec, ttl, i);
                there.add(row);
                if (spec.function() != Function.APPEND_ONLY_FIRST_N
                        && spec.function() != Function.APPEND_ONLY_TOP_N
                        && rng.nextBoolean()) {
                    kind = RowKind.UPDATE_AFTER;
                }
            }
            steps.add(new Step.Row(kind, row, rng.nextInt(3) == 0 ? null : 1000L + i));
            if (ranking.hasCache() && ttl > 0) {
                // A partition of its own, so that Flink's cache lets go of the one before at once.
                GenericRowData other = row(rng, 1_000_000 + i, values, spec, ttl, i);
                steps.add(new Step.Row(RowKind.INSERT, other, null));
            }
        }
        return steps;
    }

    private static GenericRowData row(
            SplittableRandom rng, int partition, int values, RankSpec spec, long ttl, int i) {
        boolean distinct = spec.function() == Function.UPDATABLE_TOP_N && ttl > 0;
        String[] texts = {"", "a", "b", "a string behind the slots", "a string behind the slotz"};
        return GenericRowData.of(
                partition,
                StringData.fromString("key " + rng.nextInt(12)),
                distinct
                        ? (Long) (((long) rng.nextInt(1000) << 20) + i)
                        : rng.nextInt(6) == 0
                                ? null
                                : (Long) (long) (rng.nextInt(values) - values / 2),
                rng.nextInt(6) == 0 ? null : StringData.fromString(texts[rng.nextInt(5)]),
                rng.nextInt(7) - 2,
                StringData.fromString(rng.nextBoolean() ? "x" : "y, which is longer than a slot"));
    }

    /** Plays the steps and says how many went well. Only Flink's operator may fail, and only in one way. */
    private static int play(
            Ranking ranking, Object operator, Log log, boolean rocks, List<Step> steps)
            throws Exception {
        Schema input = ranking.input(TYPE);
        Schema output = ranking.output(TYPE);
        boolean stock = !(operator instanceof NativeOperatorFactory);
        Harness harness = harness(operator, input, output, log, rocks);
        long clock = 0;
        long checkpoints = 0;
        try {
            harness.setClock(0);
            harness.start(null);
            for (int i = 0; i < steps.size(); i++) {
                Step step = steps.get(i);
                if (step instanceof Step.Row row) {
                    BinaryRowData binary = input.binary(row.row());
                    binary.setRowKind(row.kind());
                    int before = log.entries.size();
                    try {
                        harness.processElement(
                                row.timestamp() == null
                                        ? new StreamRecord<RowData>(binary)
                                        : new StreamRecord<>(binary, row.timestamp()));
                    } catch (IndexOutOfBoundsException e) {
                        if (!stock || ranking.spec().stateTtlMillis() == 0) {
                            throw e;
                        }
                        log.entries.subList(before, log.entries.size()).clear();
                        return i;
                    }
                } else if (step instanceof Step.Clock tick) {
                    clock = tick.millis();
                    harness.setClock(clock);
                } else if (step instanceof Step.Checkpoint) {
                    harness.checkpoint(++checkpoints);
                } else {
                    OperatorSubtaskState state = harness.checkpoint(++checkpoints);
                    harness.close();
                    Object next =
                            stock
                                    ? ranking.stock(TYPE)
                                    : operator; // a factory makes many operators
                    harness = harness(next, input, output, log, rocks);
                    harness.setClock(clock);
                    harness.start(state);
                }
            }
            harness.endInput();
            harness.streamOperator().finish();
            return steps.size();
        } finally {
            harness.close();
        }
    }

    private static Harness harness(
            Object operator, Schema input, Schema output, Log log, boolean rocks) throws Exception {
        return Harness.create(
                operator,
                List.of(input.selector()),
                output.type(),
                log,
                rocks ? new EmbeddedRocksDBStateBackend() : null,
                Harness.MEMORY,
                Harness.Subtask.ONLY,
                false);
    }

    /** The entries without the last column. */
    static Log withoutRank(Log numbered, Schema schema) {
        Log log = new Log(schema);
        int[] columns = IntStream.range(0, schema.type().getFieldCount()).toArray();
        for (Log.Entry e : numbered.entries) {
            if (e.row() == null) {
                log.entries.add(e);
                continue;
            }
            GenericRowData row = new GenericRowData(columns.length);
            for (int c : columns) {
                LogicalType type = schema.type().getTypeAt(c);
                row.setField(c, RowData.createFieldGetter(type, c).getFieldOrNull(e.row()));
            }
            log.entries.add(new Log.Entry(e.kind(), schema.binary(row), e.timestamp(), null));
        }
        return log;
    }
}
