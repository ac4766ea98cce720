package drey.plan;

import static org.assertj.core.api.Assertions.assertThat;

import drey.batch.JoinedBatchReader;
import drey.batch.RowBatchWriter;
import drey.batch.RowSchema;
import drey.jni.NativeLibrary;
import drey.jni.NativeOperator;
import drey.spec.Expression;
import drey.spec.JoinSpec;
import drey.spec.JoinSpec.Side;

import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.transformations.TwoInputTransformation;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.functions.ScalarFunction;
import org.apache.flink.table.planner.delegation.StreamPlanner;
import org.apache.flink.table.planner.plan.ExecNodeGraphInternalPlan;
import org.apache.flink.table.planner.plan.nodes.exec.ExecEdge;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecJoin;
import org.apache.flink.table.runtime.generated.GeneratedJoinCondition;
import org.apache.flink.table.runtime.generated.JoinCondition;
import org.apache.flink.table.runtime.operators.join.stream.AbstractStreamingJoinOperator;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Predicates of every kind on the extreme values of every type: the pairs that the library finds are those for which the
 * code that Flink has generated says true.
 */
class PredicatesTest {

    private static final int ROWS = 60;

    private static final String[][] COLUMNS = {
        {"id", "INT"},
        {"b", "BOOLEAN"},
        {"ti", "TINYINT"},
        {"si", "SMALLINT"},
        {"i", "INT"},
        {"bi", "BIGINT"},
        {"f", "FLOAT"},
        {"d", "DOUBLE"},
        {"p", "DECIMAL(10, 2)"},
        {"q", "DECIMAL(38, 10)"},
        {"s", "STRING"},
        {"v", "VARCHAR(5)"},
        {"c", "CHAR(3)"},
        {"bn", "BINARY(2)"},
        {"vb", "VARBINARY(9)"},
        {"dt", "DATE"},
        {"tm", "TIME"},
        {"t0", "TIMESTAMP(0)"},
        {"t3", "TIMESTAMP(3)"},
        {"t6", "TIMESTAMP(6)"},
        {"t9", "TIMESTAMP(9)"},
        {"z3", "TIMESTAMP_LTZ(3)"},
        {"z6", "TIMESTAMP_LTZ(6)"},
        {"nn", "INT NOT NULL"}
    };

    private static TableEnvironment env;
    private static List<BinaryRowData> left;
    private static List<BinaryRowData> right;

    @BeforeAll
    static void tables() {
        NativeLibrary.load();
        env = Plans.environment();
        StringBuilder sink = new StringBuilder();
        for (String table : List.of("L", "R")) {
            StringBuilder columns = new StringBuilder();
            for (String[] column : COLUMNS) {
                columns.append(columns.isEmpty() ? "" : ", ").append(column[0] + " " + column[1]);
                sink.append(sink.isEmpty() ? "" : ", ")
                        .append(table + column[0] + " " + column[1].replace(" NOT NULL", ""));
            }
            env.executeSql(
                    "CREATE TABLE " + table + " (" + columns + ") WITH ('connector' = 'datagen')");
        }
        env.executeSql("CREATE TABLE sink (" + sink + ") WITH ('connector' = 'blackhole')");
        env.createTemporarySystemFunction("twice", Twice.class);
        left = rows(new SplittableRandom(1));
        right = rows(new SplittableRandom(2));
    }

    public static final class Twice extends ScalarFunction {
        private static final long serialVersionUID = 1L;

        public Integer eval(Integer i) {
            return i == null ? null : 2 * i;
        }
    }

