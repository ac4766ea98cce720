package drey.it.parity;

import drey.it.KeptChanges;
import drey.it.LocalRun;

import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.types.Row;

import java.util.List;
import java.util.Map;

/** Runs queries over {@link Events} in one job on a local cluster and keeps each query's changelog. */
final class SqlRun {

    static final int ROWS = 3000;
    private static final long SEED = 20240131;

    private SqlRun() {}

    /** The changelog of each query, subtask after subtask: within a key the order is that of the query's operator. */
    static Map<String, List<Row>> execute(LocalRun run, List<Query> queries) throws Exception {
        StreamExecutionEnvironment env = run.environment("1g", "256m", 1);
        StreamTableEnvironment tables = run.tables(env);
        String job = run.job();
        DataStream<RowData> events =
                env.addSource(new Events(job, ROWS, SEED, run.fails()))
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
        queries.forEach(query -> LocalRun.keep(tables, job, query));
        return KeptChanges.execute(env, job, queries, run.parallelism());
    }
}
