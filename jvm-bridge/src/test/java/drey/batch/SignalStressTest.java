package drey.batch;

import static org.assertj.core.api.Assertions.assertThat;

import drey.jni.ForkedJvm;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The stress in JVMs of its own; {@code drey.stress.seconds} makes it long. Fast compilation by C1 alone keeps null checks real
 * signals: C2 soon throws without one.
 */
class SignalStressTest {

    private static final boolean LONG = Integer.getInteger("drey.stress.seconds") != null;
    private static final int SECONDS = Integer.getInteger("drey.stress.seconds", 6);

    @TempDir Path work;

    /** The short run has no time for more than what most users run: G1 and all compilers. */
    static Stream<Arguments> virtualMachines() {
        Stream<Arguments> one = Stream.of(Arguments.of("-XX:+UseG1GC", "-XX:+TieredCompilation"));
        return !LONG
                ? one
                : Stream.concat(
                        one,
                        Stream.of("-XX:+UseG1GC", "-XX:+UseZGC", "-XX:+UseParallelGC")
                                .map(
                                        collector ->
                                                Arguments.of(
                                                        collector, "-XX:TieredStopAtLevel=1")));
    }

    @ParameterizedTest
    @MethodSource("virtualMachines")
    void survives(String collector, String compiler) throws Exception {
        ForkedJvm.Result result =
                new ForkedJvm(work)
                        .options(
                                collector,
                                compiler,
                                "-XX:-OmitStackTraceInFastThrow",
                                "-Xmx512m",
                                "-Djava.io.tmpdir=" + work)
                        .run(4L * SECONDS + 120, SignalStress.class, Integer.toString(SECONDS))
                        .expectExit(0);
        for (String what :
                new String[] {
                    "null checks",
                    "stack overflows",
                    "divisions by zero",
                    "collections",
                    "short-lived threads",
                    "panics",
                    "native batches",
                    "thread dumps",
                    "late signals",
                    "profiler samples"
                }) {
            assertThat(Long.parseLong(result.line(what))).as(what).isPositive();
        }
    }
}
