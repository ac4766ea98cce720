package drey.jni;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A JVM of its own, for what happens once in a process, or ends it. */
public final class ForkedJvm {

    private final List<String> options = new ArrayList<>();
    private final Path directory;
    private Map<String, String> environment = Map.of();

    /** The JVM runs in the directory, and what it leaves behind (hs_err files) lies there. */
    public ForkedJvm(Path directory) {
        this.directory = directory;
    }

    public ForkedJvm options(String... more) {
        options.addAll(List.of(more));
        return this;
    }

    public ForkedJvm environment(Map<String, String> variables) {
        environment = variables;
        return this;
    }

    public record Result(int exit, String output, List<Path> crashes) {

        /** The line that begins with the word and a colon, without them. */
        public String line(String word) {
            return output.lines()
                    .filter(l -> l.startsWith(word + ": "))
                    .map(l -> l.substring(word.length() + 2))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("no line " + word + " in\n" + output));
        }

        public Result expectExit(int expected) {
            assertThat(crashes).as(output).isEmpty();
            assertThat(exit).as(output).isEqualTo(expected);
            return this;
        }
    }

    public Result run(long timeoutSeconds, Class<?> main, String... arguments)
            throws IOException, InterruptedException {
        Process process = start(main, arguments);
        // Reading to the end first would not know a timeout; the output goes to a file instead.
        if (!process.waitFor(timeoutSeconds, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            throw new AssertionError(
                    "still running after " + timeoutSeconds + " s:\n" + Files.readString(output()));
        }
        try (var files = Files.list(directory)) {
            return new Result(
                    process.exitValue(),
                    Files.readString(output()),
                    files.filter(f -> f.getFileName().toString().startsWith("hs_err")).toList());
        }
    }

    private Process start(Class<?> main, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-XX:-CreateCoredumpOnCrash");
        command.addAll(options);
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(main.getName());
        command.addAll(List.of(arguments));
        File log = output().toFile();
        ProcessBuilder builder =
                new ProcessBuilder(command)
                        .directory(directory.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(log);
        builder.environment().putAll(environment);
        return builder.start();
    }

    private Path output() {
        return directory.resolve("output.txt");
    }
}
