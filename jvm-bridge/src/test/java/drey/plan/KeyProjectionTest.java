package drey.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericArrayData;
import org.apache.flink.table.data.GenericMapData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.writer.BinaryRowWriter;
import org.apache.flink.table.planner.plan.utils.KeySelectorUtil;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

/**
 * A native key projection copies the bytes of a nested value. That is Flink's key, hence Flink's key group, only if Flink's
 * generated projection copies them too.
 */
class KeyProjectionTest {

    private static final int ROWS = 200;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ARRAY<INT>",
                "ARRAY<STRING>",
                "ARRAY<DECIMAL(30, 2)>",
                "ARRAY<TIMESTAMP(9)>",
                "ARRAY<ARRAY<STRING>>",
                "ARRAY<ROW<a DECIMAL(30, 2), b STRING>>",
                "MAP<STRING, INT>",
                "MAP<INT, ROW<a STRING, b TIMESTAMP(6)>>",
                "MULTISET<STRING>",
                "ROW<a INT, b STRING>",
                "ROW<a INT NOT NULL, b ROW<c STRING, d DOUBLE>>",
                "ROW<a ARRAY<TIMESTAMP(9)>, b MAP<STRING, DECIMAL(30, 2)>>",
                "ROW<a DECIMAL(30, 2), b TIMESTAMP(9), c TIMESTAMP_LTZ(6)>",
                "ROW<a INT, b ROW<c TIMESTAMP_LTZ(6)>>",
                "ROW<a DECIMAL(18, 2), b TIMESTAMP(3), c BINARY(3), d BOOLEAN>"
            })
    void takenKeyIsCopiedByFlinkToo(String text) throws Exception {
        LogicalType type = parse(text);
        assertThat(RowTypes.unsupportedKey(RowType.of(type), List.of(0))).isEmpty();
        Random random = new Random(1);
        for (int i = 0; i < ROWS; i++) {
            Object value = value(type, random);
            assertThat(fieldOf(projected(type, serialized(type, value))))
                    .isEqualTo(fieldOf(serialized(type, value)));
            // A row that comes out of generated code.
            BinaryRowData generated = projected(type, GenericRowData.of(value));
            assertThat(fieldOf(projected(type, generated))).isEqualTo(fieldOf(generated));
        }
    }

    /** Null in such a field has two forms; a projection mustn't turn one into the other. */
    @Test
    void roomForANestedNullIsKept() throws Exception {
        RowType nested = RowType.of(parse("DECIMAL(30, 2)"), parse("STRING"));
        BinaryRowData inner = new BinaryRowData(2);
        BinaryRowWriter innerWriter = new BinaryRowWriter(inner);
        innerWriter.writeDecimal(0, null, 30);
        innerWriter.writeString(1, StringData.fromString("longer than seven"));
        innerWriter.complete();
        BinaryRowData outer = new BinaryRowData(1);
        BinaryRowWriter outerWriter = new BinaryRowWriter(outer);
        outerWriter.writeRow(0, inner, new RowDataSerializer(nested));
        outerWriter.complete();
        assertThat(fieldOf(outer).orElseThrow())
                .hasSizeGreaterThan(
                        fieldOf(
                                        serialized(
                                                nested,
                                                GenericRowData.of(
                                                        null,
                                                        StringData.fromString(
                                                                "longer than seven"))))
                                .orElseThrow()
                                .size());

        assertThat(fieldOf(projected(nested, outer))).isEqualTo(fieldOf(outer));
    }

    private static LogicalType parse(String text) {
        return LogicalTypeParser.parse(text, KeyProjectionTest.class.getClassLoader());
    }

    private static BinaryRowData serialized(LogicalType type, Object value) {
        return new RowDataSerializer(type).toBinaryRow(GenericRowData.of(value)).copy();
    }

    private static BinaryRowData projected(LogicalType type, RowData row) throws Exception {
        RowDataKeySelector selector =
                SELECTORS.computeIfAbsent(
                        type,
                        t ->
                                KeySelectorUtil.getRowDataSelector(
                                        KeyProjectionTest.class.getClassLoader(),
                                        new int[] {0},
                                        InternalTypeInfo.of(RowType.of(t))));
        return ((BinaryRowData) selector.getKey(row)).copy();
    }

    private static final Map<LogicalType, RowDataKeySelector> SELECTORS = new LinkedHashMap<>();

    /** The bytes of the only field, or none if it is null. */
    private static Optional<List<Byte>> fieldOf(BinaryRowData row) {
        if (row.isNullAt(0)) {
            return Optional.empty();
        }
        byte[] bytes = new byte[row.getSizeInBytes()];
        row.getSegments()[0].get(row.getOffset(), bytes);
        long slot = row.getLong(0);
        byte[] field =
                Arrays.copyOfRange(bytes, (int) (slot >>> 32), (int) (slot >>> 32) + (int) slot);
        List<Byte> boxed = new ArrayList<>();
        for (byte b : field) {
            boxed.add(b);
        }
        return Optional.of(boxed);
    }

    private static Object value(LogicalType type, Random random) {
        if (type.isNullable() && random.nextInt(4) == 0) {
            return null;
        }
        return switch (type.getTypeRoot()) {
            case INTEGER -> random.nextInt();
            case DOUBLE -> random.nextDouble();
            case BOOLEAN -> random.nextBoolean();
            case BINARY -> new byte[] {1, (byte) random.nextInt(), 3};
            case VARCHAR -> StringData.fromString("x".repeat(random.nextInt(20)));
            case DECIMAL -> {
                var decimal = (DecimalType) type;
                yield DecimalData.fromBigDecimal(
                        BigDecimal.valueOf(random.nextInt(), decimal.getScale()),
                        decimal.getPrecision(),
                        decimal.getScale());
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
                    TimestampData.fromEpochMillis(random.nextInt());
            case ARRAY -> {
                Object[] elements = new Object[random.nextInt(4)];
                Arrays.setAll(elements, i -> value(type.getChildren().get(0), random));
                yield new GenericArrayData(elements);
            }
            case MAP, MULTISET -> {
                Map<Object, Object> map = new LinkedHashMap<>();
                for (int i = random.nextInt(4); i > 0; i--) {
                    map.put(
                            value(type.getChildren().get(0).copy(false), random),
                            type.getChildren().size() == 1
                                    ? (Object) i
                                    : value(type.getChildren().get(1), random));
                }
                yield new GenericMapData(map);
            }
            case ROW -> {
                GenericRowData row = new GenericRowData(type.getChildren().size());
                for (int i = 0; i < row.getArity(); i++) {
                    row.setField(i, value(type.getChildren().get(i), random));
                }
                yield row;
            }
            default -> throw new IllegalArgumentException(type.toString());
        };
    }
}
