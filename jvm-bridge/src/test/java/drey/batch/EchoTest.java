package drey.batch;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.NativeLibrary;
import drey.jni.NativeOperator;

import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.VarCharType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** What tests of batches share: rows for the library's echo, and that neither side keeps memory or a handle behind. */
abstract class EchoTest {

    static final RowType TYPE =
            RowType.of(
                    new LogicalType[] {new BigIntType(), new VarCharType(VarCharType.MAX_LENGTH)},
                    new String[] {"id", "na\"me \uD83D\uDE00"});

    private final RowDataSerializer serializer = new RowDataSerializer(TYPE);
    private long javaBytesBefore;

    @BeforeAll
    static void load() {
        NativeLibrary.load();
    }

    @BeforeEach
    void before() {
        javaBytesBefore = OffHeap.liveBytes();
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(NativeOperator.live()).isEmpty();
        assertThat(OffHeap.liveBytes()).isEqualTo(javaBytesBefore);
    }

    final BinaryRowData binary(long id, String name) {
        return serializer.toBinaryRow(GenericRowData.of(id, StringData.fromString(name))).copy();
    }
}
