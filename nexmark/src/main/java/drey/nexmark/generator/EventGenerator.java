package drey.nexmark.generator;

import java.nio.charset.StandardCharsets;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.data.binary.BinaryRowData;

/**
 * The events of the benchmark, any one of them by its number.
 *
 * <p>Events come in epochs: a few new persons, a few new auctions, then bids. Ids count up from 1000, in event order, so
 * the last id of each kind follows from the event number alone. A bid goes to the hot auction (the first of the newest
 * hundred) or to one of those in flight or about to open; it comes from the hot bidder (the second of the newest hundred
 * persons) or from an active person or one about to appear. Sellers likewise, their hot one being the first of the newest
 * hundred. Prices are log-uniform over six decades. Free text pads a record to the average size asked for, give or take a
 * fifth.
 *
 * <p>Each event is a row {@code (event_type, person, auction, bid)} of which two of the three nested rows are NULL.
 * Not thread-safe; instances of equal configuration give equal events.
 */
public final class EventGenerator {

    public static final int PERSON = 0;
    public static final int AUCTION = 1;
    public static final int BID = 2;

    /** First id of persons and of auctions. */
    public static final long FIRST_ID = 1000;

    static final long FIRST_CATEGORY = 10;
    static final int CATEGORIES = 5;
    static final int LEAD = 10;
    static final int HOT_GROUP = 100;
    static final int CHANNELS = 10_000;

    private static final byte[][] STATES = words("AZ", "CA", "ID", "OR", "WA", "WY");
    private static final byte[][] CITIES =
            words(
                    "Phoenix",
                    "Los Angeles",
                    "San Francisco",
                    "Boise",
                    "Portland",
                    "Bend",
                    "Redmond",
                    "Seattle",
                    "Kent",
                    "Cheyenne");
    private static final byte[][] FIRST_NAMES =
            words(
                    "Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah",
                    "Deiter", "Walter");
    private static final byte[][] LAST_NAMES =
            words(
                    "Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones",
                    "Noris");
    private static final byte[][] HOT_CHANNELS = words("Google", "Facebook", "Baidu", "Apple");

    /** Streams of random numbers from here on belong to channels, not to events. */
    private static final long CHANNEL_STREAM = Long.MIN_VALUE;

    private final GeneratorConfig config;
    private final RandomSource random = new RandomSource();
    private final RowBuffer out = new RowBuffer();
    private byte[] text = new byte[4096];
    private int textLength;

    // A channel always has the same URL; both are made once.
    private final byte[][] channelNames = new byte[CHANNELS][];
    private final byte[][] channelUrls = new byte[CHANNELS][];
    private final byte[][] hotUrls = new byte[HOT_CHANNELS.length][];

    private final BinaryRowData row = new BinaryRowData(4);
    private byte[] wrapped;
    private MemorySegment[] segments;

    public EventGenerator(GeneratorConfig config) {
        this.config = config;
        RandomSource own = new RandomSource();
        for (int i = 0; i < hotUrls.length; i++) {
            own.start(config.seed(), CHANNEL_STREAM + CHANNELS + i);
            hotUrls[i] = url(own).getBytes(StandardCharsets.US_ASCII);
        }
    }

    public GeneratorConfig config() {
        return config;
    }

    /** What kind of event has this number: PERSON, AUCTION or BID. */
    public int type(long event) {
        long offset = event % config.epoch();
        if (offset < config.persons()) {
            return PERSON;
        }
        return offset < config.persons() + config.auctions() ? AUCTION : BID;
    }

    /**
     * The id that events are divided by among splits: a bid's or auction's auction, a person's own id. Costs at most two
     * random numbers, so a split can skip the events of the others.
     */
    public long partition(long event) {
        switch (type(event)) {
            case PERSON:
                return lastPerson(event) + FIRST_ID;
            case AUCTION:
                return lastAuction(event) + FIRST_ID;
            default:
                random.start(config.seed(), event);
                return bidAuction(event);
        }
    }

    /** Writes the event's row. It stays valid, and {@link #bytes} and {@link #size} describe it, until the next call. */
    public BinaryRowData next(long event) {
        write(event);
        if (wrapped != out.bytes()) {
            wrapped = out.bytes();
            segments = new MemorySegment[] {MemorySegmentFactory.wrap(wrapped)};
        }
        row.pointTo(segments, 0, out.size());
        return row;
    }

