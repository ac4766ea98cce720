package drey.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.jni.NativeException;
import drey.jni.NativeLibrary;
import drey.jni.NativeOperator;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.CDataDictionaryProvider;
import org.apache.arrow.c.Data;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.TimeMilliVector;
import org.apache.arrow.vector.TimeSecVector;
import org.apache.arrow.vector.TimeStampMicroVector;
import org.apache.arrow.vector.TimeStampMilliVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.types.DateUnit;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.TimeUnit;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * arrow-java as a host that knows nothing of Flink: it pushes what it has through the Arrow C data interface and reads the answer
 * as vectors. Flink's own serializer says what the rows in between must look like.
 */
class ArrowHostTest {

    private static final RowType EVERYTHING =
            (RowType)
                    DataTypes.ROW(
                                    DataTypes.FIELD("flag", DataTypes.BOOLEAN()),
                                    DataTypes.FIELD("tiny", DataTypes.TINYINT()),
                                    DataTypes.FIELD("number", DataTypes.INT()),
                                    DataTypes.FIELD("big", DataTypes.BIGINT().notNull()),
                                    DataTypes.FIELD("real", DataTypes.DOUBLE()),
                                    DataTypes.FIELD("text", DataTypes.STRING()),
                                    DataTypes.FIELD("bytes", DataTypes.BYTES()),
                                    DataTypes.FIELD("price", DataTypes.DECIMAL(10, 2)),
                                    DataTypes.FIELD("huge", DataTypes.DECIMAL(30, 5)),
                                    DataTypes.FIELD("day", DataTypes.DATE()),
                                    DataTypes.FIELD("time", DataTypes.TIME(3)),
                                    DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
                                    DataTypes.FIELD("exactly", DataTypes.TIMESTAMP(6)))
                            .getLogicalType();

    private BufferAllocator allocator;

    /**
     * Arrow's own classes reach into java.nio, for which its users start the JVM with --add-opens. Drey needs no such thing, and
     * the other tests of this JVM show it; so the package is opened here, when they have loaded what they need.
     */
    @BeforeAll
    static void load() throws Throwable {
        NativeLibrary.load();
        java.lang.reflect.Field field = MethodHandles.Lookup.class.getDeclaredField("IMPL_LOOKUP");
        MethodHandles.Lookup all =
                (MethodHandles.Lookup)
                        OffHeap.UNSAFE.getObject(
                                OffHeap.UNSAFE.staticFieldBase(field),
                                OffHeap.UNSAFE.staticFieldOffset(field));
        all.findVirtual(
                        Module.class,
                        "implAddOpensToAllUnnamed",
                        MethodType.methodType(void.class, String.class))
                .invoke(Object.class.getModule(), "java.nio");
    }

    @BeforeEach
    void before() {
        allocator = new RootAllocator();
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(NativeOperator.live()).isEmpty();
        assertThat(allocator.getAllocatedMemory()).isZero();
        allocator.close();
    }

    // --- schemas -----------------------------------------------------------------------------

