package drey.fuzz;

import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.types.RowKind;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A table and every change that happens to it.
 *
 * @param primaryKey its column {@code id} is declared as key
 * @param watermarkDelay in seconds, of the rowtime column {@code ts}; negative: no such column
 * @param proctime there is a processing-time column {@code pt}
 */
record FuzzTable(
        String name,
        Kind kind,
        List<Column> columns,
        boolean primaryKey,
        int watermarkDelay,
        boolean proctime,
        List<Change> changes) {

    /** What kinds of changes a table has. */
    enum Kind {
        APPEND,
        UPSERT,
        RETRACT
    }

    /**
     * @param peculiar has NaN or -0.0 among its values
     */
    record Column(String name, Type type, boolean notNull, boolean peculiar) {}

    /**
     * @param entity changes of the same entity belong together: none makes sense without the others
     */
    record Change(RowKind kind, int entity, List<String> values) {

        GenericRowData row(List<Column> columns) {
            GenericRowData row = new GenericRowData(kind, values.size());
            for (int i = 0; i < values.size(); i++) {
                row.setField(i, columns.get(i).type().internal(values.get(i)));
            }
            return row;
        }
    }

    boolean hasRowtime() {
        return watermarkDelay >= 0;
    }

    /** The name of the n-th table's column for a purpose; no two tables share a name. */
    String column(String purpose) {
        return purpose + name.substring(1);
    }

    String ddl(String run) {
        List<String> lines = new ArrayList<>();
        for (Column c : columns) {
            lines.add(c.name() + " " + c.type().sql + (c.notNull() ? " NOT NULL" : ""));
        }
        if (proctime) {
            lines.add(column("pt") + " AS PROCTIME()");
        }
        if (hasRowtime()) {
            String ts = column("ts");
            lines.add(
                    "WATERMARK FOR "
                            + ts
                            + " AS "
                            + ts
                            + " - INTERVAL '"
                            + watermarkDelay
                            + "' SECOND");
        }
        if (primaryKey) {
            lines.add("PRIMARY KEY (" + column("id") + ") NOT ENFORCED");
        }
        return "CREATE TEMPORARY TABLE %s (%s) WITH ('connector' = 'fuzz', 'run' = '%s', 'name' = '%s', 'changes' = '%s')"
                .formatted(name, String.join(", ", lines), run, name, kind);
    }

    FuzzTable with(List<Change> changes) {
        return new FuzzTable(name, kind, columns, primaryKey, watermarkDelay, proctime, changes);
    }

    /** The same without some of its columns. */
    FuzzTable keeping(Set<String> names) {
        List<Integer> kept = new ArrayList<>();
        for (int i = 0; i < columns.size(); i++) {
            if (names.contains(columns.get(i).name())) {
                kept.add(i);
            }
        }
        return new FuzzTable(
                name,
                kind,
                kept.stream().map(columns::get).toList(),
                primaryKey,
                watermarkDelay,
                proctime,
                changes.stream()
                        .map(
                                c ->
                                        new Change(
                                                c.kind(),
                                                c.entity(),
                                                // Not toList(), which takes no nulls when written
                                                // in another way.
                                                kept.stream()
                                                        .map(c.values()::get)
                                                        .collect(
                                                                Collectors.toCollection(
                                                                        ArrayList::new))))
                        .toList());
    }

    /** What is in the table after all changes, as a table of insertions: its content for a batch query. */
    FuzzTable content() {
        Map<Object, Change> latest = new LinkedHashMap<>();
        for (Change c : changes) {
            switch (c.kind()) {
                case INSERT, UPDATE_AFTER ->
                        latest.put(c.entity(), new Change(RowKind.INSERT, c.entity(), c.values()));
                default -> latest.remove(c.entity());
            }
        }
        return new FuzzTable(
                name,
                Kind.APPEND,
                columns,
                primaryKey,
                watermarkDelay,
                proctime,
                List.copyOf(latest.values()));
    }
}
