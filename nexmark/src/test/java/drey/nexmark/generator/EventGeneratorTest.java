package drey.nexmark.generator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import drey.nexmark.source.NexmarkTypes;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.junit.jupiter.api.Test;

/** Events against the benchmark's public description: what is fixed exactly, what is random within its spread. */
class EventGeneratorTest {

    private static final int EVENTS = 200_000;

    private final GeneratorConfig config = GeneratorConfig.of(7, EVENTS, 10_000);
    private final EventGenerator generator = new EventGenerator(config);

    @Test
    void rowsAreWhatFlinkItselfWouldWrite() {
        RowDataSerializer flink = new RowDataSerializer(NexmarkTypes.event());
        for (long event = 0; event < 2_000; event++) {
            BinaryRowData ours = generator.next(event);
            BinaryRowData theirs = flink.toBinaryRow(NexmarkTypes.copyByField(ours)).copy();
            assertThat(ours.copy()).as("event %d", event).isEqualTo(theirs);
        }
    }

    @Test
    void anEpochIsOnePersonThreeAuctionsAndFortySixBids() {
        long[] counts = new long[3];
        for (long event = 0; event < EVENTS; event++) {
            int type = generator.type(event);
            RowData row = generator.next(event);
            assertThat(row.getInt(0)).isEqualTo(type);
            for (int field = 1; field <= 3; field++) {
                assertThat(row.isNullAt(field)).isEqualTo(field != type + 1);
            }
            counts[type]++;
        }
        assertThat(counts).containsExactly(EVENTS / 50, EVENTS / 50 * 3, EVENTS / 50 * 46);
    }

    @Test
    void idsCountUpFromAThousand() {
        long person = 999;
        long auction = 999;
        for (long event = 0; event < EVENTS; event++) {
            RowData row = generator.next(event);
            if (row.getInt(0) == EventGenerator.PERSON) {
                assertThat(row.getRow(1, 8).getLong(0)).isEqualTo(++person);
            } else if (row.getInt(0) == EventGenerator.AUCTION) {
                assertThat(row.getRow(2, 10).getLong(0)).isEqualTo(++auction);
            }
        }
    }

    @Test
    void eventTimeFollowsTheRate() {
        assertThat(config.timestamp(0)).isEqualTo(1_436_918_400_000L);
        assertThat(config.timestamp(9)).isEqualTo(1_436_918_400_000L);
        assertThat(config.timestamp(10)).isEqualTo(1_436_918_400_001L);
        assertThat(config.timestamp(25_000)).isEqualTo(1_436_918_402_500L);
        assertThat(GeneratorConfig.of(1, 1, 3).timestamp(4)).isEqualTo(1_436_918_401_333L);
        RowData bid = generator.next(25_049).getRow(3, 7);
        assertThat(bid.getTimestamp(5, 3).getMillisecond()).isEqualTo(config.timestamp(25_049));
    }

    @Test
    void halfTheBidsGoToTheHotAuctionAndThreeQuartersComeFromTheHotBidder() {
        long bids = 0;
        long hotAuction = 0;
        long hotBidder = 0;
        for (long event = EVENTS / 2; event < EVENTS; event++) {
            if (generator.type(event) != EventGenerator.BID) {
                continue;
            }
            RowData bid = generator.next(event).getRow(3, 7);
            long auctions = event / 50 * 3 + 3;
            long persons = event / 50 + 1;
            long auction = bid.getLong(0) - 1000;
            long bidder = bid.getLong(1) - 1000;
            bids++;
            if (auction == (auctions - 1) / 100 * 100) {
                hotAuction++;
            } else {
                // One of the hundred in flight, or one of the ten to come.
                assertThat(auction).isBetween(auctions - 1 - 100, auctions - 1 + 10);
            }
            if (bidder == (persons - 1) / 100 * 100 + 1) {
                hotBidder++;
            } else {
                assertThat(bidder).isBetween(persons - 1000, persons - 1 + 10);
            }
        }
        // 46,000 per 50,000 events: the share's standard deviation is below 0.0017.
        assertThat((double) hotAuction / bids).isCloseTo(0.5, within(0.01));
        assertThat((double) hotBidder / bids).isCloseTo(0.75, within(0.01));
    }