    static Stream<String> predicates() {
        List<String> all = new ArrayList<>();
        for (String op : List.of("=", "<>", "<", "<=", ">", ">=")) {
            for (String pair :
                    List.of(
                            "ti si", "i bi", "bi f", "f i", "f d", "d d", "d bi", "p p", "p q",
                            "q i", "bi p", "s s", "v c", "bn bn", "vb bn", "dt dt", "tm tm",
                            "t0 t3", "t6 t9", "z3 z6", "b b")) {
                String[] columns = pair.split(" ");
                all.add("L.%s %s R.%s".formatted(columns[0], op, columns[1]));
            }
        }
        return Stream.concat(
                // One comparison of each pair of types, all operators in turn.
                IntStream.range(0, all.size())
                        .filter(i -> (i % 21 + i / 21) % 3 == 0)
                        .mapToObj(all::get)
                        .map(p -> p.contains(" = ") ? "(" + p + ") IS NOT FALSE" : p),
                Stream.of(
                        // three-valued logic
                        "L.i IS DISTINCT FROM R.i",
                        "(L.d IS NOT DISTINCT FROM R.d) = (L.b AND R.b)",
                        "(L.i < R.i AND L.b) IS UNKNOWN OR (L.i > R.i OR R.b) IS NOT UNKNOWN",
                        "(L.b OR R.b) IS FALSE",
                        "(L.b AND R.b) IS NOT FALSE",
                        "(L.b AND R.b) IS TRUE OR (L.b = R.b) IS NOT TRUE",
                        "NOT (L.b AND R.b) AND NOT (L.i < R.i)",
                        "L.s IS NULL AND R.t6 IS NOT NULL OR L.q IS NULL AND R.vb IS NULL",
                        "L.nn < R.nn AND L.nn IS NOT NULL",
                        // arithmetic, with overflows
                        "L.ti + R.ti > L.si",
                        "L.si - R.ti < R.i",
                        "L.i + R.i > 0",
                        "L.i - R.bi < L.bi",
                        "L.bi * R.bi > 7",
                        "L.i * R.i * L.i < R.si",
                        "-L.i < R.bi",
                        "-L.bi >= R.bi",
                        "-L.d < R.f",
                        "L.f + R.f > L.d",
                        "L.f * R.i < R.f",
                        "L.d - R.bi > L.f",
                        "L.d / R.d < L.d",
                        "L.f / R.f >= R.f",
                        "L.i / 7 > R.i / -1",
                        "L.bi % 5 < R.bi / 3",
                        "MOD(L.i, -7) <> MOD(R.i, 3)",
                        "L.ti / CAST(-1 AS TINYINT) > R.ti",
                        "L.p + R.p > 3.50",
                        "L.p - R.p < L.p",
                        "L.p * R.p > R.p",
                        "L.p + R.i < R.p",
                        "L.ti * R.p >= L.si",
                        // time
                        "L.t3 + INTERVAL '1' SECOND > R.t3",
                        "L.t9 - INTERVAL '10 00:00:00.001' DAY TO SECOND(3) < R.t6",
                        "L.z3 + INTERVAL '2' DAY > R.z6",
                        "L.dt + INTERVAL '3' DAY > R.dt",
                        "L.dt - INTERVAL '40' DAY < R.dt",
                        "L.t3 BETWEEN R.t3 AND R.t3 + INTERVAL '30' DAY",
                        "CAST(L.dt AS TIMESTAMP(3)) < R.t3",
                        "CAST(L.t0 AS TIMESTAMP(6)) >= R.t6",
                        // choice
                        "CASE WHEN L.i > R.i THEN 1 WHEN L.b THEN R.i ELSE L.i END * 2 > R.i",
                        "CASE WHEN L.b THEN L.s WHEN R.b THEN R.s END < R.s",
                        "CASE WHEN L.b THEN L.t6 ELSE R.t6 END < R.t9",
                        "CASE WHEN L.b THEN L.q ELSE R.q END > 0",
                        "CASE WHEN L.b THEN L.d ELSE R.d END > R.f",
                        "CASE WHEN L.i < R.i THEN 'a' ELSE 'bbb' END <> R.s",
                        "COALESCE(L.i, R.i, 7) > 3",
                        "COALESCE(L.p, R.p) <= COALESCE(R.p, L.p, 0.00)",
                        "NULLIF(L.i, R.i) IS NULL",
                        // casts
                        "CAST(L.d AS INT) > R.i",
                        "CAST(L.d AS TINYINT) >= R.ti",
                        "CAST(L.f AS BIGINT) < R.bi",
                        "CAST(L.bi AS SMALLINT) <> R.si",
                        "CAST(L.i AS TINYINT) < R.ti",
                        "CAST(L.bi AS FLOAT) >= R.f",
                        "CAST(L.d AS FLOAT) < R.f",
                        "CAST(L.p AS DOUBLE) > R.d",
                        "CAST(L.i AS DECIMAL(14, 3)) < R.p",
                        "CAST(L.p AS DECIMAL(30, 5)) >= R.q",
                        "CAST(L.v AS STRING) < R.s",
                        "CAST(L.p AS INT) > R.i",
                        "CAST(L.p AS TINYINT) > R.ti OR CAST(L.q AS BIGINT) < R.bi",
                        "CAST(L.q AS SMALLINT) <> R.si",
                        "CAST(L.p AS FLOAT) < R.f",
                        "CAST(L.t9 AS TIMESTAMP(3)) > R.t3 OR CAST(L.t9 AS TIMESTAMP(6)) = R.t6",
                        "CAST(L.t6 AS TIMESTAMP(0)) >= R.t0",
                        "CAST(L.z6 AS TIMESTAMP_LTZ(3)) <> R.z3",
                        "CAST(L.t9 AS DATE) < R.dt",
                        "CAST(L.tm AS TIMESTAMP(3)) < R.t3",
                        // sets and ranges
                        "L.i IN (1, 2, -2147483648) OR R.i = 3",
                        "L.bi NOT IN (1, 9223372036854775807) OR R.i = 3",
                        "L.s IN ('a', '', 'é') OR R.i = 3",
                        "L.s NOT IN ('a', 'b') OR R.v IN ('x', 'abcde')",
                        "L.p IN (1, 2.5, -7.25) OR R.i = 3",
                        "L.p BETWEEN -3 AND 2.5 OR R.i > 3",
                        "L.d BETWEEN -1.5e0 AND 1e300 OR R.i = 3",
                        "L.dt IN (DATE '1970-01-01', DATE '2020-02-29') OR R.b",
                        "L.t3 IN (TIMESTAMP '1970-01-01 00:00:00', TIMESTAMP '2021-01-01 00:00:00.5') OR R.b",
                        "L.t9 > TIMESTAMP '1969-12-31 23:59:59.999999999' OR R.i = 3",
                        "L.tm > TIME '10:00:00' OR R.i = 3",
                        "L.vb > x'00ff' AND R.bn <> x'0000'",
                        "L.i > 3 AND L.i < 100 OR R.i BETWEEN L.i AND 7 OR L.i IS NULL",
                        "L.i IN (1, 2, 3) IS NOT TRUE AND R.i < 1"));
    }

