package drey.it;

import static org.assertj.core.api.Assertions.assertThat;

import drey.runtime.NativeExecutions;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;

/**
 * Faults that other engines had in Top-N where a plan is needed to show them; what needs none is among the scenarios of the
 * native tests. The expected table is SQL's; the changelog must be Flink's.
 */
class RankCasesSqlTest {

    @RegisterExtension
    static final MiniClusterExtension CLUSTER =
            new MiniClusterExtension(
                    new MiniClusterResourceConfiguration.Builder()
                            .setNumberTaskManagers(1)
                            .setNumberSlotsPerTaskManager(2)
                            .build());

    /** Rows have id, k, v and s. */
    enum Case {
        /** FLINK-26819: by arrival with an offset, rows that were seen count, not those that were emitted. */
        BY_ARRIVAL_WITH_OFFSET(
                "SELECT s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt ASC) rn FROM t)"
                        + " WHERE rn BETWEEN 3 AND 4",
                List.of("[c]", "[d]"),
                row(1, 1, 0, "a"),
                row(2, 1, 0, "b"),
                row(3, 1, 0, "c"),
                row(4, 1, 0, "d"),
                row(5, 1, 0, "e")),
        /** The end of the range comes from the query. */
        TOP_3(
                "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) rn FROM t) WHERE rn <= 3",
                List.of("[1]", "[3]", "[4]"),
                row(1, 1, 7, "x"),
                row(2, 1, 3, "x"),
                row(3, 1, 9, "x"),
                row(4, 1, 9, "x"),
                row(5, 1, 1, "x")),
        /** By a value the row that came first stays, by arrival the last one replaces it. */
        EQUAL_VALUES(
                "SELECT s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) rn FROM t) WHERE rn = 1",
                List.of("[first]"),
                row(1, 1, 9, "first"),
                row(2, 1, 9, "second")),
        LAST_ARRIVAL(
                "SELECT s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt DESC) rn FROM t) WHERE rn = 1",
                List.of("[second]"),
                row(1, 1, 9, "first"),
                row(2, 1, 9, "second")),
        /** Over counts that only grow the planner drops -U: versions of a row must not pile up. */
        UPDATES_WITHOUT_BEFORE(
                "SELECT s, c FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY c DESC) rn FROM"
                        + " (SELECT s, COUNT(*) c FROM t GROUP BY s)) WHERE rn <= 2",
                List.of("[a, 3]", "[b, 1]"),
                row(1, 1, 0, "a"),
                row(2, 1, 0, "a"),
                row(3, 1, 0, "a"),
                row(4, 1, 0, "b")),
        /** No key at all: neither to partition nor to order by. */
        LIMIT(
                "SELECT v FROM t LIMIT 2",
                List.of("[1]", "[2]"),
                row(1, 1, 1, ""),
                row(2, 1, 2, ""),
                row(3, 1, 3, "")),
        GLOBAL_TOP_1(
                "SELECT v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC) rn FROM t) WHERE rn = 1",
                List.of("[3]"),
                row(1, 1, 1, ""),
                row(2, 1, 2, ""),
                row(3, 1, 3, "")),
        /** A nested key, where NULL inside equals NULL. */
        NESTED_PARTITION_KEY(
                "SELECT kk, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY kk ORDER BY v DESC) rn FROM"
                        + " (SELECT CAST(ROW(k, s) AS ROW<a INT, b STRING>) kk, v FROM t)) WHERE rn = 1",
                List.of("[+I[1, null], 9]", "[+I[1, x], 7]"),
                row(1, 1, 5, "x"),
                row(2, 1, 7, "x"),
                row(3, 1, 9, null),
                row(4, 1, 8, null)),
        /** FLINK-17625: at a tie the row that came last makes way, and one that comes later still never gets in. */
        TIES_AT_THE_BOUNDARY(
                "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v ASC) rn FROM t) WHERE rn <= 2",
                List.of("[4, 3]", "[5, 4]"),
                row(1, 1, 5, ""),
                row(2, 1, 5, ""),
                row(3, 1, 5, ""),
                row(4, 1, 3, ""),
                row(5, 1, 4, "")),
        /** FLINK-20271: a row beyond the range goes without a word, one within it is followed by exactly one. */
        RETRACTED_BEYOND_AND_WITHIN(
                "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v ASC) rn FROM t) WHERE rn <= 2",
                List.of("[3, 30]"),
                beyondAndWithin()),
        RETRACTED_BEYOND_AND_WITHIN_NUMBERED(
                "SELECT id, v, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v ASC) rn FROM t) WHERE rn <= 2",
                List.of("[3, 30, 1]"),
                beyondAndWithin()),
        /** FLINK-19795, not normalized: retractions of what is not there any more do no harm. */
        DELIVERED_TWICE(
                "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC) rn FROM t) WHERE rn = 1",
                List.of("[2, 8]"),
                row(1, 1, 10, ""),
                row(1, 1, 10, ""),
                deleted(1, 1, 10, ""),
                deleted(1, 1, 10, ""),
                deleted(1, 1, 10, ""),
                row(2, 1, 8, "")),
        /** FLINK-27418, from SQL. */
        PUSHED_OUT_THEN_DELETED(
                "SELECT id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) rn FROM t) WHERE rn <= 2",
                List.of("[2, 70]"),
                row(1, 1, 50, ""),
                row(2, 1, 70, ""),
                row(3, 1, 90, ""),
                deleted(1, 1, 50, ""),
                deleted(3, 1, 90, ""));

