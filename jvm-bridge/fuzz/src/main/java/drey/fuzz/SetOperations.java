package drey.fuzz;

import drey.fuzz.QueryGenerator.Names;
import drey.fuzz.QueryGenerator.Traits;
import drey.fuzz.Relation.Column;
import drey.fuzz.Relation.Order;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Makes unions, intersections and differences of two relations. All but UNION ALL the planner takes apart: into aggregates, and semi
 * and anti joins whose keys may be NULL.
 */
final class SetOperations {

    private static final int MOST_COLUMNS = 3;

    private final Choices choices;
    private final Traits traits;
    private final Names names;
    private final Expressions expressions;
    private final Joins joins;

    SetOperations(
            Choices choices, Traits traits, Names names, Expressions expressions, Joins joins) {
        this.choices = choices;
        this.traits = traits;
        this.names = names;
        this.expressions = expressions;
        this.joins = joins;
    }

    /** Null if the two have no columns in common, or are too large. */
    Relation combine(Relation first, Relation second) {
        Relation left = joins.side(first);
        Relation right = joins.side(second);
        List<Column[]> pairs = expressions.joinable(left.columns(), right.columns());
        if (pairs.isEmpty() || left.rows() * right.rows() > 20 * Joins.MOST_ROWS) {
            return null;
        }
        List<Column> columns = new ArrayList<>();
        List<String> lefts = new ArrayList<>();
        List<String> rights = new ArrayList<>();
        int count = choices.between(1, MOST_COLUMNS);
        for (int i = 0; i < count; i++) {
            Column[] pair = choices.from(pairs);
            String name = names.next("x");
            lefts.add(pair[0].name() + " AS " + name);
            rights.add(pair[1].name());
            columns.add(new Column(name, pair[0].type(), pair[0].peculiar() || pair[1].peculiar()));
        }
        String operation =
                choices.from(
                        "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL");
        Relation both =
                left.as(
                                "SELECT %s FROM %s %s SELECT %s FROM %s"
                                        .formatted(
                                                String.join(", ", lefts),
                                                left.from(names.next("q")),
                                                operation,
                                                String.join(", ", rights),
                                                right.from(names.next("q"))),
                                columns)
                        .with(right)
                        .timed(null, null)
                        .sized(left.rows() + right.rows());
        if (operation.equals("UNION ALL")) {
            return both.ordered(left.order().or(right.order()).or(Order.CHANGES)).keyed(List.of());
        }
        boolean semi = operation.equals("INTERSECT") || operation.equals("EXCEPT");
        Order order = semi ? joins.joined(left, right, false) : left.order().or(right.order());
        boolean steady = left.steady() && right.steady();
        return both.ordered(traits.ttl() ? Order.NOTHING : order.or(Order.RESULT))
                .keyed(
                        operation.endsWith(" ALL")
                                ? List.of()
                                : columns.stream().map(Column::name).collect(Collectors.toList()))
                .updating(true)
                .batch(!semi || steady && !traits.bundles());
    }
}
