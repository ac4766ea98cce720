package drey.it.aggregate;

import drey.it.KeptChanges;
import drey.it.aggregate.Changes.Kinds;
import drey.runtime.NativeExecutions;

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

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Runs many queries over the same changes in one job on a local cluster and keeps each query's changelog.
 *
 * @param drey native operators on
 * @param batchRows {@code drey.batch.rows}
 * @param fails the sources throw once in the middle, after a checkpoint
 */
record AggregateRun(
        boolean drey, int parallelism, boolean objectReuse, int batchRows, boolean fails) {

    @Override
    public String toString() {
        return (drey ? "drey" : "stock")
                + ", parallelism "
                + parallelism
                + (objectReuse ? ", object reuse" : "")
                + (drey ? ", batches of " + batchRows : "")
                + (fails ? ", a failure" : "");
    }

    /** How many native operators of aggregates this virtual machine has opened. */
    static long opened() {
        return Stream.of(
                        "groupAggregate",
                        "localGroupAggregate",
                        "globalGroupAggregate",
                        "incrementalGroupAggregate")
                .mapToLong(name -> NativeExecutions.of(name).opened())
                .sum();
    }

    /** The changelog of each query, subtask after subtask: within a key the order is that of the query's operator. */
    Map<String, List<Row>> execute(List<Query> queries, int rows, long seed) throws Exception {
        Configuration config = new Configuration();
        // Shared by more than a hundred operators, whose bundles are the larger the faster the
        // machine is.
        config.setString("taskmanager.memory.managed.size", "16g");
        config.setString("taskmanager.memory.network.max", "512m");
        config.setString("taskmanager.memory.network.min", "512m");
        config.setString("pipeline.object-reuse", Boolean.toString(objectReuse));
        config.setString("restart-strategy.type", fails ? "fixed-delay" : "disable");
        // Each of the sources fails once, and no two of them at the same time, perhaps.
        config.setString(
                "restart-strategy.fixed-delay.attempts",
                Integer.toString(Changes.Kinds.values().length));
        config.setString("restart-strategy.fixed-delay.delay", "0 ms");
        if (fails) {
            config.setString("execution.checkpointing.interval", "50 ms");
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(parallelism, config);
        String run = toString() + " " + System.nanoTime();
        plan(env, run, queries, rows, seed);
        return KeptChanges.execute(
                env, run, queries.stream().map(Query::name).toList(), parallelism);
    }

    /** Makes one job of the queries, which keeps their changes under the run's name. */
    void plan(
            StreamExecutionEnvironment env, String run, List<Query> queries, int rows, long seed) {
        env.setRuntimeMode(RuntimeExecutionMode.STREAMING);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", Boolean.toString(drey));
        tables.getConfig().set("drey.batch.rows", Integer.toString(batchRows));
        tables.getConfig().set("table.local-time-zone", "UTC");

        table(env, tables, "A", new Changes(run, rows, seed, Kinds.INSERTS, fails));
        table(env, tables, "R", new Changes(run, rows, seed, Kinds.ALL, fails));
        table(env, tables, "S", new Changes(run, rows, seed, Kinds.ALL_AND_STRAY, fails));
        for (Query query : queries) {
            // Translating a query makes its options the environment's: only another value undoes
            // them.
            Query.DEFAULTS.forEach(tables.getConfig()::set);
            query.options().forEach(tables.getConfig()::set);
            Table result = tables.sqlQuery(query.sql());
            DataStream<Row> changes =
                    query.upsert()
                            ? tables.toChangelogStream(
                                    result, upsertSchema(result, query), ChangelogMode.upsert())
                            : tables.toChangelogStream(result);
            // At the same parallelism: spreading the changes over more subtasks would lose their
            // order.
            changes.map(KeptChanges.keep(run + "/" + query.name()))
                    .setParallelism(changes.getParallelism())
                    .uid("kept " + query.name())
                    .sinkTo(new DiscardingSink<>())
                    .setParallelism(changes.getParallelism())
                    .uid("sink " + query.name());
        }
    }

    private static void table(
            StreamExecutionEnvironment env,
            StreamTableEnvironment tables,
            String name,
            Changes changes) {
        DataStream<Row> stream = env.addSource(changes, Changes.type()).setParallelism(1).uid(name);
        Schema.Builder schema = Schema.newBuilder();
        Changes.columns().forEach(column -> schema.column(column[0], column[1]));
        tables.createTemporaryView(
                name,
                tables.fromChangelogStream(
                        stream,
                        schema.build(),
                        name.equals("A") ? ChangelogMode.insertOnly() : ChangelogMode.all()));
    }

    private static Schema upsertSchema(Table result, Query query) {
        ResolvedSchema resolved = result.getResolvedSchema();
        Schema.Builder schema = Schema.newBuilder();
        for (int i = 0; i < resolved.getColumnCount(); i++) {
            var column = resolved.getColumn(i).orElseThrow();
            schema.column(
                    column.getName(),
                    i < query.keys() ? column.getDataType().notNull() : column.getDataType());
        }
        return schema.primaryKey(resolved.getColumnNames().subList(0, query.keys())).build();
    }
}
