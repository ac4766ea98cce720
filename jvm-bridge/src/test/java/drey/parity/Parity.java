package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import drey.runtime.BatchOptions;
import drey.runtime.NativeExecutions;

import org.junit.jupiter.api.DynamicTest;

import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * Plays a scenario on Flink's operator and on ours, side by side, and compares what they emit from checkpoint to checkpoint, so that
 * its length is no matter of memory. A seed is all a run depends on.
 */
final class Parity {

    /** From so many rows on checkpoints and restarts are far apart. */
    private static final long LONG = 50_000;

    private Parity() {}

    /** A test for each subject of an operator, with the seed that was asked for or always the same. */
    static Stream<DynamicTest> everySubject(String operator, long rows) {
        long seed = Long.getLong("drey.parity.seed", 1);
        return Subjects.of(operator).stream()
                .map(
                        subject ->
                                DynamicTest.dynamicTest(
                                        subject.toString(),
                                        () ->
                                                run(
                                                        subject,
                                                        seed + subject.toString().hashCode(),
                                                        rows)));
    }

    /** What was compared. */
    record Result(long rowsIn, long rowsOut) {}

    /** A run of so many rows; the seed says everything else. A failure names it. */
    static Result run(Subject subject, long seed, long rows) throws Exception {
        long before = NativeExecutions.of(subject.operator()).rowsIn();
        Result result = play(subject, seed, rows);
        assertRowsWereNative(subject.operator(), before, rows);
        return result;
    }

    static void assertRowsWereNative(String operator, long before, long rows) {
        assertThat(NativeExecutions.of(operator).rowsIn() - before)
                .as("rows that went through the library")
                .isEqualTo(rows);
    }

    /** The same for a thread that isn't the only one to do so: whoever started them counts the rows. */
    static Result play(Subject subject, long seed, long rows) throws Exception {
        SplittableRandom rng = new SplittableRandom(seed);
        int keySpace = subject.keySpace(new int[] {3, 40, 1000}[rng.nextInt(3)], rows);
        try {
            return play(subject, rng, keySpace, rows, 100);
        } catch (Throwable e) {
            throw new AssertionError(
                    subject
                            + ": seed "
                            + seed
                            + ", spec "
                            + subject.spec()
                            + ", inputs "
                            + subject.inputs(),
                    e);
        }
    }

    static Result run(
            Subject subject, RandomGenerator rng, int keySpace, long rows, int burstsPerRestart)
            throws Exception {
        long before = NativeExecutions.of(subject.operator()).rowsIn();
        Result result = play(subject, rng, keySpace, rows, burstsPerRestart);
        assertRowsWereNative(subject.operator(), before, rows);
        return result;
    }

    private static Result play(
            Subject subject, RandomGenerator rng, int keySpace, long rows, int burstsPerRestart)
            throws Exception {
        BatchOptions options =
                new BatchOptions(
                        new int[] {1, 2, 3, 7, 64, 1024, 4096}[rng.nextInt(7)],
                        new int[] {100, 5_000, 1 << 20}[rng.nextInt(3)],
                        rng.nextInt(4) == 0 ? 0 : 5);
        Scenario.Options often = new Scenario.Options(rows, subject.ttl(), burstsPerRestart);
        Scenario scenario =
                new Scenario(
                        subject.inputs().size(),
                        subject.feed(rng, keySpace),
                        rows < LONG ? often : often.sparse(),
                        rng);
        String what = subject + ", " + options;
        long rowsOut = 0;
        try (Runner flink = Runner.stock(subject);
                Runner drey = Runner.ours(subject, options)) {
            while (scenario.hasNext()) {
                Scenario.Step step = scenario.next();
                flink.play(step);
                drey.play(step);
                if (step instanceof Scenario.Checkpoint || step instanceof Scenario.Restart) {
                    rowsOut += compare(subject, flink, drey, what);
                }
            }
            flink.end();
            drey.end();
            rowsOut += compare(subject, flink, drey, what);
        }
        return new Result(rows, rowsOut);
    }

    private static long compare(Subject subject, Runner flink, Runner drey, String what)
            throws Exception {
        List<Log> expected = flink.take();
        List<Log> actual = drey.take();
        assertThat(actual).hasSameSizeAs(expected);
        long rows = 0;
        for (int i = 0; i < expected.size(); i++) {
            Compare.logs(subject, expected.get(i), actual.get(i), what);
            subject.check(actual.get(i), what);
            rows += expected.get(i).entries.size();
        }
        return rows;
    }
}
