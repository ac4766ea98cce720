package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.NativeOperator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

import java.util.stream.Stream;

/**
 * Flink's joins against ours, row by row, with changelogs on both sides, retention on a clock in our hands, and bundles, through
 * restarts and changes of the parallelism. Rows of both inputs come in an order that the seed fixes.
 */
class JoinParityTest {

    private static final int ROWS = 1_000;

    @AfterEach
    void nothingIsLeftOver() {
        assertThat(NativeOperator.live()).isEmpty();
    }

    @TestFactory
    Stream<DynamicTest> everySubject() {
        return Parity.everySubject("join", ROWS);
    }
}
