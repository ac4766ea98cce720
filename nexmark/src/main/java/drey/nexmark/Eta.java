package drey.nexmark;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** How far a list of jobs has come, and when it will be through: jobs to come take as long as those of their kind have. */
final class Eta {

    private static final int WIDTH = 30;

    private final int total;
    private final List<Matrix.Job> left;
    private final Map<List<Object>, List<Long>> took = new HashMap<>();

    Eta(List<Matrix.Job> jobs) {
        total = jobs.size();
        left = new ArrayList<>(jobs);
    }

    void skip(Matrix.Job job) {
        left.remove(job);
    }

    void done(Matrix.Job job, long nanos) {
        left.remove(job);
        took.computeIfAbsent(kind(job), k -> new ArrayList<>()).add(nanos);
    }

    private static List<Object> kind(Matrix.Job job) {
        return List.of(job.kind(), job.options().get("rung"), job.options().get("backend"));
    }

    /** Time that is left, after what was seen so far. */
    Duration left() {
        double all =
                took.values().stream().flatMap(List::stream).mapToLong(n -> n).average().orElse(0);
        double sum = 0;
        for (Matrix.Job job : left) {
            List<Long> seen = took.get(kind(job));
            sum += seen == null ? all : seen.stream().mapToLong(n -> n).average().orElse(all);
        }
        return Duration.ofNanos((long) sum);
    }

    String bar() {
        int done = total - left.size();
        int filled = WIDTH * done / total;
        Duration left = left();
        return "[%s%s] %d of %d, %d %%, ETA %d:%02d:%02d"
                .formatted(
                        "#".repeat(filled),
                        ".".repeat(WIDTH - filled),
                        done,
                        total,
                        100 * done / total,
                        left.toHours(),
                        left.toMinutesPart(),
                        left.toSecondsPart());
    }
}
