package drey.it.planner;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;

/**
 * Both ways in with real jars, each program in a JVM of its own whose class path is put together as a user would: with the
 * planner plainly on it, and with the planner inside {@code flink-table-planner-loader}.
 */
class WaysInTest {

    private static final String STREAM_PLANNER =
            "org.apache.flink.table.planner.delegation.StreamPlanner";
    private static final String BATCH_PLANNER =
            "org.apache.flink.table.planner.delegation.BatchPlanner";
    private static final String OURS = "drey.plan.DreyPlanner";
    private static final String NATIVE =
            "explain: Deduplicate(keep=[LastRow], key=[k], order=[ROWTIME],"
                    + " outputInsertOnly=[false]): native";

    @TempDir static Path temp;

    private static Path drey;
    private static Path loader;

    enum Way {
        PLAIN,
        LOADER
    }

    record Result(List<String> out, List<String> log) {
        List<String> all(String what) {
            return out.stream().filter(line -> line.startsWith(what + ": ")).toList();
        }

        String one(String what) {
            assertThat(all(what)).as(what + " in " + out + log).hasSize(1);
            return all(what).get(0).substring(what.length() + 2);
        }

        List<String> warnings() {
            return log.stream().filter(line -> line.startsWith("WARN ")).toList();
        }
    }

    @BeforeAll
    static void packJar() throws IOException {
        drey = pack("drey-flink-test.jar", name -> true);
        Path directory = classes().resolveSibling("planner-loader");
        try (Stream<Path> jars = Files.list(directory)) {
            loader = jars.filter(jar -> jar.toString().endsWith(".jar")).findFirst().orElseThrow();
        }
    }

    @Test
    void plainClassPath() throws Exception {
        Result result = run(Way.PLAIN, List.of(drey), "");

        assertThat(result.one("planner")).isEqualTo(OURS);
        assertThat(result.one("loader")).isEqualTo("AppClassLoader");
        assertRunsNatively(result);
    }

    @Test
    void plannerInsideTheLoader() throws Exception {
        Result result = run(Way.LOADER, List.of(drey), "");

        assertThat(result.one("planner")).isEqualTo(OURS);
        assertThat(result.one("loader")).isEqualTo("PlannerComponentClassLoader");
        assertRunsNatively(result);
    }

    private static void assertRunsNatively(Result result) {
        assertThat(result.all("explain")).contains("explain: == Drey ==", NATIVE);
        assertRows(result);
        assertThat(result.log())
                .filteredOn(line -> line.startsWith("INFO DreyPlanner"))
                .containsExactly("INFO DreyPlanner Drey runs 1 of 1 stateful nodes natively");
        assertThat(result.log()).contains(NATIVE.substring("explain: ".length()));
        assertThat(Long.parseLong(result.one("native"))).isPositive();
    }

    @Test
    void turnedOffInTheConfigurationFile() throws Exception {
        Result result = run(Way.LOADER, List.of(drey), "drey.enabled: false");

        assertThat(result.one("planner")).isEqualTo(OURS);
        assertStaysOnFlink(result);
    }

    @Test
    void unknownFlinkStaysOnFlinkWithOneWarning() throws Exception {
        Path version = Files.createDirectories(temp.resolve("version"));
        Files.writeString(
                version.resolve(".flink-runtime.version.properties"), "project.version=9.9.1\n");
        Result result = run(Way.LOADER, List.of(version, drey), "");

        assertThat(result.one("planner")).isEqualTo(STREAM_PLANNER);
        assertStaysOnFlink(result);
        assertThat(result.warnings())
                .filteredOn(line -> line.contains("Drey"))
                .singleElement()
                .asString()
                .contains("doesn't know Flink 9.9.1");
    }

    @Test
    void plannerThatCantBeMadeLeavesFlinksWithOneWarning() throws Exception {
        Path gutted = pack("drey-flink-gutted.jar", name -> !name.endsWith("/DreyPlanner.class"));
        Result result = run(Way.PLAIN, List.of(gutted), "");

        assertThat(result.one("planner")).isEqualTo(STREAM_PLANNER);
        assertStaysOnFlink(result);
        assertThat(result.warnings())
                .filteredOn(line -> line.contains("Drey can't plan"))
                .hasSize(1);
    }

    @Test
    void nodeThatCantBeTranslatedStaysOnFlinkWithOneWarning() throws Exception {
        Path broken =
                pack(
                        "drey-flink-broken.jar",
                        name -> !name.endsWith("/NativeOperatorFactory.class"));
        Result result = run(Way.LOADER, List.of(broken), "");

        assertThat(result.one("planner")).isEqualTo(OURS);
        assertStaysOnFlink(result);
        // The program translates twice: to explain and to execute.
        assertThat(result.warnings())
                .filteredOn(line -> line.contains("stays on Flink"))
                .hasSize(2);
    }

