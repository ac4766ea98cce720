package drey.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
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
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/**
 * A standalone session cluster of separate JVMs on the loopback interface, started the way a distribution's scripts do it: memory
 * and JVM parameters come from Flink's own BashJavaUtils, the class path is lib/ sorted by name with what flink-dist bundles behind
 * it, and the configuration is that of the distribution's config.yaml but for addresses, folders and shorter heartbeats.
 */
final class FlinkCluster implements AutoCloseable {

    private static final ObjectMapper JSON = new ObjectMapper();

    /** env.java.opts.all of the configuration that Flink 2.x ships: the only JVM flags in play. */
    private static final List<String> SHIPPED_OPTIONS =
            List.of(
                    "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
                    "--add-exports=jdk.compiler/com.sun.tools.javac.api=ALL-UNNAMED",
                    "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
                    "--add-exports=jdk.compiler/com.sun.tools.javac.parser=ALL-UNNAMED",
                    "--add-exports=jdk.compiler/com.sun.tools.javac.tree=ALL-UNNAMED",
                    "--add-exports=jdk.compiler/com.sun.tools.javac.util=ALL-UNNAMED",
                    "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
                    "--add-opens=java.base/java.lang=ALL-UNNAMED",
                    "--add-opens=java.base/java.net=ALL-UNNAMED",
                    "--add-opens=java.base/java.io=ALL-UNNAMED",
                    "--add-opens=java.base/java.nio=ALL-UNNAMED",
                    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
                    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
                    "--add-opens=java.base/java.text=ALL-UNNAMED",
                    "--add-opens=java.base/java.time=ALL-UNNAMED",
                    "--add-opens=java.base/java.util=ALL-UNNAMED",
                    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
                    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
                    "--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED");

    private final Path home;
    private final String classPath;
    private final String rest;
    private final HttpClient http = HttpClient.newHttpClient();
    private final List<String> taskManagerParameters;
    private final Process jobManager;
    private final List<Process> taskManagers = new ArrayList<>();
    private int started;

    FlinkCluster(Path distribution, Path home, int taskManagers) throws Exception {
        this.home = home;
        this.classPath = classPath(distribution);
        int restPort = freePort();
        this.rest = "http://127.0.0.1:" + restPort;
        Files.createDirectories(home.resolve("conf"));
        Files.createDirectories(home.resolve("log"));
        Files.createDirectories(home.resolve("tmp"));
        Files.writeString(home.resolve("conf/config.yaml"), config(restPort, freePort()));
        Files.writeString(home.resolve("conf/log4j.properties"), LOGGING);

        List<String> parameters = resourceParameters("GET_JM_RESOURCE_PARAMS");
        this.taskManagerParameters = resourceParameters("GET_TM_RESOURCE_PARAMS");
        this.jobManager =
                java(
                        "jobmanager",
                        words(parameters.get(0)),
                        Stream.concat(
                                        Stream.of(
                                                "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint",
                                                "--configDir",
                                                home.resolve("conf").toString(),
                                                "--executionMode",
                                                "cluster"),
                                        words(parameters.get(1)).stream())
                                .collect(Collectors.toList()));
        try {
            for (int i = 0; i < taskManagers; i++) {
                startTaskManager();
            }
            awaitTaskManagers();
        } catch (Throwable t) {
            close();
            throw t;
        }
    }

    private String config(int restPort, int rpcPort) {
        return String.join(
                "\n",
                "jobmanager: {bind-host: 127.0.0.1, rpc: {address: 127.0.0.1, port: "
                        + rpcPort
                        + "}, memory: {process: {size: 1600m}}}",
                "taskmanager: {bind-host: 127.0.0.1, host: 127.0.0.1, numberOfTaskSlots: 1, memory:"
                        + " {process: {size: 1728m}}}",
                "parallelism: {default: 1}",
                "rest: {address: 127.0.0.1, bind-address: 127.0.0.1, port: " + restPort + "}",
                "execution: {checkpointing: {interval: 500 ms, dir: 'file://"
                        + home
                        + "/checkpoints'}}",
                "io: {tmp: {dirs: " + home + "/tmp}}",
                // A lost process is noticed in seconds, not in a minute.
                "heartbeat: {interval: 500 ms, timeout: 10 s}",
                "metrics: {fetcher: {update-interval: 500 ms}}",
                // A question after metrics that was on its way to a killed process is given up.
                // Until
                // then, ten minutes by default, the JobManager asks nobody for metrics.
                "web: {timeout: 20 s}",
                "env: {java: {opts: {all: " + String.join(" ", SHIPPED_OPTIONS) + "}}}",
                "");
    }

