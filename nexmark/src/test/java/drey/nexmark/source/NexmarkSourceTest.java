package drey.nexmark.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.nexmark.generator.EventGenerator;
import drey.nexmark.generator.GeneratorConfig;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceOutput;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NexmarkSourceTest {

    /** Not a whole number of chunks, epochs or polls. */
    private static final long EVENTS = ReplayStore.CHUNK + 12_345;

    private final GeneratorConfig config = GeneratorConfig.of(3, EVENTS, 10_000);

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void oneSplitIsTheSequenceOfEvents(boolean replay) {
        List<BinaryRowData> rows = read(replay, List.of(new NexmarkSplit(0, 1, 0)));
        assertThat(rows).hasSize((int) EVENTS);
        EventGenerator generator = new EventGenerator(config);
        for (int event = 0; event < rows.size(); event++) {
            assertThat(rows.get(event)).isEqualTo(generator.next(event));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anyNumberOfSplitsHoldsTheSameEventsEachAuctionInOneOfThemInOrder(boolean replay) {
        Map<BinaryRowData, Integer> expected = count(read(replay, splits(1)));
        for (int splits : new int[] {2, 3, 7}) {
            List<BinaryRowData> all = new ArrayList<>();
            Map<Long, Integer> splitOfAuction = new HashMap<>();
            for (NexmarkSplit split : splits(splits)) {
                List<BinaryRowData> rows = read(replay, List.of(split));
                assertThat(rows.size()).isGreaterThan((int) (EVENTS / splits / 2));
                long time = Long.MIN_VALUE;
                for (BinaryRowData row : rows) {
                    int type = row.getInt(0);
                    RowData record = row.getRow(type + 1, type == 0 ? 8 : type == 1 ? 10 : 7);
                    if (type > 0) {
                        Integer other = splitOfAuction.put(record.getLong(0), split.index());
                        assertThat(other).isIn(null, split.index());
                    }
                    int timeField = type == 0 ? 6 : 5;
                    long own = record.getTimestamp(timeField, 3).getMillisecond();
                    assertThat(own).isGreaterThanOrEqualTo(time);
                    time = own;
                }
                all.addAll(rows);
            }
            assertThat(count(all)).isEqualTo(expected);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aReaderGoesOnWhereItsSnapshotWasTaken(boolean replay) throws Exception {
        List<NexmarkSplit> splits = splits(3);
        List<BinaryRowData> whole = read(replay, splits);

        List<BinaryRowData> rows = new ArrayList<>();
        NexmarkReader before = reader(replay, splits);
        while (rows.size() < 20_000) {
            assertThat(before.pollNext(new Collecting(rows))).isEqualTo(InputStatus.MORE_AVAILABLE);
        }
        NexmarkSplit.Serializer serializer = new NexmarkSplit.Serializer();
        List<NexmarkSplit> restored = new ArrayList<>();
        for (NexmarkSplit split : before.snapshotState(1)) {
            restored.add(serializer.deserialize(1, serializer.serialize(split)));
        }
        NexmarkReader after = reader(replay, restored);
        drain(after, rows);
        assertThat(rows).isEqualTo(whole);
    }

    @Test
    void aReaderWithSeveralSplitsKeepsThemTogetherInEventTime() {
        List<BinaryRowData> rows = read(true, splits(2));
        long newest = Long.MIN_VALUE;
        for (BinaryRowData row : rows) {
            int type = row.getInt(0);
            RowData record = row.getRow(type + 1, type == 0 ? 8 : type == 1 ? 10 : 7);
            long time = record.getTimestamp(type == 0 ? 6 : 5, 3).getMillisecond();
            newest = Math.max(newest, time);
            // 64 rows of one split are some 130 events, 13 ms at 10,000 a second; well below the 4
            // s of the watermark.
            assertThat(newest - time).isLessThan(100);
        }
    }

    @Test
    void fewerEventsAreReplayedFromALargerStore() {
        ReplayStore large = ReplayStore.of(config);
        assertThat(ReplayStore.of(config.withEvents(1_000))).isSameAs(large);
        assertThat(ReplayStore.of(GeneratorConfig.of(4, 1_000, 10_000))).isNotSameAs(large);
    }

    @Test
    void theTableRefusesOtherColumnsAndRates() {
        TableEnvironment tables =
                TableEnvironment.create(EnvironmentSettings.newInstance().build());
        tables.executeSql(
                "CREATE TABLE t (id BIGINT) WITH ('connector' = 'nexmark', 'events.num' = '10')");
        assertThatThrownBy(() -> tables.explainSql("SELECT * FROM t"))
                .hasStackTraceContaining("nexmark: the physical columns must be");
    }

    private List<NexmarkSplit> splits(int count) {
        List<NexmarkSplit> splits = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            splits.add(new NexmarkSplit(i, count, 0));
        }
        return splits;
    }

    private NexmarkReader reader(boolean replay, List<NexmarkSplit> splits) {
        NexmarkReader reader = new NexmarkReader(config, replay, 0, false, "test");
        reader.start();
        reader.addSplits(splits);
        reader.notifyNoMoreSplits();
        return reader;
    }

    private List<BinaryRowData> read(boolean replay, List<NexmarkSplit> splits) {
        List<BinaryRowData> rows = new ArrayList<>();
        drain(reader(replay, splits), rows);
        return rows;
    }

    private static void drain(NexmarkReader reader, List<BinaryRowData> rows) {
        Collecting output = new Collecting(rows);
        InputStatus status = InputStatus.MORE_AVAILABLE;
        while (status != InputStatus.END_OF_INPUT) {
            status = reader.pollNext(output);
        }
    }

    private static Map<BinaryRowData, Integer> count(List<BinaryRowData> rows) {
        Map<BinaryRowData, Integer> counts = new HashMap<>();
        rows.forEach(row -> counts.merge(row, 1, Integer::sum));
        return counts;
    }

    private record Collecting(List<BinaryRowData> rows) implements ReaderOutput<RowData> {

        @Override
        public void collect(RowData row) {
            rows.add(((BinaryRowData) row).copy());
        }

        @Override
        public void collect(RowData row, long timestamp) {
            collect(row);
        }

        @Override
        public void emitWatermark(Watermark watermark) {}

        @Override
        public void markIdle() {}

        @Override
        public void markActive() {}

        @Override
        public SourceOutput<RowData> createOutputForSplit(String splitId) {
            return this;
        }

        @Override
        public void releaseOutputForSplit(String splitId) {}
    }
}
