package drey.it.join;

import drey.it.LocalRun;
import drey.it.SteppingSource;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.types.Row;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Runs queries over {@link Changelogs} in one job on a local cluster. */
final class JoinRun {

    private JoinRun() {}

    /** A function that no engine but Flink can know. */
    public static final class IsLonger extends ScalarFunction {
        private static final long serialVersionUID = 1L;

        public Boolean eval(String a, String b) {
            return a == null || b == null ? null : a.length() > b.length();
        }
    }

    /**
     * A table that gets its rows epoch by epoch.
     *
     * @param columns name and type of each
     * @param primaryKey the columns of it, none if it has none
     */
    record Input(
            String name,
            TypeInformation<Row> type,
            List<String> columns,
            List<String> primaryKey,
            List<List<Row>> epochs) {}

    /** The messages of each query by epoch. */
    static Map<String, TreeMap<Long, List<Row>>> execute(
            LocalRun run,
            Map<String, String> queries,
            Changelogs changelogs,
            Map<String, String> settings)
            throws Exception {
        List<Input> inputs = new ArrayList<>();
        for (String name : List.of("L1", "L2", "L3", "R1", "R2", "R3")) {
            inputs.add(
                    new Input(
                            name,
                            Changelogs.TYPE,
                            List.of(
                                    name.endsWith("2") ? "id BIGINT NOT NULL" : "id BIGINT",
                                    name.endsWith("1") ? "k INT NOT NULL" : "k INT",
                                    "j STRING",
                                    "v INT",
                                    "s STRING"),
                            switch (name.charAt(1)) {
                                case '1' -> List.of("k");
                                case '2' -> List.of("id");
                                default -> List.of();
                            },
                            changelogs.of(name)));
        }
        return execute(run, queries, inputs, settings);
    }

    static Map<String, TreeMap<Long, List<Row>>> execute(
            LocalRun run,
            Map<String, String> queries,
            List<Input> inputs,
            Map<String, String> settings)
            throws Exception {
        StreamExecutionEnvironment env = run.environment("1g", "256m", 1);
        env.setBufferTimeout(0);
        StreamTableEnvironment tables = run.tables(env);
        settings.forEach(tables.getConfig()::set);
        tables.createTemporarySystemFunction("isLonger", IsLonger.class);

        String job = run.job();
        for (Input input : inputs) {
            boolean first = input == inputs.get(0);
            DataStream<Row> rows =
                    env.addSource(new Feed(job, input.epochs(), run.fails() && first))
                            .returns(input.type())
                            .setParallelism(1)
                            .name(input.name());
            Schema.Builder schema = Schema.newBuilder();
            List<String> names = new ArrayList<>();
            for (String column : input.columns()) {
                String[] nameAndType = column.split(" ", 2);
                schema.column(nameAndType[0], nameAndType[1]);
                names.add(nameAndType[0]);
            }
            schema.columnByMetadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
                    .watermark("ts", "SOURCE_WATERMARK()");
            if (!input.primaryKey().isEmpty()) {
                schema.primaryKey(input.primaryKey());
            }
            tables.createTemporaryView(
                    "with_time_" + input.name(),
                    tables.fromChangelogStream(rows, schema.build(), ChangelogMode.all()));
            tables.createTemporaryView(
                    input.name(),
                    tables.sqlQuery(
                            "SELECT "
                                    + String.join(", ", names)
                                    + " FROM with_time_"
                                    + input.name()));
        }
        try {
            queries.forEach(
                    (name, sql) -> {
                        DataStream<Row> changes = tables.toChangelogStream(tables.sqlQuery(sql));
                        Turns.of(job).expect(1);
                        changes.transform("observer", Types.VOID, new Observer(job, name))
                                .setParallelism(changes.getParallelism())
                                .sinkTo(new DiscardingSink<>());
                    });
            env.execute(job);
            if (run.fails() && !SteppingSource.failed(job)) {
                throw new IllegalStateException("the job has not failed");
            }
            Map<String, TreeMap<Long, List<Row>>> results = new LinkedHashMap<>();
            queries.keySet()
                    .forEach(
                            name -> results.put(name, Observer.take(job, name, run.parallelism())));
            return results;
        } finally {
            Turns.forget(job);
            SteppingSource.forget(job);
        }
    }
}
