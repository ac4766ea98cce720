package drey.nexmark.recovery;

import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * How long a job takes to be back at work when its TaskManager is killed: on a cluster of processes, with all events in its
 * state, from a full checkpoint, on a TaskManager that stands by.
 */
public final class Recovery implements AutoCloseable {

    /**
     * What was measured.
     *
     * @param checkpointBytes size of the checkpoint that the job went on from
     * @param recoveryMs from the kill to all tasks running with their state
     * @param restoreMs the part of it since the loss was noticed and the job restarted
     */
    public record Times(long checkpointBytes, long recoveryMs, long restoreMs) {}

    private final Map<String, String> configuration;
    private final Processes cluster;

    /** @param configuration of cluster and job */
    public Recovery(Map<String, String> configuration) throws Exception {
        this.configuration = new HashMap<>(configuration);
        this.configuration.put("restart-strategy.type", "fixed-delay");
        this.configuration.put("restart-strategy.fixed-delay.attempts", "3");
        this.configuration.put("restart-strategy.fixed-delay.delay", "0 s");
        this.configuration.put("heartbeat.interval", "500 ms");
        // By default the JobManager answers out of a cache that is up to three seconds old.
        this.configuration.put("web.refresh-interval", "20 ms");
        this.configuration.put("heartbeat.timeout", "10 s");
        this.configuration.put("execution.checkpointing.interval", "1 h");
        cluster = new Processes(this.configuration);
    }

    /** Parameters that a distribution's scripts would work out. */
    private Map<String, String> memory() {
        Map<String, String> memory = new HashMap<>();
        memory.put("taskmanager.cpu.cores", "1");
        memory.put("taskmanager.memory.task.heap.size", Runtime.getRuntime().maxMemory() + "b");
        memory.put("taskmanager.memory.task.off-heap.size", "0b");
        memory.put("taskmanager.memory.network.min", "64mb");
        memory.put("taskmanager.memory.network.max", "64mb");
        memory.put(
                "taskmanager.memory.managed.size",
                configuration.get("taskmanager.memory.managed.size"));
        memory.put("taskmanager.memory.framework.heap.size", "128mb");
        memory.put("taskmanager.memory.framework.off-heap.size", "128mb");
        memory.put("taskmanager.memory.jvm-metaspace.size", "256mb");
        memory.put("taskmanager.memory.jvm-overhead.min", "192mb");
        memory.put("taskmanager.memory.jvm-overhead.max", "192mb");
        return memory;
    }

    /** @param statements the last one an INSERT whose source stays when it has emitted everything */
    public Times measure(List<String> statements, long events) throws Exception {
        Process first = cluster.startTaskManager(memory());
        String job = "/jobs/" + submit(statements);
        cluster.await(events + " events", () -> Files.exists(cluster.signal()));
        // The first passes through all rows that are under way, the second finds everything at
        // rest.
        checkpoint(job);
        checkpoint(job);
        long bytes =
                cluster.get(job + "/checkpoints")
                        .path("latest")
                        .path("completed")
                        .path("state_size")
                        .asLong();
        cluster.startTaskManager(memory());

        long killed = System.nanoTime();
        cluster.kill(first);
        cluster.await(
                "the restart",
                () ->
                        cluster.get(job + "/checkpoints").path("counts").path("restored").asInt()
                                > 0);
        long restarted = System.nanoTime();
        cluster.await("the tasks", () -> isRunning(cluster.get(job)));
        long running = System.nanoTime();
        return new Times(bytes, (running - killed) / 1_000_000, (running - restarted) / 1_000_000);
    }

    private String submit(List<String> statements) {
        StreamTableEnvironment tables =
                StreamTableEnvironment.create(
                        StreamExecutionEnvironment.createRemoteEnvironment(
                                "127.0.0.1",
                                cluster.restPort(),
                                Configuration.fromMap(configuration)),
                        EnvironmentSettings.newInstance().inStreamingMode().build());
        for (String statement : statements.subList(0, statements.size() - 1)) {
            tables.executeSql(statement);
        }
        return tables.executeSql(statements.get(statements.size() - 1))
                .getJobClient()
                .orElseThrow()
                .getJobID()
                .toString();
    }

    private void checkpoint(String job) throws Exception {
        String request =
                cluster.post(job + "/checkpoints", "{\"checkpointType\":\"FULL\"}")
                        .path("request-id")
                        .asText();
        cluster.await(
                "a checkpoint",
                () -> {
                    JsonNode answer = cluster.get(job + "/checkpoints/" + request);
                    if (answer.path("operation").has("failure-cause")) {
                        throw new IllegalStateException("no checkpoint: " + answer);
                    }
                    return answer.path("status").path("id").asText().equals("COMPLETED");
                });
    }

    private static boolean isRunning(JsonNode job) {
        for (JsonNode vertex : job.path("vertices")) {
            if (vertex.path("tasks").path("RUNNING").asInt()
                    != vertex.path("parallelism").asInt()) {
                return false;
            }
        }
        return !job.path("vertices").isEmpty();
    }

    @Override
    public void close() throws InterruptedException {
        cluster.close();
    }
}