    /** Planning takes its time: a third of the table unless {@code -Ddrey.join.all=true}. */
    static Stream<String> chosen() {
        List<String> all = predicates().toList();
        int step = Boolean.getBoolean("drey.join.all") ? 1 : 3;
        return IntStream.range(0, all.size()).filter(i -> i % step == 0).mapToObj(all::get);
    }

    @ParameterizedTest
    @MethodSource("chosen")
    void sameAsGeneratedCode(String predicate) throws Exception {
        Planned planned = plan(predicate);
        assertThat(planned.translated()).as("translation of %s", planned.json()).isPresent();
        assertThat(natively(planned.translated().get())).isEqualTo(byFlink(planned.condition()));
    }

    /** What the library can't say exactly as Flink does. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "LOWER(L.s) <> R.s",
                "L.s LIKE R.s",
                "twice(L.i) > R.i",
                "L.i / R.i > 3",
                "L.i % R.i > 3",
                "L.t3 < R.z3",
                "L.t3 - INTERVAL '2' MONTH > R.t3",
                "L.d > 1.5 OR R.b",
                "L.p / R.p > 2",
                "L.p + R.q > 1",
                "L.d IN (0e0, 1.5e0) OR R.b",
                "L.c IN ('a', 'bcd') OR R.b",
                "L.vb IN (x'00', x'01') OR R.b",
                "CAST(L.s AS INT) > R.i",
                "CAST(L.i AS VARCHAR(3)) <> R.s",
                "CAST(L.d AS DECIMAL(10, 2)) > R.p",
                "CAST(L.p AS DECIMAL(8, 1)) > R.p",
                "CAST(L.q AS DOUBLE) > R.d",
                "CAST(L.t9 AS TIME) > R.tm",
                "CAST(L.t9 AS TIMESTAMP_LTZ(3)) > R.z3",
                "CAST(L.v AS VARCHAR(2)) <> R.v",
                "CAST(L.s AS CHAR(3)) <> R.s",
                "CURRENT_DATE > L.dt OR R.b",
                "TIMESTAMPDIFF(SECOND, L.t3, R.t3) > 3"
            })
    void hostEvaluatesTheRest(String predicate) {
        assertThat(plan(predicate).translated()).isEmpty();
    }

    /** Some pairs match and some don't, or the comparison above would say little. */
    @Test
    void valuesTellPredicatesApart() throws Exception {
        long telling = 0;
        List<String> all = predicates().toList();
        for (String predicate : all.subList(0, 10)) {
            int pairs = byFlink(plan(predicate).condition()).size();
            telling += pairs > 0 && pairs < ROWS * ROWS ? 1 : 0;
        }
        assertThat(telling).isEqualTo(10);
    }

