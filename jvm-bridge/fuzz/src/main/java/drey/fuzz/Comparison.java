package drey.fuzz;

import drey.fuzz.Relation.Oracle;
import drey.fuzz.Relation.Order;
import drey.fuzz.Run.Emitted;

import org.apache.flink.types.RowKind;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Compares what a query emitted on two sides. */
final class Comparison {

    /**
     * @param kind what differs
     * @param text where
     */
    record Difference(String kind, String text) {}

    private Comparison() {}

    /** Drey's changelog against stock Flink's; null if all that is determined is equal. */
    static Difference changelogs(
            Unit.Query query, List<Emitted> stock, List<Emitted> drey, boolean expires) {
        if (query.order() == Order.NOTHING) {
            return null;
        }
        Difference inconsistent = expires ? null : inconsistency(query, stock, drey);
        if (inconsistent != null) {
            return inconsistent;
        }
        if (query.oracle() == Oracle.BATCH_ONLY) {
            return null;
        }
        if (query.order() == Order.SEQUENCE) {
            for (int i = 0; i < Math.max(stock.size(), drey.size()); i++) {
                String s = i < stock.size() ? stock.get(i).toString() : "(end)";
                String d = i < drey.size() ? drey.get(i).toString() : "(end)";
                if (!s.equals(d)) {
                    return new Difference(
                            "sequence",
                            "change " + i + " of " + stock.size() + ": stock " + s + ", drey " + d);
                }
            }
        }
        if (query.order().compareTo(Order.CHANGES) <= 0) {
            String text = differing(changes(stock), changes(drey), "stock", "drey");
            if (text != null) {
                return new Difference("changes", text);
            }
        }
        // State that expired left rows behind on either side, or their retractions.
        String text = differing(content(query, stock), content(query, drey), "stock", "drey");
        return text == null ? null : new Difference("result", text);
    }

    /** A streaming result against that of a batch query; null if they are equal. */
    static Difference batch(Unit.Query query, List<Emitted> stream, List<Emitted> batch) {
        String text = differing(content(query, stream), content(query, batch), "stream", "batch");
        return text == null ? null : new Difference("batch", text);
    }

    /** Drey retracts what is not there, and stock Flink does not. */
    private static Difference inconsistency(
            Unit.Query query, List<Emitted> stock, List<Emitted> drey) {
        String text = inconsistency(query, drey);
        return text == null || inconsistency(query, stock) != null
                ? null
                : new Difference("retraction", text);
    }

    private static String inconsistency(Unit.Query query, List<Emitted> changes) {
        if (!query.upsertKey().isEmpty()) {
            return null;
        }
        for (Map.Entry<String, Integer> e : content(query, changes).entrySet()) {
            if (e.getValue() < 0) {
                return "retracted more often than emitted: " + e.getKey();
            }
        }
        return null;
    }

    private static Map<String, Integer> changes(List<Emitted> emitted) {
        Map<String, Integer> counts = new TreeMap<>();
        emitted.forEach(e -> counts.merge("phase " + e.phase() + " " + e, 1, Integer::sum));
        return counts;
    }

    /** The rows that are left when all changes are applied, with their numbers. */
    static Map<String, Integer> content(Unit.Query query, List<Emitted> emitted) {
        Map<String, Integer> content = new TreeMap<>();
        if (query.upsertKey().isEmpty()) {
            for (Emitted e : emitted) {
                content.merge(e.row(), isAddition(e.kind()) ? 1 : -1, Integer::sum);
            }
            content.values().removeIf(n -> n == 0);
            return content;
        }
        Map<String, String> latest = new HashMap<>();
        for (Emitted e : emitted) {
            if (isAddition(e.kind())) {
                latest.put(e.key(), e.row());
            } else {
                latest.remove(e.key());
            }
        }
        latest.values().forEach(row -> content.merge(row, 1, Integer::sum));
        return content;
    }

    private static boolean isAddition(RowKind kind) {
        return kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER;
    }

    private static String differing(
            Map<String, Integer> a, Map<String, Integer> b, String nameA, String nameB) {
        Set<String> rows = new HashSet<>(a.keySet());
        rows.addAll(b.keySet());
        List<String> lines = new ArrayList<>();
        for (String row : rows.stream().sorted().toList()) {
            int inA = a.getOrDefault(row, 0);
            int inB = b.getOrDefault(row, 0);
            if (inA != inB) {
                lines.add(nameA + " " + inA + "x, " + nameB + " " + inB + "x: " + row);
            }
        }
        if (lines.isEmpty()) {
            return null;
        }
        int more = lines.size() - 6;
        return String.join("; ", lines.subList(0, Math.min(6, lines.size())))
                + (more > 0 ? "; and " + more + " more" : "");
    }
}
