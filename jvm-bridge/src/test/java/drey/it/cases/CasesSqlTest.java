package drey.it.cases;

import static drey.it.cases.Script.checkpoint;
import static drey.it.cases.Script.failure;
import static drey.it.cases.Script.in;
import static drey.it.cases.Script.out;
import static drey.it.cases.Script.output;
import static drey.it.cases.Script.row;
import static drey.it.cases.Script.rows;
import static drey.it.cases.Script.watermark;

import static org.assertj.core.api.Assertions.assertThat;

import drey.it.KeptChanges;
import drey.it.cases.Script.Timed;
import drey.runtime.NativeExecutions;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Faults that other engines had, as far as they take a query with watermarks, checkpoints, restarts or a sink of its own: see
 * docs/cases.md. The expected tables are those of SQL and were run on stock Flink first. Windows, interval and temporal joins
 * are Flink's own: there the case says that Drey leaves them alone.
 */
class CasesSqlTest {

    @RegisterExtension
    static final MiniClusterExtension CLUSTER =
            new MiniClusterExtension(
                    new MiniClusterResourceConfiguration.Builder()
                            .setNumberTaskManagers(1)
                            .setNumberSlotsPerTaskManager(4)
                            .build());

    private static final int FAN_OUT = Integer.getInteger("drey.cases.rows", 20_000);

    private static final String TOP =
            "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY %s ORDER BY v DESC) rn FROM t) WHERE rn = 1";

    /** What the schema of the stream has besides its columns. */
    enum Traits {
        CHANGELOG,
        KEYED_CHANGELOG,
        ROWTIME,
        LOCAL_ROWTIME
    }

