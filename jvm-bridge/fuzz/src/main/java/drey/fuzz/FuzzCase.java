package drey.fuzz;

import drey.fuzz.FuzzTable.Change;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * What one job runs: tables, queries, settings.
 *
 * @param origin where it comes from
 * @param clockStep by how many milliseconds the clock of state retention advances from phase to phase; 0: it is no part of
 *     the case
 * @param failure where a source fails, or null
 * @param rescale where the job is stopped and goes on with another parallelism, or null
 * @param phases how many rows each table emits before the next checkpoint
 */
record FuzzCase(
        String origin,
        int parallelism,
        long clockStep,
        Map<String, String> settings,
        Failure failure,
        Rescale rescale,
        List<Map<String, Integer>> phases,
        List<FuzzTable> tables,
        List<Unit> units) {

    /** The source of a table throws, once, before it emits a row. */
    record Failure(String table, int row) {}

    /** By what a job goes on with another parallelism. */
    enum Taken {
        CHECKPOINT,
        CANONICAL,
        NATIVE
    }

    /** When the phase is over the job is cancelled, and a new one of that parallelism starts from what it has left. */
    record Rescale(int phase, int parallelism, Taken taken) {}

    FuzzCase units(List<Unit> units) {
        return new FuzzCase(
                origin, parallelism, clockStep, settings, failure, rescale, phases, tables, units);
    }

    FuzzCase settings(int parallelism, Map<String, String> settings, Failure failure) {
        return new FuzzCase(
                origin, parallelism, clockStep, settings, failure, rescale, phases, tables, units);
    }

    FuzzCase rescale(Rescale rescale) {
        return new FuzzCase(
                origin, parallelism, clockStep, settings, failure, rescale, phases, tables, units);
    }

    FuzzCase phases(List<Map<String, Integer>> phases) {
        return new FuzzCase(
                origin, parallelism, clockStep, settings, failure, rescale, phases, tables, units);
    }

    FuzzCase tables(List<FuzzTable> tables) {
        return new FuzzCase(
                origin, parallelism, clockStep, settings, failure, rescale, phases, tables, units);
    }

    /** Without those changes of a table that the filter doesn't keep; phases and failure keep their place. */
    FuzzCase keeping(String table, Predicate<Change> filter) {
        List<Map<String, Integer>> shorter = new ArrayList<>();
        List<FuzzTable> filtered = new ArrayList<>(tables);
        Failure moved = failure;
        for (int t = 0; t < tables.size(); t++) {
            FuzzTable old = tables.get(t);
            if (!old.name().equals(table)) {
                continue;
            }
            filtered.set(t, old.with(old.changes().stream().filter(filter).toList()));
            int from = 0;
            for (Map<String, Integer> phase : phases) {
                int to = from + phase.getOrDefault(table, 0);
                Map<String, Integer> counts = new LinkedHashMap<>(phase);
                counts.put(
                        table,
                        (int) old.changes().subList(from, to).stream().filter(filter).count());
                shorter.add(counts);
                from = to;
            }
            if (failure != null && failure.table().equals(table)) {
                int row =
                        (int)
                                old.changes().subList(0, failure.row()).stream()
                                        .filter(filter)
                                        .count();
                int rest = filtered.get(t).changes().size();
                moved = rest == 0 ? null : new Failure(table, Math.min(row, rest - 1));
            }
        }
        return new FuzzCase(
                origin, parallelism, clockStep, settings, moved, rescale, shorter, filtered, units);
    }

    /** What a batch query sees, or null where it cannot be said. */
    FuzzCase batch() {
        Map<String, Integer> all = new LinkedHashMap<>();
        List<FuzzTable> contents = tables.stream().map(FuzzTable::content).toList();
        contents.forEach(t -> all.put(t.name(), t.changes().size()));
        List<Unit> comparable = new ArrayList<>();
        for (Unit unit : units) {
            List<Unit.Query> queries = unit.queries().stream().filter(Unit.Query::batch).toList();
            if (!queries.isEmpty()) {
                comparable.add(new Unit(unit.name(), Map.of(), unit.views(), queries));
            }
        }
        return comparable.isEmpty()
                ? null
                : new FuzzCase(
                        origin, 1, 0, Map.of(), null, null, List.of(all), contents, comparable);
    }

    int rows() {
        return tables.stream().mapToInt(t -> t.changes().size()).sum();
    }
}
