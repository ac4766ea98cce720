package drey.it.aggregate;

import drey.it.aggregate.Changes.Kinds;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.types.Row;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Runs many queries over the same changes in one job on a local cluster and keeps each query's changelog.
 *
 * @param drey native operators on
 * @param batchRows {@code drey.batch.rows}
 * @param fails the sources throw once in the middle, after a checkpoint
 */
record AggregateRun(
        boolean drey, int parallelism, boolean objectReuse, int batchRows, boolean fails) {

    /** What the tasks of all runs have emitted: run, query, subtask. */
    private static final Map<String, List<Row>> EMITTED = new ConcurrentHashMap<>();

    @Override
    public String toString() {
        return (drey ? "drey" : "stock")
                + ", parallelism "
                + parallelism
                + (objectReuse ? ", object reuse" : "")
                + (drey ? ", batches of " + batchRows : "")
                + (fails ? ", a failure" : "");
    }

    /** The changelog of each query, subtask after subtask: within a key the order is that of the query's operator. */
    Map<String, List<Row>> execute(List<Query> queries, int rows, long seed) throws Exception {
        Configuration config = new Configuration();
        config.setString("taskmanager.memory.managed.size", "4g");
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
        env.setRuntimeMode(RuntimeExecutionMode.STREAMING);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", Boolean.toString(drey));
        tables.getConfig().set("drey.batch.rows", Integer.toString(batchRows));
        tables.getConfig().set("table.local-time-zone", "UTC");

        String run = toString() + " " + System.nanoTime();
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
            changes.map(new Keep(run + "/" + query.name()))
                    .setParallelism(changes.getParallelism())
                    .sinkTo(new DiscardingSink<>())
                    .setParallelism(changes.getParallelism());
        }
        try {
            env.execute(run);
            Map<String, List<Row>> results = new LinkedHashMap<>();
            for (Query query : queries) {
                List<Row> changes = new ArrayList<>();
                for (int i = 0; i < parallelism; i++) {
                    changes.addAll(
                            EMITTED.getOrDefault(run + "/" + query.name() + "/" + i, List.of()));
                }
                results.put(query.name(), changes);
            }
            return results;
        } finally {
            EMITTED.keySet().removeIf(key -> key.startsWith(run + "/"));
        }
    }

    private static void table(
            StreamExecutionEnvironment env,
            StreamTableEnvironment tables,
            String name,
            Changes changes) {
        DataStream<Row> stream = env.addSource(changes, Changes.type()).setParallelism(1);
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

    /** Keeps what it sees, exactly once: after a restart it forgets what came after the checkpoint. */
    private static final class Keep extends RichMapFunction<Row, Integer>
            implements CheckpointedFunction {
        private static final long serialVersionUID = 1L;

        private final String name;
        private transient List<Row> rows;
        private transient ListState<Integer> kept;

        Keep(String name) {
            this.name = name;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            List<Row> before = EMITTED.getOrDefault(name + "/" + subtask, List.of());
            int valid = 0;
            kept =
                    context.getOperatorStateStore()
                            .getUnionListState(new ListStateDescriptor<>("kept", Types.INT));
            for (int entry : kept.get()) {
                // Union state comes in no order of subtasks; each entry names its own.
                if (entry >>> 24 == subtask) {
                    valid = entry & 0xFFFFFF;
                }
            }
            rows = new ArrayList<>(before.subList(0, valid));
            EMITTED.put(name + "/" + subtask, rows);
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            kept.update(List.of(subtask << 24 | rows.size()));
        }

        @Override
        public Integer map(Row row) {
            rows.add(Row.copy(row));
            return 0;
        }
    }

    /** The changes of each key, in order. */
    static Map<String, List<String>> byKey(Query query, List<Row> changes) {
        Map<String, List<String>> byKey = new TreeMap<>();
        for (Row row : changes) {
            byKey.computeIfAbsent(key(query, row), k -> new ArrayList<>()).add(row.toString());
        }
        return byKey;
    }

    /** The rows that are left when all changes are applied. */
    static Map<String, Integer> content(Query query, List<Row> changes) {
        Map<String, Integer> content = new TreeMap<>();
        Map<String, String> latest = new TreeMap<>();
        for (Row row : changes) {
            String text = row.toString().substring(2);
            switch (row.getKind()) {
                case INSERT, UPDATE_AFTER -> {
                    if (query.upsert()) {
                        String old = latest.put(key(query, row), text);
                        if (old != null) {
                            content.remove(old);
                        }
                    }
                    content.merge(text, 1, Integer::sum);
                }
                default -> content.merge(text, -1, Integer::sum);
            }
        }
        content.values().removeIf(n -> n == 0);
        return content;
    }

    private static String key(Query query, Row row) {
        List<String> key = new ArrayList<>();
        for (int i = 0; i < query.keys(); i++) {
            key.add(Row.of(row.getField(i)).toString());
        }
        return key.toString();
    }
}
