package drey.fuzz;

import drey.fuzz.Relation.Column;
import drey.fuzz.Type.Family;

import java.util.ArrayList;
import java.util.List;

/** Makes conditions and values of columns. None of them can fail. */
final class Expressions {

    private final Choices choices;

    Expressions(Choices choices) {
        this.choices = choices;
    }

    /** A condition over the columns. */
    String condition(List<Column> columns, int depth) {
        if (depth > 0 && choices.chance(45)) {
            String left = condition(columns, depth - 1);
            String right = condition(columns, depth - 1);
            return switch (choices.below(4)) {
                case 0, 1 -> "(" + left + " AND " + right + ")";
                case 2 -> "(" + left + " OR " + right + ")";
                default -> "NOT (" + left + " AND " + right + ")";
            };
        }
        List<Column> flat = columns.stream().filter(c -> c.type().isFlat()).toList();
        if (flat.isEmpty()) {
            return "TRUE";
        }
        return simple(choices.from(flat), flat);
    }

    private String simple(Column column, List<Column> columns) {
        String name = column.name();
        Type type = column.type();
        switch (choices.below(8)) {
            case 0:
                return name + " IS NOT NULL";
            case 1:
                return name + " IS NULL";
            case 2:
                if (type.family == Family.BOOLEAN) {
                    return choices.from(
                            name, "NOT " + name, name + " IS TRUE", name + " IS NOT FALSE");
                }
                if (type.family == Family.TEXT) {
                    return choices.from(
                            name + " LIKE '%a%'",
                            "CHAR_LENGTH(" + name + ") > 3",
                            "UPPER(" + name + ") <> " + name);
                }
                if (type.family == Family.INTEGER) {
                    return choices.from(
                            "MOD(" + name + ", 2) = 0",
                            name + " + 1 > 2",
                            name + " BETWEEN -5 AND 40",
                            "ABS(" + name + ") < 50");
                }
                break;
            case 3:
                if (!type.common.isEmpty()) {
                    return name + " IN (" + literal(type) + ", " + literal(type) + ")";
                }
                break;
            case 4, 5:
                List<Column> others =
                        columns.stream()
                                .filter(c -> c != column && comparable(c.type(), type))
                                .toList();
                if (!others.isEmpty()) {
                    String operator =
                            choices.from(
                                    "<",
                                    "<>",
                                    ">=",
                                    "=",
                                    " IS NOT DISTINCT FROM ",
                                    " IS DISTINCT FROM ");
                    return name + " " + operator.trim() + " " + choices.from(others).name();
                }
                break;
            default:
        }
        if (type.common.isEmpty()) {
            return name + " IS NOT NULL";
        }
        return name + " " + choices.from("<>", "<", ">=", "=", ">", "<=") + " " + literal(type);
    }

    /** A value made of the columns, with its type. */
    Column value(List<Column> columns, String name) {
        List<Column> numbers =
                columns.stream().filter(c -> c.type().family == Family.INTEGER).toList();
        List<Column> texts = columns.stream().filter(c -> c.type().family == Family.TEXT).toList();
        List<Column> flat = columns.stream().filter(c -> c.type().isFlat()).toList();
        // Beyond the first three: nested values, which no table has.
        switch (choices.below(7)) {
            case 0, 1:
                if (!numbers.isEmpty()) {
                    Column n = choices.from(numbers);
                    String sql =
                            choices.from(
                                            "%s + 1",
                                            "-%s",
                                            "%s * 2",
                                            "CAST(%s AS BIGINT)",
                                            "COALESCE(%s, 0)")
                                    .formatted(n.name());
                    return new Column("CAST(" + sql + " AS BIGINT) AS " + name, Type.BIGINT, false);
                }
                break;
            case 2:
                if (!flat.isEmpty()) {
                    return new Column(
                            "CASE WHEN "
                                    + condition(flat, 1)
                                    + " THEN 'yes' ELSE 'no, not really' END AS "
                                    + name,
                            Type.STRING,
                            false);
                }
                break;
            case 3:
                if (!texts.isEmpty()) {
                    return new Column(
                            "CONCAT(" + choices.from(texts).name() + ", '-tail') AS " + name,
                            Type.STRING,
                            false);
                }
                break;
            case 4:
                if (!numbers.isEmpty() && !texts.isEmpty()) {
                    return new Column(
                            "CAST(ROW(CAST(%s AS INT), CAST(%s AS STRING)) AS ROW<x INT, y STRING>) AS %s"
                                    .formatted(
                                            choices.from(numbers).name(),
                                            choices.from(texts).name(),
                                            name),
                            Type.ROW,
                            false);
                }
                break;
            case 5:
                if (!numbers.isEmpty()) {
                    return new Column(
                            "ARRAY[CAST(%s AS INT), CAST(%s AS INT)] AS %s"
                                    .formatted(
                                            choices.from(numbers).name(),
                                            choices.from(numbers).name(),
                                            name),
                            Type.ARRAY,
                            false);
                }
                break;
            default:
                if (!numbers.isEmpty()) {
                    return new Column(
                            "MAP['key', CAST("
                                    + choices.from(numbers).name()
                                    + " AS INT)] AS "
                                    + name,
                            Type.MAP,
                            false);
                }
        }
        return new Column("CAST(7 AS BIGINT) AS " + name, Type.BIGINT, false);
    }

    String literal(Type type) {
        return type.literal(choices.from(type.common));
    }

    /** Equal columns of two sides. Of the same type, so that both keep it as it is. */
    List<Column[]> joinable(List<Column> left, List<Column> right) {
        List<Column[]> pairs = new ArrayList<>();
        for (Column l : left) {
            for (Column r : right) {
                if (l.type() == r.type() && l.type().family != Family.MAP) {
                    pairs.add(new Column[] {l, r});
                }
            }
        }
        return pairs;
    }

    private static boolean comparable(Type a, Type b) {
        return a.family == b.family
                || a.isNumber()
                        && b.isNumber()
                        && a.family != Family.FLOAT
                        && b.family != Family.FLOAT;
    }
}
