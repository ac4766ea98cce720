package drey.fuzz;

import drey.fuzz.QueryGenerator.Names;
import drey.fuzz.QueryGenerator.Traits;
import drey.fuzz.Relation.Column;
import drey.fuzz.Relation.Order;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Makes joins of two relations, semi and anti joins among them. Null instead of one that would be too large. */
final class Joins {

    static final long MOST_ROWS = 4000;

    private final Choices choices;
    private final Expressions expressions;
    private final Traits traits;
    private final Names names;

    Joins(Choices choices, Expressions expressions, Traits traits, Names names) {
        this.choices = choices;
        this.expressions = expressions;
        this.traits = traits;
        this.names = names;
    }

    Relation join(Relation left, Relation right) {
        left = side(left);
        right = side(right);
        List<Column[]> pairs = expressions.joinable(left.columns(), right.columns());
        String kind = choices.from("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN");
        List<String> conditions = new ArrayList<>();
        Set<String> leftKeys = new LinkedHashSet<>();
        Set<String> rightKeys = new LinkedHashSet<>();
        equate(pairs, conditions, leftKeys, rightKeys);
        long product = left.rows() * right.rows();
        if (conditions.isEmpty() && product > MOST_ROWS
                || !conditions.isEmpty() && product / 3 > 5 * MOST_ROWS) {
            return null;
        }
        List<Column> columns = new ArrayList<>(left.columns());
        columns.addAll(right.columns());
        if (choices.chance(conditions.isEmpty() ? 90 : 35)) {
            conditions.add(expressions.condition(columns, 1));
        }
        String on = conditions.isEmpty() ? "TRUE" : String.join(" AND ", conditions);
        Relation both =
                left.as(
                        "SELECT %s FROM %s %s %s ON %s"
                                .formatted(
                                        String.join(", ", names(columns)),
                                        left.from(names.next("q")),
                                        kind,
                                        right.from(names.next("q")),
                                        on),
                        columns);
        boolean unique =
                !left.key().isEmpty()
                        && !right.key().isEmpty()
                        && leftKeys.containsAll(left.key())
                        && rightKeys.containsAll(right.key());
        List<String> key =
                left.key().isEmpty()
                                || right.key().isEmpty()
                                || !List.of("JOIN", "LEFT JOIN").contains(kind)
                        ? List.of()
                        : Stream.concat(left.key().stream(), right.key().stream()).toList();
        boolean updates = left.updates() || right.updates() || !kind.equals("JOIN");
        return both.with(right)
                .ordered(joined(left, right, unique))
                .keyed(key)
                .updating(updates)
                .batch(left.steady() && right.steady() && !traits.bundles())
                .timed(null, null)
                .sized(conditions.isEmpty() ? product : product / 3);
    }

    Relation semiJoin(Relation left, Relation right) {
        left = side(left);
        right = side(right);
        List<Column[]> pairs = expressions.joinable(left.columns(), right.columns());
        String not = choices.chance(50) ? "NOT " : "";
        String condition;
        // A condition on the left side alone lets the planner read that side twice, and which comes
        // first is open.
        boolean rightOnly = true;
        List<Column[]> inPairs = pairs.stream().filter(p -> p[0].type().isFlat()).toList();
        if (!inPairs.isEmpty() && choices.chance(35)) {
            Column[] pair = choices.from(inPairs);
            String where =
                    choices.chance(40) ? " WHERE " + expressions.condition(right.columns(), 1) : "";
            condition =
                    pair[0].name()
                            + " "
                            + not
                            + "IN (SELECT "
                            + pair[1].name()
                            + " FROM "
                            + right.from(names.next("q"))
                            + where
                            + ")";
        } else {
            List<String> conditions = new ArrayList<>();
            equate(pairs, conditions, new LinkedHashSet<>(), new LinkedHashSet<>());
            List<Column> columns = new ArrayList<>(left.columns());
            columns.addAll(right.columns());
            if (conditions.isEmpty() || choices.chance(35)) {
                rightOnly = choices.chance(50);
                conditions.add(expressions.condition(rightOnly ? right.columns() : columns, 1));
            }
            condition =
                    not
                            + "EXISTS (SELECT 1 FROM "
                            + right.from(names.next("q"))
                            + " WHERE "
                            + String.join(" AND ", conditions)
                            + ")";
        }
        if (left.rows() * right.rows() > 20 * MOST_ROWS) {
            return null;
        }
        String select =
                "SELECT "
                        + String.join(", ", left.names())
                        + " FROM "
                        + left.from(names.next("q"))
                        + " WHERE "
                        + condition;
        return left.as(select, left.columns())
                .with(right)
                .ordered(joined(left, right, false).or(rightOnly ? Order.SEQUENCE : Order.RESULT))
                .updating(true)
                .batch(left.steady() && right.steady() && !traits.bundles())
                .timed(null, null);
    }

    private void equate(
            List<Column[]> pairs, List<String> conditions, Set<String> left, Set<String> right) {
        if (pairs.isEmpty() || choices.chance(8)) {
            return;
        }
        int count = choices.from(1, 1, 2);
        for (int i = 0; i < count; i++) {
            Column[] pair = choices.from(pairs);
            if (!left.contains(pair[0].name()) && !right.contains(pair[1].name())) {
                left.add(pair[0].name());
                right.add(pair[1].name());
                boolean nullSafe = choices.chance(12);
                conditions.add(
                        pair[0].name()
                                + (nullSafe ? " IS NOT DISTINCT FROM " : " = ")
                                + pair[1].name());
            }
        }
    }

    /** As a side of a join: with names of its own, and without time attributes, which regular joins don't take. */
    Relation side(Relation r) {
        String prefix = names.next("x");
        List<String> items = new ArrayList<>();
        List<Column> columns = new ArrayList<>();
        for (Column c : r.columns()) {
            String name = prefix + "_" + c.name();
            String value =
                    c.name().equals(r.rowtime())
                            ? "CAST(" + c.name() + " AS " + c.type().sql + ")"
                            : c.name();
            items.add(value + " AS " + name);
            columns.add(new Column(name, c.type(), c.peculiar()));
        }
        return r.as(
                        "SELECT " + String.join(", ", items) + " FROM " + r.from(names.next("q")),
                        columns)
                .keyed(r.key().stream().map(k -> prefix + "_" + k).toList())
                .timed(null, null);
    }

    /** How much is determined of what a join emits. */
    Order joined(Relation left, Relation right, boolean unique) {
        boolean oneOrder =
                left.order() == Order.SEQUENCE
                        && right.order() == Order.SEQUENCE
                        && left.tables().stream().noneMatch(right.tables()::contains)
                        && traits.alternating();
        if (oneOrder && !traits.bundles()) {
            return unique && traits.parallelism() == 1 ? Order.SEQUENCE : Order.CHANGES;
        }
        if (oneOrder && !traits.ttl()) {
            return Order.RESULT;
        }
        return left.order() == Order.NOTHING
                        || right.order() == Order.NOTHING
                        || !left.steady()
                        || !right.steady()
                        || traits.bundles()
                        || traits.ttl()
                ? Order.NOTHING
                : Order.RESULT;
    }

    private static List<String> names(List<Column> columns) {
        return columns.stream().map(Column::name).toList();
    }
}
