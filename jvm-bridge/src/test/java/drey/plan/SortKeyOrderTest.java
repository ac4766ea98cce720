package drey.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericArrayData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.planner.codegen.sort.ComparatorCodeGenerator;
import org.apache.flink.table.planner.plan.nodes.exec.spec.SortSpec;
import org.apache.flink.table.runtime.generated.RecordComparator;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * Records the order in which Flink's generated comparator has rows, for every type that a native operator may sort by. The
 * native side's tests read the same file and hold the order of their sort keys' bytes against it.
 */
class SortKeyOrderTest {

    private static final Path RECORDED =
            Path.of("..", "native", "binrow", "testdata", "flink_order.txt");

    private static final List<String> TYPES =
            List.of(
                    "BOOLEAN",
                    "TINYINT",
                    "SMALLINT",
                    "INT",
                    "BIGINT",
                    "FLOAT",
                    "DOUBLE",
                    "DECIMAL(5, 2)",
                    "DECIMAL(18, 4)",
                    "DECIMAL(19, 0)",
                    "DECIMAL(38, 10)",
                    "CHAR(12)",
                    "VARCHAR(2147483647)",
                    "BINARY(3)",
                    "VARBINARY(2147483647)",
                    "DATE",
                    "TIME(3)",
                    "TIMESTAMP(0)",
                    "TIMESTAMP(3)",
                    "TIMESTAMP(6)",
                    "TIMESTAMP(9)",
                    "TIMESTAMP(3) WITH LOCAL TIME ZONE",
                    "TIMESTAMP(9) WITH LOCAL TIME ZONE",
                    "INTERVAL YEAR(4) TO MONTH",
                    "INTERVAL DAY(6) TO SECOND(3)");

    private static final int RANDOM_VALUES = 24;

    /** Where the file is not what Flink does now, it is written beside what was built. */
    @Test
    void recordedOrderIsFlinks() throws IOException {
        StringBuilder text =
                new StringBuilder(
                        "# Rows of one column, and the rank of each in the order of Flink's generated comparator, equal rows"
                                + " sharing one.\n# Written by SortKeyOrderTest.\n");
        for (String type : TYPES) {
            record(type, text);
        }
        if (!Files.exists(RECORDED) || !Files.readString(RECORDED).contentEquals(text)) {
            Path now = Files.writeString(Path.of("target", "flink_order.txt"), text);
            fail("%s is not what Flink does: see %s", RECORDED, now.toAbsolutePath());
        }
    }

    private static void record(String name, StringBuilder text) {
        LogicalType type = parse(name);
        List<BinaryRowData> rows = rows(type);
        text.append("\ntype ").append(name).append('\n');
        rows.forEach(row -> text.append("row ").append(hex(row)).append('\n'));
        for (boolean ascending : new boolean[] {true, false}) {
            for (boolean nullsLast : new boolean[] {false, true}) {
                RecordComparator comparator = comparator(type, ascending, nullsLast);
                text.append(ascending ? "ASC" : "DESC")
                        .append(nullsLast ? " NULLS LAST" : " NULLS FIRST");
                for (int rank : ranks(rows, comparator)) {
                    text.append(' ').append(rank);
                }
                text.append('\n');
            }
        }
    }

    /** The number of different rows before each; they say of all pairs what the comparator says, so it is an order. */
    private static int[] ranks(List<BinaryRowData> rows, RecordComparator comparator) {
        List<BinaryRowData> firsts = new ArrayList<>();
        for (BinaryRowData row : rows) {
            if (firsts.stream().noneMatch(first -> comparator.compare(first, row) == 0)) {
                firsts.add(row);
            }
        }
        int[] ranks =
                rows.stream()
                        .mapToInt(
                                row ->
                                        (int)
                                                firsts.stream()
                                                        .filter(f -> comparator.compare(f, row) < 0)
                                                        .count())
                        .toArray();
        for (int i = 0; i < ranks.length; i++) {
            for (int j = 0; j < ranks.length; j++) {
                assertThat(Integer.signum(comparator.compare(rows.get(i), rows.get(j))))
                        .isEqualTo(Integer.compare(ranks[i], ranks[j]));
            }
        }
        return ranks;
    }

    /** Why NaN is not in the file: the comparator finds it equal to everything, which is no order. */
    @ParameterizedTest
    @CsvSource({"FLOAT", "DOUBLE"})
    void flinksComparatorHasNoOrderForNaN(String name) {
        LogicalType type = parse(name);
        RecordComparator comparator = comparator(type, true, false);
        BinaryRowData nan = row(type, name.equals("FLOAT") ? (Object) Float.NaN : Double.NaN);
        for (BinaryRowData row : rows(type)) {
            assertThat(comparator.compare(nan, row)).isEqualTo(row.isNullAt(0) ? 1 : 0);
        }
    }

