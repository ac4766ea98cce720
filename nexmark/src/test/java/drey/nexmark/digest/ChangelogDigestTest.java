package drey.nexmark.digest;

import static org.apache.flink.types.RowKind.DELETE;
import static org.apache.flink.types.RowKind.INSERT;
import static org.apache.flink.types.RowKind.UPDATE_AFTER;
import static org.apache.flink.types.RowKind.UPDATE_BEFORE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.nexmark.digest.ChangelogDigest.Sameness;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.math.BigDecimal;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.utils.JoinedRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.Test;

class ChangelogDigestTest {

    private static final RowType PAIR =
            (RowType)
                    DataTypes.ROW(
                                    DataTypes.FIELD("k", DataTypes.BIGINT()),
                                    DataTypes.FIELD("v", DataTypes.STRING()))
                            .getLogicalType();

    private final RowHasher hasher = new RowHasher(PAIR, new int[] {0});

    private record Change(RowKind kind, long key, String value) {}

    private static Change c(RowKind kind, long key, String value) {
        return new Change(kind, key, value);
    }

    /** The three digests of a changelog. */
    private Map<Sameness, ChangelogDigest> digest(boolean keyed, Change... changes) {
        Map<Sameness, ChangelogDigest> digests = new EnumMap<>(Sameness.class);
        for (Sameness sameness : Sameness.values()) {
            ChangelogDigest digest = new ChangelogDigest(sameness);
            digests.put(sameness, digest);
            for (Change change : changes) {
                hasher.hash(GenericRowData.of(change.key, StringData.fromString(change.value)));
                if (keyed) {
                    digest.applyKeyed(change.kind, hasher.keyHash(), hasher.rowHash());
                } else {
                    digest.apply(change.kind, hasher.keyHash(), hasher.rowHash());
                }
            }
        }
        return digests;
    }

    private static void assertSame(
            Map<Sameness, ChangelogDigest> a,
            Map<Sameness, ChangelogDigest> b,
            boolean order,
            boolean changes,
            boolean result) {
        Map<Sameness, Boolean> expected =
                Map.of(
                        Sameness.ORDER, order,
                        Sameness.CHANGES, changes,
                        Sameness.RESULT, result,
                        Sameness.NOTHING, true);
        expected.forEach(
                (sameness, same) -> {
                    int difference = a.get(sameness).firstDifference(b.get(sameness));
                    assertThat(difference < 0).as("%s", sameness).isEqualTo(same);
                    if (sameness != Sameness.NOTHING) {
                        assertThat(a.get(sameness).value() == b.get(sameness).value())
                                .isEqualTo(same);
                    }
                });
    }

    @Test
    void theOrderWithinAKeyCountsOnlyForOrder() {
        assertSame(
                digest(false, c(INSERT, 1, "a"), c(INSERT, 1, "b")),
                digest(false, c(INSERT, 1, "b"), c(INSERT, 1, "a")),
                false,
                true,
                true);
    }

    @Test
    void theOrderOfDifferentKeysDoesNotCount() {
        // Keys 1 and 2 fall into different buckets, or the first assertion would fail.
        assertSame(
                digest(false, c(INSERT, 1, "a"), c(INSERT, 2, "b")),
                digest(false, c(INSERT, 2, "b"), c(INSERT, 1, "a")),
                true,
                true,
                true);
    }

    @Test
    void aRowKindCounts() {
        assertSame(
                digest(false, c(INSERT, 1, "a"), c(UPDATE_AFTER, 1, "b")),
                digest(false, c(INSERT, 1, "a"), c(INSERT, 1, "b")),
                false,
                false,
                true);
    }

    @Test
    void anotherValueAMissingAndADoubledRowAreSeenByAll() {
        Map<Sameness, ChangelogDigest> one = digest(false, c(INSERT, 1, "a"), c(INSERT, 2, "b"));
        assertSame(one, digest(false, c(INSERT, 1, "a"), c(INSERT, 2, "c")), false, false, false);
        assertSame(one, digest(false, c(INSERT, 1, "a")), false, false, false);
        assertSame(
                one,
                digest(false, c(INSERT, 1, "a"), c(INSERT, 2, "b"), c(INSERT, 2, "b")),
                false,
                false,
                false);
    }

