package drey.fuzz;

import drey.fuzz.CaseGenerator.Origin;
import drey.fuzz.Checker.Finding;
import drey.fuzz.FuzzCase.Rescale;
import drey.fuzz.FuzzTable.Change;

import org.apache.flink.types.RowKind;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Makes a failing case smaller for as long as it fails in the same way. */
final class Shrinker {

    private final Checker checker;
    private final long deadline;
    private final Set<String> tried = new HashSet<>();
    private Finding best;

    Shrinker(Checker checker, long seconds) {
        this.checker = checker;
        this.deadline = System.nanoTime() + seconds * 1_000_000_000L;
    }

    /**
     * @param origin the decisions of the failing unit, or null if they are not known
     */
    Finding shrink(Finding finding, Origin origin) throws Exception {
        best = finding;
        Unit unit = finding.unit();
        attempt(finding.fuzzCase().units(List.of(unit.only(finding.query()))));
        settings();
        rows();
        if (origin != null) {
            query(finding.fuzzCase().tables(), origin);
        }
        settings();
        rows();
        columns();
        return best;
    }

    private boolean attempt(FuzzCase smaller) throws Exception {
        if (System.nanoTime() > deadline || !tried.add(CaseFile.write(smaller, ""))) {
            return false;
        }
        for (Finding f :
                checker.check(smaller, best.difference().kind().equals("batch"), new Coverage())) {
            if (f.difference().kind().equals(best.difference().kind())) {
                best = f;
                return true;
            }
        }
        return false;
    }

    private void settings() throws Exception {
        FuzzCase c = best.fuzzCase();
        attempt(c.settings(1, c.settings(), c.failure()));
        c = best.fuzzCase();
        attempt(c.settings(c.parallelism(), c.settings(), null));
        if (best.fuzzCase().rescale() != null) {
            attempt(best.fuzzCase().rescale(null));
        }
        for (String key : List.copyOf(best.fuzzCase().settings().keySet())) {
            c = best.fuzzCase();
            Map<String, String> fewer = new LinkedHashMap<>(c.settings());
            fewer.remove(key);
            attempt(c.settings(c.parallelism(), fewer, c.failure()));
        }
        for (String key : List.copyOf(best.unit().settings().keySet())) {
            Map<String, String> fewer = new LinkedHashMap<>(best.unit().settings());
            fewer.remove(key);
            attempt(best.fuzzCase().units(List.of(best.unit().with(fewer))));
        }
        Unit.Query q = best.query();
        if (best.unit().queries().size() == 1 && !q.upsertKey().isEmpty()) {
            attempt(
                    best.fuzzCase()
                            .units(
                                    List.of(
                                            best.unit()
                                                    .only(
                                                            new Unit.Query(
                                                                    q.name(),
                                                                    q.sql(),
                                                                    List.of(),
                                                                    q.order(),
                                                                    q.oracle(),
                                                                    q.batch())))));
        }
    }

    /** Drops tables that are not read, then as many entities as possible, halves first. */
    private void rows() throws Exception {
        for (FuzzTable t : List.copyOf(best.fuzzCase().tables())) {
            if (!mentions(best.unit(), t.name())) {
                FuzzCase without = best.fuzzCase().keeping(t.name(), c -> false);
                attempt(
                        without.tables(
                                without.tables().stream()
                                        .filter(o -> !o.name().equals(t.name()))
                                        .toList()));
            }
        }
        for (FuzzTable t : List.copyOf(best.fuzzCase().tables())) {
            Set<Integer> entities = new LinkedHashSet<>();
            t.changes().forEach(c -> entities.add(c.entity()));
            List<Integer> left = new ArrayList<>(entities);
            for (int chunk = Math.max(1, left.size() / 2); chunk >= 1; chunk /= 2) {
                for (int from = left.size() - chunk; from > -chunk; from -= chunk) {
                    Set<Integer> dropped =
                            new HashSet<>(left.subList(Math.max(0, from), from + chunk));
                    if (attempt(
                            best.fuzzCase()
                                    .keeping(t.name(), c -> !dropped.contains(c.entity())))) {
                        left.removeAll(dropped);
                        from = Math.min(from, left.size());
                    }
                }
            }
            // The later changes of an entity, from the last one on.
            for (int entity : left) {
                while (dropLastChange(t.name(), entity)) {}
            }
        }
        List<Map<String, Integer>> phases =
                best.fuzzCase().phases().stream()
                        .filter(p -> p.values().stream().anyMatch(n -> n > 0))
                        .toList();
        if (!phases.isEmpty() && phases.size() < best.fuzzCase().phases().size()) {
            attempt(best.fuzzCase().phases(phases).rescale(moved(best.fuzzCase())));
        }
    }

