package drey.it.planner;

import static org.assertj.core.api.Assertions.assertThat;

import drey.runtime.NativeExecutions;

import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Every type that may be a key, each the key of one deduplication whose rows carry all the others, run natively and on Flink:
 * the same rows must remain, at any parallelism.
 */
class TypesParityTest {

    /** A column per type, made of a number {@code m} and a text {@code s} that are null now and then. */
    private static final Map<String, String> COLUMNS = new LinkedHashMap<>();

    static {
        COLUMNS.put("c_boolean", "m > 2");
        COLUMNS.put("c_tinyint", "CAST(m - 3 AS TINYINT)");
        COLUMNS.put("c_smallint", "CAST(m * -1000 AS SMALLINT)");
        COLUMNS.put("c_int", "CAST(m * -100000 AS INT)");
        COLUMNS.put("c_bigint", "CAST(m AS BIGINT) * 10000000000");
        COLUMNS.put("c_float", "CAST(m AS FLOAT) / 3");
        COLUMNS.put("c_double", "CAST(m AS DOUBLE) / -3");
        COLUMNS.put("c_decimal_short", "CAST(m - 2.5 AS DECIMAL(10, 2))");
        COLUMNS.put("c_decimal_long", "CAST(m - 2.5 AS DECIMAL(38, 18))");
        COLUMNS.put("c_char", "CAST(s AS CHAR(5))");
        COLUMNS.put("c_varchar", "CAST(s AS VARCHAR(100))");
        COLUMNS.put("c_string", "s");
        COLUMNS.put("c_binary", "CAST(s AS BINARY(3))");
        COLUMNS.put("c_bytes", "CAST(s AS BYTES)");
        COLUMNS.put("c_date", "TIMESTAMPADD(DAY, m - 3, DATE '1970-01-02')");
        COLUMNS.put(
                "c_time", "CAST(TIMESTAMPADD(SECOND, m, TIMESTAMP '2020-01-01 10:00:00') AS TIME)");
        COLUMNS.put(
                "c_timestamp_short", "CAST(TO_TIMESTAMP_LTZ(m * 1001 - 3000, 3) AS TIMESTAMP(3))");
        COLUMNS.put(
                "c_timestamp_long", "CAST(TO_TIMESTAMP_LTZ(m * 1001 - 3000, 3) AS TIMESTAMP(9))");
        COLUMNS.put("c_ltz_short", "TO_TIMESTAMP_LTZ(m * 1001 - 3000, 3)");
        COLUMNS.put("c_ltz_long", "CAST(TO_TIMESTAMP_LTZ(m * 1001 - 3000, 3) AS TIMESTAMP_LTZ(9))");
        COLUMNS.put("c_array", "ARRAY[s, CAST(m AS STRING)]");
        COLUMNS.put("c_map", "MAP['k', s, 'long enough a key', CAST(m AS STRING)]");
        COLUMNS.put("c_row", "ROW(m, s, CAST(m - 2.5 AS DECIMAL(38, 18)), TO_TIMESTAMP_LTZ(m, 3))");
        COLUMNS.put("c_nested", "ARRAY[ROW(m, ARRAY[s])]");
    }

    private static final int ROWS = 700;

    @ParameterizedTest(name = "{0}, parallelism {1}")
    @CsvSource({"DESC, 3", "ASC, 1"})
    void sameRowsRemain(String order, int parallelism) throws Exception {
        List<String> stock = run(order, parallelism, false);
        NativeExecutions.reset();
        List<String> ours = run(order, parallelism, true);

        assertThat(NativeExecutions.of("deduplicate").opened())
                .isEqualTo(COLUMNS.size() * parallelism);
        assertThat(NativeExecutions.of("deduplicate").rowsIn()).isEqualTo(COLUMNS.size() * ROWS);
        assertThat(stock).hasSizeGreaterThan(COLUMNS.size() * 3);
        assertThat(ours).isEqualTo(stock);
    }

    /** The rows that remain of the changelog, in order of their text. */
    private static List<String> run(String order, int parallelism, boolean enabled)
            throws Exception {
        TableEnvironment env = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
        env.getConfig().set("parallelism.default", Integer.toString(parallelism));
        env.getConfig().set("drey.enabled", Boolean.toString(enabled));
        env.getConfig().set("table.local-time-zone", "UTC");
        env.executeSql(
                "CREATE TABLE source (id INT, ts AS TO_TIMESTAMP_LTZ(id, 3),"
                        + " m AS CASE WHEN id % 6 = 0 THEN NULL ELSE id % 6 END,"
                        + " s AS CASE id % 5 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'short'"
                        + " WHEN 3 THEN 'longer than seven bytes' ELSE 'äöü€𐍈' END,"
                        + " WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)"
                        + " WITH ('connector' = 'datagen', 'number-of-rows' = '"
                        + ROWS
                        + "', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1',"
                        + " 'fields.id.end' = '"
                        + ROWS
                        + "')");
        env.executeSql(
                "CREATE TEMPORARY VIEW typed AS SELECT id, ts, "
                        + COLUMNS.entrySet().stream()
                                .map(column -> column.getValue() + " AS " + column.getKey())
                                .collect(Collectors.joining(", "))
                        + " FROM source");
        String payload =
                COLUMNS.keySet().stream()
                        .map(column -> "COALESCE(CAST(" + column + " AS STRING), 'null')")
                        .collect(Collectors.joining(" || ',' || "));
        String query =
                COLUMNS.keySet().stream()
                        .map(
                                key ->
                                        "SELECT '"
                                                + key
                                                + "', id, "
                                                + payload
                                                + " FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "
                                                + key
                                                + " ORDER BY ts "
                                                + order
                                                + ") AS rn FROM typed) WHERE rn = 1")
                        .collect(Collectors.joining(" UNION ALL "));
        List<String> rows = new ArrayList<>();
        try (CloseableIterator<Row> results = env.executeSql(query).collect()) {
            while (results.hasNext()) {
                Row row = results.next();
                RowKind kind = row.getKind();
                row.setKind(RowKind.INSERT);
                if (kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER) {
                    rows.add(row.toString());
                } else {
                    assertThat(rows.remove(row.toString())).as("retracted " + row).isTrue();
                }
            }
        }
        return rows.stream().sorted().toList();
    }
}
