package drey.fuzz;

import drey.fuzz.Checker.Finding;
import drey.fuzz.Run.Emitted;

import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;

/** Runs one case file on all sides and shows the changelogs: {@code Replay FILE}. */
public final class Replay {

    private Replay() {}

    public static void main(String[] args) throws Exception {
        FuzzCase fuzzCase = CaseFile.read(Path.of(args[0]));
        List<Finding> findings;
        try (Engine engine = new Engine()) {
            Checker checker = new Checker(engine, UnaryOperator.identity());
            Coverage coverage = new Coverage();
            findings = checker.check(fuzzCase, true, coverage);
            show(fuzzCase, "stock", checker.lastStock);
            show(fuzzCase, "drey", checker.lastDrey);
            System.out.print(coverage.report());
        }
        for (Finding f : findings) {
            System.out.printf(
                    "DIFFERENCE query %s, %s: %s%n",
                    f.query().name(), f.difference().kind(), f.difference().text());
        }
        System.out.printf("replay: %d differences%n", findings.size());
        System.exit(findings.isEmpty() ? 0 : 1);
    }

    private static void show(FuzzCase fuzzCase, String side, Outcome outcome) {
        if (outcome == null) {
            return;
        }
        for (Unit unit : fuzzCase.units()) {
            for (Unit.Query query : unit.queries()) {
                System.out.printf("%s, query %s: %s%n", side, query.name(), query.sql());
                int phase = 0;
                for (Emitted e : outcome.emitted().getOrDefault(query.name(), List.of())) {
                    if (e.phase() != phase) {
                        phase = e.phase();
                        System.out.println("  -- phase " + phase);
                    }
                    System.out.println("  " + e);
                }
            }
        }
        outcome.rejected()
                .forEach(
                        (unit, error) ->
                                System.out.printf("%s does not plan %s: %s%n", side, unit, error));
        if (outcome.failure() != null) {
            System.out.printf("%s fails: %s%n", side, outcome.failure());
        }
    }
}
