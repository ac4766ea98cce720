package drey.fuzz;

import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.List;

/**
 * A column's type. Values are texts until a source makes Flink's internal form of them, so that they can be written to a
 * replay file, read again and put into SQL.
 */
enum Type {
    INT(
            "INT",
            Family.INTEGER,
            List.of("1", "0", "2", "3", "-1", "7", "42", "-5"),
            List.of("2147483647", "-2147483648")),
    BIGINT(
            "BIGINT",
            Family.INTEGER,
            List.of("1", "0", "2", "3", "-1", "100", "-7", "5000000000"),
            List.of("9223372036854775807", "-9223372036854775808")),
    SMALLINT(
            "SMALLINT",
            Family.INTEGER,
            List.of("1", "0", "2", "-3", "9"),
            List.of("32767", "-32768")),
    TINYINT("TINYINT", Family.INTEGER, List.of("1", "0", "2", "-3"), List.of("127", "-128")),
    // Around the eight bytes that a string may have to lie inside a row's fixed part, and not only
    // ASCII.
    STRING(
            "STRING",
            Family.TEXT,
            List.of("a", "", "b", "seven77", "eight888", "nine 9999", "日本語", "A", "ab"),
            List.of("a rather longer text, a rather longer text: äöüß", "🦉", "\uffff", "a\0b")),
    VARCHAR(
            "VARCHAR(20)",
            Family.TEXT,
            List.of("x", "y", "xyz", "", "eight888", "twelve chars"),
            List.of("ä", "x y z x y z x y z x y")),
    CHAR("CHAR(3)", Family.TEXT, List.of("abc", "abd", "xyz", "   ", "a b"), List.of("日本語")),
    BOOLEAN("BOOLEAN", Family.BOOLEAN, List.of("true", "false"), List.of()),
    DECIMAL(
            "DECIMAL(10, 2)",
            Family.DECIMAL,
            List.of("1.50", "0.00", "-2.25", "10.00", "1.51", "-0.01"),
            List.of("99999999.99", "-99999999.99")),
    BIG_DECIMAL(
            "DECIMAL(38, 10)",
            Family.DECIMAL,
            List.of(
                    "1.5000000000",
                    "0.0000000000",
                    "-2.0000000001",
                    "12345678901234567890.0000000001"),
            List.of(
                    "9999999999999999999999999999.9999999999",
                    "-9999999999999999999999999999.9999999999")),
    DOUBLE(
            "DOUBLE",
            Family.FLOAT,
            List.of("1.5", "0.0", "-2.25", "3.0", "1e-300", "0.1"),
            List.of("1.7976931348623157E308", "Infinity", "NaN", "-0.0")),
    FLOAT(
            "FLOAT",
            Family.FLOAT,
            List.of("1.5", "0.0", "-2.25", "3.0", "0.1"),
            List.of("3.4028235E38", "-Infinity", "NaN", "-0.0")),
    DATE(
            "DATE",
            Family.DATE,
            List.of("2024-01-31", "2024-02-29", "1970-01-01", "1969-12-31"),
            List.of("0001-01-01", "9999-12-31")),
    TIME(
            "TIME(0)",
            Family.TIME,
            List.of("00:00:00", "12:30:00", "23:59:59", "00:00:01"),
            List.of()),
    TIMESTAMP_3(
            "TIMESTAMP(3)",
            Family.TIMESTAMP,
            List.of(
                    "2024-01-31 12:00:00.000",
                    "2024-01-31 12:00:00.001",
                    "1969-12-31 23:59:59.999",
                    "2024-02-01 00:00:00.000"),
            List.of("0001-01-01 00:00:00.000", "9999-12-31 23:59:59.999")),
    TIMESTAMP_6(
            "TIMESTAMP(6)",
            Family.TIMESTAMP,
            List.of(
                    "2024-01-31 12:00:00.000001",
                    "2024-01-31 12:00:00.000002",
                    "1969-12-31 23:59:59.999999"),
            List.of("0001-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999")),
    TIMESTAMP_9(
            "TIMESTAMP(9)",
            Family.TIMESTAMP,
            List.of("2024-01-31 12:00:00.000000001", "2024-01-31 12:00:00.999999999"),
            List.of("1677-01-01 00:00:00.000000001")),
    LTZ_3(
            "TIMESTAMP_LTZ(3)",
            Family.LTZ,
            List.of(
                    "2024-01-31 12:00:00.000",
                    "2024-01-31 12:00:00.001",
                    "1969-12-31 23:59:59.999"),
            List.of()),
    LTZ_6(
            "TIMESTAMP_LTZ(6)",
            Family.LTZ,
            List.of("2024-01-31 12:00:00.000001", "2024-01-31 12:00:00.000002"),
            List.of()),
    BYTES(
            "BYTES",
            Family.BINARY,
            List.of("01", "", "0102", "ff", "0102030405060708"),
            List.of("00000000000000000000000000000000000000")),
    BINARY("BINARY(3)", Family.BINARY, List.of("010203", "ffffff", "000000"), List.of()),
    // Results of expressions; no table has such columns.
    AGGREGATE_DECIMAL("DECIMAL(38, 2)", Family.DECIMAL, List.of(), List.of()),
    AVERAGE_DECIMAL("DECIMAL(38, 6)", Family.DECIMAL, List.of(), List.of()),
    ROW("ROW<x INT, y STRING>", Family.NESTED, List.of(), List.of()),
    ARRAY("ARRAY<INT>", Family.NESTED, List.of(), List.of()),
    MAP("MAP<STRING, INT>", Family.MAP, List.of(), List.of());

