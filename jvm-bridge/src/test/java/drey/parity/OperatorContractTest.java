package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.jni.NativeException;
import drey.jni.NativeOperator;
import drey.runtime.BatchOptions;
import drey.runtime.NativeMemoryException;
import drey.runtime.NativeOneInputOperator;
import drey.runtime.NativeOperatorFactory;

import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributesBuilder;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.VarCharType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;

/** What Flink may expect of the native operator, whichever operator runs in it. */
class OperatorContractTest {

    private static final Deduplication KEEP_LAST =
            new Deduplication(true, true, true, true, false, 0, false, 0);
    private static final BatchOptions LAZY = new BatchOptions(1000, 1 << 20, 50);

    private final Schema schema =
            new Schema(List.of(new BigIntType(), new VarCharType(VarCharType.MAX_LENGTH)));
    private final SplittableRandom rng = new SplittableRandom(11);
    private final List<Harness> harnesses = new ArrayList<>();
    private Log log;

    @BeforeEach
    void newLog() {
        log = new Log(schema);
    }

    @AfterEach
    void nothingIsLeftOver() throws Exception {
        for (Harness h : harnesses) {
            h.close();
        }
        assertThat(NativeOperator.live()).isEmpty();
    }

    // --- when a batch is cut ------------------------------------------------------------------

    @Test
    void waitsUntilTheBatchIsFull() throws Exception {
        Harness h = started(KEEP_LAST, new BatchOptions(4, 1 << 20, 50));
        feed(h, 3);
        assertThat(log.entries).isEmpty();
        feed(h, 1);
        assertThat(log.entries).isNotEmpty();
    }

    @Test
    void waitsUntilTheBatchHasItsBytes() throws Exception {
        int row = schema.binary(schema.row(rng, 10, 0)).getSizeInBytes();
        Harness h = started(KEEP_LAST, new BatchOptions(1000, 10 * row, 50));
        feed(h, 5);
        assertThat(log.entries).isEmpty();
        feed(h, 15);
        assertThat(log.entries).isNotEmpty();
    }

    @Test
    void nothingOvertakesARow() throws Exception {
        Harness h = started(KEEP_LAST, LAZY);
        feed(h, 1);
        h.processWatermark(17);
        feed(h, 1);
        h.processWatermarkStatus(0, WatermarkStatus.IDLE);
        feed(h, 1);
        h.processRecordAttributes(
                0, new RecordAttributesBuilder(Collections.emptyList()).setBacklog(true).build());
        feed(h, 1);
        h.prepareSnapshotPreBarrier(1);
        log.other("barrier");
        feed(h, 1);
        h.endInput();
        log.other("end of input");
        feed(h, 1);
        h.streamOperator().finish();
        log.other("finish");

        List<String> shape = new ArrayList<>();
        for (Log.Entry e : log.entries) {
            String word = e.row() != null ? "rows" : e.other().split("[ ({]")[0];
            if (shape.isEmpty()
                    || !word.equals("rows")
                    || !shape.get(shape.size() - 1).equals("rows")) {
                shape.add(word);
            }
        }
        assertThat(shape)
                .containsExactly(
                        "rows",
                        "watermark",
                        "rows",
                        "WatermarkStatus",
                        "rows",
                        "RecordAttributes",
                        "rows",
                        "barrier",
                        "rows",
                        "end",
                        "rows",
                        "finish");
    }

    @Test
    void aTrickleFlowsAfterTheLatency() throws Exception {
        Harness h = started(KEEP_LAST, LAZY);
        h.setClock(1000);
        feed(h, 1);
        h.setClock(1049);
        assertThat(log.entries).isEmpty();
        h.setClock(1050);
        assertThat(log.entries).hasSize(1);
    }

    /** The timer of a batch that filled up in time must not make the next one wait longer than its own latency. */
    @Test
    void theLatencyHoldsForABatchBegunWhileATimerRuns() throws Exception {
        Harness h = started(KEEP_LAST, LAZY);
        h.setClock(1000);
        feed(h, 1);
        h.processWatermark(1); // cuts; the timer for 1050 stays
        log.entries.clear();
        h.setClock(1030);
        feed(h, 1);
        h.setClock(1050);
        assertThat(log.entries).isEmpty();
        h.setClock(1080);
        assertThat(log.entries).isNotEmpty();
    }