    enum Case {
        /** A changelog that is delivered twice has to be normalized. */
        B12(
                Traits.KEYED_CHANGELOG,
                TOP.formatted("s"),
                Map.of("table.exec.source.cdc-events-duplicate", "true"),
                List.of("[2, 8]"),
                "rank 1",
                in("", 1, "g", 10, 0),
                in("", 1, "g", 10, 0),
                out("", 1, "g", 10),
                out("", 1, "g", 10),
                in("", 2, "g", 8, 0)),
        /** Retracted is what was first for a time, or it is 18. */
        B18(
                Traits.ROWTIME,
                "SELECT SUM(v) FROM (" + TOP.formatted("k") + ")",
                Map.of(),
                List.of("[13]"),
                "rank 1 groupAggregate 1",
                in("", 1, "", 5, 0),
                in("", 1, "", 9, 0),
                in("", 2, "", 4, 0)),
        B40(
                Traits.CHANGELOG,
                "SELECT l.s, r.v FROM (SELECT * FROM t WHERE side = 'L') l JOIN (SELECT * FROM t WHERE side = 'R') r ON l.k = r.k",
                Map.of(),
                List.of(),
                "join 1",
                rows(FAN_OUT, "R", 1, ""),
                checkpoint(),
                in("L", 1, "x", 0, 0),
                checkpoint(),
                out("L", 1, "x", 0),
                checkpoint()),
        B42(
                Traits.ROWTIME,
                "SELECT l.k, CAST(l.ts AS STRING), CAST(r.ts AS STRING) FROM (SELECT * FROM t WHERE side = 'L') l,"
                        + " (SELECT * FROM t WHERE side = 'R') r"
                        + " WHERE l.k = r.k AND l.ts BETWEEN r.ts AND r.ts + INTERVAL '10' SECOND",
                Map.of(),
                List.of("[1, 2024-01-01 00:00:10.000, 2024-01-01 00:00:00.000]"),
                "",
                in("R", 1, "", 0, 0),
                in("L", 1, "", 0, 10),
                in("L", 1, "", 0, 11),
                in("R", 2, "", 0, 0),
                watermark(3600)),
        B44(
                Traits.ROWTIME,
                "SELECT l.k, CAST(r.ts AS STRING) FROM (SELECT * FROM t WHERE side = 'L') l"
                        + " LEFT JOIN (SELECT * FROM t WHERE side = 'R') r"
                        + " ON l.k = r.k AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '5' SECOND",
                Map.of(),
                List.of("[1, null]", "[2, 2024-01-01 00:00:12.000]"),
                "",
                in("L", 1, "", 0, 10),
                in("L", 2, "", 0, 10),
                in("R", 2, "", 0, 12),
                checkpoint(),
                failure(),
                watermark(3600),
                checkpoint(),
                in("R", 1, "", 0, 11)),
        /** Versions by a native deduplication, in front of Flink's temporal join. */
        B46(
                Traits.ROWTIME,
                "SELECT l.k, r.v FROM (SELECT * FROM t WHERE side = 'L') l LEFT JOIN versions FOR SYSTEM_TIME AS OF l.ts r"
                        + " ON l.k = r.k",
                Map.of(),
                List.of("[1, 7]", "[2, null]", "[3, 9]"),
                "deduplicate 1",
                in("R", 1, "", 7, 0),
                in("R", 3, "", 8, 0),
                in("R", 3, "", 9, 1),
                in("L", 1, "", 0, 2),
                in("L", 2, "", 0, 2),
                in("L", 3, "", 0, 2),
                checkpoint(),
                watermark(3600),
                checkpoint()),
        B57(
                Traits.ROWTIME,
                "SELECT k, CAST(window_start AS STRING), COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts),"
                        + " INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end",
                Map.of(),
                List.of("[1, 2024-01-01 00:00:00.000, 1]", "[1, 2024-01-01 00:00:10.000, 1]"),
                "",
                in("", 1, "", 0, 1),
                checkpoint(),
                watermark(10),
                in("", 1, "", 0, 2),
                in("", 1, "", 0, 12),
                watermark(20)),
        B59(
                Traits.LOCAL_ROWTIME,
                "SELECT CAST(window_start AS STRING), COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(tz), INTERVAL '1' DAY))"
                        + " GROUP BY window_start, window_end",
                Map.of("table.local-time-zone", "Asia/Shanghai"),
                List.of("[2024-01-01 00:00:00.000, 1]", "[2024-01-02 00:00:00.000, 1]"),
                "",
                in("", 1, "", 0, 15.5 * 3600),
                in("", 1, "", 0, 16.5 * 3600)),
        B60_GAP(
                Traits.ROWTIME,
                "SELECT CAST(window_start AS STRING), COUNT(*) FROM TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND,"
                        + " INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
                Map.of(),
                List.of(
                        "[2023-12-31 23:59:55.000, 1]",
                        "[2024-01-01 00:00:00.000, 1]",
                        "[2024-01-01 00:01:35.000, 1]",
                        "[2024-01-01 00:01:40.000, 1]"),
                "",
                in("", 1, "", 0, 1),
                in("", 1, "", 0, 100),
                watermark(110)),
        B60_END(
                Traits.ROWTIME,
                "SELECT CAST(window_start AS STRING), COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
                        + " GROUP BY window_start, window_end",
                Map.of(),
                List.of("[2024-01-01 00:00:00.000, 3]"),
                "",
                in("", 1, "", 0, 1),
                in("", 1, "", 0, 2),
                in("", 1, "", 0, 3)),
        /** The batch is not full, and nothing else comes. */
        B60_IDLE(
                Traits.CHANGELOG,
                "SELECT k, COUNT(*) FROM t GROUP BY k",
                Map.of("drey.batch.rows", "8192"),
                List.of("[1, 1]"),
                "groupAggregate 1",
                in("", 1, "", 0, 0),
                output(1));

        final Traits traits;
        final String sql;
        final Map<String, String> options;
        final List<String> expected;
        final String natives;
        final List<Timed> steps;

        Case(
                Traits traits,
                String sql,
                Map<String, String> options,
                List<String> expected,
                String natives,
                Timed... steps) {
            this.traits = traits;
            this.sql = sql;
            this.options = options;
            this.expected = expected;
            this.natives = natives;
            this.steps = List.of(steps);
        }
    }

