package drey.plan;

import static org.apache.flink.table.types.logical.utils.LogicalTypeCasts.supportsAvoidingCast;

import drey.spec.Expression;
import drey.spec.Expression.Call;
import drey.spec.Expression.Literal;
import drey.spec.Expression.Ref;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.types.logical.BooleanType;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.LogicalTypeRoot;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;

import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoField;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Translates a predicate from the form in which compiled plans have it into the language of {@code native/expr}: only what
 * that language can say and what it means there is what Flink's generated code does. All or nothing: where a part has no
 * translation, the host evaluates the whole predicate.
 */
final class Predicates {

    private static final ClassLoader LOADER = Predicates.class.getClassLoader();
    private static final LogicalType BOOLEAN = new BooleanType();
    private static final LogicalType STRING = VarCharType.STRING_TYPE.copy(true);

    private static final Set<String> COMPARISONS = Set.of("=", "<>", "<", "<=", ">", ">=");

    private final List<LogicalType> columns = new ArrayList<>();

    private Predicates(RowType left, RowType right) {
        columns.addAll(left.getChildren());
        columns.addAll(right.getChildren());
    }

    /** Nothing if the host has to evaluate it. */
    static Optional<Expression> translate(JsonNode condition, RowType left, RowType right) {
        try {
            Typed result = new Predicates(left, right).node(condition);
            require(result.is(LogicalTypeRoot.BOOLEAN));
            return Optional.of(result.expression());
        } catch (NoTranslation e) {
            return Optional.empty();
        } catch (ValidationException | ArithmeticException | DateTimeException e) {
            // A type or a literal of a form not known here.
            return Optional.empty();
        }
    }

    /** An expression and the type that Flink's code generator gives it, nullable. */
    private record Typed(Expression expression, LogicalType type) {
        boolean is(LogicalTypeRoot root) {
            return type.is(root);
        }

        boolean isLiteral() {
            return expression instanceof Literal;
        }
    }

    private static final class NoTranslation extends RuntimeException {
        NoTranslation() {
            super(null, null, false, false);
        }
    }

    private static void require(boolean condition) {
        if (!condition) {
            throw new NoTranslation();
        }
    }

    private Typed node(JsonNode node) {
        return switch (node.path("kind").asText()) {
            case "INPUT_REF" -> column(node.path("inputIndex").asInt(-1));
            case "LITERAL" -> literal(node.path("value"), type(node.path("type")));
            case "CALL" -> call(node);
            default -> throw new NoTranslation();
        };
    }

    private Typed column(int index) {
        require(index >= 0 && index < columns.size());
        LogicalType type = columns.get(index).copy(true);
        require(isFlat(type));
        return new Typed(new Ref(index, text(type)), type);
    }

    /** Types that have no short text form are nested, or time attributes that a function returns. */
    private static LogicalType type(JsonNode type) {
        require(type.isTextual());
        LogicalType parsed = LogicalTypeParser.parse(type.textValue(), LOADER).copy(true);
        require(isFlat(parsed));
        return parsed;
    }

    private static String text(LogicalType type) {
        return type.copy(true).asSerializableString();
    }

    private static Typed typed(String op, LogicalType type, List<Typed> args) {
        return new Typed(
                new Call(op, text(type), args.stream().map(Typed::expression).toList()), type);
    }

    private static Typed bool(String op, Typed... args) {
        return typed(op, BOOLEAN, List.of(args));
    }

    // ---- calls ----

