package drey.fuzz;

import drey.fuzz.Relation.Column;
import drey.fuzz.Type.Family;

import java.util.List;

/** Makes calls of aggregate functions over a relation. */
final class Calls {

    private final Choices choices;
    private final Expressions expressions;
    private final Relation input;

    /** The results don't depend on the order of the input. */
    boolean anyOrder = true;

    /** The results depend on something else than the input. */
    boolean undetermined;

    Calls(Choices choices, Expressions expressions, Relation input) {
        this.choices = choices;
        this.expressions = expressions;
        this.input = input;
    }

    /** A call and the type of its result. */
    Column next() {
        Column call = call();
        if (choices.chance(20)) {
            return new Column(
                    call.name()
                            + " FILTER (WHERE "
                            + expressions.condition(input.columns(), 1)
                            + ")",
                    call.type(),
                    call.peculiar());
        }
        return call;
    }

    private Column call() {
        List<Column> flat = input.flat();
        List<Column> numbers = flat.stream().filter(c -> c.type().isNumber()).toList();
        List<Column> texts = flat.stream().filter(c -> c.type().family == Family.TEXT).toList();
        int what = choices.below(12);
        if (input.order() != Relation.Order.SEQUENCE) {
            // What depends on the order of such an input can't be compared.
            numbers =
                    numbers.stream()
                            .filter(
                                    c ->
                                            c.type().family == Family.INTEGER
                                                    || c.type() == Type.DECIMAL)
                            .toList();
            what = Math.min(what, 9);
        }
        if (flat.isEmpty() || what == 0) {
            return new Column("COUNT(*)", Type.BIGINT, false);
        }
        String distinct = choices.chance(20) ? "DISTINCT " : "";
        Column any = choices.from(flat);
        if (what <= 2) {
            return new Column("COUNT(" + distinct + any.name() + ")", Type.BIGINT, false);
        }
        if (what <= 6 && !numbers.isEmpty()) {
            Column n = choices.from(numbers);
            boolean average = what > 4;
            // Rounding, and an overflow that a later value mends, depend on the order.
            if (n.type().family == Family.FLOAT
                    || n.type().family == Family.DECIMAL && n.type() != Type.DECIMAL) {
                anyOrder = false;
            }
            Type type = n.type();
            if (type.family == Family.DECIMAL) {
                type =
                        switch (type) {
                            case BIG_DECIMAL -> Type.BIG_DECIMAL;
                            case AVERAGE_DECIMAL -> Type.AVERAGE_DECIMAL;
                            default -> average ? Type.AVERAGE_DECIMAL : Type.AGGREGATE_DECIMAL;
                        };
            }
            // Sums of extremes can be infinite, and the difference of two of them is NaN.
            boolean peculiar = type.family == Family.FLOAT;
            return new Column(
                    (average ? "AVG(" : "SUM(") + distinct + n.name() + ")", type, peculiar);
        }
        if (what <= 9) {
            Type type = any.type().family == Family.TEXT ? Type.STRING : any.type();
            if (any.type().family == Family.BINARY) {
                // Flink has no MIN of them.
                return new Column("COUNT(" + distinct + any.name() + ")", Type.BIGINT, false);
            }
            anyOrder &= !any.peculiar();
            return new Column(
                    (choices.chance(50) ? "MAX(" : "MIN(") + any.name() + ")",
                    type,
                    any.peculiar());
        }
        anyOrder = false;
        if (what == 10 && !texts.isEmpty()) {
            return new Column(
                    "LISTAGG(" + choices.from(texts).name() + choices.from("", ", '|'") + ")",
                    Type.STRING,
                    false);
        }
        undetermined |= input.updates();
        Type type = any.type();
        return new Column(
                (choices.chance(50) ? "FIRST_VALUE(" : "LAST_VALUE(") + any.name() + ")",
                type,
                any.peculiar());
    }
}
