package drey.parity;

import drey.parity.Subject.Identity;

import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;

import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * What {@link OperatorBenchmark} runs: an operator, and so many rows for it.
 *
 * @param onDisk how many of the rows Flink's operator is to play on RocksDB
 */
record BenchmarkInput(Subject subject, String what, PackedRows rows, int onDisk) {

    static BenchmarkInput of(String operator, int rows, int keys) {
        return switch (operator) {
            case "deduplicate" -> deduplicate(rows, keys);
            case "rank" ->
                    append(
                            new PlannedSubject(operator, "rank")
                                    .table("t", "k BIGINT, id BIGINT, s BIGINT, v STRING")
                                    .query(
                                            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER"
                                                    + " (PARTITION BY k ORDER BY s DESC) AS n FROM t)"
                                                    + " WHERE n <= 10"),
                            "the ten highest of each key, with their numbers",
                            rows,
                            keys);
            case "rank-retract" -> retract(operator, rows, keys, PARTITION, ON_DISK);
            // The order of a million rows, read and written for each row, is nothing for a disk.
            case "rank-million" -> retract(operator, rows, keys, keys, 0);
            case "join" ->
                    append(
                            new PlannedSubject(operator, "join")
                                    .table("l", "k BIGINT, id BIGINT, v STRING")
                                    .table("r", "k BIGINT, id BIGINT, w STRING")
                                    .query("SELECT * FROM l JOIN r ON l.k = r.k")
                                    // The order of matches is the backend's.
                                    .identity(Identity.PER_RECORD),
                            "inner, no unique keys, append-only",
                            rows,
                            keys);
            case "aggregate" ->
                    append(
                            new PlannedSubject(operator, "groupAggregate")
                                    .table("t", "k BIGINT, s BIGINT, v STRING")
                                    .query(
                                            "SELECT k, COUNT(*), SUM(s), MAX(s), MIN(s) FROM t"
                                                    + " GROUP BY k"),
                            "COUNT, SUM, MAX, MIN of each key, append-only, with -U",
                            rows,
                            keys);
            default ->
                    throw new IllegalArgumentException(
                            "no benchmark for operator '"
                                    + operator
                                    + "', there are: deduplicate, rank, rank-retract,"
                                    + " rank-million, join, aggregate");
        };
    }

    private static BenchmarkInput deduplicate(int count, int keys) {
        Schema schema = new Schema(List.of(new BigIntType(), new BigIntType()));
        Deduplication dedup = new Deduplication(true, true, true, true, false, 0, false, 0);
        Random rng = new Random(42);
        RowDataSerializer serializer = schema.serializer();
        PackedRows rows = new PackedRows(serializer.getArity());
        for (int i = 0; i < count; i++) {
            // Event time in disorder: about a third of the rows of a key are older than one before.
            long time = 1_000_000L + i + rng.nextInt(2 * keys);
            rows.add(0, serializer.toBinaryRow(schema.row(rng, keys, time)));
        }
        return new BenchmarkInput(
                new DeduplicateSubject(dedup, schema),
                "keep last by event time, with -U",
                rows.seal(),
                count);
    }

    private static BenchmarkInput append(Subject subject, String what, int count, int keys) {
        Random rng = new Random(42);
        List<RowType> types = subject.inputs();
        List<RowDataSerializer> serializers = types.stream().map(RowDataSerializer::new).toList();
        PackedRows rows = new PackedRows(types.stream().mapToInt(RowType::getFieldCount).toArray());
        for (int i = 0; i < count; i++) {
            // Taken in turn, as a task with two inputs reads them.
            int input = i % types.size();
            GenericRowData row = row(types.get(input), rng, keys);
            rows.add(input, serializers.get(input).toBinaryRow(row));
        }
        return new BenchmarkInput(subject, what, rows.seal(), count);
    }

    /** How many rows a partition of the retracting Top-N has, and how many partitions are at work at a time. */
    private static final int PARTITION = 10_000;

    private static final int AT_WORK = 2;

    /**
     * Sums that go up and down, ranked: each row takes back the sum before. The partitions come in groups, each with its share
     * of the rows: first its sums come, then they change. So the first rows are partitions as large as any, and that is what
     * RocksDB plays: Flink reads and writes there what it knows of a whole partition's order for each row.
     */
    private static BenchmarkInput retract(
            String name, int count, int keys, int partition, int onDisk) {
        Subject subject =
                new PlannedSubject(name, "rank")
                        .table("t", "k BIGINT, a BIGINT, s BIGINT")
                        .query(
                                "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY"
                                        + " s DESC) AS n FROM (SELECT k, a, SUM(s) AS s FROM t"
                                        + " GROUP BY k, a)) WHERE n <= 10");
        Random rng = new Random(42);
        RowDataSerializer serializer = new RowDataSerializer(subject.inputs().get(0));
        int atWork = Math.min(AT_WORK, keys / partition);
        int group = Math.min(keys, atWork * partition);
        int share = (int) ((long) count * group / keys);
        long[] sums = new long[group];
        PackedRows rows = new PackedRows(3);
        for (int i = 0; i < count; i = rows.size()) {
            int at = i % share;
            int first = i / share * atWork;
            int of = at < group ? at : rng.nextInt(group);
            long k = first + of % atWork;
            long a = of / atWork;
            long before = sums[of];
            sums[of] = at < group ? rng.nextInt(1_000_000) : before + rng.nextInt(1_000) - 300;
            if (at < group) {
                rows.add(0, binary(serializer, RowKind.INSERT, k, a, sums[of]));
            } else if (i + 1 < count && at + 1 < share) {
                rows.add(0, binary(serializer, RowKind.UPDATE_BEFORE, k, a, before));
                rows.add(0, binary(serializer, RowKind.UPDATE_AFTER, k, a, sums[of]));
            } else {
                rows.add(0, binary(serializer, RowKind.DELETE, k, a, before));
            }
        }
        return new BenchmarkInput(
                subject,
                "the ten highest sums of each partition, which change, with their numbers; "
                        + String.format(Locale.ROOT, "%,d rows per partition", group / atWork),
                rows.seal(),
                Math.min(count, onDisk));
    }

    /** About half a minute of Flink's operator, with a whole partition's order read and written for each row. */
    private static final int ON_DISK = 30_000;

    private static BinaryRowData binary(RowDataSerializer serializer, RowKind kind, Object... v) {
        BinaryRowData row = serializer.toBinaryRow(GenericRowData.of(v));
        row.setRowKind(kind);
        return row;
    }

    private static GenericRowData row(RowType type, Random rng, int keys) {
        GenericRowData row = new GenericRowData(type.getFieldCount());
        for (int i = 0; i < row.getArity(); i++) {
            LogicalType t = type.getTypeAt(i);
            row.setField(
                    i,
                    type.getFieldNames().get(i).equals("k")
                            ? (Object) (long) rng.nextInt(keys)
                            : t instanceof BigIntType
                                    ? (Object) (long) rng.nextInt(1_000_000)
                                    : StringData.fromString("value " + rng.nextInt(1 << 30)));
        }
        return row;
    }
}
