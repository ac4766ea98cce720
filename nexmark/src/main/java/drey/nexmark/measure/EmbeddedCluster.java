package drey.nexmark.measure;

import java.lang.reflect.Field;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.minicluster.MiniCluster;

/** The cluster in this process that runs a job; the job's client doesn't offer it. */
public final class EmbeddedCluster {

    private EmbeddedCluster() {}

    public static MiniCluster of(JobClient job) {
        try {
            Field field = job.getClass().getDeclaredField("miniCluster");
            field.setAccessible(true);
            return (MiniCluster) field.get(job);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(job.getClass() + " is not as expected", e);
        }
    }
}
