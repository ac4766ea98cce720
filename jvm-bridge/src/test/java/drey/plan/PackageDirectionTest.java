package drey.plan;

import static org.assertj.core.api.Assertions.assertThat;

import drey.runtime.NativeOperatorFactory;

import org.junit.jupiter.api.Test;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;

/** Who may know whom, held against the compiled classes. */
class PackageDirectionTest {

    private static final Path CLASSES = location();

    /** What a package may use, beside itself and the JDK, as prefixes of class names. */
    private static final Map<String, List<String>> ALLOWED =
            Map.of(
                    // Runs without Flink on the class path: the boundary is tested from a plain
                    // JVM.
                    "drey.jni",
                    List.of("org.slf4j."),
                    "drey.batch",
                    List.of("drey.jni.", "org.apache.flink.", "org.slf4j."),
                    "drey.runtime",
                    List.of(
                            "drey.jni.",
                            "drey.batch.",
                            "drey.spec.",
                            "org.apache.flink.",
                            "org.slf4j."),
                    "drey.spec",
                    List.of("org.apache.flink.shaded.jackson2."),
                    "drey.plan",
                    List.of(
                            "drey.spec.",
                            "drey.runtime.NativeOperatorFactory",
                            "drey.runtime.BatchOptions",
                            "org.apache.flink.",
                            "org.slf4j."),
                    "org.apache.flink.table.planner.delegation",
                    List.of(
                            "drey.plan.DreyPlanner",
                            "drey.plan.FlinkLine",
                            "org.apache.flink.",
                            "org.slf4j.",
                            "scala."),
                    "org.apache.flink.table.planner.loader",
                    List.of("drey.plan.FlinkLine", "org.apache.flink.", "org.slf4j."));

    /** TaskManagers have no planner on their class path. */
    private static final String PLANNER = "org.apache.flink.table.planner.";

    private static final Set<String> RUNTIME_PACKAGES =
            Set.of("drey.jni", "drey.batch", "drey.runtime", "drey.spec");

    @Test
    void classesUseOnlyWhatTheirPackageMay() {
        Map<String, Set<String>> uses = uses();
        assertThat(uses.get(Acceleration.class.getName()))
                .as("known dependency")
                .contains(NativeOperatorFactory.class.getName());
        List<String> offences = new ArrayList<>();
        uses.forEach(
                (user, used) -> {
                    String from = packageOf(user);
                    for (String name : used) {
                        if (!mayUse(from, name)) {
                            offences.add(user + " uses " + name);
                        }
                    }
                });
        assertThat(offences).isEmpty();
    }

    private static boolean mayUse(String from, String name) {
        if (packageOf(name).equals(from)
                || name.startsWith("java.")
                || name.startsWith("sun.misc.")) {
            return true;
        }
        if (RUNTIME_PACKAGES.contains(from) && name.startsWith(PLANNER)) {
            return false;
        }
        return ALLOWED.getOrDefault(from, List.of()).stream().anyMatch(name::startsWith);
    }

    private static String packageOf(String name) {
        return name.substring(0, name.lastIndexOf('.'));
    }

    private static Map<String, Set<String>> uses() {
        StringWriter out = new StringWriter();
        int status =
                ToolProvider.findFirst("jdeps")
                        .orElseThrow()
                        .run(
                                new PrintWriter(out),
                                new PrintWriter(out),
                                "-verbose:class",
                                "-filter:none",
                                "--multi-release",
                                "base",
                                "-cp",
                                System.getProperty("java.class.path"),
                                CLASSES.toString());
        assertThat(status).as(out.toString()).isZero();
        Pattern dependency = Pattern.compile("^ {3}(\\S+) +-> (\\S+) .*$");
        Map<String, Set<String>> uses = new TreeMap<>();
        for (String line : out.toString().lines().toList()) {
            Matcher match = dependency.matcher(line);
            if (match.matches()) {
                uses.computeIfAbsent(match.group(1), user -> new TreeSet<>()).add(match.group(2));
            }
        }
        return uses;
    }

    private static Path location() {
        try {
            return Path.of(
                    DreyPlanner.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }
}
