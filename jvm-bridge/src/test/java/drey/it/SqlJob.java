package drey.it;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeContext;
import org.apache.flink.types.Row;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One query over {@link Events}, its changelog collected. */
final class SqlJob {

    final String name;
    private final String query;
    private final Map<String, String> settings = new LinkedHashMap<>();
    private int parallelism = 1;
    private long rows = 20_000;
    private int keys = 100;
    private long failAfterCheckpoints;

    SqlJob(String name, String query) {
        this.name = name;
        this.query = query;
        set("table.exec.uid.generation", "ALWAYS");
        set("pipeline.max-parallelism", "128");
        set("pipeline.auto-watermark-interval", "5 ms");
        set("execution.checkpointing.interval", "50 ms");
        set("restart-strategy.type", "fixed-delay");
        set("restart-strategy.fixed-delay.attempts", "3");
        set("restart-strategy.fixed-delay.delay", "10 ms");
    }

    /** The deduplicate over the events: {@code order} is the sort column and its direction. */
    static String deduplicate(String order) {
        return "SELECT k, id, price, note, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY "
                + order
                + ") AS rn FROM events) WHERE rn = 1";
    }

    SqlJob set(String key, String value) {
        settings.put(key, value);
        return this;
    }

    SqlJob parallelism(int p) {
        parallelism = p;
        return this;
    }

    SqlJob rows(long n) {
        rows = n;
        return this;
    }

    SqlJob keys(int n) {
        keys = n;
        return this;
    }

    SqlJob failAfterCheckpoints(long n) {
        failAfterCheckpoints = n;
        return this;
    }

    /** Submits the job; it goes on with what the collector of this name holds. */
    JobClient submit() throws Exception {
        Configuration configuration = Configuration.fromMap(settings);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration);
        env.setParallelism(parallelism);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        settings.forEach((k, v) -> tables.getConfig().set(k, v));

        // One source subtask: then the order within a key is the order of the events.
        DataStream<Row> events =
                env.fromSource(
                                new DataGeneratorSource<>(new Events(keys), rows, Events.TYPE),
                                WatermarkStrategy.noWatermarks(),
                                "events")
                        .setParallelism(1)
                        .uid("events");
        tables.createTemporaryView(
                "events",
                events,
                Schema.newBuilder()
                        .column("k", "STRING")
                        .column("id", "BIGINT")
                        .column("price", "DECIMAL(10, 2)")
                        .column("note", "STRING")
                        .column("ts", "TIMESTAMP(3)")
                        .columnByExpression("pt", "PROCTIME()")
                        .watermark("ts", "ts - INTERVAL '1' SECOND")
                        .build());
        // The uids have the node ids in them, which count on from job to job in one JVM.
        ExecNodeContext.resetIdCounter();
        tables.toChangelogStream(tables.sqlQuery(query))
                .transform(
                        "collector", Types.VOID, new ChangelogCollector(name, failAfterCheckpoints))
                .uid("collector")
                .sinkTo(new DiscardingSink<>())
                .uid("sink");
        return env.executeAsync(name);
    }

    /** Runs the job from the start to the end of its events and returns the changelog by key. */
    Map<String, List<String>> run() throws Exception {
        ChangelogCollector.forget(name);
        submit().getJobExecutionResult().get();
        return ChangelogCollector.byKey(name);
    }
}