        final String sql;
        final List<String> expected;
        final List<Row> input;

        Case(String sql, List<String> expected, Row... input) {
            this.sql = sql;
            this.expected = expected;
            this.input = List.of(input);
        }

        private static Row[] beyondAndWithin() {
            return new Row[] {
                row(1, 1, 10, ""),
                row(2, 1, 20, ""),
                row(3, 1, 30, ""),
                row(4, 1, 40, ""),
                deleted(4, 1, 40, ""),
                deleted(1, 1, 10, ""),
                deleted(2, 1, 20, "")
            };
        }

        private static Row row(int id, int k, int v, String s) {
            return Row.of(id, k, v, s);
        }

        private static Row deleted(int id, int k, int v, String s) {
            return Row.ofKind(RowKind.DELETE, id, k, v, s);
        }
    }

    @ParameterizedTest
    @EnumSource
    void sameAsFlinkAndRight(Case c) throws Exception {
        List<Row> flink = run(c, false);
        assertThat(KeptChanges.table(flink)).as("Flink").isEqualTo(c.expected);

        long opened = NativeExecutions.of("rank").opened();
        long deduplicates = NativeExecutions.of("deduplicate").opened();
        List<Row> drey = run(c, true);
        assertThat(
                        NativeExecutions.of("rank").opened()
                                - opened
                                + NativeExecutions.of("deduplicate").opened()
                                - deduplicates)
                .isEqualTo(1);
        assertThat(drey).isEqualTo(flink);
    }

    private static List<Row> run(Case c, boolean enabled) throws Exception {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(new Configuration());
        env.setParallelism(1);
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("drey.enabled", String.valueOf(enabled));
        boolean changes = c.input.stream().anyMatch(r -> r.getKind() != RowKind.INSERT);
        var stream =
                env.fromData(
                        Types.ROW_NAMED(
                                new String[] {"id", "k", "v", "s"},
                                Types.INT,
                                Types.INT,
                                Types.INT,
                                Types.STRING),
                        c.input.toArray(Row[]::new));
        Schema schema =
                Schema.newBuilder()
                        .column("id", DataTypes.INT())
                        .column("k", DataTypes.INT())
                        .column("v", DataTypes.INT())
                        .column("s", DataTypes.STRING())
                        .columnByExpression("pt", "PROCTIME()")
                        .build();
        tables.createTemporaryView(
                "t",
                changes
                        ? tables.fromChangelogStream(stream, schema)
                        : tables.fromDataStream(stream, schema));
        List<Row> rows = new ArrayList<>();
        try (CloseableIterator<Row> result = tables.executeSql(c.sql).collect()) {
            result.forEachRemaining(rows::add);
        }
        return rows;
    }
}
