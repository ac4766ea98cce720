package drey.nexmark.generator;

import java.io.Serializable;

/**
 * What the benchmark's description leaves open, with the values it gives as defaults.
 *
 * @param seed names the whole sequence of events
 * @param events how many events there are
 * @param rate events per second of event time; wall time plays no part
 * @param baseTime event time of event 0, epoch milliseconds
 * @param persons new persons in an epoch of {@code persons + auctions + bids} events
 * @param auctions new auctions in an epoch
 * @param bids bids in an epoch
 * @param activePersons only the last so many persons bid and sell, unless they are hot
 * @param inFlightAuctions only the last so many auctions get bids, unless they are hot
 * @param hotAuctionRatio a bid goes to the hot auction with probability 1 - 1/ratio
 * @param hotBidderRatio a bid comes from the hot bidder with probability 1 - 1/ratio
 * @param hotSellerRatio an auction belongs to the hot seller with probability 1 - 1/ratio
 * @param personBytes average size of a person, in the description's way of counting
 * @param auctionBytes average size of an auction
 * @param bidBytes average size of a bid
 */
public record GeneratorConfig(
        long seed,
        long events,
        long rate,
        long baseTime,
        int persons,
        int auctions,
        int bids,
        int activePersons,
        int inFlightAuctions,
        int hotAuctionRatio,
        int hotBidderRatio,
        int hotSellerRatio,
        int personBytes,
        int auctionBytes,
        int bidBytes)
        implements Serializable {

    /** 2015-07-15T00:00:00Z, the fixed base time of Beam's edition of the benchmark. */
    public static final long BASE_TIME = 1_436_918_400_000L;

    /** The description's first rate. The Flink edition's published runs use 10,000,000. */
    public static final long RATE = 10_000;

    public GeneratorConfig {
        if (events < 0) {
            throw new IllegalArgumentException("events.num must not be negative, is " + events);
        }
        if (rate < 1) {
            throw new IllegalArgumentException("first-event.rate must be at least 1, is " + rate);
        }
        if (persons < 1 || auctions < 1 || bids < 0) {
            throw new IllegalArgumentException(
                    "proportions must be at least 1 person, 1 auction and 0 bids, are "
                            + (persons + ":" + auctions + ":" + bids));
        }
        if (hotAuctionRatio < 1 || hotBidderRatio < 1 || hotSellerRatio < 1) {
            throw new IllegalArgumentException(
                    "hot ratios must be at least 1, are auctions %d, bidders %d, sellers %d"
                            .formatted(hotAuctionRatio, hotBidderRatio, hotSellerRatio));
        }
    }

    public static GeneratorConfig of(long seed, long events, long rate) {
        return new GeneratorConfig(
                seed, events, rate, BASE_TIME, 1, 3, 46, 1000, 100, 2, 4, 4, 200, 500, 100);
    }

    /** The same sequence of events, cut off elsewhere. */
    public GeneratorConfig withEvents(long count) {
        return new GeneratorConfig(
                seed,
                count,
                rate,
                baseTime,
                persons,
                auctions,
                bids,
                activePersons,
                inFlightAuctions,
                hotAuctionRatio,
                hotBidderRatio,
                hotSellerRatio,
                personBytes,
                auctionBytes,
                bidBytes);
    }

    public int epoch() {
        return persons + auctions + bids;
    }

    /** Event time of an event, epoch milliseconds. Events are in order. */
    public long timestamp(long event) {
        return baseTime + event / rate * 1000 + event % rate * 1000 / rate;
    }
}
