package drey.nexmark.generator;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Writes rows in Flink's BinaryRowData layout straight into one byte array, nested rows in place, without an object per
 * field. A row: eight bytes of row kind and null bits (up to 56 fields), eight bytes per field, then the variable part in
 * eight-byte units. Strings of up to seven bytes lie in their field. Equality with BinaryRowWriter's bytes is tested.
 */
final class RowBuffer {

    private static final VarHandle LONG =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private static final boolean LITTLE_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private byte[] bytes = new byte[1024];
    private int end;

    byte[] bytes() {
        return bytes;
    }

    int size() {
        return end;
    }

    void clear() {
        end = 0;
    }

    /** Begins a row of all zero, non-null fields at the end of the buffer and returns its base. */
    int begin(int arity) {
        int base = end;
        grow(8 + 8 * arity);
        Arrays.fill(bytes, base, end, (byte) 0);
        return base;
    }

    void setNull(int base, int field) {
        bytes[base + ((field + 8) >>> 3)] |= (byte) (1 << ((field + 8) & 7));
    }

    void setLong(int base, int field, long value) {
        LONG.set(bytes, base + 8 + 8 * field, value);
    }

    void setInt(int base, int field, int value) {
        setLong(base, field, LITTLE_ENDIAN ? value & 0xFFFFFFFFL : (long) value << 32);
    }

    void setString(int base, int field, byte[] source, int length) {
        if (length <= 7) {
            long word = (0x80L | length) << 56;
            for (int i = 0; i < length; i++) {
                word |= (source[i] & 0xFFL) << (LITTLE_ENDIAN ? 8 * i : 48 - 8 * i);
            }
            setLong(base, field, word);
            return;
        }
        int start = end;
        int padded = (length + 7) & ~7;
        grow(padded);
        if (padded > length) {
            LONG.set(bytes, end - 8, 0L);
        }
        System.arraycopy(source, 0, bytes, start, length);
        setReference(base, field, start, length);
    }

    /** Makes the field of an outer row refer to the nested row that was written since {@code nested}. */
    void setRow(int base, int field, int nested) {
        setReference(base, field, nested, end - nested);
    }

    private void setReference(int base, int field, int start, int length) {
        setLong(base, field, (long) (start - base) << 32 | length);
    }

    private void grow(int by) {
        end += by;
        if (end > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(end, 2 * bytes.length));
        }
    }
}
