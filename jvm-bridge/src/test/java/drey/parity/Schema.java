package drey.parity;

import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericArrayData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.planner.plan.utils.KeySelectorUtil;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.ArrayType;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.BinaryType;
import org.apache.flink.table.types.logical.BooleanType;
import org.apache.flink.table.types.logical.CharType;
import org.apache.flink.table.types.logical.DateType;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.DoubleType;
import org.apache.flink.table.types.logical.FloatType;
import org.apache.flink.table.types.logical.IntType;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.SmallIntType;
import org.apache.flink.table.types.logical.TimeType;
import org.apache.flink.table.types.logical.TimestampKind;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.TinyIntType;
import org.apache.flink.table.types.logical.VarBinaryType;
import org.apache.flink.table.types.logical.VarCharType;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** The input of a parity run: key columns of chosen types, a rowtime, and payload columns. */
final class Schema {

    /** Types a key column may have, all nullable. */
    static final List<LogicalType> KEY_TYPES =
            List.of(
                    new BigIntType(),
                    new IntType(),
                    new SmallIntType(),
                    new TinyIntType(),
                    new BooleanType(),
                    new VarCharType(VarCharType.MAX_LENGTH),
                    new CharType(6),
                    new DecimalType(10, 2),
                    new DecimalType(38, 4),
                    new TimestampType(3),
                    new TimestampType(6),
                    new LocalZonedTimestampType(3),
                    new LocalZonedTimestampType(9),
                    new DateType(),
                    new TimeType(0),
                    new DoubleType(),
                    new FloatType(),
                    new VarBinaryType(VarBinaryType.MAX_LENGTH),
                    new BinaryType(4));

    /** Nested ones; scenario files have no text form for them. */
    static final List<LogicalType> NESTED_KEY_TYPES =
            List.of(new ArrayType(new IntType()), RowType.of(new IntType(), new VarCharType(100)));

    private final RowType type;
    private final int[] keys;
    private final int rowtimeIndex;
    private RowDataKeySelector selector;

    /** Key columns are spread around the rowtime, and named in reverse order, so that positions can't be mixed up. */
    Schema(List<LogicalType> keyTypes) {
        List<RowType.RowField> fields = new ArrayList<>();
        fields.add(new RowType.RowField("payload1", new VarCharType(VarCharType.MAX_LENGTH)));
        int half = keyTypes.size() / 2;
        keys = new int[keyTypes.size()];
        for (int k = 0; k < half; k++) {
            keys[keys.length - 1 - k] = fields.size();
            fields.add(new RowType.RowField("key" + k, keyTypes.get(k)));
        }
        rowtimeIndex = fields.size();
        fields.add(new RowType.RowField("rt", new TimestampType(false, TimestampKind.ROWTIME, 3)));
        fields.add(new RowType.RowField("payload2", new BigIntType()));
        for (int k = half; k < keyTypes.size(); k++) {
            keys[keys.length - 1 - k] = fields.size();
            fields.add(new RowType.RowField("key" + k, keyTypes.get(k)));
        }
        fields.add(new RowType.RowField("payload3", new DecimalType(30, 3)));
        fields.add(new RowType.RowField("payload4", new TimestampType(6)));
        type = new RowType(false, fields);
    }

    Schema(RowType type, int[] keys, int rowtimeIndex) {
        this.type = type;
        this.keys = keys;
        this.rowtimeIndex = rowtimeIndex;
    }

    RowType type() {
        return type;
    }

    int[] keys() {
        return keys;
    }

    int rowtimeIndex() {
        return rowtimeIndex;
    }

    RowDataSerializer serializer() {
        return new RowDataSerializer(type);
    }

    RowDataKeySelector selector() {
        if (selector == null) {
            selector =
                    KeySelectorUtil.getRowDataSelector(
                            getClass().getClassLoader(), keys, InternalTypeInfo.of(type));
        }
        return selector.copy();
    }

    /**
     * A row whose key is one of {@code keySpace} and whose payload is one of a few, so that equal rows are frequent.
     */
    GenericRowData row(RandomGenerator rng, int keySpace, long rowtime) {
        int key = rng.nextInt(keySpace);
        int payload = rng.nextInt(6);
        GenericRowData row = new GenericRowData(type.getFieldCount());
        int keyColumn = 0;
        for (int i = 0; i < row.getArity(); i++) {
            String name = type.getFieldNames().get(i);
            LogicalType t = type.getTypeAt(i);
            if (i == rowtimeIndex) {
                row.setField(i, TimestampData.fromEpochMillis(rowtime));
            } else if (name.startsWith("key")) {
                // The first key column carries the whole key, the others vary with it.
                row.setField(i, value(t, keyColumn == 0 ? key : key >> keyColumn));
                keyColumn++;
            } else {
                row.setField(i, value(t, payload * 37 + i));
            }
        }
        return row;
    }

