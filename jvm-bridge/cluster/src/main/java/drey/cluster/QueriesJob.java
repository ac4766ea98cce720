package drey.cluster;

import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One job of several queries, each with a stateful operator of another kind, and with a folder of its own for its changelog.
 *
 * <p>As in {@link KeepLastJob}, a key's rows stay in order; and where two inputs meet, all that is written is each pair once. So
 * the lines are the same multiset on every correct run.
 */
public final class QueriesJob {

    /** By name; the join's key spans the whole run, so that rows from before an interruption find their partners after it. */
    static final Map<String, String> QUERIES = new LinkedHashMap<>();

    static {
        QUERIES.put(
                "rank",
                "SELECT k, id, v, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k"
                        + " ORDER BY MOD(id * 31, 1009) DESC) AS n FROM events) WHERE n <= 3");
        QUERIES.put(
                "aggregate",
                "SELECT k, COUNT(*) AS c, SUM(id) AS s, MIN(v) AS m, MAX(id) AS id FROM events GROUP BY k");
        QUERIES.put(
                "join",
                "SELECT l.k, l.id, r.id AS other, r.v FROM events l JOIN events r"
                        + " ON MOD(l.id, 20011) = MOD(r.id, 20011) AND l.id < r.id");
    }

    private QueriesJob() {}

    /**
     * Arguments as for {@link KeepLastJob}, and one more: a file. Rows jam behind the queries until it exists, and barriers overtake
     * them: checkpoints are unaligned.
     */
    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", args[3]);
        String jam = args.length > 5 ? args[5] : null;
        if (jam != null) {
            env.getCheckpointConfig().enableUnalignedCheckpoints();
        }
        KeepLastJob.createEvents(env, tables, args);
        QUERIES.forEach(
                (name, query) -> KeepLastJob.write(tables, query, args[2] + "/" + name, jam));
        env.execute("queries, drey.enabled=" + args[3]);
    }
}
