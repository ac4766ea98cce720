package drey.parity;

import drey.parity.Log.Entry;

import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Compares what two operators emitted. */
final class Compare {

    private Compare() {}

    /** Fails with the first difference unless the logs are as identical as the operator allows. */
    static void logs(Subject subject, Log expected, Log actual, String what) throws Exception {
        RowType type = subject.output();
        switch (subject.identity()) {
            case SEQUENCE -> sequences(type, expected.entries, actual.entries, what);
            case SEQUENCE_PER_KEY ->
                    sequencesByKey(type, subject.outputKey(), expected, actual, what);
            case PER_RECORD -> groups(type, expected, actual, expected.marks, what);
            case PER_SECTION -> groups(type, expected, actual, sections(expected), what);
            case CHANGE -> changes(type, expected, actual, what);
        }
    }

    /** Fails with the first difference unless both logs hold equal entries in equal order. */
    static void sequences(Schema schema, Log expected, Log actual, String what) {
        sequences(schema.type(), expected.entries, actual.entries, what);
    }

    private static void sequences(
            RowType type, List<Entry> expected, List<Entry> actual, String what) {
        int n = Math.min(expected.size(), actual.size());
        for (int i = 0; i < n; i++) {
            if (!expected.get(i).equals(actual.get(i))) {
                throw new AssertionError(difference(type, expected, actual, i, what));
            }
        }
        if (expected.size() != actual.size()) {
            throw new AssertionError(difference(type, expected, actual, n, what));
        }
    }

    /**
     * Fails unless for every key both logs hold equal entries in equal order, watermarks and other stream elements
     * included: the order Flink promises where its operator walks over a hash map of keys.
     */
    private static void sequencesByKey(
            RowType type, RowDataKeySelector selector, Log expected, Log actual, String what)
            throws Exception {
        Map<RowData, List<Entry>> left = byKey(selector, expected);
        Map<RowData, List<Entry>> right = byKey(selector, actual);
        for (RowData key : left.keySet()) {
            sequences(type, left.get(key), right.getOrDefault(key, List.of()), what + ", one key");
        }
        for (RowData key : right.keySet()) {
            sequences(type, left.getOrDefault(key, List.of()), right.get(key), what + ", one key");
        }
    }

    /** Splits at elements that aren't rows, so that the key's entries also say between which of them a row came. */
    private static Map<RowData, List<Entry>> byKey(RowDataKeySelector selector, Log log)
            throws Exception {
        Map<RowData, List<Entry>> byKey = new LinkedHashMap<>();
        int section = 0;
        for (Entry e : log.entries) {
            if (e.row() == null) {
                section++;
                byKey.computeIfAbsent(null, k -> new ArrayList<>()).add(e);
                continue;
            }
            RowData key = ((BinaryRowData) selector.getKey(e.row())).copy();
            byKey.computeIfAbsent(key, k -> new ArrayList<>())
                    .add(new Entry(e.kind(), e.row(), e.timestamp(), "section " + section));
        }
        return byKey;
    }

    private static List<Integer> sections(Log log) {
        List<Integer> starts = new ArrayList<>();
        for (int i = 0; i < log.entries.size(); i++) {
            if (log.entries.get(i).row() == null) {
                starts.add(i);
                starts.add(i + 1);
            }
        }
        return starts;
    }

    /** Fails unless between any two of the starts both logs hold the same entries, in any order. */
    private static void groups(
            RowType type, Log expected, Log actual, List<Integer> starts, String what) {
        int size = expected.entries.size();
        if (actual.entries.size() != size) {
            // Where the order is free, what stands at the end says little; show all from the first
            // group that differs.
            size = Math.min(size, actual.entries.size());
        }
        int from = 0;
        for (int i = 0; i <= starts.size(); i++) {
            int to = i < starts.size() ? starts.get(i) : expected.entries.size();
            if (to == from) {
                continue;
            }
            if (to > size
                    || !counts(expected.entries.subList(from, to))
                            .equals(counts(actual.entries.subList(from, to)))) {
                throw new AssertionError(
                        difference(type, expected.entries, actual.entries, from, what));
            }
            from = to;
        }
        if (actual.entries.size() != expected.entries.size()) {
            throw new AssertionError(
                    difference(type, expected.entries, actual.entries, size, what));
        }
    }

    private static Map<Entry, Integer> counts(List<Entry> entries) {
        Map<Entry, Integer> counts = new HashMap<>();
        entries.forEach(e -> counts.merge(e, 1, Integer::sum));
        return counts;
    }

    /** Fails unless both logs add the same rows to a table, and take the same away. */
    private static void changes(RowType type, Log expected, Log actual, String what) {
        Map<BinaryRowData, Integer> rows = new LinkedHashMap<>();
        for (Entry e : expected.entries) {
            count(rows, e, 1);
        }
        for (Entry e : actual.entries) {
            count(rows, e, -1);
        }
        rows.forEach(
                (row, n) -> {
                    if (n != 0) {
                        throw new AssertionError(
                                what
                                        + ": Flink's changes have "
                                        + n
                                        + " more of "
                                        + Schema.format(type, row));
                    }
                });
        List<String> left = others(expected);
        List<String> right = others(actual);
        if (!left.equals(right)) {
            throw new AssertionError(what + ": flink " + left + ", drey " + right);
        }
    }

    private static void count(Map<BinaryRowData, Integer> rows, Entry e, int sign) {
        if (e.row() != null) {
            boolean adds = e.kind() == RowKind.INSERT || e.kind() == RowKind.UPDATE_AFTER;
            rows.merge(e.row(), adds ? sign : -sign, Integer::sum);
        }
    }

    private static List<String> others(Log log) {
        return log.entries.stream().filter(e -> e.row() == null).map(Entry::other).toList();
    }

    private static String difference(
            RowType type, List<Entry> expected, List<Entry> actual, int i, String what) {
        StringBuilder s = new StringBuilder(what).append(": first difference at entry ").append(i);
        s.append("\n  flink (").append(expected.size()).append(" entries)");
        around(type, expected, i, s);
        s.append("\n  drey (").append(actual.size()).append(" entries)");
        around(type, actual, i, s);
        return s.toString();
    }

    private static void around(RowType type, List<Entry> entries, int at, StringBuilder s) {
        for (int i = Math.max(0, at - 3); i < Math.min(entries.size(), at + 6); i++) {
            s.append(i == at ? "\n  > " : "\n    ").append(entries.get(i).format(type));
        }
    }
}