    private record Planned(
            String json, Optional<Expression> translated, GeneratedJoinCondition condition) {}

    /** A FULL JOIN, because of others the planner moves parts of the condition below the join. */
    private static Planned plan(String predicate) {
        StreamPlanner planner = (StreamPlanner) Plans.planner(env);
        String sql = "INSERT INTO sink SELECT * FROM L FULL JOIN R ON " + predicate;
        var plan =
                (ExecNodeGraphInternalPlan) Plans.load(env, env.compilePlanSql(sql).asJsonString());
        List<StreamExecJoin> joins = new ArrayList<>();
        plan.getExecNodeGraph().getRootNodes().forEach(root -> joins(root, joins));
        assertThat(joins).hasSize(1);
        StreamExecJoin join = joins.get(0);
        NodeJson json = NodeWriter.write(join, planner.createSerdeContext()).object("joinSpec");
        assertThat(json.integers("leftKeys")).as("only the predicate decides").isEmpty();
        List<RowType> inputs =
                join.getInputEdges().stream().map(e -> (RowType) e.getOutputType()).toList();
        assertThat(inputs.get(0).getFieldCount()).isEqualTo(COLUMNS.length);
        assertThat(inputs.get(1).getFieldCount()).isEqualTo(COLUMNS.length);
        var condition = json.optional("nonEquiCondition").orElseThrow().tree();

        env.getConfig().set("drey.enabled", "false");
        GeneratedJoinCondition generated = null;
        for (var transformation : Plans.all(planner.translatePlan(plan))) {
            if (transformation instanceof TwoInputTransformation<?, ?, ?> two
                    && two.getOperatorFactory() instanceof SimpleOperatorFactory<?> factory) {
                generated = condition((AbstractStreamingJoinOperator) factory.getOperator());
            }
        }
        return new Planned(
                condition.toString(),
                Predicates.translate(condition, inputs.get(0), inputs.get(1)),
                generated);
    }

    private static void joins(ExecNode<?> node, List<StreamExecJoin> joins) {
        if (node instanceof StreamExecJoin join) {
            joins.add(join);
        }
        for (ExecEdge edge : node.getInputEdges()) {
            joins(edge.getSource(), joins);
        }
    }

