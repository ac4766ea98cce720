package drey.nexmark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.ChangelogDigest.Sameness;
import drey.nexmark.generator.EventGenerator;
import drey.nexmark.generator.GeneratorConfig;
import drey.nexmark.measure.Checkpoints;
import drey.nexmark.measure.Figures;
import drey.nexmark.measure.RunResult;
import drey.nexmark.measure.StateSize;
import drey.nexmark.report.Summary;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class QueriesTest {

    private static final int EVENTS = 10_000;

    static List<Query> queries() {
        return Query.all();
    }

    @Test
    void thereAreTwentyThree() {
        assertThat(Query.all()).hasSize(23).extracting(Query::name).doesNotContain("q6");
    }

    @ParameterizedTest
    @MethodSource("queries")
    void isPlannedByFlinkAndByDrey(Query query) throws Exception {
        for (String engine : List.of("stock", "drey")) {
            String plan = new EngineRun(options(), query, engine).explain();
            assertThat(plan).contains("Sink(table=[default_catalog.default_database.nexmark_q");
            assertThat(plan).contains("TableSourceScan(table=[[default_catalog");
        }
    }

    @ParameterizedTest
    @MethodSource("queries")
    void givesTheSameWithDreyAsWithFlinkAlone(Query query) throws Exception {
        RunResult stock = stock(query, options());
        RunResult drey = new EngineRun(options(), query, "drey").run(EVENTS, -1, "");
        assertThat(stock.figures().rowsIn()).isEqualTo(EVENTS);
        assertThat(stock.figures().rowsOut()).isEqualTo(stock.digest().rows());
        assertThat(stock.figures().nativeRows()).isZero();
        assertThat(drey.figures().nativeRows() > 0).isEqualTo(drey.nativeNodes() > 0);
        assertThat(stock.digest().sameness()).isEqualTo(query.sameness(1, false));
        assertThat(drey.digest().firstDifference(stock.digest())).isEqualTo(-1);
        if (query.name().equals("q18")) {
            assertThat(drey.figures().nativeRows()).isEqualTo(EVENTS / 50 * 46);
        }
    }

    /** The document is about the line that Drey is built for unless asked otherwise. */
    @Test
    void thePlansAreAsDocumented() throws Exception {
        assumeTrue(Matrix.conditions(options()).flink().equals("2.2.1"));
        assertThat(Path.of("PLANS.md"))
                .as("make nexmark-plans writes it anew")
                .hasContent(Plans.document(options()));
    }

    /** Their joins of two streams are regular ones; those of q7 and q8, like q13's, are joins of windows and with a table. */
    @ParameterizedTest
    @ValueSource(strings = {"q3", "q4", "q9", "q20", "q23"})
    void regularJoinsAreNative(String name) throws Exception {
        String plan = new EngineRun(options(), query(name), "drey").explain();
        List<String> joins =
                plan.substring(plan.indexOf("== Drey =="))
                        .lines()
                        .filter(l -> l.startsWith("Join("))
                        .toList();
        assertThat(joins).hasSizeGreaterThanOrEqualTo(name.equals("q23") ? 2 : 1);
        assertThat(joins).allMatch(line -> line.endsWith(": native"));
    }

    @Test
    void q0PassesEveryBidWhicheverRungItIsOn() throws Exception {
        Query q0 = query("q0");
        RunResult replay = stock(q0, options());
        RunResult generated = stock(q0, options("--rung", "generator"));
        assertThat(replay.figures().rowsOut()).isEqualTo(EVENTS / 50 * 46);
        assertThat(generated.digest().firstDifference(replay.digest())).isEqualTo(-1);
    }

    @Test
    void q20GivesTheSameAtParallelismTwo() throws Exception {
        Query q20 = query("q20");
        RunResult one = stock(q20, options());
        RunResult two = stock(q20, options("--parallelism", "2"));
        assertThat(one.figures().rowsOut()).isPositive();
        assertThat(two.digest().firstDifference(one.digest())).isEqualTo(-1);
    }

    private static Set<String> biddersAndAuctions() {
        Set<String> pairs = new HashSet<>();
        EventGenerator generator = new EventGenerator(GeneratorConfig.of(1, EVENTS, 10_000));
        for (int event = 0; event < EVENTS; event++) {
            if (generator.type(event) == EventGenerator.BID) {
                RowData bid = generator.next(event).getRow(3, 7);
                pairs.add(bid.getLong(0) + "/" + bid.getLong(1));
            }
        }
        return pairs;
    }

    @Test
    void q18KeepsTheLastBidOfEachBidderOnEachAuction() throws Exception {
        Set<String> pairs = biddersAndAuctions();
        long bids = EVENTS / 50 * 46;
        // In time order, every bid is the last so far: the first of its pair is inserted, each
        // other one replaces.
        ChangelogDigest all = stock(query("q18"), options("--changelog", "all")).digest();
        assertThat(all.rows(RowKind.INSERT)).isEqualTo(pairs.size());
        assertThat(all.rows(RowKind.UPDATE_AFTER)).isEqualTo(bids - pairs.size());
        assertThat(all.rows(RowKind.UPDATE_BEFORE)).isEqualTo(bids - pairs.size());
        assertThat(all.rows(RowKind.DELETE)).isZero();

        ChangelogDigest upserts = stock(query("q18"), options()).digest();
        assertThat(upserts.rows(RowKind.UPDATE_BEFORE)).isZero();
        assertThat(upserts.rows()).isEqualTo(bids);
    }

    @Test
    void q17EndsWithOneRowForEachAuctionWithBids() throws Exception {
        Map<Long, Integer> auctions = new HashMap<>();
        EventGenerator generator = new EventGenerator(GeneratorConfig.of(1, EVENTS, 10_000));
        for (int event = 0; event < EVENTS; event++) {
            if (generator.type(event) == EventGenerator.BID) {
                auctions.merge(generator.partition(event), 1, Integer::sum);
            }
        }
        ChangelogDigest digest = stock(query("q17"), options()).digest();
        assertThat(digest.rows(RowKind.INSERT)).isEqualTo(auctions.size());
        assertThat(digest.rows()).isEqualTo(EVENTS / 50 * 46);
    }

    @Test
    void aDifferenceIsFoundAndShown() throws Exception {
        Query q18 = query("q18");
        EngineRun one = new EngineRun(options(), q18, "stock");
        EngineRun other = new EngineRun(options("--seed", "2"), q18, "stock");
        ChangelogDigest a = one.run(EVENTS, -1, "").digest();
        int bucket = a.firstDifference(other.run(EVENTS, -1, "").digest());
        assertThat(bucket).isNotNegative();
        String difference =
                one.run(EVENTS, bucket, "")
                        .recording()
                        .firstDifference(
                                other.run(EVENTS, bucket, "").recording(),
                                Sameness.ORDER,
                                "stock",
                                "drey");
        assertThat(difference).startsWith("first difference: change 1 of its key");
        assertThat(difference).containsPattern("stock +(\\+I\\(\\d+, |\\(none\\))");
    }

    @Test
    void aRunSurvivesBeingWritten(@TempDir Path folder) throws Exception {
        RunResult run = stock(query("q2"), options());
        run.write(folder.resolve("run"));
        RunResult read = RunResult.read(folder.resolve("run"));
        // Figures are kept to four digits.
        assertThat(read.figures().rowsOut()).isEqualTo(run.figures().rowsOut());
        assertThat(read.figures().cpuNsPerEvent())
                .isCloseTo(run.figures().cpuNsPerEvent(), within(0.001));
        assertThat(read.figures().checkpoint()).isEqualTo(run.figures().checkpoint());
        assertThat(read.digest().firstDifference(run.digest())).isEqualTo(-1);
    }

    @Test
    void aComparisonIsInvalidWhenResultsDifferOrNothingWasNative() throws Exception {
        Options options = options("--q", "q18");
        Query q18 = query("q18");
        RunResult stock = stock(q18, options);
        RunResult other = new EngineRun(options("--seed", "2"), q18, "stock").run(EVENTS, -1, "");

        Comparison same = new Comparison(options, q18, List.of(stock), List.of(stock));
        assertThat(same.isValid()).isTrue();
        assertThat(same.isGood()).isFalse();
        assertThat(same.table()).contains("changelog digest: equal").contains("INVALID: nothing");

        Comparison different = new Comparison(options, q18, List.of(stock), List.of(other));
        assertThat(different.isValid()).isFalse();
        assertThat(different.table())
                .contains("changelog digest: DIFFERENT")
                .contains("INVALID: the changelogs differ");

        RunResult claimed =
                new RunResult("drey", figures(stock, 0), 1, "x: native", stock.digest(), null);
        Comparison unproven = new Comparison(options, q18, List.of(stock), List.of(claimed));
        assertThat(unproven.table()).contains("INVALID: the plan has native operators, but none");

        RunResult proven =
                new RunResult("drey", figures(stock, 9_200), 1, "x: native", stock.digest(), null);
        Comparison good = new Comparison(options, q18, List.of(stock), List.of(proven));
        assertThat(good.isGood()).isTrue();
        assertThat(good.table()).doesNotContain("INVALID");
        assertThat(Summary.lastLine(Summary.of(good.lines(0)), 0))
                .startsWith("nexmark: 1 queries, 1 valid, geomean wall ")
                .contains("worst q18 ");
    }

    private static Figures figures(RunResult like, long nativeRows) {
        return new Figures(
                EVENTS,
                like.figures().rowsOut(),
                1,
                1,
                like.figures().cpu(),
                1,
                1,
                1,
                1,
                1,
                1,
                nativeRows,
                Checkpoints.NONE);
    }

    @Test
    void latencyIsThatOfTheEventBehindAWatermark() throws Exception {
        Figures q0 = stock(query("q0"), options()).figures();
        assertThat(q0.latencyP50Ns()).isPositive().isLessThanOrEqualTo(q0.latencyP99Ns());
        // At 20,000 events per second half the events take a quarter of a second.
        RunResult paced = stock(query("q0"), options("--pace", "20000"));
        assertThat(paced.figures().seconds()).isGreaterThan(0.4);
    }

    @Test
    void stateIsMeasuredWithAllEventsInIt() throws Exception {
        Query q18 = query("q18");
        StateSize stock = new EngineRun(options(), q18, "stock").stateSize(EVENTS);
        StateSize drey = new EngineRun(options(), q18, "drey").stateSize(EVENTS);
        assertThat(stock.stateKeys()).isZero();
        assertThat(stock.nativeBytes()).isZero();
        assertThat(stock.fullCheckpointBytes()).isGreaterThan(100_000);
        assertThat(drey.stateKeys()).isEqualTo(biddersAndAuctions().size());
        assertThat(drey.nativeBytes()).isGreaterThan(100_000);
        assertThat(drey.fullCheckpointBytes()).isGreaterThan(100_000);
    }

    @Test
    void optionsAreChecked() {
        assertThatThrownBy(() -> options("--q", "q6")).hasMessageContaining("no query 'q6'");
        assertThatThrownBy(() -> options("--rung", "files"))
                .hasMessage("rung must be one of replay, generator, kafka, is 'files'");
        assertThatThrownBy(() -> options("--events", "many"))
                .hasMessage("events must be a number, is 'many'");
        assertThatThrownBy(() -> options("--colour", "blue"))
                .hasMessageContaining("'--colour' is not an option");
        Options parsed = options("--q", "q18, q19", "--conf", "a=1;b=x=y");
        assertThat(parsed.queries()).extracting(Query::name).containsExactly("q18", "q19");
        assertThat(parsed.configuration()).containsEntry("a", "1").containsEntry("b", "x=y");
        assertThat(Options.parse(parsed.arguments().toArray(new String[0]))).isEqualTo(parsed);
    }

    private static Query query(String name) {
        return Query.parse(name).get(0);
    }

    private static RunResult stock(Query query, Options options) throws Exception {
        return new EngineRun(options, query, "stock").run(EVENTS, -1, "");
    }

    private static Options options(String... more) {
        String[] args = new String[more.length + 4];
        args[0] = "--events";
        args[1] = Integer.toString(EVENTS);
        args[2] = "--managed";
        args[3] = "64m";
        System.arraycopy(more, 0, args, 4, more.length);
        return Options.parse(args);
    }
}
