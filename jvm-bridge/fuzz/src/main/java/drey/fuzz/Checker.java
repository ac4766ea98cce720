package drey.fuzz;

import drey.fuzz.Comparison.Difference;
import drey.fuzz.Engine.Side;
import drey.fuzz.Relation.Oracle;
import drey.fuzz.Relation.Order;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** Runs a case on all sides and compares. */
final class Checker {

    /**
     * A difference of one query.
     *
     * @param fuzzCase what was run, with no more units than it takes
     */
    record Finding(FuzzCase fuzzCase, Unit unit, Unit.Query query, Difference difference) {}

    private final Engine engine;
    private final UnaryOperator<Outcome> tamper;

    /** What the last check saw; for those who want to look at it. */
    Outcome lastStock;

    Outcome lastDrey;

    /**
     * @param tamper changes what Drey answered; only tests have something to do here
     */
    Checker(Engine engine, UnaryOperator<Outcome> tamper) {
        this.engine = engine;
        this.tamper = tamper;
    }

    List<Finding> check(FuzzCase whole, boolean batch, Coverage coverage) throws Exception {
        Outcome stock = engine.run(whole, Side.STOCK);
        lastStock = stock;
        stock.rejected()
                .values()
                .forEach(reason -> coverage.remark("not planned by stock: " + shortened(reason)));
        FuzzCase fuzzCase =
                whole.units(
                        whole.units().stream()
                                .filter(u -> !stock.rejected().containsKey(u.name()))
                                .toList());
        if (fuzzCase.units().isEmpty()) {
            return List.of();
        }
        if (stock.failure() != null && fuzzCase.units().size() > 1) {
            return oneByOne(fuzzCase, batch, coverage);
        }
        Outcome drey = tamper.apply(engine.run(fuzzCase, Side.DREY));
        lastDrey = drey;
        List<Finding> findings = new ArrayList<>();
        if (drey.failure() != null && fuzzCase.units().size() > 1) {
            return oneByOne(fuzzCase, batch, coverage);
        }
        coverage.add(fuzzCase, stock, drey);
        if (stock.failure() != null || drey.failure() != null) {
            coverage.remark("fails on stock: " + shortened(String.valueOf(stock.failure())));
            if (!kind(stock.failure()).equals(kind(drey.failure()))) {
                Unit unit = fuzzCase.units().get(0);
                findings.add(
                        new Finding(
                                fuzzCase,
                                unit,
                                unit.queries().get(0),
                                new Difference(
                                        "failure",
                                        "stock: "
                                                + stock.failure()
                                                + ", drey: "
                                                + drey.failure())));
            }
            return findings;
        }
        Outcome content = batch || anyOnlyInBatch(fuzzCase) ? batch(fuzzCase, coverage) : null;
        for (Unit unit : fuzzCase.units()) {
            if (drey.rejected().containsKey(unit.name())) {
                findings.add(
                        new Finding(
                                fuzzCase.units(List.of(unit)),
                                unit,
                                unit.queries().get(0),
                                new Difference("planning", drey.rejected().get(unit.name()))));
                continue;
            }
            for (Unit.Query q : unit.queries()) {
                Difference difference =
                        compare(
                                fuzzCase,
                                unit,
                                determined(unit, q, drey),
                                stock,
                                drey,
                                splitsGroupKey(unit, drey) ? null : content,
                                coverage);
                if (difference != null) {
                    findings.add(new Finding(fuzzCase.units(List.of(unit)), unit, q, difference));
                }
            }
        }
        return findings;
    }

    /** The query with as much determined as its plan leaves: what the generator knows is its SQL. */
    private static Unit.Query determined(Unit unit, Unit.Query q, Outcome drey) {
        // A Top-N whose result is the order's of its input.
        if (q.order() == Order.RESULT && anyNode(unit, drey, PlanLog.Node::updatesFast)) {
            return q.determined(Order.NOTHING);
        }
        // An insertion that overtakes the deletion of its key is written as an update.
        if (q.order() == Order.CHANGES && anyNode(unit, drey, PlanLog.Node::materializesUpserts)) {
            return q.determined(Order.RESULT);
        }
        return q;
    }

    /** Whether stock Flink's own stream and batch results may differ. */
    private static boolean splitsGroupKey(Unit unit, Outcome drey) {
        return anyNode(unit, drey, PlanLog.Node::splitsGroupKey);
    }

    private static boolean anyNode(Unit unit, Outcome drey, Predicate<PlanLog.Node> what) {
        return drey.plans().getOrDefault(unit.name(), List.of()).stream().anyMatch(what);
    }

    private static Difference compare(
            FuzzCase fuzzCase,
            Unit unit,
            Unit.Query q,
            Outcome stock,
            Outcome drey,
            Outcome content,
            Coverage coverage) {
        boolean expires =
                fuzzCase.clockStep() > 0 && unit.settings().containsKey("table.exec.state.ttl");
        Difference difference =
                Comparison.changelogs(
                        q, stock.emitted().get(q.name()), drey.emitted().get(q.name()), expires);
        if (difference == null
                && q.batch()
                && content != null
                && content.emitted().containsKey(q.name())) {
            coverage.batchCompared++;
            difference =
                    Comparison.batch(
                            q, drey.emitted().get(q.name()), content.emitted().get(q.name()));
        }
        return difference;
    }

    private List<Finding> oneByOne(FuzzCase fuzzCase, boolean batch, Coverage coverage)
            throws Exception {
        List<Finding> findings = new ArrayList<>();
        for (Unit unit : fuzzCase.units()) {
            findings.addAll(check(fuzzCase.units(List.of(unit)), batch, coverage));
        }
        return findings;
    }

    private Outcome batch(FuzzCase fuzzCase, Coverage coverage) throws Exception {
        FuzzCase queries = fuzzCase.batch();
        if (queries == null) {
            return null;
        }
        Outcome outcome = engine.run(queries, Side.BATCH);
        outcome.rejected()
                .values()
                .forEach(reason -> coverage.remark("not planned by batch: " + shortened(reason)));
        if (outcome.failure() != null) {
            coverage.remark("fails in batch: " + shortened(outcome.failure()));
            return null;
        }
        return outcome;
    }

    private static boolean anyOnlyInBatch(FuzzCase fuzzCase) {
        return fuzzCase.units().stream()
                .flatMap(u -> u.queries().stream())
                .anyMatch(q -> q.oracle() == Oracle.BATCH_ONLY && q.batch());
    }

    private static String kind(String failure) {
        return failure == null ? "none" : failure.replaceAll(":.*", "");
    }

    private static String shortened(String text) {
        String general = text.replaceAll("[0-9]+", "n");
        return general.length() > 140 ? general.substring(0, 140) : general;
    }
}
