package drey.it.aggregate;

import drey.it.SteppingSource;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A bounded changelog with columns of every type that an aggregate function takes, the same for the same seed: insertions
 * only, or changes of all kinds, if asked for with retractions of rows that never were among them. Values come from few of each type, the
 * extremes included, so that groups meet them again.
 */
final class Changes extends SteppingSource<Row> {

    private static final long serialVersionUID = 1L;

    enum Kinds {
        INSERTS,
        ALL,
        /** A retraction may come before what it retracts, or without. */
        ALL_AND_STRAY
    }

    /** Name, SQL type and type information of each column; {@code f1} and {@code f2} are for FILTER. */
    private static final Object[][] COLUMNS = {
        {"k", "INT", Types.INT},
        {"id", "BIGINT", Types.LONG},
        {"ti", "TINYINT", Types.BYTE},
        {"si", "SMALLINT", Types.SHORT},
        {"i", "INT", Types.INT},
        {"b", "BIGINT", Types.LONG},
        {"f", "FLOAT", Types.FLOAT},
        {"d", "DOUBLE", Types.DOUBLE},
        {"d5", "DECIMAL(5, 2)", Types.BIG_DEC},
        {"d20", "DECIMAL(20, 4)", Types.BIG_DEC},
        {"d38", "DECIMAL(38, 10)", Types.BIG_DEC},
        {"s", "STRING", Types.STRING},
        {"c", "CHAR(3)", Types.STRING},
        {"bo", "BOOLEAN", Types.BOOLEAN},
        {"dt", "DATE", Types.LOCAL_DATE},
        {"tm", "TIME(0)", Types.LOCAL_TIME},
        {"t3", "TIMESTAMP(3)", Types.LOCAL_DATE_TIME},
        {"t9", "TIMESTAMP(9)", Types.LOCAL_DATE_TIME},
        {"l3", "TIMESTAMP_LTZ(3)", Types.INSTANT},
        {"l6", "TIMESTAMP_LTZ(6)", Types.INSTANT},
        {"y", "BYTES", Types.PRIMITIVE_ARRAY(Types.BYTE)},
        {"f1", "BOOLEAN", Types.BOOLEAN},
        {"f2", "BOOLEAN NOT NULL", Types.BOOLEAN},
        {"nn", "INT NOT NULL", Types.INT},
    };