    private static final String LOGGING =
            String.join(
                    "\n",
                    "rootLogger.level = INFO",
                    "rootLogger.appenderRef.file.ref = console",
                    "appender.console.name = console",
                    "appender.console.type = CONSOLE",
                    "appender.console.layout.type = PatternLayout",
                    "appender.console.layout.pattern = %d{HH:mm:ss,SSS} %-5p %-60c %x - %m%n",
                    "");

    /** As constructFlinkClassPath in the distribution's config.sh: lib/ sorted by name, flink-dist last. */
    private static String classPath(Path distribution) throws IOException {
        return Stream.concat(jars(distribution.resolve("lib")), jars(distribution.resolve("dist")))
                .map(Path::toString)
                .collect(Collectors.joining(":"));
    }

    private static Stream<Path> jars(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            List<Path> sorted =
                    files.filter(f -> f.toString().endsWith(".jar"))
                            .sorted()
                            .collect(Collectors.toList());
            if (sorted.isEmpty()) {
                throw new IOException("no jars in " + folder);
            }
            return sorted.stream();
        }
    }

    private List<String> resourceParameters(String command) throws Exception {
        Process process =
                new ProcessBuilder(
                                javaBinary(),
                                "-cp",
                                classPath,
                                "org.apache.flink.runtime.util.bash.BashJavaUtils",
                                command,
                                "--configDir",
                                home.resolve("conf").toString())
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start();
        String marker = "BASH_JAVA_UTILS_EXEC_RESULT:";
        List<String> lines =
                process.inputReader()
                        .lines()
                        .filter(line -> line.startsWith(marker))
                        .map(line -> line.substring(marker.length()))
                        .collect(Collectors.toList());
        if (process.waitFor() != 0 || lines.size() != 2) {
            throw new IOException("BashJavaUtils " + command + " gave " + lines);
        }
        return lines;
    }

    private static List<String> words(String line) {
        return Arrays.stream(line.trim().split("\\s+")).collect(Collectors.toList());
    }

    private static String javaBinary() {
        return Path.of(System.getProperty("java.home"), "bin", "java").toString();
    }

    private Process java(
            String name, List<String> jvmParameters, List<String> mainClassAndArguments)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(javaBinary());
        command.addAll(jvmParameters);
        command.addAll(SHIPPED_OPTIONS);
        command.add("-Dlog4j.configurationFile=" + home.resolve("conf/log4j.properties").toUri());
        command.add("-cp");
        command.add(classPath);
        command.addAll(mainClassAndArguments);
        return new ProcessBuilder(command)
                .directory(home.toFile())
                .redirectErrorStream(true)
                .redirectOutput(home.resolve("log/" + name + ".log").toFile())
                .start();
    }

    /** Starts one more TaskManager; its log is log/taskmanager-N.log. */
    Process startTaskManager() throws IOException {
        List<String> arguments = new ArrayList<>();
        arguments.add("org.apache.flink.runtime.taskexecutor.TaskManagerRunner");
        arguments.add("--configDir");
        arguments.add(home.resolve("conf").toString());
        arguments.addAll(words(taskManagerParameters.get(1)));
        Process process =
                java("taskmanager-" + ++started, words(taskManagerParameters.get(0)), arguments);
        taskManagers.add(process);
        return process;
    }

    /** Waits until every TaskManager started and not killed has registered. */
    void awaitTaskManagers() throws Exception {
        await(
                "the TaskManagers to register",
                () -> get("/overview").path("taskmanagers").asInt() == taskManagers.size());
    }

    List<Process> taskManagers() {
        return List.copyOf(taskManagers);
    }

    /** kill -9. */
    void killTaskManager(Process process) throws InterruptedException {
        process.destroyForcibly().waitFor();
        taskManagers.remove(process);
    }

    /** What {@code flink run} does, in a JVM of its own; returns the job's id. */
    String submit(Path jar, int parallelism, String... arguments) throws Exception {
        List<String> command =
                new ArrayList<>(
                        List.of("org.apache.flink.client.cli.CliFrontend", "run", "--detached"));
        command.addAll(List.of("--parallelism", Integer.toString(parallelism), jar.toString()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder =
                new ProcessBuilder(
                        Stream.concat(
                                        Stream.of(
                                                javaBinary(),
                                                "-cp",
                                                classPath,
                                                "-Dlog4j.configurationFile="
                                                        + home.resolve("conf/log4j.properties")
                                                                .toUri()),
                                        Stream.concat(SHIPPED_OPTIONS.stream(), command.stream()))
                                .collect(Collectors.toList()));
        builder.environment().put("FLINK_CONF_DIR", home.resolve("conf").toString());
        Process client = builder.directory(home.toFile()).redirectErrorStream(true).start();
        List<String> output = client.inputReader().lines().collect(Collectors.toList());
        String marker = "Job has been submitted with JobID ";
        if (client.waitFor() != 0) {
            throw new IOException("flink run failed:\n" + String.join("\n", output));
        }
        return output.stream()
                .filter(line -> line.startsWith(marker))
                .map(line -> line.substring(marker.length()).trim())
                .findFirst()
                .orElseThrow(() -> new IOException("no job id in\n" + String.join("\n", output)));
    }

    /** Uploads a jar once, for {@link #run}. */
    String upload(Path jar) throws Exception {
        String boundary = "drey-cluster-test";
        byte[] head =
                ("--"
                                + boundary
                                + "\r\n"
                                + "Content-Disposition: form-data; name=\"jarfile\";"
                                + " filename=\"job.jar\"\r\n"
                                + "Content-Type: application/x-java-archive\r\n\r\n")
                        .getBytes();
        byte[] tail = ("\r\n--" + boundary + "--\r\n").getBytes();
        JsonNode answer =
                send(
                        HttpRequest.newBuilder(URI.create(rest + "/jars/upload"))
                                .header("Content-Type", "multipart/form-data; boundary=" + boundary)
                                .POST(
                                        HttpRequest.BodyPublishers.ofByteArrays(
                                                List.of(head, Files.readAllBytes(jar), tail))));
        String name = answer.path("filename").asText();
        return name.substring(name.lastIndexOf('/') + 1);
    }

    /** Runs the main class of an uploaded jar: here the JobManager plans the job. Savepoint may be null. */
    String run(String jarId, int parallelism, String savepoint, String... arguments)
            throws Exception {
        return run(jarId, null, parallelism, savepoint, arguments);
    }

    /** Runs a class of an uploaded jar. */
    String run(
            String jarId, Class<?> program, int parallelism, String savepoint, String... arguments)
            throws Exception {
        var body = JSON.createObjectNode().put("parallelism", parallelism);
        if (program != null) {
            body.put("entryClass", program.getName());
        }
        if (savepoint != null) {
            body.put("savepointPath", savepoint);
        }
        var list = body.putArray("programArgsList");
        Arrays.stream(arguments).forEach(list::add);
        return post("/jars/" + jarId + "/run", body).path("jobid").asText();
    }

    String stopWithSavepoint(String job) throws Exception {
        var body =
                JSON.createObjectNode()
                        .put("drain", false)
                        .put("targetDirectory", "file://" + home + "/savepoints");
        String trigger = post("/jobs/" + job + "/stop", body).path("request-id").asText();
        String path = "/jobs/" + job + "/savepoints/" + trigger;
        await(
                "the savepoint",
                () -> "COMPLETED".equals(get(path).path("status").path("id").asText()));
        String location = get(path).path("operation").path("location").asText();
        if (location.isEmpty()) {
            throw new IOException("no savepoint: " + get(path));
        }
        awaitState(job, "FINISHED");
        return location;
    }

    void cancel(String job) throws Exception {
        send(
                HttpRequest.newBuilder(URI.create(rest + "/jobs/" + job))
                        .method("PATCH", HttpRequest.BodyPublishers.noBody()));
        awaitState(job, "CANCELED");
    }

    void awaitState(String job, String state) throws Exception {
        await(
                "job " + job + " to be " + state,
                () -> {
                    String now = get("/jobs/" + job).path("state").asText();
                    if (!now.equals(state)
                            && List.of("FAILED", "FINISHED", "CANCELED").contains(now)) {
                        throw new IOException(
                                "job is "
                                        + now
                                        + ", not "
                                        + state
                                        + ": "
                                        + get("/jobs/" + job + "/exceptions"));
                    }
                    return now.equals(state);
                });
    }

    /** Waits for something that can only be seen while the job runs. */
    void awaitWhileRunning(String job, String what, Callable<Boolean> condition) throws Exception {
        await(
                what,
                () -> {
                    if (condition.call()) {
                        return true;
                    }
                    String state = get("/jobs/" + job).path("state").asText();
                    if (List.of("FAILED", "FINISHED", "CANCELED").contains(state)) {
                        throw new IOException(
                                "job is "
                                        + state
                                        + " before "
                                        + what
                                        + ": "
                                        + get("/jobs/" + job + "/exceptions"));
                    }
                    return false;
                });
    }

    int completedCheckpoints(String job) throws Exception {
        return get("/jobs/" + job + "/checkpoints").path("counts").path("completed").asInt();
    }

    /** Bytes of rows on their way that the last checkpoint took along; 0 if it was aligned. */
    long bytesInFlight(String job) throws Exception {
        return get("/jobs/" + job + "/checkpoints")
                .path("latest")
                .path("completed")
                .path("persisted_data")
                .asLong();
    }

    int restores(String job) throws Exception {
        return get("/jobs/" + job + "/checkpoints").path("counts").path("restored").asInt();
    }

    /** Names of all metrics of all subtasks of a job. */
    List<String> metricNames(String job) throws Exception {
        List<String> names = new ArrayList<>();
        for (JsonNode vertex : get("/jobs/" + job).path("vertices")) {
            get("/jobs/" + job + "/vertices/" + vertex.path("id").asText() + "/subtasks/metrics")
                    .forEach(metric -> names.add(metric.path("id").asText()));
        }
        return names;
    }

    /** The sum over all subtasks of the metrics whose name ends in the given suffix, 0 where there is none. */
    double metric(String job, String suffix) throws Exception {
        double sum = 0;
        for (JsonNode vertex : get("/jobs/" + job).path("vertices")) {
            String path =
                    "/jobs/"
                            + job
                            + "/vertices/"
                            + vertex.path("id").asText()
                            + "/subtasks/metrics";
            for (JsonNode metric : get(path)) {
                String id = metric.path("id").asText();
                if (id.endsWith(suffix)) {
                    String query =
                            path + "?get=" + java.net.URLEncoder.encode(id, "UTF-8") + "&agg=sum";
                    for (JsonNode value : get(query)) {
                        sum += value.path("sum").asDouble();
                    }
                }
            }
        }
        return sum;
    }

    JsonNode get(String path) throws Exception {
        return send(HttpRequest.newBuilder(URI.create(rest + path)));
    }

    private JsonNode post(String path, JsonNode body) throws Exception {
        return send(
                HttpRequest.newBuilder(URI.create(rest + path))
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(body.toString())));
    }

    private JsonNode send(HttpRequest.Builder request) throws Exception {
        HttpResponse<String> response =
                http.send(
                        request.timeout(Duration.ofSeconds(60)).build(),
                        HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() >= 300) {
            throw new IOException(
                    response.request()
                            + " gave "
                            + response.statusCode()
                            + ": "
                            + shortened(response.body()));
        }
        return response.body().isEmpty() ? JSON.createObjectNode() : JSON.readTree(response.body());
    }

    /** Flink answers with server-side stack traces many times as long as what they say. */
    private static String shortened(String body) {
        return body.length() <= 2000 ? body : body.substring(0, 2000) + " ...";
    }

    /** Waits up to four minutes; an exception of the condition counts as "not yet" as long as every process lives. */
    void await(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(4);
        while (true) {
            Exception last = null;
            try {
                if (condition.call()) {
                    return;
                }
            } catch (IOException e) {
                last = e;
                if (e.getMessage() != null && e.getMessage().startsWith("job is ")) {
                    throw e;
                }
            }
            checkProcesses();
            if (System.nanoTime() > deadline) {
                throw new AssertionError(
                        "waited in vain for " + what + "; logs are in " + home.resolve("log"),
                        last);
            }
            Thread.sleep(50);
        }
    }

    /** Fails when a process has died that nobody killed, or when a JVM has left a crash report. */
    void checkProcesses() throws IOException {
        if (!jobManager.isAlive()) {
            throw new AssertionError(
                    "the JobManager died with "
                            + jobManager.exitValue()
                            + ", see "
                            + home.resolve("log"));
        }
        for (Process taskManager : taskManagers) {
            if (!taskManager.isAlive()) {
                throw new AssertionError(
                        "a TaskManager died with "
                                + taskManager.exitValue()
                                + ", see "
                                + home.resolve("log"));
            }
        }
        try (Stream<Path> files = Files.list(home)) {
            files.filter(f -> f.getFileName().toString().startsWith("hs_err"))
                    .findFirst()
                    .ifPresent(
                            f -> {
                                throw new AssertionError("a JVM crashed: " + f);
                            });
        }
    }

    /** Resident memory of a process in bytes. */
    static long residentBytes(Process process) {
        try (Stream<String> lines =
                Files.lines(Path.of("/proc", Long.toString(process.pid()), "status"))) {
            return lines.filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024)
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    @Override
    public void close() throws InterruptedException {
        List<Process> all = new ArrayList<>(taskManagers);
        all.add(jobManager);
        for (Process process : all) {
            process.destroy();
        }
        for (Process process : all) {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        }
    }
}