    /** Writes the event's row without making {@link #next}'s view of it. */
    public void write(long event) {
        random.start(config.seed(), event);
        out.clear();
        int base = out.begin(4);
        int type = type(event);
        out.setInt(base, 0, type);
        for (int field = 1; field <= 3; field++) {
            if (field != type + 1) {
                out.setNull(base, field);
            }
        }
        int nested;
        switch (type) {
            case PERSON:
                nested = person(event);
                break;
            case AUCTION:
                nested = auction(event);
                break;
            default:
                nested = bid(event);
        }
        out.setRow(base, type + 1, nested);
    }

    public byte[] bytes() {
        return out.bytes();
    }

    public int size() {
        return out.size();
    }

    private int person(long event) {
        int base = out.begin(8);
        out.setLong(base, 0, lastPerson(event) + FIRST_ID);
        int size = 8;

        textLength = 0;
        append(FIRST_NAMES[random.below(FIRST_NAMES.length)]);
        append((byte) ' ');
        append(LAST_NAMES[random.below(LAST_NAMES.length)]);
        size += put(base, 1);

        textLength = 0;
        appendWords(7);
        append((byte) '@');
        appendWords(5);
        append((byte) '.');
        append((byte) 'c');
        append((byte) 'o');
        append((byte) 'm');
        size += put(base, 2);

        textLength = 0;
        for (int group = 0; group < 4; group++) {
            if (group > 0) {
                append((byte) ' ');
            }
            int digits = random.below(10_000);
            append((byte) ('0' + digits / 1000));
            append((byte) ('0' + digits / 100 % 10));
            append((byte) ('0' + digits / 10 % 10));
            append((byte) ('0' + digits % 10));
        }
        size += put(base, 3);

        byte[] city = CITIES[random.below(CITIES.length)];
        byte[] state = STATES[random.below(STATES.length)];
        out.setString(base, 4, city, city.length);
        out.setString(base, 5, state, state.length);
        out.setLong(base, 6, config.timestamp(event));
        putExtra(base, 7, size + city.length + state.length, config.personBytes());
        return base;
    }

    private int auction(long event) {
        long timestamp = config.timestamp(event);
        int base = out.begin(10);
        out.setLong(base, 0, lastAuction(event) + FIRST_ID);
        out.setLong(base, 7, seller(event) + FIRST_ID);
        out.setLong(base, 8, FIRST_CATEGORY + random.below(CATEGORIES));
        long initialBid = price();
        out.setLong(base, 3, initialBid);
        out.setLong(base, 4, initialBid + price());
        out.setLong(base, 5, timestamp);
        out.setLong(base, 6, timestamp + auctionLength(event, timestamp));

        textLength = 0;
        appendWords(20);
        int size = put(base, 1);
        textLength = 0;
        appendWords(100);
        size += put(base, 2);
        putExtra(base, 9, size + 6 * 8, config.auctionBytes());
        return base;
    }

    private int bid(long event) {
        int base = out.begin(7);
        out.setLong(base, 0, bidAuction(event));
        out.setLong(base, 1, bidder(event) + FIRST_ID);
        out.setLong(base, 2, price());
        byte[] channel;
        byte[] url;
        if (random.below(2) > 0) {
            int hot = random.below(HOT_CHANNELS.length);
            channel = HOT_CHANNELS[hot];
            url = hotUrls[hot];
        } else {
            int number = random.below(CHANNELS);
            if (channelNames[number] == null) {
                makeChannel(number);
            }
            channel = channelNames[number];
            url = channelUrls[number];
        }
        out.setString(base, 3, channel, channel.length);
        out.setString(base, 4, url, url.length);
        out.setLong(base, 5, config.timestamp(event));
        putExtra(base, 6, 4 * 8, config.bidBytes());
        return base;
    }

    /** Drawn before all else that is random in a bid, so that {@link #partition} costs no more than this. */
    private long bidAuction(long event) {
        long last = lastAuction(event);
        if (random.below(config.hotAuctionRatio()) > 0) {
            return last / HOT_GROUP * HOT_GROUP + FIRST_ID;
        }
        long oldest = Math.max(last - config.inFlightAuctions(), 0);
        return oldest + random.below((int) (last - oldest) + 1 + LEAD) + FIRST_ID;
    }

