package drey.nexmark.digest;

import java.io.Serializable;
import java.nio.ByteOrder;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.binary.BinaryStringData;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;

/**
 * Hashes rows by the values of their fields, whatever the form of the row: a row of one engine may be a BinaryRowData, the
 * same row of the other a Calc's output. Fields of a BinaryRowData are read in place, strings in long steps.
 * Little-endian machines only, as BinaryRowData is written in native order; all that Flink supports are.
 */
public final class RowHasher implements Serializable {

    private static final long serialVersionUID = 1L;

    private static final int BOOLEAN = 0;
    private static final int BYTE = 1;
    private static final int SHORT = 2;
    private static final int INT = 3;
    private static final int LONG = 4;
    private static final int FLOAT = 5;
    private static final int DOUBLE = 6;
    private static final int STRING = 7;
    private static final int BYTES = 8;
    private static final int TIMESTAMP = 9;
    private static final int WIDE_TIMESTAMP = 10;
    private static final int DECIMAL = 11;
    private static final int WIDE_DECIMAL = 12;

    private static final long NULL = 0x1B873593CC9E2D51L;
    private static final long K0 = 0x2D358DCCAA6C78A5L;
    private static final long K1 = 0x8BB84B93962EACC9L;

    private final int[] types;
    private final int[] precisions;
    private final int[] scales;
    private final long[] rowFactors;
    private final long[] keyFactors;
    private final int nullBytes;

    private long rowHash;
    private long keyHash;

