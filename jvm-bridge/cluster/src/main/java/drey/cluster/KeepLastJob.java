package drey.cluster;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

/**
 * The job of the cluster tests: the last row of each key by event time, its whole changelog written exactly once to files.
 *
 * <p>One source subtask counts from 1 and everything else is a function of the count. The rows are dealt
 * out in turn to the subtasks behind the source. At parallelism 2 and 3, with a number of keys that
 * is a multiple of 6, a key's rows stay on one path and in order. Hence the lines written are
 * the same multiset on every correct run, at either parallelism, whatever was killed in between.
 */
public final class KeepLastJob {

    private KeepLastJob() {}

    /** Arguments: rows, rows per second, number of keys, output folder, value of drey.enabled. */
    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", args[4]);

        // Event time runs forward with jumps back of up to 300 ms, so that some rows of a key come
        // too late to be its last.
        tables.executeSql(
                "CREATE TABLE events ("
                        + "  id BIGINT,"
                        + ("  k AS MOD(id * 7919, " + args[2] + "),")
                        + "  v AS CONCAT('value-', CAST(id AS STRING)),  ts AS TO_TIMESTAMP_LTZ(id"
                        + " * 3 - MOD(id * 31, 4) * 100, 3),  WATERMARK FOR ts AS ts - INTERVAL '1'"
                        + " SECOND) WITH (  'connector' = 'datagen', 'scan.parallelism' = '1',"
                        + " 'fields.id.kind' = 'sequence',"
                        + ("  'fields.id.start' = '1', 'fields.id.end' = '" + args[0] + "',")
                        + ("  'rows-per-second' = '" + args[1] + "')"));

        tables.toChangelogStream(
                        tables.sqlQuery(
                                "SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k"
                                        + " ORDER BY ts DESC) AS n FROM events) WHERE n = 1"))
                .map((MapFunction<Row, String>) Row::toString)
                .sinkTo(
                        FileSink.forRowFormat(new Path(args[3]), new SimpleStringEncoder<String>())
                                .withRollingPolicy(OnCheckpointRollingPolicy.build())
                                .build());
        env.execute("keep last, drey.enabled=" + args[4]);
    }
}
