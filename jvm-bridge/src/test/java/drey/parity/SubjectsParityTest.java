package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.NativeLibrary;
import drey.jni.NativeOperator;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Aggregates against Flink's own on random changelogs, with snapshots, restores and other numbers of subtasks anywhere; and some
 * subjects of every operator against themselves, the same input taken in other batches. In short here, at length by {@code make
 * parity-full} and {@code make metamorphic}.
 */
class SubjectsParityTest {

    private static final int ROWS = Integer.getInteger("drey.parity.rows", 500);

    @BeforeAll
    static void load() {
        NativeLibrary.load();
    }

    @AfterEach
    void nothingIsLeftOver() {
        assertThat(NativeOperator.live()).isEmpty();
    }

    @TestFactory
    Stream<DynamicTest> sameAsFlink() {
        return Parity.everySubject("aggregate", ROWS);
    }

    /** Of each operator some. */
    @TestFactory
    Stream<DynamicTest> sameInOtherBatches() {
        List<Subject> some = new ArrayList<>();
        for (String operator : List.of("deduplicate", "rank", "join", "aggregate")) {
            List<Subject> all = Subjects.of(operator);
            for (int i = 0; i < all.size(); i += 1 + all.size() / 4) {
                some.add(all.get(i));
            }
        }
        return some.stream()
                .map(
                        subject ->
                                DynamicTest.dynamicTest(
                                        subject.toString(),
                                        () ->
                                                assertThat(
                                                                Metamorphic.run(
                                                                        subject,
                                                                        1,
                                                                        ROWS,
                                                                        MessageDigest.getInstance(
                                                                                "SHA-256")))
                                                        .isGreaterThan(5)));
    }
}
