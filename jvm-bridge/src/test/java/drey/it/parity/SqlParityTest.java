package drey.it.parity;

import static org.assertj.core.api.Assertions.assertThat;

import drey.it.KeptChanges;
import drey.it.LocalRun;
import drey.runtime.NativeExecutions;

import org.apache.flink.types.Row;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Every kind of deduplication that Flink plans, keys of every type and rows of many columns, by Flink and by Drey, on the
 * same events: the changes of each key have to be equal one by one, row kinds included.
 *
 * <p>All queries of a run share one job, so there are few runs; {@code DeduplicateSqlTest} takes one query through many
 * ways of running it.
 */
class SqlParityTest {
    private static final List<Query> QUERIES = Query.all();

    /** Stock Flink, the plainest way. */
    private static Map<String, List<Row>> expected;

    @BeforeAll
    static void runStock() throws Exception {
        expected = SqlRun.execute(LocalRun.STOCK, QUERIES);
        for (Query q : QUERIES) {
            assertThat(expected.get(q.name())).as(q.name()).hasSizeGreaterThan(1);
        }
    }

    static Stream<LocalRun> runs() {
        return Stream.of(
                // Flink against itself: what is compared is fixed by the query and its input.
                new LocalRun(false, 3, true, 1024, true),
                new LocalRun(true, 1, false, 1024, false),
                new LocalRun(true, 3, true, 7, true));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("runs")
    void changesAreEqual(LocalRun run) throws Exception {
        long before = NativeExecutions.of("deduplicate").rowsIn();
        Map<String, List<Row>> actual = SqlRun.execute(run, QUERIES);
        long rows = NativeExecutions.of("deduplicate").rowsIn() - before;

        if (!run.drey()) {
            assertThat(rows).isZero();
        } else if (!run.fails()) {
            // Every query, every row: nothing fell back.
            assertThat(rows).isEqualTo((long) QUERIES.size() * SqlRun.ROWS);
        } else {
            assertThat(rows).isGreaterThanOrEqualTo((long) QUERIES.size() * SqlRun.ROWS);
        }
        for (Query query : QUERIES) {
            compare(query, run, expected.get(query.name()), actual.get(query.name()));
        }
    }

    private static void compare(Query query, LocalRun run, List<Row> expected, List<Row> actual) {
        KeptChanges.assertEqual(
                query.name() + ": content",
                KeptChanges.content(query.keys(), query.upsert(), expected),
                KeptChanges.content(query.keys(), query.upsert(), actual));
        // A checkpoint ends a bundle of rows, and when it comes is up to the clock.
        if (!query.bundles() || !run.fails()) {
            KeptChanges.assertEqual(
                    query.name() + ": changes",
                    KeptChanges.byKey(query.keys(), expected),
                    KeptChanges.byKey(query.keys(), actual));
        }
        // Bundles and timers let Flink iterate over a hash map of keys.
        boolean ordered = !query.bundles() && !query.name().startsWith("rowtime first");
        if (ordered && run.parallelism() == 1 && !run.fails()) {
            assertThat(actual).as(query.name()).isEqualTo(expected);
        }
    }
}