    @Test
    void auctionsHaveTheirSellersCategoriesReservesAndLengths() {
        long auctions = 0;
        long hotSeller = 0;
        double length = 0;
        Map<Long, Integer> categories = new HashMap<>();
        for (long event = 0; event < EVENTS; event++) {
            if (generator.type(event) != EventGenerator.AUCTION) {
                continue;
            }
            RowData auction = generator.next(event).getRow(2, 10);
            long persons = event / 50 + 1;
            auctions++;
            if (auction.getLong(7) - 1000 == (persons - 1) / 100 * 100) {
                hotSeller++;
            }
            assertThat(auction.getLong(7) - 1000).isBetween(0L, persons - 1 + 10);
            categories.merge(auction.getLong(8), 1, Integer::sum);
            assertThat(auction.getLong(4)).isGreaterThan(auction.getLong(3));
            long runs =
                    auction.getTimestamp(6, 3).getMillisecond()
                            - auction.getTimestamp(5, 3).getMillisecond();
            // A hundred auctions are 1,666 events, at 10,000 a second 166 or 167 ms.
            assertThat(runs).isBetween(1L, 334L);
            length += runs;
        }
        assertThat((double) hotSeller / auctions).isCloseTo(0.75, within(0.02));
        assertThat(length / auctions).isCloseTo(167, within(5.0));
        assertThat(categories.keySet()).containsExactlyInAnyOrder(10L, 11L, 12L, 13L, 14L);
        for (int count : categories.values()) {
            assertThat((double) count / auctions).isCloseTo(0.2, within(0.02));
        }
    }

    @Test
    void pricesAreSpreadEvenlyOverSixDecades() {
        int[] decades = new int[6];
        long bids = 0;
        for (long event = 0; event < EVENTS; event++) {
            if (generator.type(event) == EventGenerator.BID) {
                long price = generator.next(event).getRow(3, 7).getLong(2);
                assertThat(price).isBetween(100L, 100_000_000L);
                decades[(int) Math.min(5, Math.floor(Math.log10(price) - 2))]++;
                bids++;
            }
        }
        for (int count : decades) {
            assertThat((double) count / bids).isCloseTo(1 / 6.0, within(0.01));
        }
    }

    @Test
    void channelsAreHalfHotAndHaveOneUrlEach() {
        Pattern url =
                Pattern.compile(
                        "https://www\\.nexmark\\.com/[a-z_]{3,4}/[a-z_]{3,4}/[a-z_]{3,4}/"
                                + "item\\.htm\\?query=1(&channel_id=\\d+)?");
        Map<String, String> urls = new HashMap<>();
        long bids = 0;
        long hot = 0;
        long cold = 0;
        long withId = 0;
        for (long event = 0; event < EVENTS; event++) {
            if (generator.type(event) != EventGenerator.BID) {
                continue;
            }
            RowData bid = generator.next(event).getRow(3, 7);
            String channel = bid.getString(3).toString();
            String address = bid.getString(4).toString();
            assertThat(address).matches(url);
            String known = urls.putIfAbsent(channel, address);
            assertThat(known).isIn(null, address);
            bids++;
            if (channel.startsWith("channel-")) {
                cold++;
                withId += address.contains("channel_id") ? 1 : 0;
            } else {
                assertThat(channel).isIn("Google", "Facebook", "Baidu", "Apple");
                assertThat(address).doesNotContain("channel_id");
                hot++;
            }
        }
        assertThat((double) hot / bids).isCloseTo(0.5, within(0.01));
        assertThat((double) withId / cold).isCloseTo(0.9, within(0.02));
        assertThat(urls.size()).isBetween(9_990, 10_004);
    }

    @Test
    void recordsHaveTheirAverageSizes() {
        double[] size = new double[3];
        long[] count = new long[3];
        for (long event = 0; event < EVENTS; event++) {
            RowData row = generator.next(event);
            int type = row.getInt(0);
            RowData record = row.getRow(type + 1, type == 0 ? 8 : type == 1 ? 10 : 7);
            int[] strings = {1, 2, 3, 4, 5, 7};
            int fixed = 8;
            if (type == EventGenerator.AUCTION) {
                strings = new int[] {1, 2, 9};
                fixed = 48;
            } else if (type == EventGenerator.BID) {
                // The description counts neither channel nor URL.
                strings = new int[] {6};
                fixed = 32;
            }
            int bytes = fixed;
            for (int field : strings) {
                bytes += record.getString(field).toBytes().length;
            }
            size[type] += bytes;
            count[type]++;
        }
        assertThat(size[0] / count[0]).isCloseTo(200, within(3.0));
        assertThat(size[1] / count[1]).isCloseTo(500, within(3.0));
        assertThat(size[2] / count[2]).isCloseTo(100, within(1.0));
    }

    @Test
    void anEventDependsOnSeedAndNumberOnly() {
        BinaryRowData forward = generator.next(1_234).copy();
        EventGenerator other = new EventGenerator(config);
        other.next(99_999);
        other.partition(5);
        assertThat(other.next(1_234).copy()).isEqualTo(forward);
        EventGenerator seeded = new EventGenerator(GeneratorConfig.of(8, EVENTS, 10_000));
        assertThat(seeded.next(1_234).copy()).isNotEqualTo(forward);
    }

    @Test
    void thePartitionIsTheAuctionOfBidAndAuctionAndThePersonsId() {
        for (long event = 0; event < 5_000; event++) {
            long partition = generator.partition(event);
            RowData row = generator.next(event);
            int type = row.getInt(0);
            RowData record = row.getRow(type + 1, type == 0 ? 8 : type == 1 ? 10 : 7);
            assertThat(partition).isEqualTo(record.getLong(0));
        }
    }
}