    @Test
    void noLatencyMeansNoWaiting() throws Exception {
        Harness h = started(KEEP_LAST, new BatchOptions(1000, 1 << 20, 0));
        feed(h, 1);
        assertThat(log.entries).isNotEmpty();
    }

    /** Rows that are not binary, as an operator chained in front may emit them, mean the same. */
    @Test
    void takesRowsThatAreNotBinary() throws Exception {
        Log generic = new Log(schema);
        Log binary = new Log(schema);
        for (Log to : List.of(generic, binary)) {
            SplittableRandom same = new SplittableRandom(5);
            log = to;
            Harness h = started(KEEP_LAST, LAZY);
            for (int i = 0; i < 500; i++) {
                RowData row = schema.row(same, 20, i / 3);
                h.processElement(new StreamRecord<>(to == generic ? row : schema.binary(row)));
            }
            h.endInput();
        }
        Compare.sequences(schema, binary, generic, "rows that are not binary");
        assertThat(binary.entries).hasSizeGreaterThan(500);
    }

    // --- what is emitted ----------------------------------------------------------------------

    /** With object reuse an operator chained behind may keep what it gets, as Flink's keyed operators do. */
    @Test
    void emittedRowsSurviveUnderObjectReuse() throws Exception {
        List<RowData> kept = new ArrayList<>();
        List<String> seen = new ArrayList<>();
        log =
                new Log(schema) {
                    @Override
                    public void collect(StreamRecord<RowData> record) {
                        kept.add(record.getValue());
                        seen.add(schema.format(record.getValue()));
                    }
                };
        Harness h =
                Harness.create(
                        factory(KEEP_LAST, new BatchOptions(8, 1 << 20, 50)),
                        List.of(schema.selector()),
                        schema.type(),
                        log,
                        null,
                        Harness.MEMORY,
                        Harness.Subtask.ONLY,
                        true);
        harnesses.add(h);
        h.start(null);
        feed(h, 100);
        h.endInput();
        assertThat(seen).hasSizeGreaterThan(100);
        assertThat(kept.stream().map(schema::format).toList()).isEqualTo(seen);
    }

    // --- metrics -------------------------------------------------------------------------------

    /** Read on the task thread, as here, the numbers are exact. */
    @Test
    void reportsWhatItDoes() throws Exception {
        Harness h = started(KEEP_LAST, new BatchOptions(10, 1 << 20, 50));
        feed(h, 25);
        h.endInput();
        h.checkpoint(1);
        Metrics m = h.metrics();
        assertThat(m.value("drey.rowsIn")).isEqualTo(25L);
        assertThat(m.value("drey.batches")).isEqualTo(3L);
        assertThat((long) m.value("drey.state.keys")).isBetween(1L, 25L);
        assertThat((long) m.value("drey.state.bytes")).isPositive();
        assertThat((long) m.value("drey.batchLatencyP99Micros")).isPositive();
    }

    @Test
    void countsLateRecordsUnderFlinksName() throws Exception {
        Deduplication keepFirst = new Deduplication(true, false, false, true, true, 0, false, 0);
        long[] late = new long[2];
        for (int i = 0; i < 2; i++) {
            rowtime = 0;
            SplittableRandom same = new SplittableRandom(3);
            Harness h =
                    create(
                            i == 0 ? keepFirst.stock(schema) : factory(keepFirst, LAZY),
                            Harness.MEMORY);
            h.start(null);
            for (int row = 0; row < 300; row++) {
                h.processElement(
                        new StreamRecord<>(
                                schema.binary(schema.row(same, 30, row - same.nextInt(20)))));
                if (row % 10 == 9) {
                    h.processWatermark(row - 5);
                }
            }
            h.endInput();
            late[i] = h.metrics().count("numLateRecordsDropped");
        }
        assertThat(late[1]).isEqualTo(late[0]).isPositive();
    }

    @Test
    void reportsTheBundleAsFlinkDoes() throws Exception {
        Deduplication bundled = new Deduplication(true, true, true, true, false, 100, false, 0);
        Object[][] seen = new Object[2][];
        for (int i = 0; i < 2; i++) {
            SplittableRandom same = new SplittableRandom(3);
            Harness h =
                    create(
                            i == 0
                                    ? bundled.stock(schema)
                                    : factory(bundled, new BatchOptions(1, 1 << 20, 0)),
                            Harness.MEMORY);
            h.start(null);
            for (int row = 0; row < 150; row++) {
                h.processElement(new StreamRecord<>(schema.binary(schema.row(same, 7, row))));
            }
            seen[i] =
                    new Object[] {
                        h.metrics().value("bundleSize"), h.metrics().value("bundleRatio")
                    };
        }
        assertThat(seen[1]).isEqualTo(seen[0]);
        assertThat(seen[0][0]).isEqualTo(50);
    }

