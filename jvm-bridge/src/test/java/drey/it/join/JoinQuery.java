package drey.it.join;

import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A join of two tables of {@link Changelogs}. */
record JoinQuery(Type type, int left, int right, String condition) {

    enum Type {
        INNER("JOIN"),
        LEFT("LEFT JOIN"),
        RIGHT("RIGHT JOIN"),
        FULL("FULL JOIN"),
        SEMI("WHERE EXISTS"),
        ANTI("WHERE NOT EXISTS");

        final String sql;

        Type(String sql) {
            this.sql = sql;
        }

        boolean emitsLeftOnly() {
            return this == SEMI || this == ANTI;
        }
    }

    static final String KEY = "L.k = R.k";

    String name() {
        return type + " L" + left + " R" + right + " " + condition;
    }

    String sql() {
        return type.emitsLeftOnly()
                ? "SELECT * FROM L%d L %s (SELECT 1 FROM R%d R WHERE %s)"
                        .formatted(left, type.sql, right, condition)
                : "SELECT * FROM L%d L %s R%d R ON %s".formatted(left, type.sql, right, condition);
    }

    /** The same with a retention for each side. */
    String sqlWithRetention(String left, String right) {
        return sql().replaceFirst(
                        "SELECT",
                        "SELECT /*+ STATE_TTL('L'='%s', 'R'='%s') */".formatted(left, right));
    }

    private static final List<JoinQuery> CONDITIONS =
            List.of(
                    of(2, 3, "L.k = R.k AND L.j = R.j"),
                    of(3, 2, "L.k IS NOT DISTINCT FROM R.k"),
                    of(3, 3, "L.k IS NOT DISTINCT FROM R.k AND L.j = R.j"),
                    of(1, 2, KEY + " AND L.v < R.v"),
                    of(2, 2, KEY + " AND L.v + R.v BETWEEN 4 AND 12"),
                    of(3, 3, KEY + " AND (L.v > R.v OR R.v IS NULL)"),
                    of(2, 3, KEY + " AND L.v > 3"),
                    of(3, 2, KEY + " AND LOWER(L.s) <> LOWER(R.s)"),
                    of(1, 1, KEY + " AND isLonger(L.s, R.s)"),
                    of(2, 1, "L.v > R.v"),
                    of(3, 3, "L.s LIKE R.s || '%'"));

    private static JoinQuery of(int left, int right, String condition) {
        return new JoinQuery(Type.INNER, left, right, condition);
    }

    /**
     * Flink plans an EXISTS whose outer columns stand in an OR, as they do in a null-safe comparison, with two inner joins one
     * after the other. In what order rows come to the second one is up to the network.
     */
    private boolean isOneJoin() {
        return !type.emitsLeftOnly()
                || !condition.contains("DISTINCT") && !condition.contains(" OR ");
    }

    /** Every type of join over every pair of keys, and each type with every form of condition. */
    static List<JoinQuery> all() {
        return combinations().stream().filter(JoinQuery::isOneJoin).toList();
    }

    /** Those EXISTS that are two joins. */
    static List<JoinQuery> twoJoins() {
        return combinations().stream().filter(q -> !q.isOneJoin()).toList();
    }

    private static List<JoinQuery> combinations() {
        List<JoinQuery> all = new ArrayList<>();
        for (Type type : Type.values()) {
            for (int left = 1; left <= 3; left++) {
                for (int right = 1; right <= 3; right++) {
                    all.add(new JoinQuery(type, left, right, KEY));
                }
            }
            for (JoinQuery q : CONDITIONS) {
                all.add(new JoinQuery(type, q.left, q.right, q.condition));
            }
            // There is no way to ask for these as EXISTS.
            if (!type.emitsLeftOnly()) {
                all.add(new JoinQuery(type, 1, 2, "TRUE"));
            }
        }
        return all;
    }

    /** Of all some, so that every type, every pair of keys and every condition is there several times. */
    static List<JoinQuery> some() {
        List<JoinQuery> some = new ArrayList<>();
        List<JoinQuery> all = combinations();
        for (int i = 0; i < all.size(); i++) {
            JoinQuery q = all.get(i);
            boolean sameKeys = q.condition.equals(KEY) && q.left == q.right;
            if (q.isOneJoin() && (sameKeys || i % 4 == 0)) {
                some.add(q);
            }
        }
        return some;
    }

    /**
     * The messages of an epoch as far as Flink fixes their order: for each row of the side that is silent in this epoch the
     * messages about it, in order. Over which matches Flink goes first depends on the state backend.
     *
     * @param leftHasRows which side has rows in this epoch
     */
    Map<String, List<String>> fixed(List<Row> messages, boolean leftHasRows) {
        Map<String, List<String>> groups = new TreeMap<>();
        for (Row message : messages) {
            groups.computeIfAbsent(group(message, leftHasRows), g -> new ArrayList<>())
                    .add(message.toString());
        }
        return groups;
    }

    private String group(Row message, boolean leftHasRows) {
        Object[] fields = new Object[message.getArity()];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = message.getField(i);
        }
        if (!type.emitsLeftOnly()) {
            Object[] other =
                    leftHasRows
                            ? Arrays.copyOfRange(fields, Changelogs.ARITY, fields.length)
                            : Arrays.copyOf(fields, Changelogs.ARITY);
            if (Arrays.stream(other).anyMatch(f -> f != null)) {
                return Arrays.toString(other);
            }
        }
        return Arrays.toString(fields);
    }

    /** What is left when all messages are applied, each row with how many times. */
    static Map<String, Integer> content(List<Row> messages) {
        Map<String, Integer> content = new TreeMap<>();
        for (Row message : messages) {
            boolean adds =
                    message.getKind() == RowKind.INSERT
                            || message.getKind() == RowKind.UPDATE_AFTER;
            content.merge(message.toString().substring(2), adds ? 1 : -1, Integer::sum);
        }
        content.values().removeIf(n -> n == 0);
        return content;
    }
}
