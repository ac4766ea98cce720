package drey.cluster;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
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

    /**
     * Arguments: rows, number of keys, output folder, value of drey.enabled and, if something is to be done while the job runs,
     * the file that {@link CountSource} waits for.
     */
    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", args[3]);
        createEvents(env, tables, args);
        write(
                tables,
                "SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k"
                        + " ORDER BY ts DESC) AS n FROM events) WHERE n = 1",
                args[2],
                null);
        env.execute("keep last, drey.enabled=" + args[3]);
    }

    /** The table that every query reads, from the arguments of the job. */
    static void createEvents(
            StreamExecutionEnvironment env, StreamTableEnvironment tables, String[] args) {
        CountSource source =
                new CountSource(Long.parseLong(args[0]), args.length > 4 ? args[4] : null);
        DataStream<Long> numbers =
                env.fromSource(source, WatermarkStrategy.noWatermarks(), "numbers")
                        .setParallelism(1);
        // Event time runs forward with jumps back of up to 300 ms, so that some rows of a key come
        // too late to be its last.
        tables.createTemporaryView(
                "events",
                numbers,
                Schema.newBuilder()
                        .column("f0", DataTypes.BIGINT().notNull())
                        .columnByExpression("id", "f0")
                        .columnByExpression("k", "MOD(f0 * 7919, " + args[1] + ")")
                        .columnByExpression("v", "CONCAT('value-', CAST(f0 AS STRING))")
                        .columnByExpression(
                                "ts", "TO_TIMESTAMP_LTZ(f0 * 3 - MOD(f0 * 31, 4) * 100, 3)")
                        .watermark("ts", "ts - INTERVAL '1' SECOND")
                        .build());
    }

    /** Writes the changelog of a query exactly once; with a file, through a {@link Jam}. */
    static void write(StreamTableEnvironment tables, String query, String folder, String jam) {
        DataStream<String> lines =
                tables.toChangelogStream(tables.sqlQuery(query)).map(Row::toString);
        (jam == null ? lines : lines.map(new Jam(jam)))
                .sinkTo(
                        FileSink.forRowFormat(new Path(folder), new SimpleStringEncoder<String>())
                                .withRollingPolicy(OnCheckpointRollingPolicy.build())
                                .build());
    }
}
