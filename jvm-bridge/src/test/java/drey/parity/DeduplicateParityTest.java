package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.NativeOperator;

import org.apache.flink.table.types.logical.LogicalType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Flink's deduplicate against ours, row by row, kinds and record timestamps included. A seed is the only input of a run; a
 * failure names it, and {@code -Ddrey.parity.seed=<seed>} plays it again.
 */
class DeduplicateParityTest {

    /** Rows of one run. With all variants and both retentions that makes a million. */
    private static final int ROWS = 9_000;

    private static final long TTL = 60;

    private static final List<LogicalType> KEY_TYPES =
            Stream.concat(Schema.KEY_TYPES.stream(), Schema.NESTED_KEY_TYPES.stream()).toList();

    @AfterEach
    void nothingIsLeftOver() {
        assertThat(NativeOperator.live()).isEmpty();
    }

    @TestFactory
    Stream<DynamicTest> everyVariant() {
        return variants()
                .map(
                        dedup ->
                                DynamicTest.dynamicTest(
                                        dedup.toString(),
                                        () -> run(dedup, seed(1) + dedup.hashCode(), ROWS)));
    }

    /** Another seed each time, so that in the long run more is covered than what passed once. */
    @Test
    void freshSeed() throws Exception {
        long fresh = seed(System.nanoTime());
        System.out.println("parity with seed " + fresh);
        List<Deduplication> all = variants().toList();
        SplittableRandom rng = new SplittableRandom(fresh);
        for (int i = 0; i < 10; i++) {
            run(all.get(rng.nextInt(all.size())), fresh + i, 2_000);
        }
    }

    /** Each type alone as key, so that a fault in one isn't hidden behind another column. */
    @TestFactory
    Stream<DynamicTest> everyKeyType() {
        Deduplication dedup = new Deduplication(true, true, true, true, false, 0, false, 0);
        return KEY_TYPES.stream()
                .map(
                        type ->
                                DynamicTest.dynamicTest(
                                        type.asSummaryString(),
                                        () -> {
                                            SplittableRandom rng =
                                                    new SplittableRandom(type.hashCode());
                                            Parity.run(
                                                    new DeduplicateSubject(
                                                            dedup, new Schema(List.of(type))),
                                                    rng,
                                                    100,
                                                    4_000,
                                                    100);
                                        }));
    }

    private static Stream<Deduplication> variants() {
        return Stream.concat(Deduplication.all(0).stream(), Deduplication.all(TTL).stream());
    }

    private static long seed(long otherwise) {
        return Long.getLong("drey.parity.seed", otherwise);
    }

    private static void run(Deduplication dedup, long seed, int rows) throws Exception {
        SplittableRandom rng = new SplittableRandom(seed);
        List<LogicalType> keyTypes = new ArrayList<>();
        int columns = 1 + rng.nextInt(3);
        for (int i = 0; i < columns; i++) {
            keyTypes.add(KEY_TYPES.get(rng.nextInt(KEY_TYPES.size())));
        }
        Parity.run(new DeduplicateSubject(dedup, new Schema(keyTypes)), seed, rows);
    }
}
