package drey.it.join;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * The changelogs of six tables: of each side one whose primary key is the join key {@code k}, one with another primary key, and one
 * without. In each epoch one side has rows, the other waits, see {@link Turns}.
 *
 * <p>They are as changelogs may be: a {@code -U} comes epochs before its {@code +U}, rows of no key come several times, and now
 * and then something is retracted that was never there, or inserted under a key that is taken.
 */
final class Changelogs {

    /** What all tables have, the key of {@code L1} and {@code R1} apart. */
    static final TypeInformation<Row> TYPE =
            Types.ROW_NAMED(
                    new String[] {"id", "k", "j", "v", "s"},
                    Types.LONG,
                    Types.INT,
                    Types.STRING,
                    Types.INT,
                    Types.STRING);

    static final int ARITY = 5;

    private final Map<String, List<List<Row>>> epochs = new TreeMap<>();

    /**
     * @param maxRows most rows of a table in one epoch
     */
    Changelogs(long seed, int length, int maxRows) {
        this(seed, length, maxRows, false);
    }

    /**
     * @param consistent nothing is retracted that was never there, nor inserted under a key that is taken
     */
    Changelogs(long seed, int length, int maxRows, boolean consistent) {
        SplittableRandom rng = new SplittableRandom(seed);
        Map<String, Table> tables = new LinkedHashMap<>();
        for (String name : List.of("L1", "L2", "L3", "R1", "R2", "R3")) {
            tables.put(name, new Table(name.charAt(1) - '0', rng.split(), consistent));
            epochs.put(name, new ArrayList<>());
        }
        for (int i = 0; i < length; i++) {
            String side = rng.nextBoolean() ? "L" : "R";
            tables.forEach(
                    (name, table) -> {
                        List<Row> rows = new ArrayList<>();
                        int n = name.startsWith(side) ? 1 + rng.nextInt(maxRows) : 0;
                        for (int r = 0; r < n; r++) {
                            rows.add(table.next());
                        }
                        epochs.get(name).add(rows);
                    });
        }
    }

    private Changelogs() {}

    /** The same without all that is no insertion, or inserts a primary key again. */
    Changelogs insertions() {
        Changelogs insertions = new Changelogs();
        epochs.forEach(
                (name, all) -> {
                    Integer key =
                            switch (name.charAt(1)) {
                                case '1' -> 1;
                                case '2' -> 0;
                                default -> null;
                            };
                    Set<Object> taken = new HashSet<>();
                    insertions.epochs.put(
                            name,
                            all.stream()
                                    .map(
                                            rows ->
                                                    rows.stream()
                                                            .filter(
                                                                    r ->
                                                                            r.getKind()
                                                                                    == RowKind
                                                                                            .INSERT)
                                                            .filter(
                                                                    r ->
                                                                            key == null
                                                                                    || taken.add(
                                                                                            r
                                                                                                    .getField(
                                                                                                            key)))
                                                            .toList())
                                    .toList());
                });
        return insertions;
    }

    /** The rows of each epoch of a table. */
    List<List<Row>> of(String table) {
        return epochs.get(table);
    }

    private static final class Table {
        private final int shape;
        private final SplittableRandom rng;
        private final List<Row> live = new ArrayList<>();
        private final Deque<Row> queue = new ArrayDeque<>();
        private final int dice;
        private long lastId;

        Table(int shape, SplittableRandom rng, boolean consistent) {
            this.shape = shape;
            this.rng = rng;
            this.dice = consistent ? 97 : 100;
        }

        Row next() {
            if (queue.isEmpty()) {
                change();
            }
            return queue.poll();
        }

        private void change() {
            int dice = rng.nextInt(this.dice);
            if (live.isEmpty() || dice < 45 && live.size() < 40) {
                Row row = fresh();
                live.add(row);
                emit(RowKind.INSERT, row);
            } else if (dice < 75) {
                int at = rng.nextInt(live.size());
                Row old = live.get(at);
                Row row = values(old);
                // The row of a primary key has the same key again; without one it may be any row.
                live.set(at, row);
                emit(RowKind.UPDATE_BEFORE, old);
                emit(RowKind.UPDATE_AFTER, row);
            } else if (dice < 97) {
                emit(RowKind.DELETE, live.remove(rng.nextInt(live.size())));
            } else if (dice < 98) {
                emit(RowKind.DELETE, values(fresh()));
            } else {
                int at = rng.nextInt(live.size());
                Row row = shape == 3 ? live.get(at) : values(live.get(at));
                live.set(at, row);
                emit(RowKind.INSERT, row);
            }
        }

        private void emit(RowKind kind, Row row) {
            Row message = Row.copy(row);
            message.setKind(kind);
            queue.add(message);
        }

        /** A row under a new primary key, if there is one. */
        private Row fresh() {
            if (shape == 1) {
                List<Integer> free = new ArrayList<>();
                for (int k = 0; k < 12; k++) {
                    int key = k;
                    if (live.stream().noneMatch(row -> row.getFieldAs(1).equals(key))) {
                        free.add(key);
                    }
                }
                if (!free.isEmpty()) {
                    return values(Row.of(0L, free.get(rng.nextInt(free.size())), null, null, null));
                }
                return values(live.remove(0));
            }
            if (shape == 3 && !live.isEmpty() && rng.nextInt(3) == 0) {
                return Row.copy(live.get(rng.nextInt(live.size())));
            }
            return values(Row.of(++lastId, null, null, null, null));
        }

        /** Other values under the same primary key. */
        private Row values(Row row) {
            return Row.of(
                    shape == 1 ? (Long) (long) rng.nextInt(5) : row.getField(0),
                    shape == 1 ? row.getField(1) : orNull(rng.nextInt(8)),
                    orNull("j" + rng.nextInt(2)),
                    orNull(rng.nextInt(10)),
                    orNull(TEXTS[rng.nextInt(TEXTS.length)]));
        }

        private <T> T orNull(T value) {
            return rng.nextInt(8) == 0 ? null : value;
        }
    }

    private static final String[] TEXTS = {
        "a", "B", "a text that is longer than the fixed part of a row", "Ä", "straße", "🦉"
    };
}