    /** @param key the columns of the key; none means all of them */
    public RowHasher(RowType type, int[] key) {
        if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            throw new IllegalStateException("the digest sink needs a little-endian machine");
        }
        int arity = type.getFieldCount();
        types = new int[arity];
        precisions = new int[arity];
        scales = new int[arity];
        rowFactors = new long[arity];
        keyFactors = new long[arity];
        nullBytes = BinaryRowData.calculateBitSetWidthInBytes(arity);
        for (int i = 0; i < arity; i++) {
            rowFactors[i] = mix(K0 + i, K1 + 2 * i) | 1;
            keyFactors[i] = key.length == 0 ? rowFactors[i] : 0;
            types[i] = code(type.getTypeAt(i), type.getFieldNames().get(i), i);
        }
        for (int column : key) {
            keyFactors[column] = rowFactors[column];
        }
    }

    private int code(LogicalType type, String name, int i) {
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return BOOLEAN;
            case TINYINT:
                return BYTE;
            case SMALLINT:
                return SHORT;
            case INTEGER:
            case DATE:
            case TIME_WITHOUT_TIME_ZONE:
            case INTERVAL_YEAR_MONTH:
                return INT;
            case BIGINT:
            case INTERVAL_DAY_TIME:
                return LONG;
            case FLOAT:
                return FLOAT;
            case DOUBLE:
                return DOUBLE;
            case CHAR:
            case VARCHAR:
                return STRING;
            case BINARY:
            case VARBINARY:
                return BYTES;
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                precisions[i] = LogicalTypeChecks.getPrecision(type);
                return TimestampData.isCompact(precisions[i]) ? TIMESTAMP : WIDE_TIMESTAMP;
            case DECIMAL:
                precisions[i] = ((DecimalType) type).getPrecision();
                scales[i] = ((DecimalType) type).getScale();
                return DecimalData.isCompact(precisions[i]) ? DECIMAL : WIDE_DECIMAL;
            default:
                throw new ValidationException(
                        "digest: column " + name + " has a type it can't hash: " + type);
        }
    }

    /**
     * Computes {@link #rowHash} and {@link #keyHash} of a row, whose kind plays no part. The fields' hashes are added up,
     * each times a factor of its own, so that the processor need not wait for one before it begins the next.
     */
    public void hash(RowData row) {
        long all = 0;
        long key = 0;
        BinaryRowData binary = null;
        MemorySegment segment = null;
        if (row instanceof BinaryRowData) {
            binary = (BinaryRowData) row;
            segment = binary.getSegments().length == 1 ? binary.getSegments()[0] : null;
        }
        for (int i = 0; i < types.length; i++) {
            long field;
            if (row.isNullAt(i)) {
                field = NULL;
            } else if (segment != null) {
                field = binaryField(segment, binary.getOffset(), i, row);
            } else {
                field = field(row, i);
            }
            all += field * rowFactors[i];
            key += field * keyFactors[i];
        }
        rowHash = mix(all ^ K0, K1);
        keyHash = mix(key ^ K0, K1);
    }

    public long rowHash() {
        return rowHash;
    }

    public long keyHash() {
        return keyHash;
    }

    private long binaryField(MemorySegment segment, int base, int i, RowData row) {
        int at = base + nullBytes + 8 * i;
        switch (types[i]) {
            case LONG:
            case TIMESTAMP:
            case DECIMAL:
                return segment.getLong(at);
            case INT:
                return segment.getInt(at);
            case STRING:
                long word = segment.getLong(at);
                if (word < 0) {
                    return hashBytes(segment, at, (int) (word >>> 56) & 0x7F);
                }
                return hashBytes(segment, base + (int) (word >>> 32), (int) word);
            default:
                return field(row, i);
        }
    }

    private long field(RowData row, int i) {
        switch (types[i]) {
            case BOOLEAN:
                return row.getBoolean(i) ? 1 : 0;
            case BYTE:
                return row.getByte(i);
            case SHORT:
                return row.getShort(i);
            case INT:
                return row.getInt(i);
            case LONG:
                return row.getLong(i);
            case FLOAT:
                return Float.floatToIntBits(row.getFloat(i));
            case DOUBLE:
                return Double.doubleToLongBits(row.getDouble(i));
            case STRING:
                return hashString((BinaryStringData) row.getString(i));
            case BYTES:
                return hashBytes(row.getBinary(i));
            case TIMESTAMP:
                return row.getTimestamp(i, precisions[i]).getMillisecond();
            case WIDE_TIMESTAMP:
                TimestampData timestamp = row.getTimestamp(i, precisions[i]);
                return mix(timestamp.getMillisecond(), K0) ^ timestamp.getNanoOfMillisecond();
            case DECIMAL:
                return row.getDecimal(i, precisions[i], scales[i]).toUnscaledLong();
            default:
                return hashBytes(row.getDecimal(i, precisions[i], scales[i]).toUnscaledBytes());
        }
    }

    private static long hashString(BinaryStringData string) {
        string.ensureMaterialized();
        MemorySegment[] segments = string.getSegments();
        if (segments.length == 1) {
            return hashBytes(segments[0], string.getOffset(), string.getSizeInBytes());
        }
        return hashBytes(string.toBytes());
    }

    private static long hashBytes(byte[] bytes) {
        return hashBytes(MemorySegmentFactory.wrap(bytes), 0, bytes.length);
    }

    /** Thirty-two bytes a step in two lanes; the rest is read without overrunning it. */
    private static long hashBytes(MemorySegment segment, int offset, int length) {
        long hash = length ^ K0;
        int at = offset;
        int left = length;
        if (left > 32) {
            long other = K1;
            do {
                hash = mix(segment.getLong(at) ^ K1, segment.getLong(at + 8) ^ hash);
                other = mix(segment.getLong(at + 16) ^ K0, segment.getLong(at + 24) ^ other);
                at += 32;
                left -= 32;
            } while (left > 32);
            hash ^= other;
        }
        if (left > 16) {
            hash = mix(segment.getLong(at) ^ K1, segment.getLong(at + 8) ^ hash);
            at += 16;
            left -= 16;
        }
        long a = 0;
        long b = 0;
        if (left >= 8) {
            a = segment.getLong(at);
            b = segment.getLong(at + left - 8);
        } else if (left >= 4) {
            a = segment.getInt(at);
            b = segment.getInt(at + left - 4);
        } else {
            for (int i = 0; i < left; i++) {
                a = a << 8 | (segment.get(at + i) & 0xFF);
            }
        }
        return mix(a ^ K1, b ^ hash);
    }

    /** Both halves of the 128-bit product, folded. */
    public static long mix(long a, long b) {
        return Math.multiplyHigh(a, b) ^ (a * b);
    }
}
