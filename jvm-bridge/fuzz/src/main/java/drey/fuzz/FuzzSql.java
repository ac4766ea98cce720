package drey.fuzz;

import drey.fuzz.CaseGenerator.Origin;
import drey.fuzz.Checker.Finding;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/**
 * Random queries on random tables, on stock Flink and with Drey on, until time is up: {@code FuzzSql OUT MINUTES
 * SEED...}, the time shared among the seeds. A difference is shrunk and written to the folder OUT; the exit code says whether
 * there was one.
 */
public final class FuzzSql {

    private static final long PROGRESS_NANOS = TimeUnit.SECONDS.toNanos(15);

    /** How often a difference is looked for again; what is not seen then can't be shrunk. */
    private static final int AGAIN = 3;

    private final Path out;
    private final Engine engine;
    private final Checker checker;
    private final long shrinkSeconds;
    private final Coverage coverage = new Coverage();
    private int differences;

    FuzzSql(Path out, Engine engine, UnaryOperator<Outcome> tamper, long shrinkSeconds) {
        this.out = out;
        this.engine = engine;
        this.checker = new Checker(engine, tamper);
        this.shrinkSeconds = shrinkSeconds;
    }

    int differences() {
        return differences;
    }

    public static void main(String[] args) throws Exception {
        Path out = Path.of(args[0]);
        double minutes = Double.parseDouble(args[1]);
        int seeds = args.length - 2;
        int differences = 0;
        try (Engine engine = new Engine()) {
            for (int i = 2; i < args.length; i++) {
                FuzzSql fuzzer =
                        new FuzzSql(
                                out,
                                engine,
                                UnaryOperator.identity(),
                                Long.getLong("drey.fuzz.shrink", 120));
                fuzzer.run(
                        Long.parseLong(args[i]), (long) (minutes * 60e9 / seeds), Long.MAX_VALUE);
                differences += fuzzer.differences;
            }
        }
        // Flink leaves threads behind that are no daemons.
        System.exit(differences > 0 ? 1 : 0);
    }

    /** Runs the cases of a seed until time is up or there were enough. */
    void run(long seed, long nanos, long cases) throws Exception {
        long began = System.nanoTime();
        long reported = began;
        for (long n = 0; n < cases && System.nanoTime() - began < nanos; n++) {
            check(seed, n);
            if (System.nanoTime() - reported > PROGRESS_NANOS) {
                reported = System.nanoTime();
                System.out.printf(
                        "fuzz-sql: %d s, case %d, %s%n",
                        (reported - began) / 1_000_000_000, n, summary());
            }
        }
        System.out.print(coverage.report());
        System.out.printf("fuzz-sql: seed %d, %s%n", seed, summary());
    }

    private String summary() {
        return "%d queries, %d native, %d differences"
                .formatted(coverage.queries, coverage.nativeQueries, differences);
    }

    private void check(long seed, long n) throws Exception {
        CaseGenerator generator = new CaseGenerator(CaseGenerator.mix(seed, n));
        FuzzCase fuzzCase = generator.generate("seed " + seed + ", case " + n);
        List<Finding> findings;
        try {
            findings = checker.check(fuzzCase, n % 4 == 0, coverage);
        } catch (Exception e) {
            // Neither side's answer: the fuzzer itself, or the cluster.
            differences++;
            System.out.printf("ERROR seed %d, case %d%n", seed, n);
            e.printStackTrace(System.out);
            return;
        }
        for (Finding finding : findings) {
            differences++;
            report(seed, n, finding, generator.origins().get(finding.unit().name()));
        }
    }

    private void report(long seed, long n, Finding finding, Origin origin) throws Exception {
        System.out.printf(
                "DIFFERENCE seed %d, case %d, query %s, %s: %s%n",
                seed,
                n,
                finding.query().name(),
                finding.difference().kind(),
                finding.difference().text());
        Files.createDirectories(out);
        Path file = out.resolve("seed%d-case%d-%s.txt".formatted(seed, n, finding.query().name()));
        // At once, should shrinking be interrupted.
        Files.writeString(file, CaseFile.write(finding.fuzzCase(), remark(finding)));
        int again = 0;
        for (int i = 0; i < AGAIN; i++) {
            boolean batch = finding.difference().kind().equals("batch");
            again += checker.check(finding.fuzzCase(), batch, new Coverage()).isEmpty() ? 0 : 1;
        }
        System.out.printf("  seen again in %d of %d runs; %s%n", again, AGAIN, file);
        if (again == 0) {
            return;
        }
        Finding small = new Shrinker(checker, shrinkSeconds).shrink(finding, origin);
        Files.writeString(file, CaseFile.write(small.fuzzCase(), remark(small)));
        System.out.printf(
                "  shrunk to %d rows: %s%n  %s%n  make replay F=%s%n",
                small.fuzzCase().rows(), small.query().sql(), small.difference().text(), file);
    }

    private static String remark(Finding f) {
        return "make replay runs this file.\n%s, query %s: %s: %s"
                .formatted(
                        f.fuzzCase().origin(),
                        f.query().name(),
                        f.difference().kind(),
                        f.difference().text());
    }
}