    private static GeneratedJoinCondition condition(AbstractStreamingJoinOperator operator) {
        try {
            Field field =
                    AbstractStreamingJoinOperator.class.getDeclaredField("generatedJoinCondition");
            field.setAccessible(true);
            return (GeneratedJoinCondition) field.get(operator);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Set<String> byFlink(GeneratedJoinCondition generated) throws Exception {
        JoinCondition condition = generated.newInstance(PredicatesTest.class.getClassLoader());
        Set<String> pairs = new TreeSet<>();
        for (BinaryRowData l : left) {
            for (BinaryRowData r : right) {
                if (condition.apply(l, r)) {
                    pairs.add(l.getInt(0) + " " + r.getInt(0));
                }
            }
        }
        return pairs;
    }

    private static Set<String> natively(Expression predicate) {
        Side side = new Side(List.of(), Optional.empty(), 0);
        String spec =
                new JoinSpec(
                                "INNER",
                                side,
                                side,
                                List.of(),
                                Optional.of(new JoinSpec.Condition.Native(predicate)),
                                OptionalLong.empty())
                        .toJson();
        Set<String> pairs = new TreeSet<>();
        long handle;
        try (RowSchema in = RowSchema.input(TYPE);
                RowSchema out = RowSchema.joinedOutput(TYPE, TYPE)) {
            long[] inputs = {in.address(), in.address()};
            handle = NativeOperator.open(spec, inputs, out.address(), 128, 0, 127, 64 << 20, null);
        }
        try (RowBatchWriter writer = new RowBatchWriter(ROWS, 1 << 20);
                JoinedBatchReader reader = new JoinedBatchReader(COLUMNS.length, COLUMNS.length)) {
            right.forEach(row -> writer.add((byte) 0, row));
            assertThat(NativeOperator.push(handle, 1, writer.export(), 0)).isZero();
            writer.clear();
            left.forEach(row -> writer.add((byte) 0, row));
            NativeOperator.push(handle, 0, writer.export(), 0);
            int n;
            while ((n = (int) NativeOperator.poll(handle, reader.address())) > 0) {
                reader.attach(n);
                for (int i = 0; i < n; i++) {
                    var row = reader.row(i);
                    pairs.add(row.getInt(0) + " " + row.getInt(COLUMNS.length));
                }
            }
        } finally {
            NativeOperator.close(handle);
        }
        return pairs;
    }

    // ---- extreme values ----

    private static final RowType TYPE =
            (RowType)
                    LogicalTypeParser.parse(
                            "ROW<"
                                    + String.join(
                                            ", ",
                                            Arrays.stream(COLUMNS)
                                                    .map(c -> c[0] + " " + c[1])
                                                    .toList())
                                    + ">",
                            PredicatesTest.class.getClassLoader());

    private static final Object[][] VALUES = {
        {},
        {true, false},
        bytes(0, 1, -1, 127, -128, 7, 100),
        shorts(0, 1, -1, 32767, -32768, 127, -128, 7),
        {0, 1, 2, 3, -1, Integer.MAX_VALUE, Integer.MIN_VALUE, 7, 46341, -7, 16777217, 99},
        {
            0L,
            1L,
            -1L,
            Long.MAX_VALUE,
            Long.MIN_VALUE,
            7L,
            3037000500L,
            (1L << 53) + 1,
            -(1L << 31) - 1,
            16777217L
        },
        {
            0f,
            -0f,
            1f,
            -1.5f,
            Float.NaN,
            Float.POSITIVE_INFINITY,
            Float.NEGATIVE_INFINITY,
            Float.MIN_VALUE,
            Float.MAX_VALUE,
            16777216f,
            7f,
            0.1f
        },
        {
            0.0,
            -0.0,
            1.0,
            -1.5,
            Double.NaN,
            Double.POSITIVE_INFINITY,
            Double.NEGATIVE_INFINITY,
            Double.MIN_VALUE,
            Double.MAX_VALUE,
            9.007199254740993e15,
            2147483648.0,
            -129.9,
            0.1,
            1e300
        },
        decimals(10, 2, "0", "0.01", "-0.01", "99999999.99", "-99999999.99", "1", "2.5", "-7.25"),
        decimals(
                38,
                10,
                "0",
                "1",
                "2.5",
                "0.01",
                "0.0000000001",
                "9999999999999999999999999999.9999999999",
                "-9999999999999999999999999999.9999999999",
                "9223372036854775807",
                "-2147483648"),
        strings("", "a", "b", "ab", "é", "\uE000", "🦉", "x".repeat(40), "bbb", "a\0", "3"),
        strings("", "a", "x", "abc", "abcde", "é", "🦉"),
        strings("a  ", "abc", "   ", "bcd", "é  "),
        {
            new int[] {0, 0},
            new int[] {0, 1},
            new int[] {127, -128},
            new int[] {-1, -1},
            new int[] {1, 0}
        },
        {
            new int[0],
            new int[] {0},
            new int[] {0, -1},
            new int[] {0, 0},
            new int[] {-1},
            new int[] {127},
            new int[] {1, 2, 3, 4, 5, 6, 7, 8, 9}
        },
        {0, 1, -1, 18262, 18321, -719162, 2932896},
        {0, 1, 36_000_000, 86_399_999, 43_200_000, 36_000_001},
        times(0, 1000, -1000, 253402300799000L, -62135596800000L, 1577836800000L),
        times(0, 1, -1, 999, 253402300799999L, -62135596800000L, 1577836800000L, 1609459200500L),
        nanos(0, 0, 0, 1000, -1, 999_000, 1577836800000L, 456_000, -1000, 0),
        nanos(0, 0, 0, 1, 0, 1000, -1, 999_999, 1577836800000L, 456_000, -62135596800000L, 7),
        times(0, 1, -1, 999, 253402300799999L, 1577836800000L, 172800000),
        nanos(0, 0, 0, 1000, -1, 999_000, 172800000, 1000),
        {0, 1, -5, Integer.MAX_VALUE}
    };

    private static List<BinaryRowData> rows(SplittableRandom rng) {
        RowDataSerializer serializer = new RowDataSerializer(TYPE);
        List<BinaryRowData> rows = new ArrayList<>();
        for (int id = 0; id < ROWS; id++) {
            GenericRowData row = new GenericRowData(COLUMNS.length);
            row.setField(0, id);
            for (int c = 1; c < COLUMNS.length; c++) {
                boolean isNull = rng.nextInt(9) == 0 && !COLUMNS[c][1].endsWith("NOT NULL");
                Object value = VALUES[c][rng.nextInt(VALUES[c].length)];
                row.setField(c, isNull ? null : value instanceof int[] b ? binary(b) : value);
            }
            rows.add(serializer.toBinaryRow(row).copy());
        }
        return rows;
    }

    private static byte[] binary(int[] values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return bytes;
    }

    private static Object[] bytes(int... values) {
        return Arrays.stream(values).mapToObj(v -> (byte) v).toArray();
    }

    private static Object[] shorts(int... values) {
        return Arrays.stream(values).mapToObj(v -> (short) v).toArray();
    }

    private static Object[] decimals(int precision, int scale, String... values) {
        return Arrays.stream(values)
                .map(v -> DecimalData.fromBigDecimal(new BigDecimal(v), precision, scale))
                .toArray();
    }

    private static Object[] strings(String... values) {
        return Arrays.stream(values).map(StringData::fromString).toArray();
    }

    private static Object[] times(long... millis) {
        return Arrays.stream(millis).mapToObj(TimestampData::fromEpochMillis).toArray();
    }

    /** Milliseconds and nanoseconds by turns. */
    private static Object[] nanos(long... pairs) {
        Object[] values = new Object[pairs.length / 2];
        for (int i = 0; i < values.length; i++) {
            values[i] = TimestampData.fromEpochMillis(pairs[2 * i], (int) pairs[2 * i + 1]);
        }
        return values;
    }
}
