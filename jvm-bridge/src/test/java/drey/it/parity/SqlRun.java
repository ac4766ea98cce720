package drey.it.parity;

import drey.it.KeptChanges;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.types.Row;

import java.util.List;
import java.util.Map;

/**
 * Runs many queries over the same events in one job on a local cluster and keeps each query's changelog.
 *
 * @param drey native operators on
 * @param batchRows {@code drey.batch.rows}
 * @param fails the source throws once in the middle, after a checkpoint
 */
record SqlRun(
        boolean drey,
        int parallelism,
        boolean objectReuse,
        int batchRows,
        boolean checkpoints,
        boolean fails) {

    static final int ROWS = 3000;
    private static final long SEED = 20240131;

    @Override
    public String toString() {
        return (drey ? "drey" : "stock")
                + ", parallelism "
                + parallelism
                + (objectReuse ? ", object reuse" : "")
                + (drey ? ", batches of " + batchRows : "")
                + (checkpoints ? ", checkpoints" : "")
                + (fails ? ", a failure" : "");
    }

    /** The changelog of each query, subtask after subtask: within a key the order is that of the query's operator. */
    Map<String, List<Row>> execute(List<Query> queries) throws Exception {
        Configuration config = new Configuration();
        config.setString("taskmanager.memory.managed.size", "1g");
        config.setString("taskmanager.memory.network.max", "256m");
        config.setString("taskmanager.memory.network.min", "256m");
        config.setString("pipeline.object-reuse", Boolean.toString(objectReuse));
        config.setString("restart-strategy.type", fails ? "fixed-delay" : "disable");
        config.setString("restart-strategy.fixed-delay.attempts", "1");
        config.setString("restart-strategy.fixed-delay.delay", "0 ms");
        if (checkpoints) {
            config.setString("execution.checkpointing.interval", "50 ms");
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, config);
        env.setRuntimeMode(RuntimeExecutionMode.STREAMING);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", Boolean.toString(drey));
        tables.getConfig().set("drey.batch.rows", Integer.toString(batchRows));
        tables.getConfig().set("table.local-time-zone", "UTC");

        String run = toString() + " " + System.nanoTime();
        DataStream<RowData> events =
                env.addSource(new Events(run, ROWS, SEED, checkpoints, fails))
                        .returns(InternalTypeInfo.of(Events.TYPE))
                        .setParallelism(1);
        Schema.Builder schema = Schema.newBuilder();
        Events.TYPE
                .getFields()
                .forEach(f -> schema.column(f.getName(), f.getType().asSerializableString()));
        tables.createTemporaryView(
                "T",
                events,
                schema.columnByExpression("pt", "PROCTIME()")
                        .watermark("ts", "SOURCE_WATERMARK()")
                        .build());

        for (Query query : queries) {
            // Translating a query makes its options the environment's: only another value undoes
            // them.
            Query.DEFAULTS.forEach(tables.getConfig()::set);
            query.options().forEach(tables.getConfig()::set);
            DataStream<Row> changes =
                    query.upsert()
                            ? tables.toChangelogStream(
                                    tables.sqlQuery(query.sql()),
                                    upsertSchema(tables, query),
                                    ChangelogMode.upsert())
                            : tables.toChangelogStream(tables.sqlQuery(query.sql()));
            // At the same parallelism: spreading the changes over more subtasks would lose their
            // order.
            changes.map(KeptChanges.keep(run + "/" + query.name()))
                    .setParallelism(changes.getParallelism())
                    .sinkTo(new DiscardingSink<>());
        }
        return KeptChanges.execute(
                env, run, queries.stream().map(Query::name).toList(), parallelism);
    }

    private static Schema upsertSchema(StreamTableEnvironment tables, Query query) {
        ResolvedSchema result = tables.sqlQuery(query.sql()).getResolvedSchema();
        return Schema.newBuilder()
                .fromResolvedSchema(result)
                .primaryKey(result.getColumnNames().subList(0, query.keys()))
                .build();
    }
}
