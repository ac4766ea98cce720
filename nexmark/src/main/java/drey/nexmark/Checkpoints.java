package drey.nexmark;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.lang.reflect.Field;
import java.util.concurrent.TimeUnit;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.checkpoint.CheckpointStatsSnapshot;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStats;
import org.apache.flink.runtime.minicluster.MiniCluster;

/**
 * What Flink's own statistics say about the checkpoints of a run.
 *
 * @param completed how many
 * @param meanMillis from trigger to completion
 * @param maxMillis the longest
 * @param lastBytes size of the last one's state
 */
record Checkpoints(long completed, long meanMillis, long maxMillis, long lastBytes) {

    static final Checkpoints NONE = new Checkpoints(0, 0, 0, 0);

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

    void write(DataOutput out) throws IOException {
        out.writeLong(completed);
        out.writeLong(meanMillis);
        out.writeLong(maxMillis);
        out.writeLong(lastBytes);
    }

    static Checkpoints read(DataInput in) throws IOException {
        return new Checkpoints(in.readLong(), in.readLong(), in.readLong(), in.readLong());
    }

    /**
     * Looks at a job's checkpoints again and again until it has ended: the embedded cluster goes away with its job, and the
     * job's client doesn't offer them.
     */
    static final class Watch implements AutoCloseable {

        private static final long EVERY_MILLIS = 200;

        private final JobClient job;
        private final MiniCluster cluster;
        private final Thread thread = new Thread(this::look, "checkpoint-watch");
        private volatile Checkpoints latest = NONE;
        private volatile boolean ended;

        Watch(JobClient job) {
            this.job = job;
            cluster = cluster(job);
            thread.setDaemon(true);
            thread.start();
        }

        private static MiniCluster cluster(JobClient job) {
            try {
                Field field = job.getClass().getDeclaredField("miniCluster");
                field.setAccessible(true);
                return (MiniCluster) field.get(job);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(job.getClass() + " is not as expected", e);
            }
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

        Checkpoints latest() {
            return latest;
        }

        @Override
        public void close() {
            ended = true;
            thread.interrupt();
        }
    }
}