    private static final Object[][] POOLS = {
        {},
        {},
        {(byte) 0, (byte) 1, (byte) -1, Byte.MAX_VALUE, Byte.MIN_VALUE, (byte) 100},
        {(short) 0, (short) 7, (short) -7, Short.MAX_VALUE, Short.MIN_VALUE},
        {0, 1, -1, 41, Integer.MAX_VALUE, Integer.MIN_VALUE},
        {0L, 1L, -1L, 1_000_000_007L, Long.MAX_VALUE, Long.MIN_VALUE},
        {0f, -0f, 1.5f, -2.25f, 0.1f, Float.NaN, Float.POSITIVE_INFINITY, Float.MAX_VALUE},
        {0.0, -0.0, 1.5, -2.25, 0.1, 1e-300, Double.NaN, Double.NEGATIVE_INFINITY},
        decimals("0", "999.99", "-999.99", "0.01", "12.30"),
        decimals("0", "9999999999999999.9999", "-1234567890123456.7890", "0.0001", "2"),
        decimals(
                "0",
                "9999999999999999999999999999.9999999999",
                "-9999999999999999999999999999.9999999999",
                "0.0000000001",
                "3.3333333333"),
        {
            "",
            "a",
            "ab",
            "b",
            "seven77",
            "eight888",
            "äöüß",
            "日本語",
            // Beyond 16 bits. Not beside U+E000 to U+FFFF: where Flink hasn't turned strings into
            // bytes yet, as in a local
            // aggregate behind a source, it sorts these two the other way.
            "\uD83E\uDD89",
            "a\0b",
            "a rather longer text: ".repeat(5)
        },
        {"000", "abc", "zzz", "日本語", "   "},
        {true, false},
        {
            LocalDate.of(1, 1, 1),
            LocalDate.of(9999, 12, 31),
            LocalDate.of(1970, 1, 1),
            LocalDate.of(2024, 2, 29)
        },
        {LocalTime.of(0, 0), LocalTime.of(23, 59, 59), LocalTime.of(12, 30, 1)},
        {
            LocalDateTime.of(1, 1, 1, 0, 0),
            LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999_000_000),
            LocalDateTime.of(1970, 1, 1, 0, 0),
            LocalDateTime.of(1969, 12, 31, 23, 59, 59, 1_000_000)
        },
        {
            LocalDateTime.of(1, 1, 1, 0, 0, 0, 1),
            LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999_999_999),
            LocalDateTime.of(2024, 2, 29, 1, 2, 3, 4),
            LocalDateTime.of(2024, 2, 29, 1, 2, 3, 5)
        },
        {Instant.ofEpochMilli(0), Instant.ofEpochMilli(-1), Instant.parse("9999-12-31T00:00:00Z")},
        {
            Instant.parse("0001-01-01T00:00:00.000001Z"),
            Instant.parse("2024-02-29T01:02:03.000004Z"),
            Instant.parse("2024-02-29T01:02:03.000005Z")
        },
        {new byte[0], new byte[] {0}, "more than eight".getBytes(StandardCharsets.UTF_8)},
        {true, false},
        {},
        {},
    };

    private static Object[] decimals(String... values) {
        return List.of(values).stream().map(BigDecimal::new).toArray();
    }

    /** The row before which sources wait until they are stopped, and those that do. */
    private static volatile int holdAt = Integer.MAX_VALUE;

    private static final Set<String> HELD = ConcurrentHashMap.newKeySet();

    private final int rows;
    private final long seed;
    private final Kinds kinds;
    private final boolean fails;

    /**
     * @param run names this execution, so that its failure is remembered over the restart
     * @param fails wait for a checkpoint halfway, throw once after it
     */
    Changes(String run, int rows, long seed, Kinds kinds, boolean fails) {
        super(run + kinds);
        this.rows = rows;
        this.seed = seed;
        this.kinds = kinds;
        this.fails = fails;
    }

    /** Lets sources wait before this row until they are stopped. */
    static void holdAt(int row) {
        HELD.clear();
        holdAt = row;
    }

    /** Whether as many sources of a run wait. */
    static boolean held(String run, int sources) {
        return HELD.stream().filter(name -> name.startsWith(run)).count() == sources;
    }

    static TypeInformation<Row> type() {
        String[] names = new String[COLUMNS.length];
        TypeInformation<?>[] types = new TypeInformation<?>[COLUMNS.length];
        for (int i = 0; i < names.length; i++) {
            names[i] = (String) COLUMNS[i][0];
            types[i] = (TypeInformation<?>) COLUMNS[i][2];
        }
        return Types.ROW_NAMED(names, types);
    }

    /** Pairs of name and SQL type. */
    static List<String[]> columns() {
        List<String[]> columns = new ArrayList<>();
        for (Object[] column : COLUMNS) {
            columns.add(new String[] {(String) column[0], (String) column[1]});
        }
        return columns;
    }

    /** All rows, in order. */
    static List<Row> all(long seed, int rows, Kinds kinds) {
        Random rng = new Random(seed);
        List<Row> all = new ArrayList<>();
        List<Row> live = new ArrayList<>();
        while (all.size() < rows) {
            int dice = rng.nextInt(20);
            if (kinds == Kinds.INSERTS || dice < 10 || live.isEmpty()) {
                Row row = row(rng, all.size());
                live.add(row);
                all.add(of(RowKind.INSERT, row));
            } else if (dice < 15) {
                all.add(of(RowKind.DELETE, live.remove(rng.nextInt(live.size()))));
            } else if (dice < 19 || kinds == Kinds.ALL) {
                all.add(of(RowKind.UPDATE_BEFORE, live.remove(rng.nextInt(live.size()))));
                Row row = row(rng, all.size());
                live.add(row);
                all.add(of(RowKind.UPDATE_AFTER, row));
            } else {
                all.add(
                        of(
                                rng.nextBoolean() ? RowKind.DELETE : RowKind.UPDATE_BEFORE,
                                row(rng, all.size())));
            }
        }
        return all.subList(0, rows);
    }

    private static Row of(RowKind kind, Row row) {
        Row copy = Row.copy(row);
        copy.setKind(kind);
        return copy;
    }

    private static Row row(Random rng, int position) {
        Row row = new Row(COLUMNS.length);
        // A few large groups, and small ones that empty now and then.
        int key = Math.min(rng.nextInt(24), rng.nextInt(24));
        row.setField(0, key == 23 ? null : key);
        row.setField(1, (long) position);
        for (int i = 2; i < COLUMNS.length; i++) {
            Object[] pool = POOLS[i];
            if (pool.length > 0) {
                row.setField(i, rng.nextInt(8) == 0 ? null : pool[rng.nextInt(pool.length)]);
            }
        }
        row.setField(COLUMNS.length - 2, rng.nextBoolean());
        row.setField(COLUMNS.length - 1, rng.nextInt(5) - 2);
        return row;
    }

    @Override
    public void run(SourceContext<Row> context) throws Exception {
        List<Row> all = all(seed, rows, kinds);
        while (next < rows && !canceled()) {
            if (next == holdAt) {
                HELD.add(run);
                Thread.sleep(5);
                continue;
            }
            synchronized (context.getCheckpointLock()) {
                context.collect(all.get(next));
                next++;
            }
            if (fails && next == rows / 2) {
                awaitCheckpoint(next);
            }
            if (fails && next == rows / 2 + 37) {
                failOnce();
            }
        }
    }
}
