package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.jni.NativeOperator;
import drey.runtime.BatchOptions;
import drey.runtime.NativeMemoryException;

import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Cases of joins with results by hand, planned from SQL, on one operator: Flink's gives them, and so must ours. */
class JoinCasesTest {

    private static final BatchOptions LAZY = new BatchOptions(1000, 1 << 20, 50);

    private final List<Harness> harnesses = new ArrayList<>();

    @AfterEach
    void nothingIsLeftOver() throws Exception {
        for (Harness h : harnesses) {
            h.close();
        }
        assertThat(NativeOperator.live()).isEmpty();
    }

    // --- retention ------------------------------------------------------------------------------

    /** A row is there for as long as its retention after it was written, and not a millisecond longer. */
    @Test
    void retentionOfAnOption() throws Exception {
        PlannedSubject subject =
                new PlannedSubject("retention", "join")
                        .table("l", "k BIGINT, a STRING")
                        .table("r", "k BIGINT, b STRING")
                        .query("SELECT * FROM l LEFT JOIN r ON l.k = r.k")
                        .option("table.exec.state.ttl", "60 ms");
        for (Harness h : both(subject)) {
            h.setClock(1_000);
            feed(subject, h, 0, RowKind.INSERT, 1L, "x");
            h.setClock(1_059);
            feed(subject, h, 1, RowKind.INSERT, 1L, "in time");
            // Counting the match was a write of the left row.
            h.setClock(1_118);
            feed(subject, h, 1, RowKind.INSERT, 1L, "again");
            h.setClock(1_178);
            feed(subject, h, 1, RowKind.INSERT, 1L, "too late");
            feed(subject, h, 0, RowKind.INSERT, 1L, "y");
            assertThat(rows(subject, h))
                    .containsExactly(
                            "+I(1, x, null, null)",
                            "-D(1, x, null, null)",
                            "+I(1, x, 1, in time)",
                            "+I(1, x, 1, again)",
                            "+I(1, y, 1, too late)");
        }
    }

    /** A hint gives each side its own. */
    @Test
    void retentionOfAHint() throws Exception {
        PlannedSubject subject =
                new PlannedSubject("hint", "join")
                        .table("l", "k BIGINT, a STRING")
                        .table("r", "k BIGINT, b STRING")
                        .query(
                                "SELECT /*+ STATE_TTL('l'='10 ms', 'r'='0 s') */ *"
                                        + " FROM l JOIN r ON l.k = r.k");
        for (Harness h : both(subject)) {
            h.setClock(1_000);
            feed(subject, h, 0, RowKind.INSERT, 1L, "x");
            feed(subject, h, 1, RowKind.INSERT, 1L, "stays");
            h.setClock(1_010);
            feed(subject, h, 1, RowKind.INSERT, 1L, "no one there");
            h.setClock(1_000_000_000);
            feed(subject, h, 0, RowKind.INSERT, 1L, "y");
            assertThat(rows(subject, h))
                    .containsExactlyInAnyOrder(
                            "+I(1, x, 1, stays)",
                            "+I(1, y, 1, stays)",
                            "+I(1, y, 1, no one there)");
        }
    }

    // --- bundles --------------------------------------------------------------------------------

    private static PlannedSubject bundles() {
        return new PlannedSubject("bundles", "join")
                .table("l", "k BIGINT, PRIMARY KEY (k) NOT ENFORCED")
                .table("r", "k BIGINT, b STRING, PRIMARY KEY (k) NOT ENFORCED")
                .query("SELECT * FROM l JOIN r ON l.k = r.k")
                .option("table.exec.mini-batch.enabled", "true")
                .option("table.exec.mini-batch.allow-latency", "1 s")
                .option("table.exec.mini-batch.size", "1000000");
    }

    /** B24: within a bundle +I a, -U a, +U b is +U b, which both Flink lines emit as the first message of its key. */
    @Test
    void aBundleFoldsKinds() throws Exception {
        PlannedSubject subject = bundles();
        for (Harness h : both(subject)) {
            feed(subject, h, 0, RowKind.INSERT, 1L);
            h.processWatermark(1);
            feed(subject, h, 1, RowKind.INSERT, 1L, "a");
            feed(subject, h, 1, RowKind.UPDATE_BEFORE, 1L, "a");
            feed(subject, h, 1, RowKind.UPDATE_AFTER, 1L, "b");
            h.processWatermark(2);
            assertThat(rows(subject, h)).containsExactly("+U(1, 1, b)");
        }
    }

    /** Memory that is exhausted at the end of a bundle ends the operator; another goes on from the checkpoint before. */
    @Test
    void aBundleThatDoesNotFitIsNotJoinedInPart() throws Exception {
        PlannedSubject subject = bundles();
        Harness h = started(subject, 4 << 20, null);
        OperatorSubtaskState state = null;
        long bundle = 0;
        try {
            for (; bundle < 1000; bundle++) {
                state = h.checkpoint(bundle);
                feedBundle(subject, h, bundle);
                h.processWatermark(bundle);
                assertThat(h.log().entries).filteredOn(e -> e.row() != null).hasSize(500);
                h.log().clear();
            }
        } catch (NativeMemoryException e) {
            assertThat(e).hasMessageContaining("join");
        }
        assertThat(bundle).isBetween(3L, 999L);
        h.log().clear();
        assertThatThrownBy(() -> h.processWatermark(5_000));
        assertThat(h.log().entries).isEmpty();
        h.streamOperator().close(); // as a task that has failed does, without finishing

        Harness again = started(subject, Harness.MEMORY, state);
        feedBundle(subject, again, bundle);
        again.processWatermark(5_000);
        assertThat(again.log().entries).filteredOn(e -> e.row() != null).hasSize(500);
    }

