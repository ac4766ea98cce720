package drey.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import drey.fuzz.Checker.Finding;
import drey.fuzz.FuzzTable.Change;
import drey.fuzz.FuzzTable.Column;
import drey.fuzz.FuzzTable.Kind;
import drey.fuzz.Relation.Oracle;
import drey.fuzz.Relation.Order;
import drey.fuzz.Run.Emitted;

import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Whether the fuzzer would notice. */
class FuzzSqlTest {

    private static Engine engine;

    @BeforeAll
    static void start() throws Exception {
        engine = new Engine();
    }

    @AfterAll
    static void stop() throws Exception {
        engine.close();
    }

    @Test
    void caseIsAFunctionOfItsSeed() {
        for (long seed = 0; seed < 200; seed++) {
            String text = CaseFile.write(new CaseGenerator(seed).generate("a"), "");
            assertThat(CaseFile.write(new CaseGenerator(seed).generate("a"), "")).isEqualTo(text);
            // A file says everything that there is to a case.
            assertThat(CaseFile.write(CaseFile.read(text), "")).isEqualTo(text);
        }
    }

    /** Of the first plan, Flink 2.2.1's own stream result differs from its batch result. */
    @Test
    void splitAggregatesOfGroupKeysAreTold() {
        String split =
                "GroupAggregate(groupBy=[e0, $f3], partialFinalType=[PARTIAL], select=[e0, $f3, MAX(d0) AS $f2, ";
        assertThat(new PlanLog.Node(split + "SUM(DISTINCT e0) AS $f4])", null).splitsGroupKey())
                .isTrue();
        assertThat(new PlanLog.Node(split + "SUM(DISTINCT c0) AS $f4])", null).splitsGroupKey())
                .isFalse();
        String whole = "GroupAggregate(groupBy=[e0], select=[e0, SUM(DISTINCT e0) AS $f4])";
        assertThat(new PlanLog.Node(whole, null).splitsGroupKey()).isFalse();
    }

    @Test
    void recordedDecisionsMakeTheSameQuery() {
        for (long seed = 0; seed < 50; seed++) {
            CaseGenerator generator = new CaseGenerator(seed);
            FuzzCase c = generator.generate("a");
            for (Unit unit : c.units()) {
                CaseGenerator.Origin origin = generator.origins().get(unit.name());
                assertThat(
                                new QueryGenerator(
                                                Choices.replayed(origin.choices()),
                                                c.tables(),
                                                origin.traits())
                                        .unit(unit.name(), unit.settings()))
                        .isEqualTo(unit);
            }
        }
    }

    /** One row of the result is lost: the smallest case has one row of input, and its file fails as long as the row is lost. */
    @Test
    void lostRowIsFoundAndShrunk(@TempDir Path out) throws Exception {
        Finding found = onlyFinding(losing("u0"), counting());
        assertThat(found.difference().kind()).isEqualTo("sequence");

        Finding small = new Shrinker(new Checker(engine, losing("u0")), 600).shrink(found, null);
        assertThat(small.fuzzCase().rows()).isEqualTo(1);
        assertThat(small.fuzzCase().parallelism()).isEqualTo(1);
        assertThat(small.fuzzCase().settings()).isEmpty();
        assertThat(small.unit().settings()).isEmpty();
        assertThat(small.fuzzCase().tables().get(0).columns()).hasSize(1);

        Path file = out.resolve("case.txt");
        Files.writeString(file, CaseFile.write(small.fuzzCase(), "lost"));
        assertThat(onlyFinding(losing("u0"), CaseFile.read(file)).difference())
                .isEqualTo(small.difference());
        assertThat(findings(UnaryOperator.identity(), CaseFile.read(file))).isEmpty();
    }

    /** Of a result whose changes have no order, an update that became an insertion is seen, and one that moved is not. */
    @Test
    void kindsAreComparedWhereOrderIsNot() throws Exception {
        Unit.Query q = new Unit.Query("q", "", List.of(), Order.CHANGES, Oracle.STREAM, false);
        List<Emitted> stock =
                List.of(
                        new Emitted(0, RowKind.INSERT, "", "[1]"),
                        new Emitted(0, RowKind.UPDATE_BEFORE, "", "[1]"),
                        new Emitted(0, RowKind.UPDATE_AFTER, "", "[2]"));
        List<Emitted> moved = List.of(stock.get(0), stock.get(2), stock.get(1));
        List<Emitted> inserted =
                List.of(stock.get(0), stock.get(1), new Emitted(0, RowKind.INSERT, "", "[2]"));
        List<Emitted> later =
                List.of(
                        stock.get(0),
                        stock.get(1),
                        new Emitted(1, RowKind.UPDATE_AFTER, "", "[2]"));
        assertThat(Comparison.changelogs(q, stock, moved, false)).isNull();
        assertThat(Comparison.changelogs(q, stock, inserted, false).kind()).isEqualTo("changes");
        assertThat(Comparison.changelogs(q, stock, later, false).kind()).isEqualTo("changes");
        Unit.Query result = new Unit.Query("q", "", List.of(), Order.RESULT, Oracle.STREAM, false);
        assertThat(Comparison.changelogs(result, stock, inserted, false)).isNull();
        assertThat(Comparison.changelogs(result, stock, stock.subList(0, 2), false).kind())
                .isEqualTo("result");
    }