    @Test
    void metricsOutliveTheOperator() throws Exception {
        Harness h = started(KEEP_LAST, LAZY);
        feed(h, 25);
        h.endInput();
        h.streamOperator().close();
        assertThat((long) h.metrics().value("drey.state.keys")).isPositive();
        assertThat(h.metrics().value("drey.rowsIn")).isEqualTo(25L);
    }

    // --- memory -------------------------------------------------------------------------------

    @Test
    void reservesItsShareAndGivesItBack() throws Exception {
        Harness h = started(KEEP_LAST, LAZY);
        assertThat(h.environment().getMemoryManager().verifyEmpty()).isFalse();
        h.streamOperator().close();
        assertThat(h.environment().getMemoryManager().verifyEmpty()).isTrue();
        assertThat(NativeOperator.live()).isEmpty();
        h.streamOperator().close();
    }

    @Test
    void overBudgetNamesWhoAndHowMuchAndWhatToDo() throws Exception {
        Harness h = create(factory(KEEP_LAST, new BatchOptions(64, 1 << 20, 50)), 4 << 20);
        h.start(null);
        assertThatThrownBy(
                        () -> {
                            for (int i = 0; i < 1_000_000; i++) {
                                h.processElement(
                                        new StreamRecord<>(
                                                schema.binary(schema.row(rng, 1_000_000, i))));
                            }
                        })
                .isInstanceOf(NativeMemoryException.class)
                .hasMessageContaining("deduplicate")
                .hasMessageMatching("(?s).*\\d{5,}.*")
                .hasMessageContaining("taskmanager.memory.managed.fraction")
                .hasMessageContaining("taskmanager.memory.managed.consumer-weights")
                .hasMessageContaining("taskmanager.memory.managed.size")
                .cause()
                .isInstanceOf(NativeException.class);
        h.streamOperator().close();
        assertThat(h.environment().getMemoryManager().verifyEmpty()).isTrue();
    }

    /** Without managed memory there is no budget; the job still has to run. */
    @Test
    void withoutManagedMemoryFlinksOperatorRuns() throws Exception {
        Harness h = create(factory(KEEP_LAST, LAZY), 0);
        assertThat(h.getOperator()).isInstanceOf(KeyedProcessOperator.class);
        h.start(null);
        feed(h, 10);
        assertThat(log.entries).isNotEmpty();
    }

    @Test
    void aSpecificationTheLibraryRefusesFailsTheOpenAndLeavesNothing() throws Exception {
        String spec = KEEP_LAST.spec(schema).replace("\"uniqueKeys\":[", "\"uniqueKeys\":[99,");
        Harness h = create(factory(spec), Harness.MEMORY);
        assertThatThrownBy(() -> h.start(null)).hasStackTraceContaining("uniqueKeys");
        h.streamOperator().close();
        assertThat(h.environment().getMemoryManager().verifyEmpty()).isTrue();
    }

    // --- snapshots ----------------------------------------------------------------------------

    @Test
    void aTruncatedSnapshotIsRefused() throws Exception {
        KeyGroupsStateHandle raw = rawState(snapshotOf(factory(KEEP_LAST, LAZY)));
        byte[] bytes = bytes(raw);
        for (int cut : new int[] {1, 40, bytes.length / 2}) {
            assertRefused(with(raw, java.util.Arrays.copyOf(bytes, bytes.length - cut)))
                    .hasStackTraceContaining("cannot restore key group")
                    .hasStackTraceContaining("truncated");
        }
    }

    @Test
    void aDamagedSnapshotIsRefused() throws Exception {
        KeyGroupsStateHandle raw = rawState(snapshotOf(factory(KEEP_LAST, LAZY)));
        byte[] bytes = bytes(raw);
        bytes[bytes.length / 2] ^= 0x10;
        assertRefused(with(raw, bytes)).hasStackTraceContaining("cannot restore key group");
    }

