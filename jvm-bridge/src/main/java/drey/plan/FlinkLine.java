package drey.plan;

import org.apache.flink.runtime.util.EnvironmentInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The lines of Flink and of Java that this build knows. On any other one everything stays on Flink. With the two planner factories
 * it is compiled for Java 11, the oldest that Flink runs on.
 */
public final class FlinkLine {

    private static final Logger LOG = LoggerFactory.getLogger(FlinkLine.class);
    private static final List<String> KNOWN = List.of("2.2", "2.3");
    private static final int JAVA = 17;
    private static final AtomicBoolean WARNED = new AtomicBoolean();

    private FlinkLine() {}

    /** Whether Drey can plan in this process; if not, says so once. */
    public static boolean canPlan() {
        String reason = reasonForStock();
        if (reason == null) {
            return true;
        }
        if (WARNED.compareAndSet(false, true)) {
            LOG.warn("{}; everything runs on Flink's own operators", reason);
        }
        return false;
    }

    private static String reasonForStock() {
        int java = Runtime.version().feature();
        String version = EnvironmentInformation.getVersion();
        if (java < JAVA) {
            return "Drey needs Java " + JAVA + " or newer, and this is Java " + java;
        }
        return isKnown(version)
                ? null
                : "Drey doesn't know Flink " + version + " (known: " + KNOWN + ")";
    }

    static boolean isKnown(String version) {
        return KNOWN.stream()
                .anyMatch(
                        line ->
                                version.equals(line)
                                        || version.startsWith(line + ".")
                                        || version.startsWith(line + "-"));
    }
}
