package drey.cluster;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

import java.nio.file.Files;

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

    /**
     * Arguments: rows, number of keys, output folder, value of drey.enabled and, if something is to be
     * done while the job runs, a file. Without one the job runs as fast as it can. With one it is given
     * 10,000 rows a second, and goes through the last quarter in slow motion until the file exists.
     */
    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", args[3]);
        String file = args.length > 4 ? args[4] : null;
        createEvents(tables, args[0], args[1], file == null ? 1_000_000 : 10_000);
        Print print = new Print(file, Long.parseLong(args[0]) / 4 * 3);
        write(
                tables,
                "SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k"
                        + " ORDER BY ts DESC) AS n FROM events) WHERE n = 1",
                print,
                args[2]);
        env.execute("keep last, drey.enabled=" + args[3]);
    }

    /** The table that every query reads. */
    static void createEvents(
            StreamTableEnvironment tables, String rows, String keys, int rowsPerSecond) {
        // Event time runs forward with jumps back of up to 300 ms, so that some rows of a key come
        // too late to be its last.
        tables.executeSql(
                "CREATE TABLE events ("
                        + "  id BIGINT,"
                        + ("  k AS MOD(id * 7919, " + keys + "),")
                        + "  v AS CONCAT('value-', CAST(id AS STRING)),"
                        + "  ts AS TO_TIMESTAMP_LTZ(id * 3 - MOD(id * 31, 4) * 100, 3),"
                        + "  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
                        + ") WITH ("
                        + "  'connector' = 'datagen', 'scan.parallelism' = '1',"
                        + "  'fields.id.kind' = 'sequence',"
                        + ("  'fields.id.start' = '1', 'fields.id.end' = '" + rows + "',")
                        + ("  'rows-per-second' = '" + rowsPerSecond + "')"));
    }

    /** Writes the changelog of a query, which has a column id, exactly once. */
    static void write(StreamTableEnvironment tables, String query, Print print, String folder) {
        tables.toChangelogStream(tables.sqlQuery(query))
                .map(print)
                .sinkTo(
                        FileSink.forRowFormat(new Path(folder), new SimpleStringEncoder<String>())
                                .withRollingPolicy(OnCheckpointRollingPolicy.build())
                                .build());
    }

    /** Rows as text; from a certain row on in slow motion until the file exists. */
    static final class Print implements MapFunction<Row, String> {

        private final String file;
        private final long slowFrom;
        private boolean fast;

        Print(String file, long slowFrom) {
            this.file = file;
            this.slowFrom = slowFrom;
            this.fast = file == null;
        }

        @Override
        public String map(Row row) throws InterruptedException {
            if (!fast && row.<Long>getFieldAs("id") > slowFrom) {
                fast = Files.exists(java.nio.file.Path.of(file));
                Thread.sleep(fast ? 0 : 2);
            }
            return row.toString();
        }
    }
}
