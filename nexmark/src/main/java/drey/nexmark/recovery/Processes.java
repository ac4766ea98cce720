package drey.nexmark.recovery;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.util.FileUtils;

/** A session cluster of a JobManager and TaskManagers, each a process, with this one's class path and JVM options. */
final class Processes implements AutoCloseable {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(4);

    private final HttpClient http = HttpClient.newHttpClient();
    private final List<Process> running = new ArrayList<>();
    private final Thread end = new Thread(this::killAll);
    private final Path folder;
    private final int restPort;

    Processes(Map<String, String> configuration) throws Exception {
        folder = Files.createTempDirectory("nexmark-cluster");
        restPort = freePort();
        Files.createDirectories(folder.resolve("conf"));
        Map<String, String> conf = new LinkedHashMap<>(configuration);
        conf.put("jobmanager.rpc.address", "127.0.0.1");
        conf.put("jobmanager.bind-host", "127.0.0.1");
        conf.put("jobmanager.rpc.port", Integer.toString(freePort()));
        conf.put("taskmanager.host", "127.0.0.1");
        conf.put("taskmanager.bind-host", "127.0.0.1");
        conf.put("rest.address", "127.0.0.1");
        conf.put("rest.bind-address", "127.0.0.1");
        conf.put("rest.port", Integer.toString(restPort));
        conf.put("execution.checkpointing.dir", folder.resolve("checkpoints").toUri().toString());
        conf.put("io.tmp.dirs", folder.resolve("tmp").toString());
        StringBuilder yaml = new StringBuilder();
        for (Map.Entry<String, String> option : conf.entrySet()) {
            yaml.append(option.getKey())
                    .append(": ")
                    .append(JSON.writeValueAsString(option.getValue()))
                    .append('\n');
        }
        Files.writeString(folder.resolve("conf/config.yaml"), yaml);
        Runtime.getRuntime().addShutdownHook(end);
        start(
                "jobmanager",
                "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint");
    }

    /** Where a job can be submitted. */
    int restPort() {
        return restPort;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** A file that a source makes when it has emitted everything. */
    Path signal() {
        return folder.resolve("emitted");
    }

    Process startTaskManager(Map<String, String> memory) throws Exception {
        List<String> arguments = new ArrayList<>();
        memory.forEach(
                (key, value) -> {
                    arguments.add("-D");
                    arguments.add(key + "=" + value);
                });
        int before = get("/overview").path("taskmanagers").asInt();
        Process process =
                start(
                        "taskmanager-" + running.size(),
                        "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
                        arguments.toArray(new String[0]));
        await(
                "a TaskManager to register",
                () -> get("/overview").path("taskmanagers").asInt() > before);
        return process;
    }

    private Process start(String name, String mainClass, String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.add("-Dnexmark.log=" + folder.resolve(name + ".log"));
        command.add("-Dnexmark.signal=" + signal());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), mainClass));
        command.addAll(List.of("--configDir", folder.resolve("conf").toString()));
        if (name.equals("jobmanager")) {
            command.addAll(List.of("--executionMode", "cluster"));
        }
        command.addAll(List.of(arguments));
        Process process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(folder.resolve(name + ".out").toFile())
                        .start();
        running.add(process);
        if (name.equals("jobmanager")) {
            await("the JobManager to answer", () -> !get("/overview").isEmpty());
        }
        return process;
    }

    /** kill -9. */
    void kill(Process process) {
        running.remove(process);
        process.destroyForcibly();
    }

    JsonNode get(String path) throws Exception {
        return send(request(path).GET());
    }

    JsonNode post(String path, String body) throws Exception {
        return send(
                request(path)
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + restPort + path))
                .timeout(Duration.ofSeconds(30));
    }

    private JsonNode send(HttpRequest.Builder request) throws Exception {
        HttpResponse<String> answer =
                http.send(request.build(), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() >= 300) {
            throw new IOException(answer.statusCode() + ": " + answer.body());
        }
        return answer.body().isEmpty() ? JSON.createObjectNode() : JSON.readTree(answer.body());
    }

    /** Looks again and again; a question that wasn't answered counts as no. */
    void await(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        IOException last = null;
        while (System.nanoTime() < deadline) {
            try {
                if (condition.call()) {
                    return;
                }
            } catch (IOException e) {
                last = e;
            }
            for (Process process : running) {
                if (!process.isAlive()) {
                    throw new IllegalStateException(
                            "a process died while waiting for " + what + ": " + logs(), last);
                }
            }
            Thread.sleep(10);
        }
        throw new IllegalStateException("waited in vain for " + what + ": " + logs(), last);
    }

    private String logs() {
        Path kept = Path.of("nexmark/out/cluster-logs");
        try {
            FileUtils.deleteDirectoryQuietly(kept.toFile());
            Files.createDirectories(kept);
            try (var files = Files.list(folder)) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    Files.copy(file, kept.resolve(file.getFileName()));
                }
            }
            return "logs are in " + kept;
        } catch (IOException e) {
            return "logs are gone (" + e + ")";
        }
    }

    private void killAll() {
        running.forEach(Process::destroyForcibly);
    }

    @Override
    public void close() throws InterruptedException {
        killAll();
        for (Process process : running) {
            process.waitFor();
        }
        Runtime.getRuntime().removeShutdownHook(end);
        FileUtils.deleteDirectoryQuietly(folder.toFile());
    }
}
