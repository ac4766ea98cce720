package drey.parity;

import drey.spec.RankSpec;
import drey.spec.RankSpec.Function;
import drey.spec.RankSpec.RankRange;
import drey.spec.RankSpec.SortField;

import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Holds the scenarios of the native Top-N's tests against Flink: what a scenario says must come out of an event is what
 * Flink's own function emits.
 *
 * <p>With {@code -Ddrey.record=true} the scenarios named {@code recorded_*} and {@code case_*} are written anew: seeded random events,
 * and the known faults of other engines, with what Flink makes of them.
 */
class RankScenarioFilesTest {

    private static final Path DIRECTORY =
            Path.of(System.getProperty("basedir", "."), "../native/topn/testdata").normalize();

    @TestFactory
    Stream<DynamicTest> everyScenarioIsFlinks() throws IOException {
        return ScenarioFile.each(DIRECTORY, ".*\\.txt", 31, RankScenarioFilesTest::verify);
    }

    private static void verify(Path path) throws Exception {
        ScenarioFile file = ScenarioFile.read(path);
        file.verify(play(file), true);
    }

    /** What Flink's function emits for each event. */
    private static List<List<String>> play(ScenarioFile file) throws Exception {
        Ranking ranking = Ranking.parse(file.spec);
        Ranking oracle = ranking.losesMessages() ? ranking.numbered() : ranking;
        RowType input = file.input();
        Log log = new Log(oracle.output(input));
        try (Harness h =
                Harness.create(
                        oracle.stock(input),
                        List.of(ranking.input(input).selector()),
                        oracle.output(input).type(),
                        log,
                        null,
                        Harness.MEMORY,
                        Harness.Subtask.ONLY,
                        false)) {
            return file.play(h, log);
        }
    }

    @Test
    @EnabledIfSystemProperty(named = "drey.record", matches = "true")
    void record() throws Exception {
        for (Function function : Function.values()) {
            for (boolean number : new boolean[] {true, false}) {
                for (boolean ttl : new boolean[] {false, true}) {
                    record(function, number, ttl);
                }
            }
        }
        for (Case c : CASES) {
            RankSpec spec =
                    new RankSpec(
                            c.function,
                            c.global ? List.of() : List.of(1),
                            List.of(new SortField(2, c.ascending, !c.ascending)),
                            new RankRange.Constant(1, c.end),
                            List.of(),
                            c.number,
                            true,
                            c.ttl);
            write("case_" + c.name, "# " + c.about, spec.toJson(), GRP, List.of(c.events));
        }
    }

    /** The first seed with which the rank range is one from 1 to a constant, and Flink doesn't fail. */
    private static void record(Function function, boolean number, boolean ttl) throws Exception {
        for (long seed = 1; ; seed++) {
            SplittableRandom rng = new SplittableRandom(seed);
            Ranking ranking = RankFunctionsParityTest.ranking(function, rng);
            if (ranking.spec().outputRowNumber() != number
                    || ranking.spec().stateTtlMillis() > 0 != ttl
                    || ranking.hasOffset()
                    || ranking.spec().partition().isEmpty()) {
                continue;
            }
            List<String> events = new ArrayList<>();
            for (RankFunctionsParityTest.Step step :
                    RankFunctionsParityTest.steps(ranking, rng, 60)) {
                if (step instanceof RankFunctionsParityTest.Step.Row r) {
                    events.add(
                            ScenarioFile.format(RankFunctionsParityTest.TYPE, r.kind(), r.row()));
                } else if (step instanceof RankFunctionsParityTest.Step.Clock c) {
                    events.add("now " + c.millis());
                }
            }
            String name =
                    "recorded_"
                            + function.name().toLowerCase(Locale.ROOT)
                            + (number ? "_number" : "")
                            + (ttl ? "_ttl" : "");
            try {
                write(name, null, ranking.spec().toJson(), RankFunctionsParityTest.TYPE, events);
                return;
            } catch (IndexOutOfBoundsException e) {
                // Flink fails where a group has fewer rows than are counted.
            }
        }
    }

    private static void write(
            String name, String about, String spec, RowType input, List<String> events)
            throws Exception {
        ScenarioFile file = new ScenarioFile();
        if (about != null) {
            file.header(about);
        }
        file.header(
                "# Recorded from Flink "
                        + EnvironmentInformation.getVersion()
                        + ", -Ddrey.record=true in RankScenarioFilesTest. Not to be edited.");
        file.header("spec " + spec);
        file.header("input " + ScenarioFile.fields(input));
        Ranking ranking = Ranking.parse(spec);
        if (ranking.spec().outputRowNumber()) {
            file.header("output " + ScenarioFile.fields(ranking.output(input).type()));
        }
        file.header("");
        for (String event : events) {
            file.events.add(new ScenarioFile.Event(event, new ArrayList<>()));
        }
        file.record(play(file));
        file.write(DIRECTORY.resolve(name + ".txt"));
    }

