package drey.batch;

import drey.jni.NativeLibrary;
import drey.jni.NativeOperator;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.Locale;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.api.DataTypes;

/**
 * What the boundary costs: a call that does nothing, and a row of 120 bytes on its way in and out of an operator that echoes it.
 *
 * <p>Each figure is the best of many short rounds: on a machine with other work the best is what the code costs, the rest is
 * what the neighbours cost. {@code make bench-boundary} runs it.
 */
final class BoundaryBenchmark {

    private static final int ROWS = 1024;
    private static final int ROUNDS = 400;

    private interface Round {
        long run() throws IOException;
    }

    private static long sink;

    private BoundaryBenchmark() {}

    public static void main(String[] args) throws IOException {
        NativeLibrary.load();
        RowType type =
                (RowType)
                        DataTypes.ROW(
                                        DataTypes.FIELD("auction", DataTypes.BIGINT()),
                                        DataTypes.FIELD("bidder", DataTypes.BIGINT()),
                                        DataTypes.FIELD("price", DataTypes.DECIMAL(18, 3)),
                                        DataTypes.FIELD("quantity", DataTypes.BIGINT()),
                                        DataTypes.FIELD("channel", DataTypes.STRING()),
                                        DataTypes.FIELD("url", DataTypes.STRING()),
                                        DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
                                        DataTypes.FIELD("flags", DataTypes.INT()))
                                .getLogicalType();
        RowDataSerializer serializer = new RowDataSerializer(type);
        BinaryRowData[] rows = new BinaryRowData[ROWS];
        for (int i = 0; i < ROWS; i++) {
            rows[i] =
                    serializer
                            .toBinaryRow(
                                    GenericRowData.of(
                                            1000L + i,
                                            2000L + i,
                                            DecimalData.fromBigDecimal(
                                                    new BigDecimal("12.345"), 18, 3),
                                            3L,
                                            StringData.fromString("channel-" + (1000 + i)),
                                            StringData.fromString(
                                                    "https://example.org/" + (100_000 + i)),
                                            TimestampData.fromEpochMillis(1_700_000_000_000L + i),
                                            i))
                            .copy();
        }
        System.out.println(
                "row: "
                        + rows[0].getSizeInBytes()
                        + " bytes, batch: "
                        + ROWS
                        + " rows, best of "
                        + ROUNDS
                        + " rounds");

        long handle = RowBatchTest.openEcho(type);
        RowBatchWriter writer = new RowBatchWriter(ROWS, 1 << 20);
        RowBatchReader reader = new RowBatchReader(type.getFieldCount());
        DataOutputSerializer network = new DataOutputSerializer(1 << 20);

        report(
                "native call that does nothing (flush)",
                10_000,
                () -> {
                    long sum = 0;
                    for (int i = 0; i < 10_000; i++) {
                        sum += NativeOperator.flush(handle);
                    }
                    return sum;
                });
        report(
                "push of an empty batch",
                10_000,
                () -> {
                    long sum = 0;
                    for (int i = 0; i < 10_000; i++) {
                        sum += NativeOperator.push(handle, 0, writer.export(), i);
                    }
                    return sum;
                });
        double in =
                report(
                        "in: row into the batch",
                        ROWS,
                        () -> {
                            writer.clear();
                            for (BinaryRowData row : rows) {
                                writer.add((byte) 0, row);
                            }
                            return writer.rows();
                        });
        double through =
                report(
                        "in and out: batch, push, echo, poll, point a row at each",
                        ROWS,
                        () -> {
                            writer.clear();
                            for (BinaryRowData row : rows) {
                                writer.add((byte) 0, row);
                            }
                            NativeOperator.push(handle, 0, writer.export(), 0);
                            long sum = 0;
                            int n;
                            while ((n = (int) NativeOperator.poll(handle, reader.address())) > 0) {
                                reader.attach(n);
                                for (int i = 0; i < n; i++) {
                                    sum += reader.row(i).getLong(0) + reader.source(i);
                                }
                            }
                            return sum;
                        });
        double heap =
                report(
                        "Flink alone: serialize a row on the heap",
                        ROWS,
                        () -> {
                            network.clear();
                            for (BinaryRowData row : rows) {
                                serializer.serialize(row, network);
                            }
                            return network.length();
                        });
        double serialized =
                report(
                        "in and out, serialized for the network",
                        ROWS,
                        () -> {
                            writer.clear();
                            network.clear();
                            for (BinaryRowData row : rows) {
                                writer.add((byte) 0, row);
                            }
                            NativeOperator.push(handle, 0, writer.export(), 0);
                            int n;
                            while ((n = (int) NativeOperator.poll(handle, reader.address())) > 0) {
                                reader.attach(n);
                                for (int i = 0; i < n; i++) {
                                    serializer.serialize(reader.row(i), network);
                                }
                            }
                            return network.length();
                        });
        long asking = PairConditionTest.open(type, new RowPairs(8, 8, (l, r) -> l.getLong(0) >= 0));
        for (int pairs : new int[] {1, ROWS}) {
            report(
                    "a row in, out, and a condition asked, batches of " + pairs,
                    pairs,
                    () -> {
                        writer.clear();
                        for (int i = 0; i < pairs; i++) {
                            writer.add((byte) 0, rows[i]);
                        }
                        NativeOperator.push(asking, 0, writer.export(), 0);
                        long sum = 0;
                        int n;
                        while ((n = (int) NativeOperator.poll(asking, reader.address())) > 0) {
                            reader.attach(n);
                            for (int i = 0; i < n; i++) {
                                sum += reader.row(i).getLong(0) + reader.source(i);
                            }
                        }
                        return sum;
                    });
        }
        NativeOperator.close(asking);
        aggregate();
        System.out.printf(
                Locale.ROOT,
                "boundary: %.1f ns/row in and out (%.1f in); %.1f ns/row more than Flink's own"
                        + " serialization when serialized%n",
                through,
                in,
                serialized - heap);
        NativeOperator.close(handle);
        writer.close();
        reader.close();
        if (sink == 42) {
            System.out.println();
        }
    }