    /** Where a case is rescaled when it has no empty phases any more. */
    private static Rescale moved(FuzzCase c) {
        if (c.rescale() == null) {
            return null;
        }
        int before =
                (int)
                        c.phases().subList(0, c.rescale().phase() + 1).stream()
                                .filter(p -> p.values().stream().anyMatch(n -> n > 0))
                                .count();
        return new Rescale(Math.max(0, before - 1), c.rescale().parallelism(), c.rescale().taken());
    }

    private boolean dropLastChange(String table, int entity) throws Exception {
        FuzzTable t =
                best.fuzzCase().tables().stream()
                        .filter(o -> o.name().equals(table))
                        .findFirst()
                        .orElseThrow();
        List<Change> changes = t.changes().stream().filter(c -> c.entity() == entity).toList();
        if (changes.size() < 2) {
            return false;
        }
        Change last = changes.get(changes.size() - 1);
        Change before = changes.get(changes.size() - 2);
        boolean pair = before.kind() == RowKind.UPDATE_BEFORE;
        return attempt(best.fuzzCase().keeping(table, c -> c != last && !(pair && c == before)));
    }

    /** Makes the unit again of fewer and plainer decisions. */
    private void query(List<FuzzTable> tables, Origin origin) throws Exception {
        int[] choices = origin.choices();
        for (int chunk = Math.max(1, choices.length / 2); chunk >= 1; chunk /= 2) {
            for (int from = 0; from < choices.length; from += chunk) {
                int to = Math.min(choices.length, from + chunk);
                int[] shorter = new int[choices.length - (to - from)];
                System.arraycopy(choices, 0, shorter, 0, from);
                System.arraycopy(choices, to, shorter, from, choices.length - to);
                int[] plainer = choices.clone();
                Arrays.fill(plainer, from, to, 0);
                if (attempt(shorter, tables, origin)) {
                    choices = shorter;
                    from -= chunk;
                } else if (!Arrays.equals(plainer, choices) && attempt(plainer, tables, origin)) {
                    choices = plainer;
                }
            }
        }
    }

    private boolean attempt(int[] choices, List<FuzzTable> tables, Origin origin) throws Exception {
        Unit unit =
                new QueryGenerator(Choices.replayed(choices), tables, origin.traits())
                        .unit(best.unit().name(), best.unit().settings());
        // Fewer decisions can mean a longer query.
        return unit.text().length() < best.unit().text().length()
                && attempt(best.fuzzCase().units(List.of(unit)));
    }

    private void columns() throws Exception {
        for (FuzzTable t : List.copyOf(best.fuzzCase().tables())) {
            Set<String> names = new HashSet<>();
            t.columns().stream()
                    .map(FuzzTable.Column::name)
                    .filter(
                            name ->
                                    mentions(best.unit(), name)
                                            || t.primaryKey() && name.equals(t.column("id"))
                                            || t.hasRowtime() && name.equals(t.column("ts")))
                    .forEach(names::add);
            if (!names.isEmpty() && names.size() < t.columns().size()) {
                attempt(
                        best.fuzzCase()
                                .tables(
                                        best.fuzzCase().tables().stream()
                                                .map(
                                                        o ->
                                                                o.name().equals(t.name())
                                                                        ? o.keeping(names)
                                                                        : o)
                                                .toList()));
            }
        }
    }

    private static boolean mentions(Unit unit, String name) {
        return unit.text().matches("(?s).*\\b" + name + "\\b.*");
    }
}
