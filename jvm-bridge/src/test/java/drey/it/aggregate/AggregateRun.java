package drey.it.aggregate;

import drey.it.KeptChanges;
import drey.it.LocalRun;
import drey.it.aggregate.Changes.Kinds;
import drey.runtime.NativeExecutions;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.types.Row;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Runs queries over {@link Changes} in one job on a local cluster and keeps each query's changelog. */
final class AggregateRun {

    private AggregateRun() {}

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
    static Map<String, List<Row>> execute(LocalRun run, List<Query> queries, int rows, long seed)
            throws Exception {
        // Shared by more than a hundred operators, whose bundles are the larger the faster the
        // machine is.
        StreamExecutionEnvironment env = run.environment("16g", "512m", Kinds.values().length);
        String job = run.job();
        plan(run, env, job, queries, rows, seed);
        return KeptChanges.execute(env, job, queries, run.parallelism());
    }

    /** Makes one job of the queries, which keeps their changes under its name. */
    static void plan(
            LocalRun run,
            StreamExecutionEnvironment env,
            String job,
            List<Query> queries,
            int rows,
            long seed) {
        StreamTableEnvironment tables = run.tables(env);
        table(env, tables, "A", new Changes(job, rows, seed, Kinds.INSERTS, run.fails()));
        table(env, tables, "R", new Changes(job, rows, seed, Kinds.ALL, run.fails()));
        table(env, tables, "S", new Changes(job, rows, seed, Kinds.ALL_AND_STRAY, run.fails()));
        queries.forEach(query -> LocalRun.keep(tables, job, query));
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
}
