package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.jni.NativeOperator;
import drey.runtime.BatchOptions;
import drey.runtime.NativeOperatorFactory;
import drey.runtime.NativeTwoInputOperator;

import org.apache.flink.api.common.functions.AbstractRichFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.runtime.streamrecord.LatencyMarker;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributes;
import org.apache.flink.streaming.runtime.streamrecord.RecordAttributesBuilder;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.watermarkstatus.WatermarkStatus;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.generated.GeneratedJoinCondition;
import org.apache.flink.table.runtime.generated.JoinCondition;
import org.apache.flink.table.runtime.operators.join.stream.StreamingJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.utils.JoinInputSideSpec;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What Flink may expect of a native operator of two inputs, whichever runs in it: here the library's echo. What has nothing to do
 * with rows must be exactly what Flink's join makes of it.
 */
class TwoInputContractTest {

    private static final RowType TYPE = RowType.of(new BigIntType(), new BigIntType());
    private static final BatchOptions LAZY = new BatchOptions(1000, 1 << 20, 50);
    private static final String ECHO = "{\"operator\":\"echo\",\"version\":1}";

    private final Schema schema = new Schema(TYPE, new int[] {0}, -1);
    private final List<Harness> harnesses = new ArrayList<>();
    private Log log = new Log(schema);

    @AfterEach
    void nothingIsLeftOver() throws Exception {
        for (Harness h : harnesses) {
            h.close();
        }
        assertThat(NativeOperator.live()).isEmpty();
    }

    // --- order --------------------------------------------------------------------------------

    /** Rows come out in the order they came in, whichever input they came on, and with their timestamps. */
    @Test
    void orderIsKeptAcrossInputs() throws Exception {
        for (int batch : new int[] {1, 3, 64}) {
            log.entries.clear();
            Harness h = started(ECHO, new BatchOptions(batch, 1 << 20, 50));
            SplittableRandom rng = new SplittableRandom(batch);
            List<String> expected = new ArrayList<>();
            for (int i = 0; i < 1000; i++) {
                int input = rng.nextInt(3) == 0 ? 1 : 0;
                if (rng.nextInt(5) == 0) {
                    h.processElement(input, new StreamRecord<>(row(input, i)));
                    expected.add("+I(" + input + ", " + i + ")");
                } else {
                    h.processElement(input, new StreamRecord<>(row(input, i), 10 * i));
                    expected.add("+I(" + input + ", " + i + ") @" + 10 * i);
                }
            }
            h.endInput();
            assertThat(log.entries.stream().map(e -> e.format(schema.type()))).isEqualTo(expected);
        }
    }

    @Test
    void nothingOvertakesARow() throws Exception {
        Harness h = started(ECHO, LAZY);
        RecordAttributes backlog =
                new RecordAttributesBuilder(Collections.emptyList()).setBacklog(true).build();
        for (int input = 0; input < 2; input++) {
            int other = 1 - input;
            feed(h, other);
            h.processWatermarkStatus(input, WatermarkStatus.IDLE);
            h.processWatermarkStatus(input, WatermarkStatus.ACTIVE);
            feed(h, other);
            h.processRecordAttributes(input, backlog);
        }
        feed(h, 0);
        h.processWatermark(0, 17);
        assertThat(log.entries.stream().filter(e -> e.row() == null).map(Log.Entry::other))
                .noneMatch(other -> other.contains("watermark"));
        h.processWatermark(1, 12);
        feed(h, 1);
        h.prepareSnapshotPreBarrier(1);
        log.other("barrier");
        feed(h, 0);
        h.endInput();
        log.other("end of input");
        feed(h, 1);
        h.streamOperator().finish();
        List<String> shape =
                log.entries.stream()
                        .map(e -> e.row() != null ? "row" : e.other().split("[({]")[0])
                        .toList();
        assertThat(shape)
                .containsExactly(
                        "row",
                        "row",
                        "RecordAttributes",
                        "row",
                        "row",
                        "RecordAttributes",
                        "row",
                        "watermark 12",
                        "row",
                        "barrier",
                        "row",
                        "end of input",
                        "row");
    }

    // --- what is not a row ----------------------------------------------------------------------

    /** Watermarks, statuses and attributes of two inputs, mixed: what comes out is what Flink's join makes of them. */
    @Test
    void combinesWhatFlinkCombines() throws Exception {
        List<List<String>> seen = new ArrayList<>();
        for (Object subject : new Object[] {join(null), factory(ECHO, LAZY)}) {
            log = new Log(schema);
            SplittableRandom rng = new SplittableRandom(5);
            Harness h = create(subject, Harness.MEMORY);
            h.start(null);
            long[] mark = {0, 0};
            for (int i = 0; i < 2000; i++) {
                int input = rng.nextInt(2);
                switch (rng.nextInt(5)) {
                    case 0 -> h.processWatermarkStatus(input, WatermarkStatus.IDLE);
                    case 1 -> h.processWatermarkStatus(input, WatermarkStatus.ACTIVE);
                    case 2 ->
                            h.processRecordAttributes(
                                    input,
                                    new RecordAttributesBuilder(Collections.emptyList())
                                            .setBacklog(rng.nextBoolean())
                                            .build());
                    default -> h.processWatermark(input, mark[input] += rng.nextInt(10));
                }
            }
            seen.add(log.entries.stream().map(Log.Entry::other).toList());
        }
        assertThat(seen.get(0)).hasSizeGreaterThan(500);
        assertThat(seen.get(1)).isEqualTo(seen.get(0));
    }

