package drey.nexmark;

import drey.nexmark.report.Conditions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.flink.runtime.util.EnvironmentInformation;

/**
 * All that a command asks to measure, the most telling first, so that the results are of use whenever it is stopped: the
 * plain settings before those that differ from them in one, these before those that differ in more; once everything before
 * anything again.
 */
final class Matrix {

    /** What a job measures. */
    enum Kind {
        /** Time and CPU of both engines, one after the other. */
        PAIR,
        /** What the state takes at the end, and what a checkpoint of it takes. */
        STATE,
        /** How long a cluster takes to go on after a TaskManager was killed. */
        RECOVERY
    }

    /**
     * One thing to measure.
     *
     * @param options with one value each
     * @param pair number of the pair, from 0
     * @param distance how many settings differ from the plain ones
     */
    record Job(Kind kind, Options options, Query query, int pair, int distance) {

        Conditions conditions() {
            return Matrix.conditions(options);
        }

        /** How early it comes, within its distance. */
        private int pass() {
            return switch (kind) {
                case PAIR -> pair == 0 ? 0 : 2 + pair;
                case STATE -> 1;
                case RECOVERY -> 2;
            };
        }

        String label() {
            String what =
                    switch (kind) {
                        case PAIR -> "pair " + (pair + 1);
                        case STATE -> "state";
                        case RECOVERY -> "recovery";
                    };
            return query.name() + " " + conditions().brief() + ", " + what;
        }
    }

    private static final List<String> SETTINGS =
            List.of("rung", "backend", "parallelism", "object-reuse", "minibatch");

    private Matrix() {}

    static List<Job> jobs(Options options) {
        List<Query> queries = new ArrayList<>(options.queries());
        if (options.is("resume") && !queries.contains(Query.SOURCE)) {
            queries.add(Query.SOURCE);
        }
        List<Job> jobs = new ArrayList<>();
        for (Options cell : cells(options)) {
            queries.forEach(query -> add(jobs, cell, query));
        }
        if (jobs.size() > 1 && options.is("resume")) {
            jobs.sort(
                    Comparator.comparingInt(Job::distance)
                            .thenComparingInt(Job::pass)
                            .thenComparingInt(job -> job.query.rank()));
        }
        return jobs;
    }

    /** Every combination of the settings that may have several values. */
    private static List<Options> cells(Options options) {
        List<Options> cells = List.of(options);
        for (String name : SETTINGS) {
            cells =
                    cells.stream()
                            .flatMap(c -> c.list(name).stream().map(value -> c.with(name, value)))
                            .toList();
        }
        return cells;
    }

    private static void add(List<Job> jobs, Options cell, Query query) {
        // Of the source alone nothing depends on these.
        if (query == Query.SOURCE && known(jobs, cell)) {
            return;
        }
        int distance = distance(cell);
        if (distance > cell.number("factors")) {
            return;
        }
        for (int pair = 0; pair < cell.number("pairs"); pair++) {
            jobs.add(new Job(Kind.PAIR, cell, query, pair, distance));
        }
        if (cell.is("state") && distance == 0 && query.stateful()) {
            jobs.add(new Job(Kind.STATE, cell, query, 0, distance));
            jobs.add(new Job(Kind.RECOVERY, cell, query, 0, distance));
        }
    }

    private static boolean known(List<Job> jobs, Options cell) {
        return jobs.stream()
                .anyMatch(
                        job ->
                                job.query == Query.SOURCE
                                        && job.pair == cell.number("pairs") - 1
                                        && job.conditions().sameSource(conditions(cell)));
    }

    /** Either backend is plain: the two are what the figures are about. */
    private static int distance(Options cell) {
        int distance = 0;
        distance += cell.replay() ? 0 : 1;
        distance += cell.parallelism() == 1 ? 0 : 1;
        distance += cell.is("object-reuse") ? 0 : 1;
        distance += cell.is("minibatch") ? 1 : 0;
        return distance;
    }

    static Conditions conditions(Options options) {
        return new Conditions(
                EnvironmentInformation.getVersion(),
                options.get("rung"),
                options.get("backend"),
                options.parallelism(),
                options.is("object-reuse"),
                options.is("minibatch"),
                options.checkpoint(),
                options.number("events"),
                options.unusual());
    }
}
