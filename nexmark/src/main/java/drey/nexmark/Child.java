package drey.nexmark;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** One engine's part of a job in a JVM of its own, which ends when this one does. */
final class Child {

    /** Reads what the child has left. */
    interface Reader<T> {
        T read(Path file) throws IOException;
    }

    private Child() {}

    static <T> T run(Matrix.Job job, String engine, Reader<T> reader) throws Exception {
        Path result = Files.createTempFile("nexmark-" + job.query().name() + "-", ".result");
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(Run.class.getName());
        command.addAll(
                job.options()
                        .with("q", job.query().name())
                        .with("engine", engine)
                        .with("kind", job.kind().name())
                        .with("result", result.toString())
                        .arguments());
        Process process = new ProcessBuilder(command).inheritIO().start();
        Thread end = new Thread(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(end);
        try {
            int status = process.waitFor();
            if (status != 0) {
                throw new IllegalStateException(
                        "%s with %s ended with status %d".formatted(job.label(), engine, status));
            }
            return reader.read(result);
        } finally {
            Runtime.getRuntime().removeShutdownHook(end);
            Files.deleteIfExists(result);
        }
    }
}
