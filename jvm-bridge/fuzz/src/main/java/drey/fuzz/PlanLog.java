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
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Listens to what Drey's planner logs of each plan: which stateful nodes are native, and why the others are not. EXPLAIN
 * says the same but would plan everything once more.
 */
final class PlanLog extends AbstractAppender {

    private static final Pattern PARTIAL =
            Pattern.compile("groupBy=\\[([^\\]]*)\\], partialFinalType=\\[PARTIAL\\]");
    private static final Pattern DISTINCT = Pattern.compile("\\(DISTINCT ([^)]*)\\)");

    /**
     * @param description as in EXPLAIN, e.g. {@code Rank(strategy=[AppendFastStrategy], …)}
     * @param reason why it stays on Flink, or null if it is native
     */
    record Node(String description, String reason) {

        /** E.g. {@code Rank}. */
        String operator() {
            return description.substring(0, Math.max(0, description.indexOf('(')));
        }

        /** Whether it takes a deletion for an update, as {@code UpdatableTopNFunction} does. */
        boolean updatesFast() {
            return description.contains("UpdateFastStrategy");
        }

        /** Whether it is a sink that puts the changes of its key into order, {@code SinkUpsertMaterializer}. */
        boolean materializesUpserts() {
            return description.contains("upsertMaterialize=[true]");
        }

        /**
         * Whether it is half of a split aggregate with a DISTINCT call over a column that the query groups by. Flink's
         * {@code SplitAggregateRule} makes no bucket of such a column; if another call brings buckets, the value is in
         * several of them and counts in each, where batch mode counts it once.
         */
        boolean splitsGroupKey() {
            Matcher partial = PARTIAL.matcher(description);
            if (!partial.find()) {
                return false;
            }
            Set<String> keys = Set.of(partial.group(1).split(", "));
            return DISTINCT.matcher(description).results().anyMatch(m -> keys.contains(m.group(1)));
        }
    }

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
                String reason =
                        line.startsWith(": flink: ", verdict) ? line.substring(verdict + 9) : null;
                nodes.add(new Node(line.substring(0, verdict), reason));
            }
        }
    }
}
