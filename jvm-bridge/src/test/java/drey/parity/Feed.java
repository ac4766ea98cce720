package drey.parity;

import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.TimestampKind;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.types.RowKind;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * Makes rows that are a changelog as Flink's planner lets operators see it: only what is there is updated or deleted, and an
 * update before says exactly what was there.
 *
 * <p>Columns whose name starts with {@code k} take one of {@code keySpace} values, the others one of a few, so that ties and equal
 * rows are frequent. Nullable columns are null at times; a rowtime has the event time, a proctime, as in Flink, nothing.
 *
 * @param unique names of the columns of each input's unique key; empty: none, equal rows may be there many times
 * @param retracts how many of 100 steps take a row away or change it
 * @param updateBefore whether updates come as -U and +U; otherwise as +U alone, and only where there is a unique key
 * @param deletes whether rows are deleted, too
 * @param ascending a column that only grows while a unique key is updated, null if none
 */
record Feed(
        List<List<String>> unique,
        int retracts,
        boolean updateBefore,
        boolean deletes,
        String ascending) {

    /** The rows of a run. */
    interface Rows {
        /** A row of input {@code input}, its kind set. */
        BinaryRowData next(int input, long rowtime);
    }

    static Feed append() {
        return new Feed(List.of(), 0, true, false, null);
    }

    /** Inserts, updates with what was before, deletes; without a unique key. */
    static Feed changelog() {
        return new Feed(List.of(), 40, true, true, null);
    }

    /** The same, with a unique key. */
    Feed unique(List<String>... columns) {
        return new Feed(List.of(columns), retracts, updateBefore, deletes, ascending);
    }

    /** Inserts and updates after by unique key, during which a column only grows. */
    static Feed upserts(List<String> columns, String ascending) {
        return new Feed(List.of(columns), 60, false, false, ascending);
    }

    Rows rows(List<RowType> inputs, RandomGenerator rng, int keySpace) {
        List<Input> sources = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            sources.add(
                    new Input(
                            inputs.get(i),
                            unique.isEmpty() ? List.of() : unique.get(i),
                            rng,
                            keySpace));
        }
        return (input, rowtime) -> sources.get(input).next(rowtime);
    }

    private final class Input {

        private final LogicalType[] types;
        private final TimestampKind[] kinds;
        private final int[] values;
        private final int[] uniqueColumns;
        private final int ascendingColumn;
        private final RandomGenerator rng;
        private final RowDataSerializer serializer;
        private final List<GenericRowData> live = new ArrayList<>();
        private final Map<List<Object>, Integer> byKey = new HashMap<>();
        private final Deque<BinaryRowData> pending = new ArrayDeque<>();
        private int grown;

        Input(RowType type, List<String> unique, RandomGenerator rng, int keySpace) {
            this.rng = rng;
            types = type.getChildren().toArray(new LogicalType[0]);
            kinds = new TimestampKind[types.length];
            values = new int[types.length];
            for (int i = 0; i < types.length; i++) {
                kinds[i] =
                        types[i] instanceof TimestampType plain
                                ? plain.getKind()
                                : types[i] instanceof LocalZonedTimestampType zoned
                                        ? zoned.getKind()
                                        : TimestampKind.REGULAR;
                values[i] = type.getFieldNames().get(i).startsWith("k") ? keySpace : 8;
            }
            // Where the plan has no use for all its columns there is no unique key.
            uniqueColumns =
                    type.getFieldNames().containsAll(unique)
                            ? unique.stream().mapToInt(type::getFieldIndex).toArray()
                            : new int[0];
            ascendingColumn = ascending == null ? -1 : type.getFieldIndex(ascending);
            serializer = new RowDataSerializer(type);
        }

        BinaryRowData next(long rowtime) {
            if (pending.isEmpty()) {
                step(rowtime);
            }
            return pending.poll();
        }

        private void step(long rowtime) {
            if (!live.isEmpty() && rng.nextInt(100) < retracts) {
                int at = rng.nextInt(live.size());
                if (deletes && rng.nextInt(2) == 0) {
                    emit(RowKind.DELETE, live.get(at));
                    remove(at);
                } else {
                    update(at, row(rowtime, live.get(at)));
                }
                return;
            }
            GenericRowData row = row(rowtime, null);
            Integer there = uniqueColumns.length == 0 ? null : byKey.get(key(row));
            if (there != null) {
                update(there, row(rowtime, live.get(there)));
                return;
            }
            emit(RowKind.INSERT, row);
            if (retracts > 0) {
                live.add(row);
                byKey.put(key(row), live.size() - 1);
            }
        }

        private void update(int at, GenericRowData row) {
            if (updateBefore) {
                emit(RowKind.UPDATE_BEFORE, live.get(at));
            }
            emit(RowKind.UPDATE_AFTER, row);
            live.set(at, row);
        }

        private void remove(int at) {
            byKey.remove(key(live.get(at)));
            GenericRowData last = live.remove(live.size() - 1);
            if (at < live.size()) {
                live.set(at, last);
                byKey.put(key(last), at);
            }
        }

        /** The unique key; where there is none, the row's identity. */
        private List<Object> key(GenericRowData row) {
            if (uniqueColumns.length == 0) {
                return List.of(new Object());
            }
            List<Object> key = new ArrayList<>();
            for (int column : uniqueColumns) {
                key.add(String.valueOf(row.getField(column)));
            }
            return key;
        }

        /** A row; one that has the unique key of another, if that is given. */
        private GenericRowData row(long rowtime, GenericRowData other) {
            GenericRowData row = new GenericRowData(types.length);
            for (int i = 0; i < row.getArity(); i++) {
                row.setField(i, value(i, rowtime));
            }
            if (other != null) {
                for (int column : uniqueColumns) {
                    row.setField(column, other.getField(column));
                }
            }
            return row;
        }

        private Object value(int column, long rowtime) {
            LogicalType t = types[column];
            TimestampKind kind = kinds[column];
            if (kind == TimestampKind.PROCTIME) {
                return null;
            }
            if (kind == TimestampKind.ROWTIME) {
                return TimestampData.fromEpochMillis(rowtime);
            }
            if (column == ascendingColumn) {
                // It starts above the corner cases of the type, and often stays for a while.
                grown += rng.nextInt(3) == 0 ? 1 : 0;
                return Schema.value(t, 5 + grown);
            }
            int n = rng.nextInt(values[column]);
            return Schema.value(t, n == 0 && !t.isNullable() ? 3 : n);
        }

        private void emit(RowKind kind, RowData row) {
            BinaryRowData binary = serializer.toBinaryRow(row).copy();
            binary.setRowKind(kind);
            pending.add(binary);
        }
    }
}
