package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.NativeOperator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

import java.util.stream.Stream;

/** Flink's Top-N against ours, row by row, through restarts and changes of the parallelism. */
class RankParityTest {

    private static final int ROWS = 2_000;

    @AfterEach
    void nothingIsLeftOver() {
        assertThat(NativeOperator.live()).isEmpty();
    }

    @TestFactory
    Stream<DynamicTest> everySubject() {
        return Parity.everySubject("rank", ROWS);
    }
}