    private static void feedBundle(PlannedSubject subject, Harness h, long bundle)
            throws Exception {
        for (long i = bundle * 500; i < (bundle + 1) * 500; i++) {
            feed(subject, h, 0, RowKind.INSERT, i);
            feed(subject, h, 1, RowKind.INSERT, i, "some text of a row");
        }
    }

    // --- amplification --------------------------------------------------------------------------

    /** Counts matches, each of which must come once. */
    private static final class Matches extends Log {

        private final BitSet seen = new BitSet();
        private RowKind kind = RowKind.INSERT;

        Matches(PlannedSubject subject) {
            super(subject.output());
        }

        @Override
        public void collect(StreamRecord<RowData> record) {
            RowData row = record.getValue();
            assertThat(row.getRowKind()).isEqualTo(kind);
            int id = (int) row.getLong(3);
            if (seen.get(id)) {
                throw new AssertionError("match " + id + " comes twice");
            }
            seen.set(id);
        }

        int take(RowKind next) {
            int n = seen.cardinality();
            seen.clear();
            kind = next;
            return n;
        }
    }

    /** B40: one row has a million matches. A checkpoint in between completes, and output takes a few chunks of memory. */
    @Test
    void oneRowWithAMillionMatches() throws Exception {
        int rows = 1_000_000;
        PlannedSubject subject =
                new PlannedSubject("fan-out", "join")
                        .table("l", "k BIGINT, a STRING")
                        .table("r", "k BIGINT, id BIGINT")
                        .query("SELECT * FROM l JOIN r ON l.k = r.k");
        Matches log = new Matches(subject);
        Harness h = harness(subject.ours(LAZY), subject, 512 << 20, log, null);
        RowDataSerializer serializer = new RowDataSerializer(subject.inputs().get(1));
        GenericRowData right = GenericRowData.of(1L, 0L);
        StreamRecord<RowData> record = new StreamRecord<>(null);
        for (long i = 0; i < rows; i++) {
            right.setField(1, i);
            h.processElement(1, record.replace(serializer.toBinaryRow(right)));
        }
        feed(subject, h, 0, RowKind.INSERT, 1L, "x");
        // The barrier comes while the row waits in a batch.
        OperatorSubtaskState state = h.checkpoint(1);
        assertThat(log.take(RowKind.DELETE)).isEqualTo(rows);
        feed(subject, h, 0, RowKind.DELETE, 1L, "x");
        h.processWatermark(1);
        assertThat(log.take(RowKind.DELETE)).isEqualTo(rows);
        assertThat(stat("output.bytes")).isLessThan(4 << 20);
        h.close();
        harnesses.remove(h);

        Harness again = harness(subject.ours(LAZY), subject, 512 << 20, log, state);
        feed(subject, again, 0, RowKind.DELETE, 1L, "x");
        again.processWatermark(1);
        assertThat(log.take(RowKind.INSERT)).isEqualTo(rows);
    }

    /** A number of the one operator there is. */
    private static long stat(String name) {
        Matcher handle = Pattern.compile("handle 0x([0-9a-f]+)").matcher(NativeOperator.live());
        assertThat(handle.find()).isTrue();
        String stats = NativeOperator.stats(Long.parseUnsignedLong(handle.group(1), 16));
        Matcher value = Pattern.compile("\"" + Pattern.quote(name) + "\":(\\d+)").matcher(stats);
        assertThat(value.find()).as(stats).isTrue();
        return Long.parseLong(value.group(1));
    }

    // --- helpers ------------------------------------------------------------------------------

    private List<Harness> both(PlannedSubject subject) throws Exception {
        return List.of(
                harness(subject.stock(), subject, Harness.MEMORY, new Log(subject.output()), null),
                started(subject, Harness.MEMORY, null));
    }

    private Harness started(PlannedSubject subject, long memory, OperatorSubtaskState state)
            throws Exception {
        return harness(subject.ours(LAZY), subject, memory, new Log(subject.output()), state);
    }

    private Harness harness(
            Object operator,
            PlannedSubject subject,
            long memory,
            Log log,
            OperatorSubtaskState state)
            throws Exception {
        Harness h =
                Harness.create(
                        operator,
                        subject.selectors(),
                        subject.output(),
                        log,
                        null,
                        memory,
                        Harness.Subtask.ONLY,
                        false);
        harnesses.add(h);
        // The default one takes 5 MB.
        h.setCheckpointStorage(new JobManagerCheckpointStorage(Integer.MAX_VALUE));
        h.start(state);
        return h;
    }

    private static void feed(
            PlannedSubject subject, Harness h, int input, RowKind kind, Object... fields)
            throws Exception {
        GenericRowData row = new GenericRowData(fields.length);
        for (int i = 0; i < fields.length; i++) {
            row.setField(i, fields[i] instanceof String s ? StringData.fromString(s) : fields[i]);
        }
        BinaryRowData binary =
                new RowDataSerializer(subject.inputs().get(input)).toBinaryRow(row).copy();
        binary.setRowKind(kind);
        h.processElement(input, new StreamRecord<>(binary));
    }

    private static List<String> rows(PlannedSubject subject, Harness h) throws Exception {
        h.endInput();
        return h.log().entries.stream()
                .filter(e -> e.row() != null)
                .map(e -> e.format(subject.output()))
                .toList();
    }
}
