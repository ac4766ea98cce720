package drey.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.jni.NativeException;
import drey.jni.NativeOperator;
import drey.jni.PairCondition;

import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/** A condition that is asked from below: the echo gives back the rows that match the row before them. */
class PairConditionTest extends EchoTest {

    static long open(RowType type, PairCondition condition) {
        try (RowSchema in = RowSchema.input(type);
                RowSchema out = RowSchema.output(type)) {
            return NativeOperator.open(
                    "{\"condition\":\"host\",\"operator\":\"echo\",\"version\":1}",
                    new long[] {in.address()},
                    out.address(),
                    128,
                    0,
                    127,
                    1 << 20,
                    condition);
        }
    }

    private static List<Integer> sources(long handle) {
        List<Integer> sources = new ArrayList<>();
        try (RowBatchReader reader = new RowBatchReader(2)) {
            int n;
            while ((n = (int) NativeOperator.poll(handle, reader.address())) > 0) {
                reader.attach(n);
                for (int i = 0; i < n; i++) {
                    sources.add(reader.source(i));
                }
            }
        }
        return sources;
    }

    @Test
    void pairsAreWhatTheLibraryAsksAbout() {
        int[] calls = {0};
        RowPairs pairs =
                new RowPairs(
                        2,
                        2,
                        (left, right) -> {
                            calls[0]++;
                            return left.getLong(0) <= right.getLong(0)
                                    && left.getString(1).equals(right.getString(1));
                        });
        long handle = open(TYPE, pairs);
        try (RowBatchWriter writer = new RowBatchWriter(5000, 1 << 20)) {
            // Batches of several sizes, so that the memory moves and grows.
            for (int rows : new int[] {3, 5000, 1, 0, 700}) {
                List<Integer> expected = new ArrayList<>();
                for (int i = 0; i < rows; i++) {
                    String name = "x".repeat(i / 10 % 300);
                    writer.add((byte) 0, binary(i % 7, name));
                    if (i == 0 || i % 7 > 0 && (i - 1) / 10 % 300 == i / 10 % 300) {
                        expected.add(i);
                    }
                }
                calls[0] = 0;
                NativeOperator.push(handle, 0, writer.export(), 0);
                assertThat(sources(handle)).isEqualTo(expected);
                assertThat(calls[0]).isEqualTo(rows);
                writer.clear();
            }
        } finally {
            NativeOperator.close(handle);
        }
    }

    /** Whoever pushed sees the very exception, checked or not, and the operator does nothing more. */
    @Test
    void exceptionsComeThrough() {
        Throwable[] failures = {
            new IOException("checked"), new ArithmeticException("unchecked"), new AssertionError()
        };
        for (Throwable failure : failures) {
            long handle =
                    open(TYPE, (left, lefts, right, rights, pairs, matches) -> sneak(failure));
            try (RowBatchWriter writer = new RowBatchWriter(4, 1 << 20)) {
                writer.add((byte) 0, binary(1, "a"));
                assertThatThrownBy(() -> NativeOperator.push(handle, 0, writer.export(), 0))
                        .isSameAs(failure);
                assertThatThrownBy(() -> NativeOperator.push(handle, 0, writer.export(), 0))
                        .isInstanceOfSatisfying(
                                NativeException.class,
                                e -> assertThat(e.status()).isEqualTo(NativeException.POISONED))
                        .hasMessageContaining("the host's condition has failed");
            } finally {
                NativeOperator.close(handle);
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void sneak(Throwable failure) throws T {
        throw (T) failure;
    }

    /** The library holds a condition as long as the operator is open, and no longer; not at all if it does not open. */
    @Test
    void conditionsAreLetGo() throws Exception {
        List<WeakReference<PairCondition>> conditions =
                List.of(openedAndClosed(), refusedAtOpening());
        for (int i = 0; i < 100 && conditions.stream().anyMatch(c -> c.get() != null); i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertThat(conditions).allMatch(c -> c.get() == null);
    }

    private static WeakReference<PairCondition> openedAndClosed() {
        PairCondition condition = new RowPairs(2, 2, (left, right) -> true);
        long handle = open(TYPE, condition);
        assertThat(NativeOperator.live()).contains("hosts: 1");
        NativeOperator.close(handle);
        return new WeakReference<>(condition);
    }

    private static WeakReference<PairCondition> refusedAtOpening() {
        PairCondition condition = new RowPairs(2, 2, (left, right) -> true);
        assertThatThrownBy(() -> NativeOperator.open("{}", new long[1], 0, 1, 0, 0, 0, condition))
                .isInstanceOf(NativeException.class);
        return new WeakReference<>(condition);
    }
}