    @ParameterizedTest
    @EnumSource
    void flinkAndDreyGiveTheTableOfSql(Case c) throws Exception {
        List<Row> flink = run(c, false);
        assertThat(KeptChanges.table(flink)).as("Flink").isEqualTo(c.expected);
        String before = opened();
        List<Row> drey = run(c, true);
        assertThat(since(before)).isEqualTo(c.natives);
        assertThat(KeptChanges.table(drey)).as("Drey").isEqualTo(c.expected);
        assertThat(drey).hasSameSizeAs(flink);
        if (c == Case.B40) {
            assertThat(drey).hasSize(2 * FAN_OUT);
            assertThat(drey.subList(0, FAN_OUT)).allMatch(r -> r.getKind() == RowKind.INSERT);
        }
    }

    private static final List<String> OPERATORS =
            List.of("deduplicate", "rank", "join", "groupAggregate");

    private static String opened() {
        return String.join(
                " ", OPERATORS.stream().map(o -> "" + NativeExecutions.of(o).opened()).toList());
    }

    /** The native operators that were opened since then, with their numbers; a restarted one counts once. */
    private static String since(String before) {
        String[] old = before.split(" ");
        List<String> since = new ArrayList<>();
        for (int i = 0; i < OPERATORS.size(); i++) {
            long n = NativeExecutions.of(OPERATORS.get(i)).opened() - Long.parseLong(old[i]);
            if (n > 0) {
                since.add(OPERATORS.get(i) + " " + n);
            }
        }
        return String.join(" ", since);
    }

    private static List<Row> run(Case c, boolean drey) throws Exception {
        String name = "cases " + c + (drey ? " drey" : " flink");
        Configuration config = new Configuration();
        if (c != Case.B60_IDLE) {
            config.setString("execution.checkpointing.interval", "20 ms");
        }
        config.setString("restart-strategy.type", "fixed-delay");
        config.setString("restart-strategy.fixed-delay.attempts", "1");
        config.setString("restart-strategy.fixed-delay.delay", "0 ms");
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(config);
        env.setParallelism(1);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", Boolean.toString(drey));
        tables.getConfig().set("table.local-time-zone", "UTC");
        c.options.forEach(tables.getConfig()::set);
        table(tables, env.addSource(new Script(name, c.steps), Script.TYPE), c.traits);
        Script.SEEN.remove(name);
        tables.toChangelogStream(tables.sqlQuery(c.sql))
                .map(
                        row -> {
                            Script.SEEN.merge(name, 1, Integer::sum);
                            return row;
                        })
                .returns(Row.class)
                .map(KeptChanges.keep(name))
                .sinkTo(new DiscardingSink<>());
        env.execute(name);
        List<Row> changes = KeptChanges.of(name, 1);
        KeptChanges.forget(name);
        return changes;
    }

    private static void table(
            StreamTableEnvironment tables, DataStream<Row> stream, Traits traits) {
        Schema.Builder schema =
                Schema.newBuilder()
                        .column("side", DataTypes.STRING())
                        .column("k", DataTypes.INT().notNull())
                        .column("s", DataTypes.STRING())
                        .column("v", DataTypes.INT())
                        .column("ts", DataTypes.TIMESTAMP(3))
                        .column("tz", DataTypes.TIMESTAMP_LTZ(3));
        switch (traits) {
            case CHANGELOG -> {}
            case KEYED_CHANGELOG -> schema.primaryKey("k");
            case ROWTIME -> schema.watermark("ts", "SOURCE_WATERMARK()");
            case LOCAL_ROWTIME -> schema.watermark("tz", "SOURCE_WATERMARK()");
        }
        boolean changelog = traits == Traits.CHANGELOG || traits == Traits.KEYED_CHANGELOG;
        tables.createTemporaryView(
                "t",
                changelog
                        ? tables.fromChangelogStream(stream, schema.build())
                        : tables.fromDataStream(stream, schema.build()));
        if (traits == Traits.ROWTIME) {
            tables.executeSql(
                    "CREATE TEMPORARY VIEW versions AS SELECT k, v, ts FROM (SELECT *, ROW_NUMBER() OVER"
                            + " (PARTITION BY k ORDER BY ts DESC) rn FROM t WHERE side = 'R') WHERE rn = 1");
        }
    }