    @Test
    void differentPathsToOneTableHaveTheSameResult() {
        Map<Sameness, ChangelogDigest> direct = digest(false, c(INSERT, 1, "b"));
        assertSame(
                direct,
                digest(
                        false,
                        c(INSERT, 1, "a"),
                        c(UPDATE_BEFORE, 1, "a"),
                        c(UPDATE_AFTER, 1, "b"),
                        c(INSERT, 2, "x"),
                        c(DELETE, 2, "x")),
                false,
                false,
                true);
    }

    @Test
    void withoutUpdateBeforeTheLastRowOfAKeyIsTheResult() {
        Map<Sameness, ChangelogDigest> direct = digest(false, c(INSERT, 1, "b"));
        Map<Sameness, ChangelogDigest> upserts =
                digest(
                        true,
                        c(INSERT, 1, "a"),
                        c(UPDATE_AFTER, 1, "b"),
                        c(INSERT, 2, "x"),
                        c(UPDATE_AFTER, 2, "y"),
                        c(DELETE, 2, "y"));
        assertSame(direct, upserts, false, false, true);
    }

    @Test
    void parallelSinksAddUp() {
        Map<Sameness, ChangelogDigest> whole = digest(false, c(INSERT, 1, "a"), c(DELETE, 2, "b"));
        Map<Sameness, ChangelogDigest> sum = digest(false, c(INSERT, 1, "a"));
        Map<Sameness, ChangelogDigest> other = digest(false, c(DELETE, 2, "b"));
        sum.forEach((sameness, digest) -> digest.add(other.get(sameness)));
        assertSame(whole, sum, true, true, true);
        assertThat(sum.get(Sameness.ORDER).rows()).isEqualTo(2);
        assertThat(sum.get(Sameness.ORDER).rows(DELETE)).isEqualTo(1);
    }

    @Test
    void survivesBeingWritten() throws Exception {
        for (ChangelogDigest digest :
                digest(false, c(INSERT, 1, "a"), c(UPDATE_AFTER, 1, "b")).values()) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            digest.write(new DataOutputStream(bytes));
            ChangelogDigest read =
                    ChangelogDigest.read(
                            new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
            assertThat(read.sameness()).isEqualTo(digest.sameness());
            assertThat(read.firstDifference(digest)).isEqualTo(-1);
            assertThat(read.value()).isEqualTo(digest.value());
            assertThat(read.rows(UPDATE_AFTER)).isEqualTo(1);
        }
    }

    @Test
    void digestsOfDifferentKindsAreNotCompared() {
        ChangelogDigest order = new ChangelogDigest(Sameness.ORDER);
        ChangelogDigest result = new ChangelogDigest(Sameness.RESULT);
        assertThatThrownBy(() -> order.firstDifference(result))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void theFormOfARowDoesNotCount() {
        RowType type =
                (RowType)
                        DataTypes.ROW(
                                        DataTypes.BOOLEAN(),
                                        DataTypes.TINYINT(),
                                        DataTypes.SMALLINT(),
                                        DataTypes.INT(),
                                        DataTypes.BIGINT(),
                                        DataTypes.FLOAT(),
                                        DataTypes.DOUBLE(),
                                        DataTypes.STRING(),
                                        DataTypes.STRING(),
                                        DataTypes.BYTES(),
                                        DataTypes.TIMESTAMP(3),
                                        DataTypes.TIMESTAMP(9),
                                        DataTypes.DECIMAL(10, 2),
                                        DataTypes.DECIMAL(30, 3),
                                        DataTypes.DATE(),
                                        DataTypes.STRING())
                                .getLogicalType();
        GenericRowData generic =
                GenericRowData.of(
                        true,
                        (byte) -3,
                        (short) 300,
                        -70_000,
                        1L << 40,
                        1.5f,
                        -2.25,
                        StringData.fromString("short"),
                        StringData.fromString("rather longer than sixteen bytes, äöü"),
                        new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9},
                        TimestampData.fromEpochMillis(1_436_918_400_123L),
                        TimestampData.fromEpochMillis(1_436_918_400_123L, 456_789),
                        DecimalData.fromBigDecimal(new BigDecimal("12345.67"), 10, 2),
                        DecimalData.fromBigDecimal(
                                new BigDecimal("123456789012345678901.234"), 30, 3),
                        19_000,
                        null);
        RowDataSerializer serializer = new RowDataSerializer(type);
        RowHasher all = new RowHasher(type, new int[0]);
        all.hash(generic);
        long hash = all.rowHash();
        assertThat(all.keyHash()).isEqualTo(hash);
        all.hash(serializer.toBinaryRow(generic).copy());
        assertThat(all.rowHash()).isEqualTo(hash);

        RowData left = GenericRowData.of(1L);
        RowData right = GenericRowData.of(StringData.fromString("a"));
        hasher.hash(new JoinedRowData(left, right));
        long joined = hasher.rowHash();
        hasher.hash(GenericRowData.of(1L, StringData.fromString("a")));
        assertThat(hasher.rowHash()).isEqualTo(joined);
    }

