package drey.runtime;

import org.apache.flink.api.common.JobID;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What has been said of which job: one has many subtasks and may start again, and the same holds for all of them. A
 * TaskManager may see any number of jobs, so it forgets those of which there was nothing to say for longest.
 */
final class SaidOnce {

    /** More than a TaskManager has jobs at a time. */
    static final int MOST = 256;

    private record Saying(JobID job, String what) {}

    private final Map<Saying, Boolean> said =
            new LinkedHashMap<>(16, 0.75f, true) {
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(Map.Entry<Saying, Boolean> eldest) {
                    return size() > MOST;
                }
            };

    /** Whether it is said of the job for the first time. */
    synchronized boolean first(JobID job, String what) {
        return said.put(new Saying(job, what), true) == null;
    }
}