    /** The failure and the restart are part of a case: the result is the same without them. */
    @Test
    void failureChangesNothing() throws Exception {
        FuzzCase fails =
                counting()
                        .settings(1, Map.of(), new FuzzCase.Failure("t0", 15))
                        .phases(List.of(Map.of("t0", 10), Map.of("t0", 10)));
        List<Emitted> expected = engine.run(counting(), Engine.Side.STOCK).emitted().get("u0");
        Outcome outcome = engine.run(fails, Engine.Side.STOCK);
        assertThat(outcome.failure()).isNull();
        assertThat(outcome.emitted().get("u0").stream().map(Emitted::toString))
                .containsExactlyElementsOf(expected.stream().map(Emitted::toString).toList());
        assertThat(findings(UnaryOperator.identity(), fails)).isEmpty();
    }

    /** The same for a job that goes on with more subtasks, from whatever it is. */
    @ParameterizedTest
    @EnumSource
    void rescalingChangesNothing(FuzzCase.Taken taken) throws Exception {
        FuzzCase rescaled =
                counting()
                        .phases(List.of(Map.of("t0", 10), Map.of("t0", 10)))
                        .rescale(new FuzzCase.Rescale(0, 3, taken));
        for (Engine.Side side : List.of(Engine.Side.STOCK, Engine.Side.DREY)) {
            List<Emitted> expected = engine.run(counting(), side).emitted().get("u0");
            Outcome outcome = engine.run(rescaled, side);
            assertThat(outcome.failure()).isNull();
            assertThat(outcome.emitted().get("u0").stream().map(Emitted::toString))
                    .containsExactlyInAnyOrderElementsOf(
                            expected.stream().map(Emitted::toString).toList());
        }
    }

    /** State expires by the clock that a case says, which is not the system's: a count begins anew after 400 ms and not before. */
    @Test
    void retentionIsByTheCasesClock() throws Exception {
        for (Engine.Side side : List.of(Engine.Side.STOCK, Engine.Side.DREY)) {
            assertThat(countsOfNull("401 ms", side)).containsExactly("+I[null, 1]", "+U[null, 2]");
            assertThat(countsOfNull("400 ms", side)).containsExactly("+I[null, 1]", "+I[null, 1]");
        }
    }

    private static List<String> countsOfNull(String ttl, Engine.Side side) throws Exception {
        FuzzCase c = counting().phases(List.of(Map.of("t0", 5), Map.of("t0", 5)));
        Unit unit =
                c.units().get(0).with(Map.of("drey.batch.rows", "7", "table.exec.state.ttl", ttl));
        FuzzCase expiring =
                new FuzzCase(
                        "", 1, 400, Map.of(), null, null, c.phases(), c.tables(), List.of(unit));
        return engine.run(expiring, side).emitted().get("u0").stream()
                .map(Emitted::toString)
                .filter(s -> s.contains("null") && !s.startsWith("-U"))
                .toList();
    }

    private static List<Finding> findings(UnaryOperator<Outcome> tamper, FuzzCase c)
            throws Exception {
        return new Checker(engine, tamper).check(c, true, new Coverage());
    }

    private static Finding onlyFinding(UnaryOperator<Outcome> tamper, FuzzCase c) throws Exception {
        List<Finding> findings = findings(tamper, c);
        assertThat(findings).hasSize(1);
        return findings.get(0);
    }

    private static UnaryOperator<Outcome> losing(String query) {
        return outcome -> {
            Map<String, List<Emitted>> emitted = new HashMap<>(outcome.emitted());
            emitted.computeIfPresent(
                    query, (q, all) -> all.isEmpty() ? all : all.subList(0, all.size() - 1));
            return new Outcome(emitted, outcome.rejected(), outcome.plans(), outcome.failure());
        };
    }

    private static FuzzCase counting() {
        List<Column> columns =
                List.of(
                        new Column("id0", Type.BIGINT, true, false),
                        new Column("k0", Type.STRING, false, false));
        List<Change> changes =
                IntStream.range(0, 20)
                        .mapToObj(
                                i ->
                                        new Change(
                                                RowKind.INSERT,
                                                i,
                                                new ArrayList<>(
                                                        Stream.of(
                                                                        Integer.toString(i),
                                                                        i % 5 == 0
                                                                                ? null
                                                                                : "k" + i % 3)
                                                                .toList())))
                        .toList();
        Unit unit =
                new Unit(
                        "u0",
                        Map.of("drey.batch.rows", "7"),
                        List.of(),
                        List.of(
                                new Unit.Query(
                                        "u0",
                                        "SELECT k0, COUNT(*) AS x0 FROM t0 GROUP BY k0",
                                        List.of(),
                                        Order.SEQUENCE,
                                        Oracle.STREAM,
                                        true)));
        return new FuzzCase(
                "by hand",
                1,
                0,
                Map.of("pipeline.object-reuse", "true"),
                null,
                null,
                List.of(Map.of("t0", 20)),
                List.of(new FuzzTable("t0", Kind.APPEND, columns, false, -1, false, changes)),
                List.of(unit));
    }
}