    private long bidder(long event) {
        if (random.below(config.hotBidderRatio()) > 0) {
            return lastPerson(event) / HOT_GROUP * HOT_GROUP + 1;
        }
        return activePerson(event);
    }

    private long seller(long event) {
        if (random.below(config.hotSellerRatio()) > 0) {
            return lastPerson(event) / HOT_GROUP * HOT_GROUP;
        }
        return activePerson(event);
    }

    private long activePerson(long event) {
        long persons = lastPerson(event) + 1;
        long active = Math.min(persons, config.activePersons());
        return persons - active + random.below((int) active + LEAD);
    }

    /** Newest person when the event happens, from 0; the event itself if it is a person. */
    private long lastPerson(long event) {
        long offset = Math.min(event % config.epoch(), config.persons() - 1);
        return event / config.epoch() * config.persons() + offset;
    }

    /** Newest auction when an auction or bid happens, from 0; the event itself if it is an auction. */
    private long lastAuction(long event) {
        long offset = Math.min(event % config.epoch() - config.persons(), config.auctions() - 1);
        return event / config.epoch() * config.auctions() + offset;
    }

    /** Up to twice the time in which the auctions in flight are replaced by as many new ones. */
    private long auctionLength(long event, long timestamp) {
        long ahead = (long) config.inFlightAuctions() * config.epoch() / config.auctions();
        long horizon = config.timestamp(event + ahead) - timestamp;
        long bound = Math.min(Math.max(2 * horizon, 1), Integer.MAX_VALUE);
        return 1 + random.below((int) bound);
    }

    private long price() {
        return Math.round(Math.pow(10.0, random.unit() * 6.0) * 100.0);
    }

    private void makeChannel(int number) {
        RandomSource own = new RandomSource();
        own.start(config.seed(), CHANNEL_STREAM + number);
        String url = url(own);
        if (own.below(10) > 0) {
            url += "&channel_id=" + Math.abs((long) Integer.reverse(number));
        }
        channelNames[number] = ("channel-" + number).getBytes(StandardCharsets.US_ASCII);
        channelUrls[number] = url.getBytes(StandardCharsets.US_ASCII);
    }

    private static String url(RandomSource random) {
        StringBuilder url = new StringBuilder("https://www.nexmark.com/");
        for (int part = 0; part < 3; part++) {
            int length = 3 + random.below(2);
            for (int i = 0; i < length; i++) {
                url.append(random.below(13) == 0 ? '_' : (char) ('a' + random.below(26)));
            }
            url.append('/');
        }
        return url.append("item.htm?query=1").toString();
    }

    private void append(byte b) {
        text[textLength++] = b;
    }

    private void append(byte[] word) {
        System.arraycopy(word, 0, text, textLength, word.length);
        textLength += word.length;
    }

    /** At least three and fewer than {@code bound} characters, one in thirteen a space; spaces at the ends are cut off. */
    private void appendWords(int bound) {
        int start = textLength;
        int length = 3 + random.below(bound - 3);
        for (int i = 0; i < length; i++) {
            boolean space = random.below(13) == 0;
            if (!space) {
                append((byte) ('a' + random.below(26)));
            } else if (textLength > start) {
                append((byte) ' ');
            }
        }
        while (textLength > start && text[textLength - 1] == ' ') {
            textLength--;
        }
    }

    private int put(int base, int field) {
        out.setString(base, field, text, textLength);
        return textLength;
    }

    private void putExtra(int base, int field, int size, int average) {
        textLength = 0;
        int missing = average - size;
        if (missing > 0) {
            int delta = (int) Math.round(missing * 0.2);
            int length = missing - delta + (delta == 0 ? 0 : random.below(2 * delta));
            if (length > text.length) {
                text = new byte[2 * length];
            }
            while (textLength < length) {
                // One draw gives twelve letters: 26^12 is below 2^57.
                long letters = random.next() >>> 7;
                for (int i = Math.min(12, length - textLength); i > 0; i--) {
                    append((byte) ('a' + letters % 26));
                    letters /= 26;
                }
            }
        }
        put(base, field);
    }

    private static byte[][] words(String... words) {
        byte[][] bytes = new byte[words.length][];
        for (int i = 0; i < words.length; i++) {
            bytes[i] = words[i].getBytes(StandardCharsets.US_ASCII);
        }
        return bytes;
    }
}
