package drey.nexmark.measure;

import java.util.concurrent.TimeUnit;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.checkpoint.CheckpointStatsSnapshot;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStats;
import org.apache.flink.runtime.minicluster.MiniCluster;

/**
 * What Flink's own statistics say about the checkpoints of a run.
 *
 * @param checkpoints how many were completed
 * @param checkpointMeanMs from trigger to completion
 * @param checkpointMaxMs the longest
 * @param checkpointLastBytes size of the last one's state
 */
public record Checkpoints(
        long checkpoints, long checkpointMeanMs, long checkpointMaxMs, long checkpointLastBytes) {

    public static final Checkpoints NONE = new Checkpoints(0, 0, 0, 0);

    static Checkpoints of(CheckpointStatsSnapshot stats) {
        long completed = stats == null ? 0 : stats.getCounts().getNumberOfCompletedCheckpoints();
        if (completed == 0) {
            return NONE;
        }
        CompletedCheckpointStats last = stats.getHistory().getLatestCompletedCheckpoint();
        return new Checkpoints(
                completed,
                stats.getSummaryStats().getEndToEndDurationStats().getAverage(),
                stats.getSummaryStats().getEndToEndDurationStats().getMaximum(),
                last == null ? 0 : last.getStateSize());
    }

    /**
     * Looks at a job's checkpoints again and again until it has ended: the embedded cluster goes away with its job, and the
     * job's client doesn't offer them.
     */
    public static final class Watch implements AutoCloseable {

        private static final long EVERY_MILLIS = 200;

        private final JobClient job;
        private final MiniCluster cluster;
        private final Thread thread = new Thread(this::look, "checkpoint-watch");
        private volatile Checkpoints latest = NONE;
        private volatile boolean ended;

        public Watch(JobClient job) {
            this.job = job;
            cluster = EmbeddedCluster.of(job);
            thread.setDaemon(true);
            thread.start();
        }

        private void look() {
            while (!ended) {
                try {
                    latest =
                            of(
                                    cluster.getExecutionGraph(job.getJobID())
                                            .get(10, TimeUnit.SECONDS)
                                            .getCheckpointStatsSnapshot());
                    Thread.sleep(EVERY_MILLIS);
                } catch (InterruptedException e) {
                    return;
                } catch (Exception e) {
                    // The cluster is coming up or going away; the last look counts.
                    if (!cluster.isRunning()) {
                        return;
                    }
                }
            }
        }

        public Checkpoints latest() {
            return latest;
        }

        @Override
        public void close() {
            ended = true;
            thread.interrupt();
        }
    }
}
