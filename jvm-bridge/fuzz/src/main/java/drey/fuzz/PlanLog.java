package drey.fuzz;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.Property;

import java.util.ArrayList;
import java.util.List;

/**
 * Listens to what Drey's planner logs of each plan: which stateful nodes are native, and why the others are not. EXPLAIN
 * says the same but would plan everything once more.
 */
final class PlanLog extends AbstractAppender {

    /**
     * @param operator e.g. {@code Rank}
     * @param updatesFast whether it takes a deletion for an update, as {@code UpdatableTopNFunction} does
     * @param reason why it stays on Flink, or null if it is native
     */
    record Node(String operator, boolean updatesFast, String reason) {}

    private static final PlanLog LOG = new PlanLog();

    private final List<Node> nodes = new ArrayList<>();

    private PlanLog() {
        super("plans", null, null, true, Property.EMPTY_ARRAY);
    }

    static void install() {
        LoggerContext context = (LoggerContext) LogManager.getContext(false);
        Configuration configuration = context.getConfiguration();
        LOG.start();
        LoggerConfig logger = new LoggerConfig("drey.plan.DreyPlanner", Level.INFO, false);
        logger.addAppender(LOG, Level.INFO, null);
        configuration.addLogger(logger.getName(), logger);
        context.updateLoggers();
    }

    /** The nodes planned since the last call. */
    static List<Node> take() {
        synchronized (LOG.nodes) {
            List<Node> taken = List.copyOf(LOG.nodes);
            LOG.nodes.clear();
            return taken;
        }
    }

    @Override
    public void append(LogEvent event) {
        if (event.getLevel() != Level.INFO) {
            return;
        }
        String[] lines = event.getMessage().getFormattedMessage().split("\n");
        synchronized (nodes) {
            for (int i = 1; i < lines.length; i++) {
                String line = lines[i];
                int verdict = Math.max(line.lastIndexOf(": native"), line.lastIndexOf(": flink: "));
                if (verdict < 0) {
                    continue;
                }
                String operator = line.substring(0, Math.max(0, line.indexOf('(')));
                String reason =
                        line.startsWith(": flink: ", verdict) ? line.substring(verdict + 9) : null;
                nodes.add(new Node(operator, line.contains("UpdateFastStrategy"), reason));
            }
        }
    }
}
