package drey.it.aggregate;

import static org.assertj.core.api.Assertions.assertThat;

import drey.it.KeptChanges;
import drey.it.LocalRun;

import org.apache.flink.types.Row;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Every aggregate function of every type, over inputs that only grow and that retract, in every form that Flink plans, by Flink
 * and by Drey on the same changes: message for message, row kinds and order included.
 *
 * <p>All queries of a run share one job, so there are few runs. More rows, other seeds: {@code -Ddrey.aggregate.rows=5000
 * -Ddrey.aggregate.seeds=10}.
 */
class AggregateSqlTest {

    private static final int ROWS = Integer.getInteger("drey.aggregate.rows", 700);
    private static final long SEED = 20260207;
    private static final List<Query> QUERIES =
            Query.all().stream()
                    .filter(
                            q ->
                                    q.name()
                                            .matches(
                                                    System.getProperty(
                                                            "drey.aggregate.queries", ".*")))
                    .toList();

    /** Stock Flink, the plainest way. */
    private static Map<String, List<Row>> expected;

    @BeforeAll
    static void runStock() throws Exception {
        expected = AggregateRun.execute(LocalRun.STOCK, QUERIES, ROWS, SEED);
        for (Query q : QUERIES) {
            assertThat(expected.get(q.name())).as(q.name()).isNotEmpty();
        }
    }

    static Stream<LocalRun> runs() {
        return Stream.of(
                new LocalRun(true, 1, false, 1024, false), new LocalRun(true, 3, true, 7, true));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("runs")
    void changesAreEqual(LocalRun run) throws Exception {
        List<Query> queries =
                run.fails() ? QUERIES.stream().filter(Query::steady).toList() : QUERIES;
        long before = AggregateRun.opened();
        Map<String, List<Row>> actual = AggregateRun.execute(run, queries, ROWS, SEED);
        long opened = AggregateRun.opened() - before;
        compare(queries, run, expected, actual);
        int natives = queries.stream().mapToInt(Query::natives).sum();
        if (run.parallelism() == 1) {
            assertThat(opened).isEqualTo(natives);
        } else {
            assertThat(opened).isGreaterThan(natives);
        }
    }

    @Test
    void otherSeeds() throws Exception {
        int seeds = Integer.getInteger("drey.aggregate.seeds", 0);
        for (long seed = SEED + 1; seed <= SEED + seeds; seed++) {
            LocalRun run = new LocalRun(true, 1, seed % 2 == 0, (int) (1 + seed % 50), false);
            try {
                compare(
                        QUERIES,
                        run,
                        AggregateRun.execute(LocalRun.STOCK, QUERIES, ROWS, seed),
                        AggregateRun.execute(run, QUERIES, ROWS, seed));
            } catch (Throwable e) {
                throw new AssertionError("seed " + seed, e);
            }
        }
    }

    private static void compare(
            List<Query> queries,
            LocalRun run,
            Map<String, List<Row>> expected,
            Map<String, List<Row>> actual) {
        assertThat(queries)
                .allSatisfy(q -> compare(q, run, expected.get(q.name()), actual.get(q.name())));
    }

    private static void compare(Query query, LocalRun run, List<Row> expected, List<Row> actual) {
        if (run.parallelism() == 1 && !run.fails()) {
            equalLists(query, expected, actual);
        } else if (!query.bundled()) {
            KeptChanges.assertEqual(
                    query.name(),
                    KeptChanges.byKey(query.keys(), expected),
                    KeptChanges.byKey(query.keys(), actual));
        } else {
            // Where a bundle ends depends on who else is in it, and when checkpoints come.
            KeptChanges.assertEqual(
                    query.name(),
                    KeptChanges.content(query.keys(), query.upsert(), expected),
                    KeptChanges.content(query.keys(), query.upsert(), actual));
        }
    }

    /** Names the first message at which two results part; all of both would be a megabyte. */
    private static void equalLists(Query query, List<Row> expected, List<Row> actual) {
        for (int i = 0; i < Math.min(expected.size(), actual.size()); i++) {
            assertThat(actual.get(i).toString())
                    .as("%s: message %d of %d", query.name(), i, expected.size())
                    .isEqualTo(expected.get(i).toString());
        }
        assertThat(actual).as(query.name()).hasSameSizeAs(expected);
    }
}
