package drey.it;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.types.Row;

/**
 * How many queries over the same input run in one job on a local cluster.
 *
 * @param drey native operators on
 * @param batchRows {@code drey.batch.rows}
 * @param fails sources throw once in the middle, after a checkpoint
 */
public record LocalRun(
        boolean drey, int parallelism, boolean objectReuse, int batchRows, boolean fails) {

    /** Stock Flink, the plainest way. */
    public static final LocalRun STOCK = new LocalRun(false, 1, false, 1024, false);

    @Override
    public String toString() {
        return (drey ? "drey" : "stock")
                + ", parallelism "
                + parallelism
                + (objectReuse ? ", object reuse" : "")
                + (drey ? ", batches of " + batchRows : "")
                + (fails ? ", a failure" : "");
    }

    /** A name for one job of this run. */
    public String job() {
        return this + " " + System.nanoTime();
    }

    /**
     * @param failures how many sources fail, each once
     */
    public StreamExecutionEnvironment environment(
            String managedMemory, String networkMemory, int failures) {
        Configuration config = new Configuration();
        config.setString("taskmanager.memory.managed.size", managedMemory);
        config.setString("taskmanager.memory.network.max", networkMemory);
        config.setString("taskmanager.memory.network.min", networkMemory);
        config.setString("pipeline.object-reuse", Boolean.toString(objectReuse));
        config.setString("restart-strategy.type", fails ? "fixed-delay" : "disable");
        config.setString("restart-strategy.fixed-delay.attempts", Integer.toString(failures));
        config.setString("restart-strategy.fixed-delay.delay", "0 ms");
        if (fails) {
            config.setString("execution.checkpointing.interval", "50 ms");
        }
        return StreamExecutionEnvironment.createLocalEnvironment(parallelism, config);
    }

    public StreamTableEnvironment tables(StreamExecutionEnvironment env) {
        env.setRuntimeMode(RuntimeExecutionMode.STREAMING);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", Boolean.toString(drey));
        tables.getConfig().set("drey.batch.rows", Integer.toString(batchRows));
        tables.getConfig().set("table.local-time-zone", "UTC");
        return tables;
    }

    /** Makes a query a part of the job, which keeps its changes under the job's name and its own. */
    public static void keep(StreamTableEnvironment tables, String job, KeptQuery query) {
        // Translating a query makes its options the environment's: only another value undoes them.
        query.defaults().forEach(tables.getConfig()::set);
        query.options().forEach(tables.getConfig()::set);
        Table result = tables.sqlQuery(query.sql());
        DataStream<Row> changes =
                query.upsert()
                        ? tables.toChangelogStream(
                                result, upsertSchema(result, query.keys()), ChangelogMode.upsert())
                        : tables.toChangelogStream(result);
        // At the same parallelism: spreading the changes over more subtasks would lose their order.
        changes.map(KeptChanges.keep(job + "/" + query.name()))
                .setParallelism(changes.getParallelism())
                .uid("kept " + query.name())
                .sinkTo(new DiscardingSink<>())
                .setParallelism(changes.getParallelism())
                .uid("sink " + query.name());
    }

    private static Schema upsertSchema(Table result, int keys) {
        ResolvedSchema resolved = result.getResolvedSchema();
        Schema.Builder schema = Schema.newBuilder();
        for (int i = 0; i < resolved.getColumnCount(); i++) {
            var column = resolved.getColumn(i).orElseThrow();
            schema.column(
                    column.getName(),
                    i < keys ? column.getDataType().notNull() : column.getDataType());
        }
        return schema.primaryKey(resolved.getColumnNames().subList(0, keys)).build();
    }
}