    private static ArrowType arrowType(LogicalType type) {
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return new ArrowType.Bool();
            case TINYINT:
                return new ArrowType.Int(8, true);
            case INTEGER:
                return new ArrowType.Int(32, true);
            case BIGINT:
                return new ArrowType.Int(64, true);
            case DOUBLE:
                return new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE);
            case VARCHAR:
                return new ArrowType.Utf8();
            case VARBINARY:
                return new ArrowType.Binary();
            case DECIMAL:
                var decimal = (org.apache.flink.table.types.logical.DecimalType) type;
                return new ArrowType.Decimal(decimal.getPrecision(), decimal.getScale(), 128);
            case DATE:
                return new ArrowType.Date(DateUnit.DAY);
            case TIME_WITHOUT_TIME_ZONE:
                return ((org.apache.flink.table.types.logical.TimeType) type).getPrecision() == 0
                        ? new ArrowType.Time(TimeUnit.SECOND, 32)
                        : new ArrowType.Time(TimeUnit.MILLISECOND, 32);
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return new ArrowType.Timestamp(
                        ((org.apache.flink.table.types.logical.TimestampType) type).getPrecision()
                                        <= 3
                                ? TimeUnit.MILLISECOND
                                : TimeUnit.MICROSECOND,
                        null);
            default:
                throw new AssertionError(type);
        }
    }

    private static Field kind() {
        return new Field("kind", FieldType.notNullable(new ArrowType.Int(8, true)), null);
    }

    private static Schema columnar(RowType type) {
        List<Field> fields = new ArrayList<>(List.of(kind()));
        for (RowType.RowField field : type.getFields()) {
            LogicalType t = field.getType();
            fields.add(
                    new Field(
                            field.getName(),
                            new FieldType(
                                    t.isNullable(),
                                    arrowType(t),
                                    null,
                                    Map.of("flink.type", t.asSerializableString())),
                            null));
        }
        return new Schema(fields);
    }

    private static Schema rowForm(RowType type, boolean output) {
        List<Field> fields = new ArrayList<>(List.of(kind()));
        fields.add(
                new Field(
                        "row",
                        new FieldType(
                                false,
                                new ArrowType.Binary(),
                                null,
                                Map.of("drey.form", "row", "flink.fields", RowSchema.fields(type))),
                        null));
        if (output) {
            fields.add(
                    new Field("source", FieldType.notNullable(new ArrowType.Int(32, true)), null));
        }
        return new Schema(fields);
    }

    // --- calls -------------------------------------------------------------------------------

    private long open(String spec, Schema in, Schema out) {
        try (ArrowSchema input = ArrowSchema.allocateNew(allocator);
                ArrowSchema output = ArrowSchema.allocateNew(allocator)) {
            Data.exportSchema(allocator, in, null, input);
            Data.exportSchema(allocator, out, null, output);
            try {
                return NativeOperator.open(
                        spec,
                        new long[] {input.memoryAddress()},
                        output.memoryAddress(),
                        128,
                        0,
                        127,
                        1 << 24,
                        null);
            } finally {
                // Borrowed for the call: still ours to release.
                input.release();
                output.release();
            }
        }
    }

    /** Exports the root and pushes it; the root may be closed afterwards, the array has moved. */
    private long push(long handle, VectorSchemaRoot root) {
        try (ArrowArray array = ArrowArray.allocateNew(allocator)) {
            Data.exportVectorSchemaRoot(allocator, root, null, array);
            try {
                return NativeOperator.push(handle, 0, array.memoryAddress(), 0);
            } finally {
                assertThat(array.snapshot().release).as("moved, whatever happened").isZero();
            }
        }
    }

    /** The next chunk of output as vectors, or null. */
    private VectorSchemaRoot poll(long handle, Schema schema) {
        try (ArrowArray array = ArrowArray.allocateNew(allocator);
                CDataDictionaryProvider dictionaries = new CDataDictionaryProvider()) {
            if (NativeOperator.poll(handle, array.memoryAddress()) == 0) {
                return null;
            }
            VectorSchemaRoot root = VectorSchemaRoot.create(schema, allocator);
            Data.importIntoVectorSchemaRoot(allocator, array, root, dictionaries);
            return root;
        }
    }

    // --- rows --------------------------------------------------------------------------------

    private static BigDecimal decimal(long unscaled, int scale) {
        return BigDecimal.valueOf(unscaled, scale);
    }

    /** Row i, as Flink has it; every third value is null. */
    private static GenericRowData flinkRow(int i) {
        GenericRowData row = new GenericRowData(EVERYTHING.getFieldCount());
        Object[] values = {
            i % 2 == 0,
            (byte) (i - 60),
            i * -7_000,
            (long) i << 33,
            i / 4.0,
            StringData.fromString("é".repeat(i % 10)),
            ("bytes " + i).getBytes(StandardCharsets.UTF_8),
            DecimalData.fromBigDecimal(decimal(i * 100L - 2_000, 2), 10, 2),
            DecimalData.fromBigDecimal(
                    decimal(i - 50, 5)
                            .multiply(new BigDecimal("123456789012345678901"))
                            .setScale(5),
                    30,
                    5),
            19_000 - i,
            i * 1_001,
            TimestampData.fromEpochMillis(-1_000_003L * i),
            TimestampData.fromEpochMillis(-1_000_003L * i, 1_000 * (i % 1_000))
        };
        for (int f = 0; f < values.length; f++) {
            row.setField(f, f != 3 && (i + f) % 3 == 0 ? null : values[f]);
        }
        return row;
    }

    private VectorSchemaRoot vectors(int from, int to) {
        VectorSchemaRoot root = VectorSchemaRoot.create(columnar(EVERYTHING), allocator);
        for (int i = from; i < to; i++) {
            int at = i - from;
            GenericRowData row = flinkRow(i);
            ((TinyIntVector) root.getVector(0)).setSafe(at, i % 4);
            for (int f = 0; f < row.getArity(); f++) {
                set(root.getVector(f + 1), at, row.getField(f));
            }
        }
        root.setRowCount(to - from);
        return root;
    }

    private static void set(FieldVector vector, int at, Object value) {
        if (value == null) {
            if (vector.getValueCapacity() <= at) {
                vector.reAlloc();
            }
            vector.setNull(at);
        } else if (vector instanceof BitVector v) {
            v.setSafe(at, (Boolean) value ? 1 : 0);
        } else if (vector instanceof TinyIntVector v) {
            v.setSafe(at, (Byte) value);
        } else if (vector instanceof IntVector v) {
            v.setSafe(at, (Integer) value);
        } else if (vector instanceof BigIntVector v) {
            v.setSafe(at, (Long) value);
        } else if (vector instanceof Float8Vector v) {
            v.setSafe(at, (Double) value);
        } else if (vector instanceof VarCharVector v) {
            v.setSafe(at, ((StringData) value).toBytes());
        } else if (vector instanceof VarBinaryVector v) {
            v.setSafe(at, (byte[]) value);
        } else if (vector instanceof DecimalVector v) {
            v.setSafe(at, ((DecimalData) value).toBigDecimal());
        } else if (vector instanceof DateDayVector v) {
            v.setSafe(at, (Integer) value);
        } else if (vector instanceof TimeSecVector v) {
            v.setSafe(at, (Integer) value / 1000);
        } else if (vector instanceof TimeMilliVector v) {
            v.setSafe(at, (Integer) value);
        } else if (vector instanceof TimeStampMilliVector v) {
            v.setSafe(at, ((TimestampData) value).getMillisecond());
        } else if (vector instanceof TimeStampMicroVector v) {
            TimestampData t = (TimestampData) value;
            v.setSafe(at, t.getMillisecond() * 1_000 + t.getNanoOfMillisecond() / 1_000);
        } else {
            throw new AssertionError(vector);
        }
    }

    private static byte[] bytesOf(BinaryRowData row) {
        byte[] bytes = new byte[row.getSizeInBytes()];
        row.getSegments()[0].get(row.getOffset(), bytes);
        return bytes;
    }

    // --- tests -------------------------------------------------------------------------------

    /** Columns in, rows out: byte for byte what Flink's serializer makes of the same values. */
    @Test
    void columnsBecomeFlinksRows() {
        Schema out = rowForm(EVERYTHING, true);
        long handle = open(RowBatchTest.ECHO, columnar(EVERYTHING), out);
        RowDataSerializer serializer = new RowDataSerializer(EVERYTHING);
        try (VectorSchemaRoot root = vectors(0, 100)) {
            assertThat(push(handle, root)).isEqualTo(100);
            try (VectorSchemaRoot answer = poll(handle, out)) {
                assertThat(answer.getRowCount()).isEqualTo(100);
                for (int i = 0; i < 100; i++) {
                    assertThat(((TinyIntVector) answer.getVector("kind")).get(i))
                            .isEqualTo((byte) (i % 4));
                    assertThat(((IntVector) answer.getVector("source")).get(i)).isEqualTo(i);
                    byte[] row = ((VarBinaryVector) answer.getVector("row")).get(i);
                    assertThat(row[0]).as("kind in the header").isEqualTo((byte) (i % 4));
                    row[0] = 0;
                    assertThat(row)
                            .as("row %d", i)
                            .isEqualTo(bytesOf(serializer.toBinaryRow(flinkRow(i))));
                }
            }
            assertThat(poll(handle, out)).isNull();
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** Columns in, columns out; empty and sliced batches among them. */
    @Test
    void columnsComeBackAsColumns() {
        Schema schema = columnar(EVERYTHING);
        long handle = open(RowBatchTest.ECHO, schema, schema);
        try {
            for (int[] range : new int[][] {{0, 100}, {0, 0}, {3, 17}, {99, 100}}) {
                try (VectorSchemaRoot whole = vectors(0, 100);
                        VectorSchemaRoot slice = whole.slice(range[0], range[1] - range[0])) {
                    assertThat(push(handle, slice)).isEqualTo(range[1] - range[0]);
                    try (VectorSchemaRoot answer = poll(handle, schema)) {
                        if (range[0] == range[1]) {
                            assertThat(answer).isNull();
                            continue;
                        }
                        assertThat(answer.getRowCount()).isEqualTo(range[1] - range[0]);
                        for (int i = 0; i < answer.getRowCount(); i++) {
                            for (FieldVector vector : answer.getFieldVectors()) {
                                Object expected =
                                        whole.getVector(vector.getName()).getObject(range[0] + i);
                                assertThat(vector.getObject(i))
                                        .as("%s, row %d", vector.getName(), i)
                                        .isEqualTo(expected);
                            }
                        }
                    }
                    assertThat(poll(handle, schema)).isNull();
                }
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** Rows in, columns out. The kind in the header byte is not looked at. */
    @Test
    void rowsBecomeColumns() {
        Schema in = rowForm(EVERYTHING, false);
        Schema out = columnar(EVERYTHING);
        long handle = open(RowBatchTest.ECHO, in, out);
        RowDataSerializer serializer = new RowDataSerializer(EVERYTHING);
        try (VectorSchemaRoot root = VectorSchemaRoot.create(in, allocator);
                VectorSchemaRoot expected = vectors(0, 50)) {
            for (int i = 0; i < 50; i++) {
                ((TinyIntVector) root.getVector(0)).setSafe(i, i % 4);
                ((VarBinaryVector) root.getVector(1))
                        .setSafe(i, bytesOf(serializer.toBinaryRow(flinkRow(i))));
            }
            root.setRowCount(50);
            assertThat(push(handle, root)).isEqualTo(50);
            try (VectorSchemaRoot answer = poll(handle, out)) {
                assertThat(answer.equals(expected)).as(answer.contentToTSVString()).isTrue();
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** A real operator, keep-last by arrival, fed column by column. The expected changelog is SQL's, by hand. */
    @Test
    void deduplicatesColumns() {
        RowType type =
                (RowType)
                        DataTypes.ROW(
                                        DataTypes.FIELD("name", DataTypes.STRING()),
                                        DataTypes.FIELD("v", DataTypes.INT()))
                                .getLogicalType();
        Schema schema = columnar(type);
        String keepLast =
                "{\"generateInsert\":true,\"generateUpdateBefore\":true,\"isRowtime\":false,\"keepLastRow\":true,"
                        + "\"operator\":\"deduplicate\",\"outputInsertOnly\":false,\"stateTtlMillis\":0,\"uniqueKeys\":[0],\"version\":1}";
        long handle = open(keepLast, schema, schema);
        try (VectorSchemaRoot root = VectorSchemaRoot.create(schema, allocator)) {
            String[] names = {"Alice", "Bob", "Alice", null, "Alice", null};
            for (int i = 0; i < names.length; i++) {
                ((TinyIntVector) root.getVector(0)).setSafe(i, 0);
                set(
                        root.getVector(1),
                        i,
                        names[i] == null ? null : StringData.fromString(names[i]));
                set(root.getVector(2), i, i);
            }
            root.setRowCount(names.length);
            push(handle, root);
            List<String> log = new ArrayList<>();
            try (VectorSchemaRoot answer = poll(handle, schema)) {
                for (int i = 0; i < answer.getRowCount(); i++) {
                    log.add(
                            new String[] {"+I", "-U", "+U", "-D"}
                                            [((TinyIntVector) answer.getVector(0)).get(i)]
                                    + " "
                                    + answer.getVector(1).getObject(i)
                                    + " "
                                    + answer.getVector(2).getObject(i));
                }
            }
            assertThat(log)
                    .containsExactly(
                            "+I Alice 0",
                            "+I Bob 1",
                            "-U Alice 0",
                            "+U Alice 2",
                            "+I null 3",
                            "-U Alice 2",
                            "+U Alice 4",
                            "-U null 3",
                            "+U null 5");
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** A null where the type has none is the host's mistake, and named; the batch is released all the same. */
    @Test
    void nullsInNotNullColumnsAreRefused() {
        Schema schema = columnar(EVERYTHING);
        long handle = open(RowBatchTest.ECHO, schema, schema);
        try (VectorSchemaRoot root = vectors(0, 10)) {
            root.getVector("big").setNull(7);
            assertThatThrownBy(() -> push(handle, root))
                    .isInstanceOfSatisfying(
                            NativeException.class,
                            e -> assertThat(e.status()).isEqualTo(NativeException.CORRUPT))
                    .hasMessageContaining("field big: row 7 is null");
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** An answer that the host does not want is its to release, also after the handle is closed. */
    @Test
    void anAnswerNobodyImportsIsReleased() {
        Schema schema = columnar(EVERYTHING);
        long handle = open(RowBatchTest.ECHO, schema, schema);
        try (VectorSchemaRoot root = vectors(0, 100);
                ArrowArray array = ArrowArray.allocateNew(allocator)) {
            push(handle, root);
            assertThat(NativeOperator.poll(handle, array.memoryAddress())).isEqualTo(100);
            assertThat(NativeOperator.live()).contains("columns: ");
            NativeOperator.close(handle);
            assertThat(NativeOperator.live()).contains("columns: ").doesNotContain("handle");
            array.release();
        }
    }
}
