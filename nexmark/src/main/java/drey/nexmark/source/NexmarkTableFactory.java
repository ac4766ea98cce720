package drey.nexmark.source;

import static org.apache.flink.table.api.DataTypes.BIGINT;
import static org.apache.flink.table.api.DataTypes.FIELD;
import static org.apache.flink.table.api.DataTypes.INT;
import static org.apache.flink.table.api.DataTypes.ROW;
import static org.apache.flink.table.api.DataTypes.STRING;
import static org.apache.flink.table.api.DataTypes.TIMESTAMP;

import drey.nexmark.generator.GeneratorConfig;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.SourceProvider;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;

/** {@code 'connector' = 'nexmark'}: option names are those of the benchmark's Flink edition, where it has them. */
public final class NexmarkTableFactory implements DynamicTableSourceFactory {

    private static final ConfigOption<Long> EVENTS =
            ConfigOptions.key("events.num").longType().noDefaultValue();
    private static final ConfigOption<Long> FIRST_RATE =
            ConfigOptions.key("first-event.rate").longType().defaultValue(GeneratorConfig.RATE);
    private static final ConfigOption<Long> NEXT_RATE =
            ConfigOptions.key("next-event.rate").longType().noDefaultValue();
    private static final ConfigOption<Integer> PERSONS = integer("person.proportion", 1);
    private static final ConfigOption<Integer> AUCTIONS = integer("auction.proportion", 3);
    private static final ConfigOption<Integer> BIDS = integer("bid.proportion", 46);
    private static final ConfigOption<Integer> HOT_AUCTIONS = integer("bid.hot-ratio.auctions", 2);
    private static final ConfigOption<Integer> HOT_BIDDERS = integer("bid.hot-ratio.bidders", 4);
    private static final ConfigOption<Integer> HOT_SELLERS =
            integer("auction.hot-ratio.sellers", 4);
    private static final ConfigOption<Integer> PERSON_SIZE = integer("person.avg-size", 200);
    private static final ConfigOption<Integer> AUCTION_SIZE = integer("auction.avg-size", 500);
    private static final ConfigOption<Integer> BID_SIZE = integer("bid.avg-size", 100);
    private static final ConfigOption<Integer> ACTIVE_PERSONS = integer("person.active", 1000);
    private static final ConfigOption<Integer> IN_FLIGHT = integer("auction.in-flight", 100);
    private static final ConfigOption<Long> BASE_TIME =
            ConfigOptions.key("base-time").longType().defaultValue(GeneratorConfig.BASE_TIME);

    private static final ConfigOption<Long> SEED =
            ConfigOptions.key("seed").longType().defaultValue(1L);
    private static final ConfigOption<String> MODE =
            ConfigOptions.key("mode").stringType().defaultValue("generate");
    private static final ConfigOption<Integer> SPLITS = integer("splits", 0);
    private static final ConfigOption<Long> PACE =
            ConfigOptions.key("pace").longType().defaultValue(0L);
    private static final ConfigOption<Boolean> STAY =
            ConfigOptions.key("stay").booleanType().defaultValue(false);
    private static final ConfigOption<String> RUN =
            ConfigOptions.key("run").stringType().defaultValue("");

    static final DataType EVENT =
            ROW(
                    FIELD("event_type", INT()),
                    FIELD(
                            "person",
                            ROW(
                                    FIELD("id", BIGINT()),
                                    FIELD("name", STRING()),
                                    FIELD("emailAddress", STRING()),
                                    FIELD("creditCard", STRING()),
                                    FIELD("city", STRING()),
                                    FIELD("state", STRING()),
                                    FIELD("dateTime", TIMESTAMP(3)),
                                    FIELD("extra", STRING()))),
                    FIELD(
                            "auction",
                            ROW(
                                    FIELD("id", BIGINT()),
                                    FIELD("itemName", STRING()),
                                    FIELD("description", STRING()),
                                    FIELD("initialBid", BIGINT()),
                                    FIELD("reserve", BIGINT()),
                                    FIELD("dateTime", TIMESTAMP(3)),
                                    FIELD("expires", TIMESTAMP(3)),
                                    FIELD("seller", BIGINT()),
                                    FIELD("category", BIGINT()),
                                    FIELD("extra", STRING()))),
                    FIELD(
                            "bid",
                            ROW(
                                    FIELD("auction", BIGINT()),
                                    FIELD("bidder", BIGINT()),
                                    FIELD("price", BIGINT()),
                                    FIELD("channel", STRING()),
                                    FIELD("url", STRING()),
                                    FIELD("dateTime", TIMESTAMP(3)),
                                    FIELD("extra", STRING()))));

