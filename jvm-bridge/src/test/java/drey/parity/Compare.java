package drey.parity;

import drey.parity.Log.Entry;

import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Compares what two operators emitted. */
final class Compare {

    private Compare() {}

    /** Fails with the first difference unless both logs hold equal entries in equal order. */
    static void sequences(Schema schema, Log expected, Log actual, String what) {
        sequences(schema, expected.entries, actual.entries, what);
    }

    private static void sequences(
            Schema schema, List<Entry> expected, List<Entry> actual, String what) {
        int n = Math.min(expected.size(), actual.size());
        for (int i = 0; i < n; i++) {
            if (!expected.get(i).equals(actual.get(i))) {
                throw new AssertionError(difference(schema, expected, actual, i, what));
            }
        }
        if (expected.size() != actual.size()) {
            throw new AssertionError(difference(schema, expected, actual, n, what));
        }
    }

    /**
     * Fails unless for every key both logs hold equal entries in equal order, watermarks and other stream elements
     * included: the order Flink promises where its operator walks over a hash map of keys.
     */
    static void sequencesByKey(Schema schema, Log expected, Log actual, String what)
            throws Exception {
        Map<RowData, List<Entry>> left = byKey(schema, expected);
        Map<RowData, List<Entry>> right = byKey(schema, actual);
        for (RowData key : left.keySet()) {
            sequences(
                    schema, left.get(key), right.getOrDefault(key, List.of()), what + ", one key");
        }
        for (RowData key : right.keySet()) {
            sequences(
                    schema, left.getOrDefault(key, List.of()), right.get(key), what + ", one key");
        }
    }

    /** Splits at elements that aren't rows, so that the key's entries also say between which of them a row came. */
    private static Map<RowData, List<Entry>> byKey(Schema schema, Log log) throws Exception {
        RowDataKeySelector selector = schema.selector();
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

    /** Fails unless rows between two watermarks come in ascending event time, as Flink's timers fire. */
    static void ascendingTime(Schema schema, Log log, String what) {
        long last = Long.MIN_VALUE;
        for (int i = 0; i < log.entries.size(); i++) {
            Entry e = log.entries.get(i);
            if (e.row() == null) {
                last = Long.MIN_VALUE;
                continue;
            }
            long time = e.row().getLong(schema.rowtimeIndex());
            if (time < last) {
                throw new AssertionError(
                        what + ": entry " + i + " goes back in time: " + e.format(schema));
            }
            last = time;
        }
    }

    private static String difference(
            Schema schema, List<Entry> expected, List<Entry> actual, int i, String what) {
        StringBuilder s = new StringBuilder(what).append(": first difference at entry ").append(i);
        s.append("\n  flink (").append(expected.size()).append(" entries)");
        around(schema, expected, i, s);
        s.append("\n  drey (").append(actual.size()).append(" entries)");
        around(schema, actual, i, s);
        return s.toString();
    }

    private static void around(Schema schema, List<Entry> entries, int at, StringBuilder s) {
        for (int i = Math.max(0, at - 3); i < Math.min(entries.size(), at + 4); i++) {
            s.append(i == at ? "\n  > " : "\n    ").append(entries.get(i).format(schema));
        }
    }
}
