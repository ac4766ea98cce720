package drey.nexmark;

import static org.assertj.core.api.Assertions.assertThat;

import drey.nexmark.measure.Checkpoints;
import drey.nexmark.measure.Figures;
import drey.nexmark.measure.StateSize;
import drey.nexmark.report.Line;
import drey.nexmark.report.RecoveryLine;
import drey.nexmark.report.StateLine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MatrixTest {

    private static Options all(String... more) {
        String[] args = {
            "--q", "q0,q18",
            "--rung", "replay,generator,kafka",
            "--backend", "heap,rocksdb",
            "--parallelism", "1,2",
            "--object-reuse", "true,false",
            "--minibatch", "false,true",
            "--pairs", "2",
            "--state", "true",
            "--resume", "true"
        };
        String[] both = new String[args.length + more.length];
        System.arraycopy(args, 0, both, 0, args.length);
        System.arraycopy(more, 0, both, args.length, more.length);
        return Options.parse(both);
    }

    @Test
    void theMostTellingComesFirst() {
        List<Matrix.Job> jobs = Matrix.jobs(all());
        // 48 settings, two queries and pairs; state and recovery under the two plain settings; the
        // source
        // the source by rung, parallelism and object reuse.
        assertThat(jobs).hasSize(48 * 4 + 2 * 2 + 12 * 2);
        assertThat(jobs)
                .extracting(Matrix.Job::label)
                .startsWith(
                        "source replay heap, pair 1",
                        "q18 replay heap, pair 1",
                        "q18 replay rocksdb, pair 1",
                        "q0 replay heap, pair 1",
                        "q0 replay rocksdb, pair 1",
                        "q18 replay heap, state",
                        "q18 replay rocksdb, state");
        assertThat(jobs).extracting(Matrix.Job::distance).isSorted();
        assertThat(jobs.get(jobs.size() - 1).label()).endsWith("p2 mini-batch no reuse, pair 2");
    }

    @Test
    void howFarToGoCanBeSaid() {
        assertThat(Matrix.jobs(all("--factors", "0")))
                .hasSize(2 * 4 + 2 * 2 + 2)
                .allMatch(job -> job.distance() == 0);
        assertThat(Matrix.jobs(all("--factors", "1"))).allMatch(job -> job.distance() <= 1);
    }

    @Test
    void whatIsInTheFilesIsNotMeasuredAgain(@TempDir Path folder) throws Exception {
        Path csv = folder.resolve("results.csv");
        Options options = all("--factors", "0", "--csv", csv.toString());
        List<Matrix.Job> jobs = Matrix.jobs(options);
        assertThat(new Results(options).isDone(jobs.get(1))).isFalse();

        Matrix.Job pair = jobs.get(1);
        Figures figures =
                new Figures(
                        1,
                        1,
                        1,
                        1,
                        new Figures.Cpu(1, 1, 1, 1, 1, 1),
                        1,
                        1,
                        1,
                        1,
                        1,
                        1,
                        1,
                        Checkpoints.NONE);
        Results results = new Results(options);
        results.add(
                Run.ENGINES.stream()
                        .map(
                                engine ->
                                        new Line(
                                                pair.query().name(),
                                                pair.conditions(),
                                                engine,
                                                0,
                                                figures,
                                                "",
                                                "native"))
                        .toList());
        results.addStates(
                List.of(
                        new StateLine(
                                "q18", pair.conditions(), "stock", new StateSize(1, 1, 1, 1, 1))));
        results.addRecoveries(
                List.of(new RecoveryLine("q18", pair.conditions(), "stock", 1, 1, 1)));
        Results again = new Results(options);
        assertThat(jobs.stream().filter(again::isDone).map(Matrix.Job::label))
                .containsExactly(
                        "q18 replay heap, pair 1",
                        "q18 replay heap, state",
                        "q18 replay heap, recovery");
        assertThat(again.known(pair)).hasSize(2);

        // As if the command had been killed while it wrote Drey's line.
        String text = Files.readString(csv);
        Files.writeString(csv, text.substring(0, text.length() - 5));
        assertThat(new Results(options).isDone(pair)).isFalse();
    }

    @Test
    void theEndIsForeseenFromJobsOfTheSameKind() {
        List<Matrix.Job> jobs = Matrix.jobs(all("--factors", "0")).subList(0, 5);
        Eta eta = new Eta(jobs);
        eta.done(jobs.get(0), 1_000_000_000L);
        eta.skip(jobs.get(1));
        eta.done(jobs.get(2), 3_000_000_000L);
        // One left on the heap, one on RocksDB.
        assertThat(eta.left().toMillis()).isEqualTo(4_000);
        assertThat(eta.bar()).endsWith("3 of 5, 60 %, ETA 0:00:04").startsWith("[#");
    }
}