    private static ConfigOption<Integer> integer(String key, int value) {
        return ConfigOptions.key(key).intType().defaultValue(value);
    }

    @Override
    public String factoryIdentifier() {
        return "nexmark";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of(EVENTS);
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of(
                FIRST_RATE,
                NEXT_RATE,
                PERSONS,
                AUCTIONS,
                BIDS,
                HOT_AUCTIONS,
                HOT_BIDDERS,
                HOT_SELLERS,
                PERSON_SIZE,
                AUCTION_SIZE,
                BID_SIZE,
                ACTIVE_PERSONS,
                IN_FLIGHT,
                BASE_TIME,
                SEED,
                MODE,
                SPLITS,
                PACE,
                STAY,
                RUN);
    }

    @Override
    public DynamicTableSource createDynamicTableSource(Context context) {
        FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        helper.validate();
        ReadableConfig options = helper.getOptions();
        Long nextRate = options.get(NEXT_RATE);
        if (nextRate != null && !nextRate.equals(options.get(FIRST_RATE))) {
            throw new ValidationException(
                    "nexmark: rates that change over time are not supported: 'first-event.rate' is "
                            + options.get(FIRST_RATE)
                            + ", 'next-event.rate' is "
                            + nextRate);
        }
        String mode = options.get(MODE);
        if (!mode.equals("generate") && !mode.equals("replay")) {
            throw new ValidationException(
                    "nexmark: 'mode' must be 'generate' or 'replay', is '" + mode + "'");
        }
        LogicalType actual = context.getPhysicalRowDataType().getLogicalType();
        if (!actual.copy(true).equals(EVENT.getLogicalType())) {
            throw new ValidationException(
                    "nexmark: the physical columns must be "
                            + (EVENT.getLogicalType().asSummaryString() + ", are ")
                            + actual.asSummaryString());
        }
        GeneratorConfig config =
                new GeneratorConfig(
                        options.get(SEED),
                        options.get(EVENTS),
                        options.get(FIRST_RATE),
                        options.get(BASE_TIME),
                        options.get(PERSONS),
                        options.get(AUCTIONS),
                        options.get(BIDS),
                        options.get(ACTIVE_PERSONS),
                        options.get(IN_FLIGHT),
                        options.get(HOT_AUCTIONS),
                        options.get(HOT_BIDDERS),
                        options.get(HOT_SELLERS),
                        options.get(PERSON_SIZE),
                        options.get(AUCTION_SIZE),
                        options.get(BID_SIZE));
        return new TableSource(
                new NexmarkSource(
                        config,
                        mode.equals("replay"),
                        options.get(SPLITS),
                        options.get(PACE),
                        options.get(STAY),
                        options.get(RUN)));
    }

    /**
     * Pushes nothing down, neither projection nor watermark, as the benchmark's Flink edition: what the queries cost must
     * not depend on what the source can do.
     */
    private record TableSource(NexmarkSource source) implements ScanTableSource {

        @Override
        public ChangelogMode getChangelogMode() {
            return ChangelogMode.insertOnly();
        }

        @Override
        public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
            return SourceProvider.of(source);
        }

        @Override
        public DynamicTableSource copy() {
            return new TableSource(source);
        }

        @Override
        public String asSummaryString() {
            return "nexmark";
        }
    }
}