    /** B39: the sink's key is not the query's, and two of its rows are one row there. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void otherKeyOfTheSink(boolean drey) throws Exception {
        assertThat(cities(drey, 1)).containsExactly("[A, 2]");
        assertThat(cities(drey, 2)).containsExactly("[A, 1]");
    }

    private static List<String> cities(boolean drey, int leaves) throws Exception {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(new Configuration());
        env.setParallelism(2);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", Boolean.toString(drey));
        List<Timed> steps =
                List.of(in("", 1, "A", 0, 0), in("", 2, "A", 0, 0), out("", leaves, "A", 0));
        String name = "cities " + drey + leaves;
        table(tables, env.addSource(new Script(name, steps), Script.TYPE), Traits.CHANGELOG);
        // Users with the latest of their cities: an aggregate of ours in front of the sink.
        Table users = tables.sqlQuery("SELECT MAX(s) AS city, k AS id FROM t GROUP BY k");
        Schema byCity =
                Schema.newBuilder()
                        .column("city", DataTypes.STRING().notNull())
                        .column("id", DataTypes.INT())
                        .primaryKey("city")
                        .build();
        tables.getConfig().set("table.exec.sink.not-null-enforcer", "DROP");
        // From 2.3 on Flink asks for a clause, unless it is told that this is meant.
        tables.getConfig().set("table.exec.sink.require-on-conflict", "false");
        long before = NativeExecutions.of("groupAggregate").opened();
        tables.toChangelogStream(users, byCity, ChangelogMode.upsert())
                .map(KeptChanges.keep(name))
                .sinkTo(new DiscardingSink<>());
        env.execute(name);
        assertThat(NativeExecutions.of("groupAggregate").opened() - before).isEqualTo(drey ? 2 : 0);
        Map<String, String> latest = new java.util.TreeMap<>();
        for (Row row : KeptChanges.of(name, 2)) {
            if (row.getKind() == RowKind.DELETE) {
                latest.remove(row.getField(0));
            } else {
                latest.put((String) row.getField(0), row.toString().substring(2));
            }
        }
        KeptChanges.forget(name);
        return List.copyOf(latest.values());
    }

    /** B37: the sink has other subtasks than the query, and of a key's changes none overtakes another. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void otherParallelismOfTheSink(boolean drey) throws Exception {
        long before = NativeExecutions.of("groupAggregate").opened();
        int runs = Integer.getInteger("drey.cases.runs", 5);
        for (int i = 0; i < runs; i++) {
            StreamExecutionEnvironment env =
                    StreamExecutionEnvironment.getExecutionEnvironment(new Configuration());
            env.setParallelism(4);
            StreamTableEnvironment tables = StreamTableEnvironment.create(env);
            tables.getConfig().set("drey.enabled", Boolean.toString(drey));
            List<Timed> steps = new ArrayList<>();
            for (int j = 0; j < 500; j++) {
                steps.add(in("", 1, "", 0, 0));
                steps.add(in("", 2, "", 0, 0));
                steps.add(row(RowKind.INSERT, "", 1, "", 0, 0));
            }
            table(tables, env.addSource(new Script("p" + i, steps), Script.TYPE), Traits.CHANGELOG);
            UpsertSink.TABLE.clear();
            tables.executeSql(
                    "CREATE TEMPORARY TABLE counts (k INT, c BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH"
                            + " ('connector' = 'drey-cases')");
            tables.executeSql(
                            "INSERT INTO counts /*+ OPTIONS('sink.parallelism' = '2') */"
                                    + " SELECT k, COUNT(*) FROM t GROUP BY k")
                    .await();
            assertThat(UpsertSink.TABLE.toString()).isEqualTo("{1=1000, 2=500}");
        }
        assertThat(NativeExecutions.of("groupAggregate").opened() - before)
                .isEqualTo(drey ? 4L * runs : 0);
    }
}