    @Test
    void aForeignSnapshotIsRefused() throws Exception {
        KeyGroupsStateHandle raw = rawState(snapshotOf(factory(KEEP_LAST, LAZY)));
        assertRefused(with(raw, new byte[bytes(raw).length]))
                .hasStackTraceContaining("not a snapshot of a native operator");
    }

    @Test
    void aSnapshotWithOtherKeysIsRefused() throws Exception {
        String keys = "\"uniqueKeys\":[" + schema.keys()[0] + "," + schema.keys()[1] + "]";
        String spec = KEEP_LAST.spec(schema);
        assertThat(spec).contains(keys);
        OperatorSubtaskState state =
                snapshotOf(
                        factory(spec.replace(keys, "\"uniqueKeys\":[" + schema.keys()[1] + "]")));
        assertRefused(state)
                .hasStackTraceContaining("cannot restore key group")
                .hasStackTraceContaining("uniqueKeys");
    }

    /** Its state would be ignored, and the job would start from nothing without a word. */
    @Test
    void aSnapshotOfFlinksOwnOperatorIsRefused() throws Exception {
        assertRefused(snapshotOf(KEEP_LAST.stock(schema)))
                .hasStackTraceContaining("keyed state 'deduplicate-state'")
                .hasStackTraceContaining("drey.operator.deduplicate.enabled");
    }

    /** The other way round Flink must fail too: its timer restore may not take our state for no timers. */
    @Test
    void flinksOwnOperatorRefusesOurSnapshot() throws Exception {
        OperatorSubtaskState state = snapshotOf(factory(KEEP_LAST, LAZY));
        Harness h = create(KEEP_LAST.stock(schema), Harness.MEMORY);
        assertThatThrownBy(() -> h.start(state)).isInstanceOf(Exception.class);
    }

    private org.assertj.core.api.AbstractThrowableAssert<?, ? extends Throwable> assertRefused(
            OperatorSubtaskState state) throws Exception {
        Harness h = create(factory(KEEP_LAST, LAZY), Harness.MEMORY);
        return assertThatThrownBy(() -> h.start(state));
    }

    private OperatorSubtaskState snapshotOf(Object operatorOrFactory) throws Exception {
        Harness h = create(operatorOrFactory, Harness.MEMORY);
        h.start(null);
        feed(h, 200);
        return h.checkpoint(1);
    }

    private static KeyGroupsStateHandle rawState(OperatorSubtaskState state) {
        KeyedStateHandle handle = state.getRawKeyedState().iterator().next();
        return (KeyGroupsStateHandle) handle;
    }

    private static byte[] bytes(KeyGroupsStateHandle handle) throws IOException {
        try (var in = handle.openInputStream()) {
            return in.readAllBytes();
        }
    }

    private static OperatorSubtaskState with(KeyGroupsStateHandle handle, byte[] bytes) {
        return OperatorSubtaskState.builder()
                .setRawKeyedState(
                        new KeyGroupsStateHandle(
                                handle.getGroupRangeOffsets(),
                                new ByteStreamStateHandle("damaged", bytes)))
                .build();
    }

    // --- helpers ------------------------------------------------------------------------------

    private NativeOperatorFactory factory(Deduplication dedup, BatchOptions options) {
        return Runner.factory(schema, dedup, options);
    }

    private NativeOperatorFactory factory(String spec) {
        return new NativeOperatorFactory(
                SimpleOperatorFactory.of(KEEP_LAST.stock(schema)),
                spec,
                List.of(schema.type()),
                schema.type(),
                LAZY);
    }

    private Harness create(Object operatorOrFactory, long memory) throws Exception {
        Harness h =
                Harness.create(operatorOrFactory, schema, log, null, memory, Harness.Subtask.ONLY);
        harnesses.add(h);
        return h;
    }

    private Harness started(Deduplication dedup, BatchOptions options) throws Exception {
        Harness h = create(factory(dedup, options), Harness.MEMORY);
        h.start(null);
        assertThat(h.getOperator()).isInstanceOf(NativeOneInputOperator.class);
        return h;
    }

    private long rowtime;

    /** Rows whose event time ascends, so that each causes output. */
    private void feed(Harness h, int rows) throws Exception {
        for (int i = 0; i < rows; i++) {
            h.processElement(new StreamRecord<>(schema.binary(schema.row(rng, 30, ++rowtime))));
        }
    }
}
