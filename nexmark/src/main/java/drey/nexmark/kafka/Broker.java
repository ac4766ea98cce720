package drey.nexmark.kafka;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Uuid;

/**
 * A Kafka broker, its own controller (KRaft), in a process of its own: its CPU and memory are then no part of what is
 * measured. What it stores goes with it.
 */
public final class Broker implements AutoCloseable {

    private static final long START_SECONDS = 60;

    private final Process process;
    private final Path folder;
    private final String address;

    private Broker(Process process, Path folder, String address) {
        this.process = process;
        this.folder = folder;
        this.address = address;
    }

    /**
     * Starts a broker and waits until it answers.
     *
     * @param classPath of Kafka's server
     */
    public static Broker start(String classPath) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("nexmark-kafka");
        Path log = folder.resolve("broker.log");
        String address = "localhost:" + freePort();
        Path properties = folder.resolve("server.properties");
        Files.write(properties, settings(address, folder));
        String id = Uuid.randomUuid().toString();
        Process format =
                java(
                        classPath,
                        log,
                        "kafka.tools.StorageTool",
                        "format",
                        "-t",
                        id,
                        "-c",
                        properties);
        if (format.waitFor() != 0) {
            throw failed("formatting its storage", log);
        }
        Process process = java(classPath, log, "kafka.Kafka", properties);
        Broker broker = new Broker(process, folder, address);
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        try {
            broker.await(log);
        } catch (IOException | InterruptedException | RuntimeException e) {
            broker.close();
            throw e;
        }
        return broker;
    }

    /** Host and port for clients. */
    public String address() {
        return address;
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the broker's files under " + folder + " are left", e);
        }
    }

    private static List<String> settings(String address, Path folder) throws IOException {
        String controller = "localhost:" + freePort();
        return List.of(
                "process.roles=broker,controller",
                "node.id=1",
                "controller.quorum.voters=1@" + controller,
                "listeners=PLAINTEXT://" + address + ",CONTROLLER://" + controller,
                "advertised.listeners=PLAINTEXT://" + address,
                "controller.listener.names=CONTROLLER",
                "log.dirs=" + folder.resolve("data"),
                "auto.create.topics.enable=false",
                "offsets.topic.replication.factor=1",
                "offsets.topic.num.partitions=1",
                "transaction.state.log.replication.factor=1",
                "transaction.state.log.min.isr=1",
                "transaction.state.log.num.partitions=1",
                "group.initial.rebalance.delay.ms=0",
                // Event time is old: retention by time would delete what was just written.
                "log.retention.ms=-1");
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private static Process java(String classPath, Path log, Object... main) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx1g", "-cp", classPath));
        for (Object part : main) {
            command.add(part.toString());
        }
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
    }

    private void await(Path log) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            while (true) {
                try {
                    admin.describeCluster().nodes().get(5, TimeUnit.SECONDS);
                    return;
                } catch (ExecutionException | java.util.concurrent.TimeoutException e) {
                    if (!process.isAlive() || System.nanoTime() > deadline) {
                        throw failed("starting", log);
                    }
                }
            }
        }
    }

    private static IOException failed(String what, Path log) throws IOException {
        List<String> lines = Files.exists(log) ? Files.readAllLines(log) : List.of();
        List<String> last = lines.subList(Math.max(0, lines.size() - 20), lines.size());
        return new IOException(
                "the Kafka broker failed at %s:%n%s".formatted(what, String.join("\n", last)));
    }
}