    /** Latency markers may overtake rows, as they do in Flink's own operators that hold rows back. */
    @Test
    void latencyMarkersPass() throws Exception {
        Harness h = started(ECHO, LAZY);
        feed(h, 0);
        NativeTwoInputOperator operator = (NativeTwoInputOperator) h.streamOperator();
        LatencyMarker marker =
                new LatencyMarker(1, new org.apache.flink.runtime.jobgraph.OperatorID(), 0);
        operator.processLatencyMarker1(marker);
        operator.processLatencyMarker2(marker);
        assertThat(log.entries.stream().map(Log.Entry::other))
                .containsExactly("latency marker", "latency marker");
    }

    @Test
    void isRestoredFromItsSnapshot() throws Exception {
        Harness h = started(ECHO, LAZY);
        feed(h, 0);
        OperatorSubtaskState state = h.checkpoint(1);
        Harness again = create(factory(ECHO, LAZY), Harness.MEMORY);
        again.start(state);
        feed(again, 1);
        again.endInput();
        assertThat(log.entries).hasSize(2);
    }

    @Test
    void withoutManagedMemoryFlinksOperatorRuns() throws Exception {
        Harness h = create(factory(ECHO, LAZY), 0);
        assertThat(h.getOperator()).isInstanceOf(StreamingJoinOperator.class);
    }

    // --- the condition --------------------------------------------------------------------------

    private static final String ASKING =
            "{\"condition\":\"host\",\"operator\":\"echo\",\"version\":1}";

    /** A condition as Flink generates them; the echo asks it whether a row goes with the row before it. */
    public static final class Ascending extends AbstractRichFunction implements JoinCondition {

        static int open;

        private boolean opened;

        public Ascending(Object[] references) {}

        @Override
        public void open(OpenContext context) {
            opened = getRuntimeContext().getTaskInfo() != null;
            open++;
        }

        @Override
        public void close() {
            open--;
        }

        @Override
        public boolean apply(RowData left, RowData right) {
            assertThat(opened).isTrue();
            if (right.getLong(1) == 13) {
                throw new ArithmeticException("thirteen");
            }
            return left.getLong(1) <= right.getLong(1);
        }
    }

    @Test
    void asksTheConditionOfFlinksJoin() throws Exception {
        Harness h = started(ASKING, LAZY, new FixedCondition());
        assertThat(Ascending.open).isEqualTo(1);
        for (long value : new long[] {5, 7, 6, 6}) {
            h.processElement(0, new StreamRecord<>(row(0, value)));
        }
        h.endInput();
        assertThat(log.entries.stream().map(e -> e.row().getLong(1))).containsExactly(5L, 7L, 6L);
        h.streamOperator().close();
        assertThat(Ascending.open).isZero();
    }

    @Test
    void theConditionsFailureIsTheTasks() throws Exception {
        Harness h = started(ASKING, LAZY, new FixedCondition());
        h.processElement(0, new StreamRecord<>(row(0, 13)));
        assertThatThrownBy(h::endInput)
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("thirteen");
        h.streamOperator().close();
        assertThat(Ascending.open).isZero();
    }

    /** Flink's holder of generated code, without a compiler. */
    private static final class FixedCondition extends GeneratedJoinCondition {

        FixedCondition() {
            super("none", "", new Object[0], new Configuration());
        }

        @Override
        public JoinCondition newInstance(ClassLoader loader) {
            return new Ascending(new Object[0]);
        }
    }

    // --- helpers ------------------------------------------------------------------------------

    private RowData row(long first, long second) {
        return schema.binary(GenericRowData.of(first, second));
    }

    private void feed(Harness h, int input) throws Exception {
        h.processElement(input, new StreamRecord<>(row(input, 1)));
    }

    private static StreamingJoinOperator join(GeneratedJoinCondition condition) {
        InternalTypeInfo<RowData> type = InternalTypeInfo.of(TYPE);
        return new StreamingJoinOperator(
                type,
                type,
                condition == null ? new FixedCondition() : condition,
                JoinInputSideSpec.withoutUniqueKey(),
                JoinInputSideSpec.withoutUniqueKey(),
                false,
                false,
                new boolean[] {true},
                0,
                0);
    }

    private static NativeOperatorFactory factory(String spec, BatchOptions options) {
        return new NativeOperatorFactory(
                SimpleOperatorFactory.of(join(null)), spec, List.of(TYPE, TYPE), TYPE, options);
    }

    private Harness create(Object operatorOrFactory, long memory) throws Exception {
        Harness h =
                Harness.create(
                        operatorOrFactory,
                        List.of(schema.selector(), schema.selector()),
                        TYPE,
                        log,
                        null,
                        memory,
                        Harness.Subtask.ONLY,
                        false);
        harnesses.add(h);
        return h;
    }

    private Harness started(String spec, BatchOptions options) throws Exception {
        return started(spec, options, null);
    }

    private Harness started(String spec, BatchOptions options, GeneratedJoinCondition condition)
            throws Exception {
        NativeOperatorFactory factory =
                new NativeOperatorFactory(
                        SimpleOperatorFactory.of(join(condition)),
                        spec,
                        List.of(TYPE, TYPE),
                        TYPE,
                        options);
        Harness h = create(factory, Harness.MEMORY);
        assertThat(h.streamOperator()).isInstanceOf(NativeTwoInputOperator.class);
        h.start(null);
        return h;
    }
}