    @Test
    void everyFieldAndEveryByteCounts() {
        long[] hashes = new long[200];
        for (int i = 0; i < hashes.length; i++) {
            // Strings of growing length, then one byte changed at each place.
            StringBuilder text = new StringBuilder("x".repeat(i < 100 ? i : 100));
            if (i >= 100) {
                text.setCharAt(i - 100, 'y');
            }
            hasher.hash(GenericRowData.of(7L, StringData.fromString(text.toString())));
            hashes[i] = hasher.rowHash();
        }
        assertThat(java.util.Arrays.stream(hashes).distinct().count()).isEqualTo(200);
        hasher.hash(GenericRowData.of(null, StringData.fromString("a")));
        long nullKey = hasher.rowHash();
        hasher.hash(GenericRowData.of(0L, StringData.fromString("a")));
        assertThat(hasher.rowHash()).isNotEqualTo(nullKey);
    }

    @Test
    void aRecordingNamesTheFirstChangeThatDiffers() {
        Recording stock = recording(c(INSERT, 1, "a"), c(INSERT, 2, "x"), c(UPDATE_AFTER, 1, "b"));
        Recording drey = recording(c(INSERT, 2, "x"), c(INSERT, 1, "a"), c(UPDATE_AFTER, 1, "c"));
        assertThat(stock.firstDifference(stock, Sameness.ORDER, "stock", "drey")).isNull();
        assertThat(stock.firstDifference(drey, Sameness.ORDER, "stock", "drey").lines())
                .containsExactly(
                        "first difference: change 2 of its key (it has 2 in stock, 2 in drey)",
                        "  stock  +U(1, b)",
                        "  drey   +U(1, c)");
        assertThat(stock.firstDifference(drey, Sameness.CHANGES, "stock", "drey"))
                .contains("+U(1, b)")
                .contains("+U(1, c)");
        Recording missing = recording(c(INSERT, 1, "a"), c(INSERT, 2, "x"));
        assertThat(stock.firstDifference(missing, Sameness.RESULT, "stock", "drey").lines())
                .element(2)
                .isEqualTo("  drey   +I(1, a)");
        assertThat(missing.firstDifference(stock, Sameness.ORDER, "a", "b").lines())
                .element(1)
                .isEqualTo("  a      (none)");
    }

    private Recording recording(Change... changes) {
        Recording recording = new Recording();
        RowText text = new RowText(PAIR);
        for (Change change : List.of(changes)) {
            RowData row = GenericRowData.of(change.key, StringData.fromString(change.value));
            hasher.hash(row);
            recording.add(
                    new Recording.Change(
                            hasher.keyHash(),
                            change.kind,
                            hasher.rowHash() * 4 + change.kind.toByteValue(),
                            text.of(row)));
        }
        return recording;
    }
}