    @Test
    void batchModeIsFlinks() throws Exception {
        Result result = run(Way.PLAIN, List.of(drey), "execution.runtime-mode: BATCH");

        assertThat(result.one("planner")).isEqualTo(BATCH_PLANNER);
        assertStaysOnFlink(result);
    }

    @Test
    void jarHasNoServiceEntries() throws IOException {
        // A second factory of Flink's name would be an error to Flink.
        assertThat(classes().resolve("META-INF/services")).doesNotExist();
    }

    private static void assertStaysOnFlink(Result result) {
        assertThat(result.all("explain")).isNotEmpty().noneMatch(line -> line.contains(": native"));
        assertRows(result);
        assertThat(result.one("native")).isEqualTo("0");
    }

    /** The last of 1..1000 for each last digit. */
    private static void assertRows(Result result) {
        assertThat(result.all("row"))
                .containsExactly(
                        "row: +I[0, 1000]",
                        "row: +I[1, 991]",
                        "row: +I[2, 992]",
                        "row: +I[3, 993]",
                        "row: +I[4, 994]",
                        "row: +I[5, 995]",
                        "row: +I[6, 996]",
                        "row: +I[7, 997]",
                        "row: +I[8, 998]",
                        "row: +I[9, 999]");
    }

    private static Result run(Way way, List<Path> first, String configuration) throws Exception {
        Path directory = Files.createTempDirectory(temp, way.name());
        Files.writeString(
                directory.resolve("config.yaml"),
                "parallelism.default: 1\n" + configuration + "\n");
        Files.writeString(
                directory.resolve("log4j2.properties"),
                """
                rootLogger.level = INFO
                rootLogger.appenderRef.console.ref = Console
                appender.console.type = Console
                appender.console.name = Console
                appender.console.target = SYSTEM_ERR
                appender.console.layout.type = PatternLayout
                appender.console.layout.pattern = %p %c{1} %m%n
                """);
        List<String> classPath = new ArrayList<>();
        first.forEach(path -> classPath.add(path.toString()));
        classPath.addAll(flink(way));
        classPath.add(program());

        ProcessBuilder builder =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx512m",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Dlog4j2.configurationFile=" + directory.resolve("log4j2.properties"),
                        "-cp",
                        String.join(File.pathSeparator, classPath),
                        WayInProgram.class.getName());
        builder.environment().put("FLINK_CONF_DIR", directory.toString());
        Path out = directory.resolve("out");
        Path log = directory.resolve("log");
        Process process = builder.redirectOutput(out.toFile()).redirectError(log.toFile()).start();
        try {
            assertThat(process.waitFor(180, TimeUnit.SECONDS)).as("ended in time").isTrue();
        } finally {
            process.destroyForcibly();
        }
        Result result = new Result(Files.readAllLines(out), Files.readAllLines(log));
        assertThat(process.exitValue())
                .as("exit status of %s %s\n%s", way, first, String.join("\n", result.log()))
                .isZero();
        return result;
    }

    /** Flink's jars. A distribution has no planner but the one inside the loader. */
    private static List<String> flink(Way way) {
        List<String> jars = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            String name = Path.of(entry).getFileName().toString();
            boolean planner = name.startsWith("flink-table-planner") || name.contains("scala");
            if (name.endsWith(".jar")
                    && !name.endsWith("-tests.jar")
                    && (way == Way.PLAIN || !planner)) {
                jars.add(entry);
            }
        }
        if (way == Way.LOADER) {
            jars.add(loader.toString());
        }
        return jars;
    }

    /** The program alone, without the classes under test beside it. */
    private static String program() throws IOException {
        Path directory = temp.resolve("program");
        String name = WayInProgram.class.getName().replace('.', '/') + ".class";
        if (!Files.exists(directory)) {
            Files.createDirectories(directory.resolve(name).getParent());
            Files.copy(
                    Path.of(location(WayInProgram.class)).resolve(name), directory.resolve(name));
        }
        return directory.toString();
    }

    /** A jar of the classes as Maven packs them. */
    private static Path pack(String jar, Predicate<String> keep) throws IOException {
        Path target = temp.resolve(jar);
        try (OutputStream out = Files.newOutputStream(target);
                JarOutputStream entries = new JarOutputStream(out);
                Stream<Path> files = Files.walk(classes())) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                String name = classes().relativize(file).toString();
                if (keep.test(name)) {
                    entries.putNextEntry(new JarEntry(name));
                    Files.copy(file, entries);
                    entries.closeEntry();
                }
            }
        }
        return target;
    }

    private static Path classes() {
        return Path.of(location(drey.plan.DreyPlanner.class));
    }

    private static String location(Class<?> type) {
        return type.getProtectionDomain().getCodeSource().getLocation().getPath();
    }
}
