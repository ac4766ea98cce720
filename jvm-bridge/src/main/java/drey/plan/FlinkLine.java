package drey.plan;

import org.apache.flink.runtime.util.EnvironmentInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** The lines of Flink that this build knows. On any other one everything stays on Flink. */
public final class FlinkLine {

    private static final Logger LOG = LoggerFactory.getLogger(FlinkLine.class);
    private static final List<String> KNOWN = List.of("2.2", "2.3");
    private static final AtomicBoolean WARNED = new AtomicBoolean();

    private FlinkLine() {}

    /** Whether the running Flink is known; if not, says so once per process. */
    public static boolean isKnown() {
        String version = EnvironmentInformation.getVersion();
        if (isKnown(version)) {
            return true;
        }
        if (WARNED.compareAndSet(false, true)) {
            LOG.warn(
                    "Drey doesn't know Flink {} (known: {}); everything runs on Flink's own"
                            + " operators",
                    version,
                    KNOWN);
        }
        return false;
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
