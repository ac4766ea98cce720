package drey.parity;

import drey.jni.NativeLibrary;
import drey.runtime.NativeExecutions;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The parity of an operator over many rows, on demand: all its subjects, each with its share and one on each processor.
 * Ends with the first difference, or with a line that says how much was compared.
 *
 * <p>Arguments: operator, rows, and a seed (a new one each time if there is none).
 */
public final class ParityFull {

    private ParityFull() {}

    public static void main(String[] args) throws Exception {
        NativeLibrary.load();
        String operator = args[0];
        long rows = Long.parseLong(args[1]);
        long seed = args.length > 2 ? Long.parseLong(args[2]) : System.nanoTime();
        List<Subject> subjects = Subjects.of(operator);
        // Planned one after the other, which is no part of what is measured.
        subjects.forEach(Subject::inputs);
        long before = rowsThroughTheLibrary(subjects);
        long began = System.nanoTime();
        ExecutorService threads =
                Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
        List<Future<Parity.Result>> results = new ArrayList<>();
        for (int i = 0; i < subjects.size(); i++) {
            Subject subject = subjects.get(i);
            long share = rows * (i + 1) / subjects.size() - rows * i / subjects.size();
            long own = seed + i;
            results.add(
                    threads.submit(
                            () -> {
                                Parity.Result result = Parity.play(subject, own, share);
                                System.out.printf(
                                        Locale.ROOT,
                                        "%-60s %,12d rows in, %,12d out%n",
                                        subject,
                                        result.rowsIn(),
                                        result.rowsOut());
                                return result;
                            }));
        }
        threads.shutdown();
        long in = 0;
        long out = 0;
        try {
            for (Future<Parity.Result> result : results) {
                in += result.get().rowsIn();
                out += result.get().rowsOut();
            }
        } finally {
            threads.shutdownNow();
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        if (rowsThroughTheLibrary(subjects) - before != in) {
            throw new AssertionError("not all rows went through the library");
        }
        System.out.printf(
                Locale.ROOT,
                "parity %s, seed %d: %d subjects, %,d rows in, %,d rows of output compared, 0 differences,"
                        + " %,.0f rows/s in %d threads%n",
                operator,
                seed,
                subjects.size(),
                in,
                out,
                in / seconds,
                Runtime.getRuntime().availableProcessors());
    }

    private static long rowsThroughTheLibrary(List<Subject> subjects) {
        return subjects.stream()
                .map(Subject::operator)
                .distinct()
                .mapToLong(operator -> NativeExecutions.of(operator).rowsIn())
                .sum();
    }
}