    /** The n-th value of a type: 0 is NULL, then the type's corner cases, then ordinary values. */
    static Object value(LogicalType type, int n) {
        if (n == 0) {
            return null;
        }
        return switch (type.getTypeRoot()) {
            case BIGINT ->
                    n == 1
                            ? Long.MIN_VALUE
                            : n == 2 ? Long.MAX_VALUE : (long) (n - 4) * 0x1_0000_0001L;
            case INTEGER -> n == 1 ? Integer.MIN_VALUE : n == 2 ? Integer.MAX_VALUE : n - 4;
            case SMALLINT -> (short) (n == 1 ? Short.MIN_VALUE : n - 4);
            case TINYINT -> (byte) (n == 1 ? Byte.MIN_VALUE : n - 4);
            case BOOLEAN -> (n & 1) == 0;
            case VARCHAR -> StringData.fromString(text(n));
            case CHAR -> StringData.fromString(String.format("%06d", n));
            case DECIMAL -> {
                DecimalType d = (DecimalType) type;
                BigInteger unscaled =
                        n == 1
                                ? BigInteger.TEN.pow(d.getPrecision()).subtract(BigInteger.ONE)
                                : BigInteger.valueOf(n - 4L).pow(n % 3 + 1);
                yield DecimalData.fromBigDecimal(
                        new BigDecimal(unscaled, d.getScale()), d.getPrecision(), d.getScale());
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE -> timestamp(((TimestampType) type).getPrecision(), n);
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
                    timestamp(((LocalZonedTimestampType) type).getPrecision(), n);
            case DATE -> n * 31 - 1000;
            case TIME_WITHOUT_TIME_ZONE -> n * 1000;
            case DOUBLE ->
                    n == 1
                            ? Double.NaN
                            : n == 2
                                    ? -0.0
                                    : n == 3 ? 0.0 : n == 4 ? Double.NEGATIVE_INFINITY : n / 8.0;
            case FLOAT ->
                    n == 1
                            ? Float.NaN
                            : n == 2
                                    ? -0.0f
                                    : n == 3 ? 0.0f : n == 4 ? Float.NEGATIVE_INFINITY : n / 8.0f;
            case VARBINARY ->
                    n == 1
                            ? new byte[0]
                            : text(n).getBytes(java.nio.charset.StandardCharsets.UTF_16BE);
            case BINARY -> new byte[] {(byte) n, (byte) (n >> 8), (byte) ~n, 0};
            case ARRAY -> {
                Integer[] elements = new Integer[n % 4];
                for (int i = 1; i < elements.length; i++) {
                    elements[i] = n * i; // the first one stays NULL
                }
                yield new GenericArrayData(elements);
            }
            case ROW -> {
                RowType row = (RowType) type;
                yield GenericRowData.of(value(row.getTypeAt(0), n % 5), value(row.getTypeAt(1), n));
            }
            default -> throw new IllegalArgumentException(type.asSummaryString());
        };
    }

    private static TimestampData timestamp(int precision, int n) {
        long millis = n == 1 ? -1 : (n - 4) * 86_400_001L;
        return TimestampData.fromEpochMillis(
                millis, precision <= 3 ? 0 : precision <= 6 ? n * 1000 : n);
    }

    private static String text(int n) {
        return switch (n % 7) {
            case 1 -> n == 1 ? "" : "k" + n;
            case 2 -> "1234567".substring(0, 6) + (char) ('a' + n % 26);
            case 3 -> "ключ-" + n;
            case 4 -> "\uD83D\uDE00" + n;
            case 5 -> "a rather long key that never fits the fixed part of a row, number " + n;
            case 6 -> "12345678" + n;
            default -> Integer.toString(n);
        };
    }

    String format(RowData row) {
        return format(type, row);
    }

    static String format(RowType type, RowData row) {
        StringBuilder s = new StringBuilder(row.getRowKind().shortString());
        for (int i = 0; i < type.getFieldCount(); i++) {
            Object v = RowData.createFieldGetter(type.getTypeAt(i), i).getFieldOrNull(row);
            s.append(i == 0 ? "(" : ", ")
                    .append(v instanceof byte[] b ? java.util.HexFormat.of().formatHex(b) : v);
        }
        return s.append(')').toString();
    }

    BinaryRowData binary(RowData row) {
        return serializer().toBinaryRow(row).copy();
    }
}