    /** id, group, score. */
    private static final RowType GRP = Case.type();

    /** A fault that other engines had, as rows of id, group and score. */
    private record Case(
            String name,
            String about,
            Function function,
            boolean ascending,
            long end,
            boolean number,
            boolean global,
            long ttl,
            String... events) {

        static RowType type() {
            return RowType.of(
                    new org.apache.flink.table.types.logical.LogicalType[] {
                        new org.apache.flink.table.types.logical.BigIntType(),
                        new org.apache.flink.table.types.logical.VarCharType(100),
                        new org.apache.flink.table.types.logical.BigIntType()
                    },
                    new String[] {"id", "grp", "score"});
        }
    }

    private static final List<Case> CASES =
            List.of(
                    new Case(
                            "pushed_out_row_stays_deleted",
                            "FLINK-27418: a row that was pushed out and then deleted must not come back.",
                            Function.RETRACTABLE_TOP_N,
                            false,
                            2,
                            false,
                            false,
                            0,
                            "+I 1 \"g\" 50",
                            "+I 2 \"g\" 70",
                            "+I 3 \"g\" 90",
                            "-D 1 \"g\" 50",
                            "-D 3 \"g\" 90"),
                    beyondAndWithin(false),
                    beyondAndWithin(true),
                    new Case(
                            "retraction_of_expired_row",
                            "FLINK-24654, FLINK-28019: a retraction of what has expired finds nothing and breaks nothing.",
                            Function.RETRACTABLE_TOP_N,
                            false,
                            2,
                            false,
                            false,
                            3_600_000,
                            "+I 1 \"g\" 50",
                            "now 7200000",
                            "-D 1 \"g\" 50",
                            "now 7201000",
                            "+I 2 \"g\" 60",
                            "now 7202000",
                            "-D 2 \"g\" 60"),
                    new Case(
                            "append_ties_at_the_boundary",
                            "FLINK-17625, FLINK-13236: incumbents stay, and the last of them to come goes first.",
                            Function.APPEND_ONLY_TOP_N,
                            true,
                            2,
                            false,
                            true,
                            0,
                            "+I 1 \"g\" 5",
                            "+I 2 \"g\" 5",
                            "+I 3 \"g\" 5",
                            "+I 4 \"g\" 3",
                            "+I 5 \"g\" 4"),
                    new Case(
                            "end_of_the_range_is_kept",
                            "Top-3 is not Top-1.",
                            Function.APPEND_ONLY_TOP_N,
                            false,
                            3,
                            false,
                            false,
                            0,
                            "+I 1 \"g\" 7",
                            "+I 2 \"g\" 3",
                            "+I 3 \"g\" 9",
                            "+I 4 \"g\" 9",
                            "+I 5 \"g\" 1"),
                    new Case(
                            "incumbent_stays_at_equal_values",
                            "Ordered by a value, the row that came first stays at rank 1.",
                            Function.FAST_TOP_1,
                            false,
                            1,
                            false,
                            false,
                            0,
                            "+I 1 \"g\" 9",
                            "+I 2 \"g\" 9"),
                    new Case(
                            "global_top_1",
                            "No partition key at all.",
                            Function.FAST_TOP_1,
                            false,
                            1,
                            false,
                            true,
                            0,
                            "+I 1 \"a\" 1",
                            "+I 2 \"b\" 2",
                            "+I 3 \"c\" 3"),
                    new Case(
                            "deletes_that_come_twice",
                            "FLINK-19795: a changelog that was delivered twice, without normalization.",
                            Function.RETRACTABLE_TOP_N,
                            false,
                            1,
                            false,
                            false,
                            0,
                            "+I 1 \"g\" 10",
                            "+I 1 \"g\" 10",
                            "-D 1 \"g\" 10",
                            "-D 1 \"g\" 10",
                            "-D 1 \"g\" 10",
                            "+I 2 \"g\" 8"));

    private static Case beyondAndWithin(boolean number) {
        return new Case(
                "retraction_beyond_and_within" + (number ? "_number" : ""),
                "FLINK-20271, FLINK-20272: beyond the range only state changes, within it one row rises.",
                Function.RETRACTABLE_TOP_N,
                true,
                2,
                number,
                false,
                0,
                "+I 1 \"g\" 10",
                "+I 2 \"g\" 20",
                "+I 3 \"g\" 30",
                "+I 4 \"g\" 40",
                "-D 4 \"g\" 40",
                "-D 1 \"g\" 10",
                "-D 2 \"g\" 20");
    }
}