    /** Local aggregation, one row or many at a time: rows of a key and a number, the number is added up. */
    private static void aggregate() throws IOException {
        int keys = 64;
        String spec =
                "{\"aggCallNeedRetractions\":[false],\"aggCalls\":[{\"argList\":[1],\"distinct\":false,"
                        + "\"filterArg\":-1,\"function\":\"SUM\",\"type\":\"BIGINT\"}],\"countStarInserted\":false,"
                        + "\"grouping\":[0],\"miniBatch\":{\"size\":4096},\"needRetraction\":false,"
                        + "\"operator\":\"localGroupAggregate\",\"version\":1}";
        RowType input =
                (RowType)
                        DataTypes.ROW(
                                        DataTypes.FIELD("k", DataTypes.BIGINT().notNull()),
                                        DataTypes.FIELD("v", DataTypes.BIGINT().notNull()))
                                .getLogicalType();
        RowType key = new RowType(input.getFields().subList(0, 1));
        RowType sum =
                (RowType)
                        DataTypes.ROW(DataTypes.FIELD("sum", DataTypes.BIGINT())).getLogicalType();
        RowDataSerializer serializer = new RowDataSerializer(input);
        BinaryRowData[] rows = new BinaryRowData[ROWS];
        for (int i = 0; i < ROWS; i++) {
            rows[i] = serializer.toBinaryRow(GenericRowData.of((long) (i % keys), (long) i)).copy();
        }
        try (RowSchema in = RowSchema.input(input);
                RowSchema out = RowSchema.joinedOutput(key, sum);
                RowBatchWriter writer = new RowBatchWriter(ROWS, 1 << 20);
                JoinedBatchReader reader = new JoinedBatchReader(1, 1)) {
            long handle =
                    NativeOperator.open(
                            spec,
                            new long[] {in.address()},
                            out.address(),
                            128,
                            0,
                            127,
                            64 << 20,
                            null);
            for (int batch : new int[] {1, ROWS}) {
                report(
                        "a row into a local aggregate, batches of " + batch,
                        ROWS,
                        () -> {
                            long total = 0;
                            for (int i = 0; i < ROWS; i += batch) {
                                writer.clear();
                                for (int j = 0; j < batch; j++) {
                                    writer.add((byte) 0, rows[i + j]);
                                }
                                if (NativeOperator.push(handle, 0, writer.export(), 0) > 0) {
                                    int n;
                                    while ((n = (int) NativeOperator.poll(handle, reader.address()))
                                            > 0) {
                                        reader.attach(n);
                                        for (int j = 0; j < n; j++) {
                                            total += reader.row(j).getLong(1);
                                        }
                                    }
                                }
                            }
                            return total;
                        });
            }
            NativeOperator.close(handle);
        }
    }

    private static double report(String what, int operations, Round round) throws IOException {
        double best = Double.MAX_VALUE;
        double[] all = new double[ROUNDS];
        for (int i = 0; i < 20_000_000 / operations / 20; i++) {
            sink += round.run();
        }
        for (int r = 0; r < ROUNDS; r++) {
            long start = System.nanoTime();
            int repeats = Math.max(1, 20_000 / operations);
            for (int i = 0; i < repeats; i++) {
                sink += round.run();
            }
            all[r] = (double) (System.nanoTime() - start) / ((long) repeats * operations);
            best = Math.min(best, all[r]);
        }
        java.util.Arrays.sort(all);
        System.out.printf(
                Locale.ROOT, "%-60s %7.1f ns (median %.1f)%n", what, best, all[ROUNDS / 2]);
        return best;
    }
}