    private Typed call(JsonNode node) {
        // $NAME$1; a function of the user's has another property.
        String name = node.path("internalName").asText();
        require(name.startsWith("$") && name.endsWith("$1"));
        String op = name.substring(1, name.length() - 2);
        JsonNode operands = node.path("operands");
        if (op.equals("SEARCH")) {
            return search(node(operands.path(0)), operands.path(1));
        }
        List<Typed> args = new ArrayList<>();
        operands.forEach(operand -> args.add(node(operand)));
        LogicalType type = type(node.path("type"));
        if (COMPARISONS.contains(op)) {
            require(args.size() == 2);
            return compare(op, args.get(0), args.get(1));
        }
        return switch (op) {
            case "IS DISTINCT FROM", "IS NOT DISTINCT FROM" -> {
                require(args.size() == 2);
                compare("=", args.get(0), args.get(1));
                yield bool(op, args.get(0), args.get(1));
            }
            case "AND", "OR" -> {
                require(args.size() >= 2);
                args.forEach(arg -> require(arg.is(LogicalTypeRoot.BOOLEAN)));
                yield typed(op, BOOLEAN, args);
            }
            case "NOT", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE" -> {
                require(args.size() == 1 && args.get(0).is(LogicalTypeRoot.BOOLEAN));
                yield typed(op, BOOLEAN, args);
            }
            case "IS NULL", "IS NOT NULL" -> {
                require(args.size() == 1);
                yield typed(op, BOOLEAN, args);
            }
            case "+", "-", "*", "/", "%", "MOD" ->
                    arithmetic(op.equals("MOD") ? "%" : op, type, args);
            case "CASE" -> {
                require(args.size() >= 3 && args.size() % 2 == 1);
                for (int i = 0; i < args.size() - 1; i += 2) {
                    require(args.get(i).is(LogicalTypeRoot.BOOLEAN));
                    require(isOneOf(args.get(i + 1), type));
                }
                require(isOneOf(args.get(args.size() - 1), type));
                yield typed(op, type, args);
            }
            case "COALESCE" -> {
                require(!args.isEmpty());
                args.forEach(arg -> require(isOneOf(arg, type)));
                yield typed(op, type, args);
            }
            case "CAST" -> {
                require(args.size() == 1);
                yield cast(args.get(0), type);
            }
            default -> throw new NoTranslation();
        };
    }

    private static Typed compare(String op, Typed a, Typed b) {
        boolean sameString = both(a, b, Predicates::isString);
        boolean comparable =
                both(a, b, Predicates::isNumber)
                        || a.is(LogicalTypeRoot.DECIMAL)
                                && (b.is(LogicalTypeRoot.DECIMAL) || isInteger(b.type()))
                        || isInteger(a.type()) && b.is(LogicalTypeRoot.DECIMAL)
                        || sameString
                        || both(a, b, Predicates::isBinary)
                        || a.type().getTypeRoot() == b.type().getTypeRoot()
                                && (isTime(a.type())
                                        || isInterval(a.type())
                                        || a.is(LogicalTypeRoot.BOOLEAN));
        require(comparable);
        if (sameString && !op.equals("=") && !op.equals("<>")) {
            // Two texts that both come from literals Flink orders by their UTF-16 code units.
            require(isOfRow(a.expression()) || isOfRow(b.expression()));
        }
        if (isInterval(a.type()) || a.is(LogicalTypeRoot.TIME_WITHOUT_TIME_ZONE)) {
            // Of other types Flink makes no comparison.
            require(a.type().equals(b.type()));
        }
        return bool(op, a, b);
    }

    /** Whether a text certainly is bytes of one of the rows. */
    private static boolean isOfRow(Expression text) {
        return text instanceof Ref
                || text instanceof Call call
                        && call.op().equals("CAST")
                        && isOfRow(call.args().get(0));
    }

    private static Typed arithmetic(String op, LogicalType type, List<Typed> args) {
        if (args.size() == 1) {
            LogicalType arg = args.get(0).type();
            require(op.equals("-"));
            require((isNumber(arg) || isInterval(arg)) && arg.is(type.getTypeRoot()));
            return typed(op, type, args);
        }
        require(args.size() == 2);
        Typed a = args.get(0);
        Typed b = args.get(1);
        boolean sum = op.equals("+") || op.equals("-");
        switch (type.getTypeRoot()) {
            case TINYINT, SMALLINT, INTEGER, BIGINT -> {
                require(both(a, b, Predicates::isInteger));
                if (op.equals("/") || op.equals("%")) {
                    return divide(op, type, a, b);
                } else {
                    require(width(a.type()) <= width(type) && width(b.type()) <= width(type));
                }
            }
            case FLOAT -> {
                require(!op.equals("%"));
                Predicate<LogicalType> fits =
                        op.equals("/")
                                ? t -> t.is(LogicalTypeRoot.FLOAT)
                                : t -> isInteger(t) || t.is(LogicalTypeRoot.FLOAT);
                require(both(a, b, fits));
            }
            case DOUBLE -> {
                require(!op.equals("%"));
                require(
                        both(
                                a,
                                b,
                                op.equals("/")
                                        ? t -> t.is(LogicalTypeRoot.DOUBLE)
                                        : Predicates::isNumber));
            }
            case DECIMAL -> {
                Typed x = asDecimal(a);
                Typed y = asDecimal(b);
                requireExact(op, (DecimalType) type, x.type(), y.type());
                return typed(op, type, List.of(x, y));
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE -> {
                require(sum && a.is(type.getTypeRoot()));
                require(b.is(LogicalTypeRoot.INTERVAL_DAY_TIME));
                // The code generator keeps the type of the left argument, whatever was inferred.
                return typed(op, a.type(), args);
            }
            case DATE -> {
                require(sum && a.is(LogicalTypeRoot.DATE));
                require(b.is(LogicalTypeRoot.INTERVAL_DAY_TIME) && b.isLiteral());
            }
            case INTERVAL_YEAR_MONTH -> {
                require(sum && both(a, b, t -> t.is(LogicalTypeRoot.INTERVAL_YEAR_MONTH)));
                return typed(op, a.type(), args);
            }
            case INTERVAL_DAY_TIME -> {
                if (sum && both(a, b, t -> t.is(LogicalTypeRoot.INTERVAL_DAY_TIME))) {
                    return typed(op, a.type(), args);
                }
                require(op.equals("-") && a.type().getTypeRoot() == b.type().getTypeRoot());
                require(isTimestamp(a.type()));
            }
            default -> throw new NoTranslation();
        }
        return typed(op, type, args);
    }

    /**
     * By a literal only: division by zero is an error in Flink, and an error can't come up here. Flink divides numbers of the
     * result's type, but takes a remainder in the wider type of both and narrows it then.
     */
    private static Typed divide(String op, LogicalType type, Typed a, Typed b) {
        require(b.expression() instanceof Literal);
        Literal divisor = (Literal) b.expression();
        require(divisor.value().filter(v -> !v.equals("0")).isPresent());
        LogicalType wide = type;
        for (LogicalType operand : List.of(a.type(), b.type())) {
            wide = op.equals("%") && width(operand) > width(wide) ? operand : wide;
        }
        require(width(a.type()) <= width(wide) && width(b.type()) <= width(wide));
        Typed dividend = a.is(wide.getTypeRoot()) ? a : cast(a, wide);
        Typed by = new Typed(new Literal(text(wide), divisor.value()), wide);
        Typed result = typed(op, wide, List.of(dividend, by));
        return wide == type ? result : cast(result, type);
    }

    /** Only where no digit can be lost: then what Flink does about lost ones doesn't matter. */
    private static void requireExact(String op, DecimalType type, LogicalType a, LogicalType b) {
        int p1 = ((DecimalType) a).getPrecision();
        int s1 = ((DecimalType) a).getScale();
        int p2 = ((DecimalType) b).getPrecision();
        int s2 = ((DecimalType) b).getScale();
        int p = type.getPrecision();
        int s = type.getScale();
        switch (op) {
            case "+", "-" -> require(s == Math.max(s1, s2) && p - s > Math.max(p1 - s1, p2 - s2));
            case "*" -> require(s == s1 + s2 && p >= p1 + p2);
            default -> throw new NoTranslation();
        }
    }

    /** An integer becomes a decimal of as many digits as its type can have, as in generated code. */
    private static Typed asDecimal(Typed value) {
        if (value.is(LogicalTypeRoot.DECIMAL)) {
            return value;
        }
        require(isInteger(value.type()));
        return cast(value, new DecimalType(digits(value.type()), 0));
    }

    private static Typed cast(Typed value, LogicalType type) {
        LogicalType from = value.type();
        boolean possible;
        if (isNumber(from) && isNumber(type)) {
            possible = true;
        } else if (isInteger(from) && type instanceof DecimalType decimal) {
            possible = decimal.getPrecision() - decimal.getScale() >= digits(from);
        } else if (from instanceof DecimalType a && type instanceof DecimalType b) {
            possible =
                    b.getScale() >= a.getScale()
                            && b.getPrecision() - b.getScale() >= a.getPrecision() - a.getScale();
        } else if (from instanceof DecimalType decimal) {
            possible = isInteger(type) || isNumber(type) && decimal.getPrecision() <= 18;
        } else if (isTimestamp(from)) {
            // A rowtime is never cut to less than milliseconds.
            possible =
                    from.is(type.getTypeRoot())
                                    && (precision(type) >= precision(from)
                                            || !LogicalTypeChecks.isTimeAttribute(from)
                                                    && !LogicalTypeChecks.isTimeAttribute(type))
                            || from.is(LogicalTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE)
                                    && type.is(LogicalTypeRoot.DATE);
        } else if (from.is(LogicalTypeRoot.DATE)) {
            possible =
                    type.is(LogicalTypeRoot.DATE)
                            || type.is(LogicalTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE);
        } else if (from.is(LogicalTypeRoot.TIME_WITHOUT_TIME_ZONE)
                && type.is(LogicalTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE)) {
            possible = true;
        } else if (isString(from)) {
            // To a longer VARCHAR nothing is done, as to STRING, and the library knows that one.
            require(type.is(LogicalTypeRoot.VARCHAR) && supportsAvoidingCast(from, type));
            return new Typed(typed("CAST", STRING, List.of(value)).expression(), type);
        } else {
            // Nothing is done to the value, and the library need not know.
            require(supportsAvoidingCast(from, type));
            return new Typed(value.expression(), type);
        }
        require(possible);
        return typed("CAST", type, List.of(value));
    }

    /** Whether a value that CASE or COALESCE may choose is left as it is, and of the result's kind to the library, too. */
    private static boolean isOneOf(Typed value, LogicalType type) {
        return supportsAvoidingCast(value.type(), type)
                && LogicalTypeParser.parse(value.expression().type(), LOADER)
                        .is(type.getTypeRoot());
    }

    // ---- SEARCH ----

    /**
     * IN, NOT IN and ranges, spelled out. Sets of points Flink looks up in a hash set, where numbers with a fraction and
     * byte arrays are other than by comparison.
     */
    private static Typed search(Typed value, JsonNode literal) {
        JsonNode sarg = literal.path("sarg");
        require(literal.path("kind").asText().equals("LITERAL") && sarg.isObject());
        LogicalType type = type(literal.path("type"));
        requireSearchable(value.type(), type, sarg.path("ranges"));
        List<Typed> ranges = new ArrayList<>();
        for (JsonNode range : sarg.path("ranges")) {
            ranges.add(range(value, range, type));
        }
        require(!ranges.isEmpty());
        Typed any = ranges.size() == 1 ? ranges.get(0) : typed("OR", BOOLEAN, ranges);
        return switch (sarg.path("nullAs").asText()) {
            case "TRUE" -> bool("OR", bool("IS NULL", value), any);
            case "FALSE" -> bool("AND", bool("IS NOT NULL", value), any);
            case "UNKNOWN" -> any;
            default -> throw new NoTranslation();
        };
    }

    /**
     * @param type of the literals; Flink casts both to their common type, and here that must do nothing to the values
     */
    private static void requireSearchable(LogicalType value, LogicalType type, JsonNode ranges) {
        if (isInteger(type) && isInteger(value)
                || isTimestamp(type) && value.is(type.getTypeRoot())
                // A CHAR would be padded to the length of the longest.
                || isString(type) && value.is(LogicalTypeRoot.VARCHAR)) {
            return;
        }
        if (value instanceof DecimalType a && type instanceof DecimalType b) {
            int scale = Math.max(a.getScale(), b.getScale());
            int digits = Math.max(a.getPrecision() - a.getScale(), b.getPrecision() - b.getScale());
            require(digits + scale <= DecimalType.MAX_PRECISION);
            return;
        }
        require(type.equals(value) && !isBinary(type));
        if (!isInteger(type) && isNumber(type)) {
            // One range is compared with; points and their complements are looked up.
            JsonNode range = ranges.path(0);
            require(ranges.size() == 1 && !range.path("lower").equals(range.path("upper")));
        }
    }

    private static Typed range(Typed value, JsonNode range, LogicalType type) {
        JsonNode lower = range.path("lower");
        JsonNode upper = range.path("upper");
        if (lower.isObject() && lower.equals(upper)) {
            require(isClosed(lower));
            return compare("=", value, literal(lower.path("value"), type));
        }
        List<Typed> bounds = new ArrayList<>();
        if (lower.isObject()) {
            bounds.add(
                    compare(
                            isClosed(lower) ? ">=" : ">",
                            value,
                            literal(lower.path("value"), type)));
        }
        if (upper.isObject()) {
            bounds.add(
                    compare(
                            isClosed(upper) ? "<=" : "<",
                            value,
                            literal(upper.path("value"), type)));
        }
        require(!bounds.isEmpty());
        return bounds.size() == 1 ? bounds.get(0) : typed("AND", BOOLEAN, bounds);
    }

    private static boolean isClosed(JsonNode bound) {
        return switch (bound.path("boundType").asText()) {
            case "CLOSED" -> true;
            case "OPEN" -> false;
            default -> throw new NoTranslation();
        };
    }

    // ---- literals ----

    private static Typed literal(JsonNode value, LogicalType type) {
        // A literal's value is missing if it is of a form of its own, such as a symbol.
        require(!value.isMissingNode() && !value.isContainerNode());
        Optional<String> text =
                value.isNull() ? Optional.empty() : Optional.of(text(value.asText(), type));
        return new Typed(new Literal(text(type), text), type);
    }

    /** From what {@code RexNodeJsonSerializer} writes to what {@code native/expr} reads. */
    private static String text(String value, LogicalType type) {
        switch (type.getTypeRoot()) {
            case BOOLEAN, CHAR, VARCHAR -> {
                return value;
            }
            case TINYINT, SMALLINT, INTEGER, BIGINT, INTERVAL_YEAR_MONTH, INTERVAL_DAY_TIME -> {
                return number(value).toBigIntegerExact().toString();
            }
            case FLOAT -> {
                float f = number(value).floatValue();
                require(Float.isFinite(f));
                return Float.toString(f);
            }
            case DOUBLE -> {
                double d = number(value).doubleValue();
                require(Double.isFinite(d));
                return Double.toString(d);
            }
            case DECIMAL -> {
                DecimalType decimal = (DecimalType) type;
                DecimalData data =
                        DecimalData.fromBigDecimal(
                                number(value), decimal.getPrecision(), decimal.getScale());
                require(data != null);
                return data.toBigDecimal().toPlainString();
            }
            case DATE -> {
                return Long.toString(LocalDate.parse(value).toEpochDay());
            }
            case TIME_WITHOUT_TIME_ZONE -> {
                return Integer.toString(LocalTime.parse(value).get(ChronoField.MILLI_OF_DAY));
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE -> {
                LocalDateTime time = LocalDateTime.parse(value.replace(' ', 'T'));
                long millis = time.toInstant(ZoneOffset.UTC).toEpochMilli();
                return millis + " " + time.getNano() % 1_000_000;
            }
            case BINARY, VARBINARY -> {
                return HexFormat.of().formatHex(Base64.getDecoder().decode(value));
            }
            default -> throw new NoTranslation();
        }
    }

    private static BigDecimal number(String value) {
        try {
            return new BigDecimal(value);
        } catch (NumberFormatException e) {
            throw new NoTranslation();
        }
    }

    // ---- types ----

    private static boolean both(Typed a, Typed b, Predicate<LogicalType> is) {
        return is.test(a.type()) && is.test(b.type());
    }

    private static boolean isInteger(LogicalType type) {
        return width(type) > 0;
    }

    private static boolean isNumber(LogicalType type) {
        return isInteger(type) || type.isAnyOf(LogicalTypeRoot.FLOAT, LogicalTypeRoot.DOUBLE);
    }

    private static boolean isString(LogicalType type) {
        return type.isAnyOf(LogicalTypeRoot.CHAR, LogicalTypeRoot.VARCHAR);
    }

    private static boolean isBinary(LogicalType type) {
        return type.isAnyOf(LogicalTypeRoot.BINARY, LogicalTypeRoot.VARBINARY);
    }

    private static boolean isTimestamp(LogicalType type) {
        return type.isAnyOf(
                LogicalTypeRoot.TIMESTAMP_WITHOUT_TIME_ZONE,
                LogicalTypeRoot.TIMESTAMP_WITH_LOCAL_TIME_ZONE);
    }

    private static boolean isTime(LogicalType type) {
        return isTimestamp(type)
                || type.isAnyOf(LogicalTypeRoot.DATE, LogicalTypeRoot.TIME_WITHOUT_TIME_ZONE);
    }

    private static boolean isInterval(LogicalType type) {
        return type.isAnyOf(LogicalTypeRoot.INTERVAL_YEAR_MONTH, LogicalTypeRoot.INTERVAL_DAY_TIME);
    }

    private static boolean isFlat(LogicalType type) {
        return isNumber(type)
                || isString(type)
                || isBinary(type)
                || isTime(type)
                || isInterval(type)
                || type.isAnyOf(LogicalTypeRoot.BOOLEAN, LogicalTypeRoot.DECIMAL);
    }

    private static int precision(LogicalType timestamp) {
        return LogicalTypeChecks.getPrecision(timestamp);
    }

    /** The bytes of an integer type, 0 for any other. */
    private static int width(LogicalType type) {
        return switch (type.getTypeRoot()) {
            case TINYINT -> 1;
            case SMALLINT -> 2;
            case INTEGER -> 4;
            case BIGINT -> 8;
            default -> 0;
        };
    }

    /** The digits that an integer type can have. */
    private static int digits(LogicalType integer) {
        return switch (integer.getTypeRoot()) {
            case TINYINT -> 3;
            case SMALLINT -> 5;
            case INTEGER -> 10;
            default -> 19;
        };
    }
}