    /** What the native side would have to do for nested values, and why no native operator sorts by them. */
    @Test
    void nestedValuesCompareElementByElement() {
        LogicalType array = parse("ARRAY<TINYINT>");
        List<BinaryRowData> arrays =
                Stream.<Object>of(
                                new Object[] {},
                                new Object[] {null, (byte) 1},
                                new Object[] {(byte) 1},
                                new Object[] {(byte) 1, null},
                                new Object[] {(byte) 1, (byte) -1},
                                new Object[] {(byte) 2})
                        .map(elements -> row(array, new GenericArrayData((Object[]) elements)))
                        .toList();
        LogicalType nested = parse("ROW<a INT, b STRING>");
        List<BinaryRowData> nestedRows =
                Stream.of(
                                GenericRowData.of(null, StringData.fromString("b")),
                                GenericRowData.of(1, null),
                                GenericRowData.of(1, StringData.fromString("")),
                                GenericRowData.of(2, null))
                        .map(value -> row(nested, value))
                        .toList();
        for (boolean nullsLast : new boolean[] {false, true}) {
            // Nulls inside come first in any case, and DESC turns them round with all else.
            assertThat(ranks(arrays, comparator(array, true, nullsLast)))
                    .containsExactly(0, 1, 2, 3, 4, 5);
            assertThat(ranks(arrays, comparator(array, false, nullsLast)))
                    .containsExactly(5, 4, 3, 2, 1, 0);
            assertThat(ranks(nestedRows, comparator(nested, true, nullsLast)))
                    .containsExactly(0, 1, 2, 3);
            assertThat(ranks(nestedRows, comparator(nested, false, nullsLast)))
                    .containsExactly(3, 2, 1, 0);
        }
    }

    private static LogicalType parse(String text) {
        return LogicalTypeParser.parse(text, SortKeyOrderTest.class.getClassLoader());
    }

    private static RecordComparator comparator(
            LogicalType type, boolean ascending, boolean nullsLast) {
        return ComparatorCodeGenerator.gen(
                        new Configuration(),
                        SortKeyOrderTest.class.getClassLoader(),
                        "Order",
                        RowType.of(type),
                        SortSpec.builder().addField(0, ascending, nullsLast).build())
                .newInstance(SortKeyOrderTest.class.getClassLoader());
    }

    private static BinaryRowData row(LogicalType type, Object value) {
        return new RowDataSerializer(type).toBinaryRow(GenericRowData.of(value)).copy();
    }

    private static String hex(BinaryRowData row) {
        byte[] bytes = new byte[row.getSizeInBytes()];
        row.getSegments()[0].get(row.getOffset(), bytes);
        return HexFormat.of().formatHex(bytes);
    }

    /** A null, the type's extremes and what lies around them, and random values; no row twice. */
    private static List<BinaryRowData> rows(LogicalType type) {
        Random random = new Random(type.asSummaryString().hashCode());
        Set<BinaryRowData> rows = new LinkedHashSet<>();
        rows.add(row(type, null));
        chosen(type).forEach(value -> rows.add(row(type, value)));
        IntStream.range(0, RANDOM_VALUES).forEach(i -> rows.add(row(type, random(type, random))));
        return List.copyOf(rows);
    }