    /** Types that compare with one another. */
    enum Family {
        INTEGER,
        TEXT,
        BOOLEAN,
        DECIMAL,
        FLOAT,
        DATE,
        TIME,
        TIMESTAMP,
        LTZ,
        BINARY,
        NESTED,
        MAP
    }

    /** The types of columns of tables. */
    static final List<Type> STORED = List.of(values()).subList(0, AGGREGATE_DECIMAL.ordinal());

    final String sql;
    final Family family;

    /** Values that occur often. */
    final List<String> common;

    /** Values from the ends of the type's range, and others that some code might not expect. */
    final List<String> extremes;

    Type(String sql, Family family, List<String> common, List<String> extremes) {
        this.sql = sql;
        this.family = family;
        this.common = common;
        this.extremes = extremes;
    }

    boolean isNumber() {
        return family == Family.INTEGER || family == Family.DECIMAL || family == Family.FLOAT;
    }

    /** Has an order and can be compared by an operator of SQL. */
    boolean isFlat() {
        return family != Family.NESTED && family != Family.MAP;
    }

    /** Flink finds NaN equal to everything and -0.0 equal to 0.0 in some places, and tells them apart in others. */
    static boolean isPeculiar(String value) {
        return "NaN".equals(value) || "-0.0".equals(value);
    }

    String literal(String value) {
        String quoted = "'" + value.replace("'", "''") + "'";
        return switch (this) {
            case STRING, VARCHAR, CHAR -> quoted;
            case BOOLEAN -> value.toUpperCase();
            case BYTES, BINARY -> "x'" + value + "'";
            case INT -> value.equals("-2147483648") ? "CAST('" + value + "' AS INT)" : value;
            default -> "CAST(" + quoted + " AS " + sql + ")";
        };
    }

    /** The form that Flink's operators see. */
    Object internal(String text) {
        if (text == null) {
            return null;
        }
        return switch (this) {
            case INT -> Integer.parseInt(text);
            case BIGINT -> Long.parseLong(text);
            case SMALLINT -> Short.parseShort(text);
            case TINYINT -> Byte.parseByte(text);
            case STRING, VARCHAR, CHAR -> StringData.fromString(text);
            case BOOLEAN -> Boolean.parseBoolean(text);
            case DECIMAL -> DecimalData.fromBigDecimal(new BigDecimal(text), 10, 2);
            case BIG_DECIMAL -> DecimalData.fromBigDecimal(new BigDecimal(text), 38, 10);
            case DOUBLE -> Double.parseDouble(text);
            case FLOAT -> Float.parseFloat(text);
            case DATE -> (int) LocalDate.parse(text).toEpochDay();
            case TIME -> LocalTime.parse(text).toSecondOfDay() * 1000;
            case TIMESTAMP_3, TIMESTAMP_6, TIMESTAMP_9 ->
                    TimestampData.fromLocalDateTime(dateTime(text));
            case LTZ_3, LTZ_6 ->
                    TimestampData.fromInstant(dateTime(text).toInstant(ZoneOffset.UTC));
            case BYTES, BINARY -> HexFormat.of().parseHex(text);
            default -> throw new IllegalStateException("no table has a column of type " + this);
        };
    }

    private static LocalDateTime dateTime(String text) {
        return LocalDateTime.parse(text.replace(' ', 'T'));
    }
}
