package drey.nexmark.digest;

import drey.nexmark.digest.ChangelogDigest.Sameness;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.types.RowKind;

/** The changes of one bucket, in arrival order, kept to show where two changelogs part. */
public final class Recording {

    /** A bucket that holds every row of a query (one key, say) must not fill the heap. */
    static final int MOST_CHANGES = 300_000;

    /** @param hash of the row and its kind */
    record Change(long key, RowKind kind, long hash, String row) {
        @Override
        public String toString() {
            return kind.shortString() + row;
        }
    }

    private final List<Change> changes = new ArrayList<>();

    boolean isFull() {
        return changes.size() >= MOST_CHANGES;
    }

    void add(Change change) {
        changes.add(change);
    }

    public void append(Recording other) {
        changes.addAll(other.changes);
    }

    public int size() {
        return changes.size();
    }

    /**
     * Describes the first change that differs, of the first key (in this recording's order) with any difference; null if
     * there is none. What counts as a difference is up to the sameness asked for.
     */
    public String firstDifference(
            Recording other, Sameness sameness, String thisName, String otherName) {
        Map<Long, List<Change>> mine = byKey();
        Map<Long, List<Change>> theirs = other.byKey();
        List<Long> keys = new ArrayList<>(mine.keySet());
        for (Long key : theirs.keySet()) {
            if (!mine.containsKey(key)) {
                keys.add(key);
            }
        }
        for (Long key : keys) {
            List<Change> a = mine.getOrDefault(key, List.of());
            List<Change> b = theirs.getOrDefault(key, List.of());
            String where = "change %,d of its key (it has %,d in %s, %,d in %s)";
            int sizeA = a.size();
            int sizeB = b.size();
            if (sameness == Sameness.CHANGES) {
                List<Change> onlyA = without(a, b);
                b = without(b, a);
                a = onlyA;
                where =
                        "change %,d of its key that only one of the two has (of %,d in %s, %,d in %s)";
            } else if (sameness == Sameness.RESULT) {
                a = last(a);
                b = last(b);
                where = "change %,d from the end of its key (it has %,d in %s, %,d in %s)";
            }
            for (int i = 0; i < Math.max(a.size(), b.size()); i++) {
                Change x = i < a.size() ? a.get(i) : null;
                Change y = i < b.size() ? b.get(i) : null;
                if (x == null || y == null || x.hash != y.hash) {
                    return "first difference: %s%n  %-6s %s%n  %-6s %s"
                            .formatted(
                                    where.formatted(i + 1, sizeA, thisName, sizeB, otherName),
                                    thisName,
                                    text(x),
                                    otherName,
                                    text(y));
                }
            }
        }
        return null;
    }

    private static List<Change> last(List<Change> changes) {
        return changes.subList(Math.max(0, changes.size() - 1), changes.size());
    }

    private static String text(Change change) {
        return change == null ? "(none)" : change.toString();
    }

    private Map<Long, List<Change>> byKey() {
        Map<Long, List<Change>> byKey = new LinkedHashMap<>();
        for (Change change : changes) {
            byKey.computeIfAbsent(change.key, key -> new ArrayList<>()).add(change);
        }
        return byKey;
    }

    private static List<Change> without(List<Change> from, List<Change> what) {
        Map<Long, Integer> counts = new LinkedHashMap<>();
        for (Change change : what) {
            counts.merge(change.hash, 1, Integer::sum);
        }
        List<Change> left = new ArrayList<>();
        for (Change change : from) {
            if (counts.merge(change.hash, -1, Integer::sum) < 0) {
                left.add(change);
            }
        }
        return left;
    }
}