    private static Stream<?> chosen(LogicalType type) {
        return switch (type.getTypeRoot()) {
            case BOOLEAN -> Stream.of(true, false);
            case TINYINT -> longs(8).mapToObj(v -> (byte) v);
            case SMALLINT -> longs(16).mapToObj(v -> (short) v);
            case INTEGER, DATE, TIME_WITHOUT_TIME_ZONE, INTERVAL_YEAR_MONTH ->
                    longs(32).mapToObj(v -> (int) v);
            case BIGINT, INTERVAL_DAY_TIME -> longs(64).boxed();
            case FLOAT ->
                    Stream.of(
                                    0f,
                                    1f,
                                    Float.MIN_VALUE,
                                    Float.MIN_NORMAL,
                                    Float.MAX_VALUE,
                                    Float.POSITIVE_INFINITY)
                            .flatMap(v -> Stream.of(v, -v));
            case DOUBLE ->
                    Stream.of(
                                    0d,
                                    1d,
                                    Double.MIN_VALUE,
                                    Double.MIN_NORMAL,
                                    Double.MAX_VALUE,
                                    Double.POSITIVE_INFINITY)
                            .flatMap(v -> Stream.of(v, -v));
            case DECIMAL -> {
                BigInteger most =
                        BigInteger.TEN
                                .pow(((DecimalType) type).getPrecision())
                                .subtract(BigInteger.ONE);
                yield Stream.of(
                                BigInteger.ZERO,
                                BigInteger.ONE,
                                BigInteger.valueOf(127),
                                BigInteger.valueOf(128),
                                BigInteger.valueOf(256),
                                most.shiftRight(1),
                                most)
                        .flatMap(v -> Stream.of(v, v.negate()))
                        .map(v -> decimal(type, v));
            }
            case CHAR, VARCHAR ->
                    Stream.of(
                                    "",
                                    "\0",
                                    "\0\0",
                                    "a",
                                    "a\0",
                                    "ab",
                                    "b",
                                    "Z",
                                    "é",
                                    "\u007F",
                                    "\u0080",
                                    "\u07FF",
                                    "\u0800",
                                    "\uD7FF",
                                    "\uE000",
                                    "\uFFFF",
                                    "\uD800\uDC00",
                                    "\uDBFF\uDFFF",
                                    "1234567",
                                    "12345678",
                                    "123456789",
                                    "x".repeat(31),
                                    "x".repeat(32),
                                    "x".repeat(33),
                                    "x".repeat(64),
                                    "x".repeat(65) + "y",
                                    "x".repeat(66))
                            .map(StringData::fromString);
            case BINARY, VARBINARY ->
                    Stream.of("", "00", "0000", "7f", "80", "ff", "ff00", "ffff", "00ffff")
                            .flatMap(v -> Stream.of(v, v + "00".repeat(8), v + "ff".repeat(40)))
                            .map(HexFormat.of()::parseHex);
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
                    Stream.of(Long.MIN_VALUE, -1000L, -1L, 0L, 1L, 1000L, Long.MAX_VALUE)
                            .flatMap(v -> Stream.of(0, 1, 1000, 999_999).map(nanos(v)::apply));
            default -> throw new IllegalArgumentException(type.toString());
        };
    }

    /** Numbers around the limits of a width and of the narrower ones; a cast cuts off what is too much. */
    private static LongStream longs(int width) {
        return Stream.of(7, 8, 15, 16, 31, 32, 63)
                .filter(bits -> bits < width)
                .flatMap(bits -> Stream.of((1L << bits) - 1, 1L << bits, -(1L << bits) - 1))
                .mapToLong(v -> v)
                .flatMap(v -> LongStream.of(v, v + 1));
    }

    private static IntFunction<TimestampData> nanos(long millis) {
        return nanos -> TimestampData.fromEpochMillis(millis, nanos);
    }

    private static DecimalData decimal(LogicalType type, BigInteger unscaled) {
        DecimalType decimal = (DecimalType) type;
        return DecimalData.fromBigDecimal(
                new BigDecimal(unscaled, decimal.getScale()),
                decimal.getPrecision(),
                decimal.getScale());
    }

    private static Object random(LogicalType type, Random random) {
        return switch (type.getTypeRoot()) {
            case BOOLEAN -> random.nextBoolean();
            case TINYINT -> (byte) random.nextInt();
            case SMALLINT -> (short) random.nextInt();
            case INTEGER, DATE, INTERVAL_YEAR_MONTH -> random.nextInt() >> random.nextInt(32);
            case TIME_WITHOUT_TIME_ZONE -> random.nextInt(86_400_000);
            case BIGINT, INTERVAL_DAY_TIME -> random.nextLong() >> random.nextInt(64);
            case FLOAT -> (float) random.nextGaussian() * (float) Math.pow(10, random.nextInt(30));
            case DOUBLE -> random.nextGaussian() * Math.pow(10, random.nextInt(300));
            case DECIMAL -> {
                int digits = 1 + random.nextInt(((DecimalType) type).getPrecision());
                BigInteger unscaled = new BigInteger(130, random).mod(BigInteger.TEN.pow(digits));
                yield decimal(type, random.nextBoolean() ? unscaled : unscaled.negate());
            }
            case CHAR, VARCHAR -> StringData.fromString(text(random));
            case BINARY, VARBINARY -> {
                byte[] bytes = new byte[random.nextInt(random.nextBoolean() ? 4 : 40)];
                random.nextBytes(bytes);
                yield bytes;
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
                    TimestampData.fromEpochMillis(
                            random.nextLong() >> random.nextInt(64), random.nextInt(1_000_000));
            default -> throw new IllegalArgumentException(type.toString());
        };
    }

    private static String text(Random random) {
        StringBuilder text = new StringBuilder();
        for (int n = random.nextInt(random.nextBoolean() ? 4 : 40); n > 0; n--) {
            int letter = random.nextInt(1 << (2 + random.nextInt(19)));
            boolean valid =
                    letter <= Character.MAX_CODE_POINT && (letter < 0xD800 || letter > 0xDFFF);
            text.appendCodePoint(valid ? letter : 'a');
        }
        assertThat(
                        new String(
                                text.toString().getBytes(StandardCharsets.UTF_8),
                                StandardCharsets.UTF_8))
                .isEqualTo(text.toString());
        return text.toString();
    }
}
