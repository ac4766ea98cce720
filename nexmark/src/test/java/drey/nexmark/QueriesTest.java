package drey.nexmark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.ChangelogDigest.Sameness;
import drey.nexmark.generator.EventGenerator;
import drey.nexmark.generator.GeneratorConfig;
import java.nio.file.Path;
import java.util.ArrayList;
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
        assertThat(stock.rowsIn()).isEqualTo(EVENTS);
        assertThat(stock.rowsOut()).isEqualTo(stock.digest().rows());
        assertThat(stock.nativeRows()).isZero();
        assertThat(drey.nativeRows() > 0).isEqualTo(drey.nativeNodes() > 0);
        assertThat(stock.digest().sameness()).isEqualTo(query.sameness(1, false));
        assertThat(drey.digest().firstDifference(stock.digest())).isEqualTo(-1);
        if (query.name().equals("q18")) {
            assertThat(drey.nativeRows()).isEqualTo(EVENTS / 50 * 46);
        }
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
        assertThat(replay.rowsOut()).isEqualTo(EVENTS / 50 * 46);
        assertThat(generated.digest().firstDifference(replay.digest())).isEqualTo(-1);
    }

    @Test
    void q20GivesTheSameAtParallelismTwo() throws Exception {
        Query q20 = query("q20");
        RunResult one = stock(q20, options());
        RunResult two = stock(q20, options("--parallelism", "2"));
        assertThat(one.rowsOut()).isPositive();
        assertThat(two.digest().firstDifference(one.digest())).isEqualTo(-1);
    }

    @Test
    void q18KeepsTheLastBidOfEachBidderOnEachAuction() throws Exception {
        Set<String> pairs = new HashSet<>();
        long bids = 0;
        EventGenerator generator = new EventGenerator(GeneratorConfig.of(1, EVENTS, 10_000));
        for (int event = 0; event < EVENTS; event++) {
            if (generator.type(event) == EventGenerator.BID) {
                RowData bid = generator.next(event).getRow(3, 7);
                pairs.add(bid.getLong(0) + "/" + bid.getLong(1));
                bids++;
            }
        }
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
        assertThat(read.rowsOut()).isEqualTo(run.rowsOut());
        assertThat(read.cpuNanos()).isEqualTo(run.cpuNanos());
        assertThat(read.cpuSplit()).isEqualTo(run.cpuSplit());
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
                new RunResult(
                        "drey",
                        EVENTS,
                        stock.rowsOut(),
                        1,
                        1,
                        stock.cpuSplit(),
                        1,
                        1,
                        0,
                        1,
                        "x: native",
                        Checkpoints.NONE,
                        stock.digest(),
                        null);
        Comparison unproven = new Comparison(options, q18, List.of(stock), List.of(claimed));
        assertThat(unproven.table()).contains("INVALID: the plan has native operators, but none");

        RunResult proven =
                new RunResult(
                        "drey",
                        EVENTS,
                        stock.rowsOut(),
                        1,
                        1,
                        stock.cpuSplit(),
                        1,
                        1,
                        9_200,
                        1,
                        "x: native",
                        Checkpoints.NONE,
                        stock.digest(),
                        null);
        Comparison good = new Comparison(options, q18, List.of(stock), List.of(proven));
        assertThat(good.isGood()).isTrue();
        assertThat(good.table()).doesNotContain("INVALID");
        List<Line> lines = new ArrayList<>(good.lines());
        assertThat(Summary.lastLine(Summary.of(lines), 0))
                .startsWith("nexmark: 1 queries, 1 valid, geomean wall ")
                .contains("worst q18 ");
    }

    @Test
    void resultsSurviveTheirFileAndMakeAReport(@TempDir Path folder) throws Exception {
        Line.Conditions conditions =
                new Line.Conditions("2.2.1", "replay", "heap", 1, true, false, "", 1_000_000);
        List<Double> split = List.of(1_000.0, 2_000.0, 500.0, 250.0, 250.0);
        List<Line> lines = new ArrayList<>();
        double[][] cost = {{4, 8, 6}, {2, 2, 2}};
        for (int i = 0; i < 3; i++) {
            lines.add(line("q18", conditions, "stock", i, cost[0][i], split, "native"));
            lines.add(line("q18", conditions, "drey", i, cost[1][i], split, "native"));
        }
        lines.add(line("q0", conditions, "stock", 0, 1, split, "flink"));
        lines.add(line("q0", conditions, "drey", 0, 1, split, "flink"));
        lines.add(line("q4", conditions, "stock", 0, 1, split, "invalid"));
        lines.add(line("q4", conditions, "drey", 0, 1, split, "invalid"));
        Path csv = folder.resolve("results.csv");
        Line.append(csv, lines.subList(0, 6));
        Line.append(csv, lines.subList(6, lines.size()));
        assertThat(Line.read(csv)).isEqualTo(lines);

        List<Summary> summaries = Summary.of(lines);
        assertThat(summaries).extracting(Summary::query).containsExactly("q18", "q0", "q4");
        assertThat(summaries.get(0).wall()).isEqualTo(new Summary.Ratio(3, 2, 4));
        assertThat(Summary.lastLine(summaries, 1))
                .isEqualTo(
                        "nexmark: 4 queries, 2 valid, geomean wall 3.00x, geomean cpu 3.00x, worst q18"
                                + " 3.00x");
        assertThat(Report.markdown(summaries))
                .contains("| q18 | 166,667 | 500,000 | 3.00x [2.00..4.00] |")
                .contains("| INVALID |");
        // Of stock's 6,000 ns, 2,000 are the operators' and 1,000 the source's.
        assertThat(Report.bounds(summaries))
                .contains("| q18 | 3.00x | 1.50x | 6.00x | 50 % | 100 % | 25 % |");
        String readme = "a\n" + Report.BEGIN + "\nold\n" + Report.END + "\nb";
        assertThat(Report.replaced(readme, "new\n\n"))
                .isEqualTo("a\n" + Report.BEGIN + "\nnew\n" + Report.END + "\nb");
        assertThatThrownBy(() -> Report.replaced("none", "")).hasMessageContaining("no lines");
        assertThat(Report.html(summaries)).contains("<svg").contains("q18").endsWith("</html>\n");
    }

    private static Line line(
            String query,
            Line.Conditions conditions,
            String engine,
            int run,
            double cost,
            List<Double> split,
            String verdict) {
        return new Line(
                query,
                conditions,
                engine,
                run,
                cost,
                cost * 1_000,
                split,
                1,
                1,
                1,
                1,
                new Checkpoints(1, 2, 3, 4),
                verdict);
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
