package drey.it.planner;

import drey.runtime.NativeExecutions;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.GlobalConfiguration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.internal.TableEnvironmentImpl;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;

import java.util.ArrayList;
import java.util.List;

/**
 * A user's program, run in a JVM of its own: explains and executes one query and prints what it saw. It sees no more of
 * Flink than a user does, so it also runs where the planner is hidden in a loader.
 */
public final class WayInProgram {

    private WayInProgram() {}

    public static void main(String[] args) throws Exception {
        Configuration configuration = GlobalConfiguration.loadConfiguration();
        EnvironmentSettings settings =
                EnvironmentSettings.newInstance().withConfiguration(configuration).build();
        TableEnvironment env = TableEnvironment.create(settings);
        Object planner = ((TableEnvironmentImpl) env).getPlanner();
        print("planner", planner.getClass().getName());
        print("loader", planner.getClass().getClassLoader().getClass().getSimpleName());

        env.executeSql(
                "CREATE TABLE t (x BIGINT, k AS x % 10, ts AS TO_TIMESTAMP_LTZ(x, 3),"
                        + " WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen',"
                        + " 'number-of-rows' = '1000', 'fields.x.kind' = 'sequence',"
                        + " 'fields.x.start' = '1', 'fields.x.end' = '1000')");
        String query =
                "SELECT k, x FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS"
                        + " rn FROM t) WHERE rn = 1";
        env.explainSql(query).lines().forEach(line -> print("explain", line));

        List<String> table = new ArrayList<>();
        try (CloseableIterator<Row> rows = env.executeSql(query).collect()) {
            while (rows.hasNext()) {
                Row row = rows.next();
                RowKind kind = row.getKind();
                row.setKind(RowKind.INSERT);
                if (kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER) {
                    table.add(row.toString());
                } else {
                    table.remove(row.toString());
                }
            }
        }
        table.stream().sorted().forEach(row -> print("row", row));
        print("native", Long.toString(NativeExecutions.of("deduplicate").opened()));
    }

    private static void print(String what, String text) {
        System.out.println(what + ": " + text);
    }
}
