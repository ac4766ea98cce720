package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest.Sameness;
import drey.nexmark.kafka.Broker;
import drey.nexmark.measure.Csv;
import drey.nexmark.measure.RunResult;
import drey.nexmark.measure.StateSize;
import drey.nexmark.recovery.Recovery;
import drey.nexmark.report.Line;
import drey.nexmark.report.RecoveryLine;
import drey.nexmark.report.StateLine;
import drey.nexmark.report.Summary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Goes through the jobs of a {@link Matrix}. What is measured goes to the results files job by job, so that a command
 * that was stopped, however rudely, goes on where it was.
 */
final class Measuring implements AutoCloseable {

    private final Options options;
    private final List<Matrix.Job> jobs;
    private final Results results;
    private final Map<List<Object>, List<RunResult>> stock = new HashMap<>();
    private final Map<List<Object>, List<RunResult>> drey = new HashMap<>();
    private final Map<List<Object>, List<Line>> lines = new LinkedHashMap<>();
    private final Set<List<Object>> failed = new HashSet<>();
    private final Eta eta;
    private Broker broker;
    private boolean good = true;

    Measuring(Options options) throws IOException {
        this.options = options;
        jobs = Matrix.jobs(options);
        results = new Results(options);
        eta = new Eta(jobs);
    }

    int run() throws Exception {
        for (int i = 0; i < jobs.size(); i++) {
            Matrix.Job job = jobs.get(i);
            List<Line> known = results.known(job);
            if (results.isDone(job)) {
                lines.computeIfAbsent(key(job), k -> new ArrayList<>()).addAll(known);
                eta.skip(job);
                continue;
            }
            long start = System.nanoTime();
            try {
                measure(job);
            } catch (Exception e) {
                // Unattended, the others are still worth their time.
                e.printStackTrace();
                System.out.printf("%s%nINVALID: a run failed: %s%n%n", job.label(), root(e));
                good = false;
                if (job.kind() == Matrix.Kind.PAIR) {
                    failed.add(key(job));
                }
            }
            eta.done(job, System.nanoTime() - start);
            if (jobs.size() > 1) {
                System.out.println(eta.bar() + "  " + job.label());
            }
        }
        List<Line> all = lines.values().stream().flatMap(List::stream).toList();
        failed.removeAll(lines.keySet());
        System.out.println(Summary.lastLine(Summary.of(all), failed.size()));
        return good ? 0 : 1;
    }

    private void measure(Matrix.Job unbound) throws Exception {
        Matrix.Job job =
                unbound.options().get("rung").equals("kafka") ? onBroker(unbound) : unbound;
        switch (job.kind()) {
            case PAIR -> pair(job);
            case STATE -> state(job);
            case RECOVERY -> recovery(job);
        }
    }

    private Matrix.Job onBroker(Matrix.Job job) throws Exception {
        if (broker == null) {
            Path classPath = Path.of(options.get("broker-classpath"));
            broker = Broker.start(Files.readString(classPath).strip());
        }
        Options bound = job.options().with("broker", broker.address());
        Rung.of(bound).prepare();
        return new Matrix.Job(job.kind(), bound, job.query(), job.pair(), job.distance());
    }

    private static List<Object> key(Matrix.Job job) {
        return List.of(job.query(), job.conditions());
    }

    private void pair(Matrix.Job job) throws Exception {
        List<RunResult> stocks = stock.computeIfAbsent(key(job), k -> new ArrayList<>());
        List<RunResult> dreys = drey.computeIfAbsent(key(job), k -> new ArrayList<>());
        if (stocks.isEmpty() && !job.options().is("fresh-jvm")) {
            Rung.of(job.options()).prepare();
            engine(job, Run.STOCK).warmUp();
            engine(job, Run.DREY).warmUp();
        }
        // Who goes first alternates: drift of the machine then favours neither.
        boolean stockFirst = job.pair() % 2 == 0;
        RunResult first = timed(job, stockFirst ? Run.STOCK : Run.DREY);
        RunResult second = timed(job, stockFirst ? Run.DREY : Run.STOCK);
        stocks.add(stockFirst ? first : second);
        dreys.add(stockFirst ? second : first);

        Comparison one = comparison(job, last(stocks), last(dreys));
        Comparison all = comparison(job, stocks, dreys);
        int bucket = all.differentBucket();
        if (bucket >= 0) {
            all.explainDifference(difference(job, bucket, all.sameness()));
        }
        if (job.pair() == job.options().number("pairs") - 1 || !all.isValid()) {
            System.out.println(all.table());
        }
        good &= all.isGood();
        List<Line> measured = one.lines(job.pair());
        lines.computeIfAbsent(key(job), k -> new ArrayList<>()).addAll(measured);
        results.add(measured);
    }

    private static Comparison comparison(
            Matrix.Job job, List<RunResult> stock, List<RunResult> drey) {
        return new Comparison(job.options(), job.query(), stock, drey);
    }

    private static List<RunResult> last(List<RunResult> runs) {
        return runs.subList(runs.size() - 1, runs.size());
    }

    private static EngineRun engine(Matrix.Job job, String engine) {
        return new EngineRun(job.options(), job.query(), engine);
    }

    private RunResult timed(Matrix.Job job, String engine) throws Exception {
        if (job.options().is("fresh-jvm")) {
            return Child.run(job, engine, RunResult::read);
        }
        String label = job.query().name() + " " + engine;
        return engine(job, engine).run(job.options().number("events"), -1, label);
    }

    /** Runs both engines again, recording only the bucket that differs, and says where the two part. */
    private static String difference(Matrix.Job job, int bucket, Sameness sameness)
            throws Exception {
        long events = job.options().number("events");
        Rung.of(job.options()).prepare();
        RunResult stock = engine(job, Run.STOCK).run(events, bucket, "again stock");
        RunResult drey = engine(job, Run.DREY).run(events, bucket, "again drey");
        if (stock.recording() == null) {
            return "no changes can be shown on this rung";
        }
        String difference =
                stock.recording().firstDifference(drey.recording(), sameness, Run.STOCK, Run.DREY);
        return difference != null
                ? difference
                : "the difference (bucket %d) did not show again in a second run of both"
                        .formatted(bucket);
    }

    private void state(Matrix.Job job) throws Exception {
        List<StateLine> measured = new ArrayList<>();
        for (String engine : Run.ENGINES) {
            StateSize size =
                    Child.run(
                            job,
                            engine,
                            file -> new Csv<>(StateSize.class).parse(Files.readString(file)));
            measured.add(new StateLine(job.query().name(), job.conditions(), engine, size));
        }
        results.addStates(measured);
    }

    private void recovery(Matrix.Job job) throws Exception {
        List<RecoveryLine> measured = new ArrayList<>();
        for (String engine : Run.ENGINES) {
            try (Recovery recovery = new Recovery(engine(job, engine).clusterConfiguration())) {
                Recovery.Times times =
                        recovery.measure(
                                engine(job, engine).stayingStatements(),
                                job.options().number("events"));
                measured.add(
                        new RecoveryLine(
                                job.query().name(),
                                job.conditions(),
                                engine,
                                times.checkpointBytes(),
                                times.recoveryMs(),
                                times.restoreMs()));
            }
        }
        results.addRecoveries(measured);
    }

    private static Throwable root(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        return root;
    }

    @Override
    public void close() throws Exception {
        if (broker != null) {
            broker.close();
        }
    }
}
