package drey.fuzz;

import drey.fuzz.FuzzTable.Change;
import drey.fuzz.FuzzTable.Column;
import drey.fuzz.FuzzTable.Kind;

import org.apache.flink.types.RowKind;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Makes tables: keys of few values, some far more frequent than others, NULLs, ties, extremes, event time out of order. */
final class TableGenerator {

    private static final DateTimeFormatter MILLIS =
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSS");
    private static final LocalDateTime START = LocalDateTime.of(2024, 1, 31, 12, 0);

    /** Types that keys have: what joins and groups are made by most often comes most often. */
    private static final List<Type> KEYS =
            List.of(
                    Type.INT,
                    Type.STRING,
                    Type.BIGINT,
                    Type.INT,
                    Type.STRING,
                    Type.BIGINT,
                    Type.DECIMAL,
                    Type.CHAR,
                    Type.BIG_DECIMAL,
                    Type.DATE,
                    Type.TIMESTAMP_6,
                    Type.BOOLEAN,
                    Type.DOUBLE,
                    Type.SMALLINT,
                    Type.BYTES,
                    Type.TIMESTAMP_3,
                    Type.LTZ_3,
                    Type.VARCHAR);

    private final Choices choices;

    TableGenerator(Choices choices) {
        this.choices = choices;
    }

    /** A few tables whose keys have types in common, so that they can be joined. */
    List<FuzzTable> tables() {
        List<Type> keys = List.of(choices.from(KEYS), choices.from(KEYS));
        List<FuzzTable> tables = new ArrayList<>();
        int count = choices.between(1, 3);
        for (int i = 0; i < count; i++) {
            tables.add(table("t" + i, keys, i == 0));
        }
        return tables;
    }

    private FuzzTable table(String name, List<Type> keys, boolean appends) {
        Kind kind = appends && choices.chance(60) ? Kind.APPEND : choices.from(Kind.values());
        boolean primaryKey = kind == Kind.UPSERT || choices.chance(kind == Kind.APPEND ? 15 : 40);
        boolean rowtime = kind == Kind.APPEND && choices.chance(70);
        String suffix = name.substring(1);
        List<Column> columns = new ArrayList<>();
        columns.add(new Column("id" + suffix, Type.BIGINT, true, false));
        columns.add(new Column("k" + suffix, keys.get(0), false, false));
        columns.add(new Column("j" + suffix, keys.get(1), choices.chance(30), false));
        int values = choices.between(1, 5);
        for (int i = 0; i < values; i++) {
            Type type =
                    choices.chance(40)
                            ? choices.from(Type.STORED)
                            : choices.from(Type.INT, Type.BIGINT, Type.DECIMAL, Type.STRING);
            boolean peculiar = type.family == Type.Family.FLOAT && choices.chance(50);
            columns.add(
                    new Column("abcdefg".charAt(i) + suffix, type, choices.chance(15), peculiar));
        }
        if (rowtime) {
            columns.add(
                    new Column(
                            "ts" + suffix,
                            choices.chance(20) ? Type.LTZ_3 : Type.TIMESTAMP_3,
                            true,
                            false));
        }
        FuzzTable table =
                new FuzzTable(
                        name,
                        kind,
                        columns,
                        primaryKey,
                        rowtime ? choices.from(2, 0, 10) : -1,
                        kind == Kind.APPEND && choices.chance(50),
                        List.of());
        return table.with(changes(table));
    }

    private List<Change> changes(FuzzTable table) {
        // Rows are many and do not decide what a case is about: one choice seeds them all.
        Choices rows = Choices.seeded(choices.below(1 << 30));
        int size = choices.from(20, 5, 10, 40, 80, 150, 300);
        int nulls = choices.from(8, 0, 30);
        int extremes = choices.from(4, 0, 25);
        int spread = choices.from(4, 1, 9, 30);
        List<Change> changes = new ArrayList<>();
        List<List<String>> live = new ArrayList<>();
        List<Integer> alive = new ArrayList<>();
        List<Integer> dead = new ArrayList<>();
        while (changes.size() < size) {
            int what = table.kind() == Kind.APPEND || alive.isEmpty() ? 0 : rows.below(10);
            if (what < 5) {
                boolean again = !dead.isEmpty() && rows.chance(30);
                int entity = again ? dead.remove(rows.below(dead.size())) : live.size();
                if (again) {
                    alive.add(entity);
                    changes.add(new Change(RowKind.INSERT, entity, live.get(entity)));
                    continue;
                }
                String id =
                        Integer.toString(
                                table.primaryKey() || rows.chance(70) ? entity : rows.below(3));
                List<String> row = row(table, id, entity, rows, nulls, extremes, spread);
                if (!table.primaryKey() && entity > 0 && rows.chance(10)) {
                    row = new ArrayList<>(live.get(rows.below(entity)));
                }
                live.add(row);
                alive.add(entity);
                changes.add(new Change(RowKind.INSERT, entity, row));
                continue;
            }
            int index = rows.below(alive.size());
            int entity = alive.get(index);
            List<String> old = live.get(entity);
            if (what < 8) {
                List<String> row = new ArrayList<>(old);
                List<String> fresh = row(table, old.get(0), entity, rows, nulls, extremes, spread);
                for (int i = 1; i < row.size(); i++) {
                    if (rows.chance(50)) {
                        row.set(i, fresh.get(i));
                    }
                }
                live.set(entity, row);
                if (table.kind() == Kind.RETRACT) {
                    changes.add(new Change(RowKind.UPDATE_BEFORE, entity, old));
                }
                changes.add(new Change(RowKind.UPDATE_AFTER, entity, row));
            } else {
                alive.remove(index);
                dead.add(entity);
                changes.add(new Change(RowKind.DELETE, entity, old));
            }
        }
        return changes;
    }

    private static List<String> row(
            FuzzTable table,
            String id,
            int entity,
            Choices rows,
            int nulls,
            int extremes,
            int spread) {
        String[] row = new String[table.columns().size()];
        row[0] = id;
        for (int i = 1; i < row.length; i++) {
            Column column = table.columns().get(i);
            if (table.hasRowtime() && column.name().equals(table.column("ts"))) {
                long disorder = rows.chance(10) ? rows.below(30_000) : rows.below(3000);
                row[i] =
                        MILLIS.format(
                                START.plusNanos(
                                        1_000_000L * (entity / 2 * 700L + 60_000 - disorder)));
            } else {
                row[i] = value(column, rows, nulls, extremes, i < 3 ? spread : 30);
            }
        }
        return Arrays.asList(row);
    }

    private static String value(Column column, Choices rows, int nulls, int extremes, int spread) {
        if (!column.notNull() && rows.chance(nulls)) {
            return null;
        }
        Type type = column.type();
        if (!type.extremes.isEmpty() && rows.chance(extremes)) {
            String value = rows.from(type.extremes);
            if (column.peculiar() || !Type.isPeculiar(value)) {
                return value;
            }
        }
        // The minimum of two: the first values are the most frequent.
        int limit = Math.min(spread, type.common.size());
        int index = Math.min(rows.below(limit), rows.below(limit));
        if (spread > type.common.size() && type.family == Type.Family.INTEGER && rows.chance(40)) {
            return Integer.toString(rows.below(100) - 20);
        }
        return type.common.get(index);
    }
}
