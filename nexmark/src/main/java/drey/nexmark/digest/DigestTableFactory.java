package drey.nexmark.digest;

import drey.nexmark.digest.ChangelogDigest.Sameness;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.SinkV2Provider;
import org.apache.flink.table.connector.sink.abilities.SupportsPartitioning;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.types.RowKind;

/**
 * {@code 'connector' = 'digest'}: swallows a changelog like Flink's blackhole, and digests it.
 *
 * <ul>
 *   <li>{@code 'key'}: comma-separated columns that changes belong together by; none means the whole row.
 *   <li>{@code 'changelog'}: {@code no-update-before} (as the blackhole: the planner may leave UPDATE_BEFORE out) or {@code
 *       all}.
 *   <li>{@code 'same'}: {@code order}, {@code changes} or {@code result}: what of two changelogs can be compared.
 *   <li>{@code 'keyed-result'}: for {@code result}, tracks the last row of each key, so that UPDATE_BEFORE can be left out.
 *       Needs a unique key. Costs a map entry per key.
 *   <li>{@code 'record'}: a bucket whose changes are recorded.
 * </ul>
 */
public final class DigestTableFactory implements DynamicTableSinkFactory {

    private static final ConfigOption<String> KEY =
            ConfigOptions.key("key").stringType().defaultValue("");
    private static final ConfigOption<String> CHANGELOG =
            ConfigOptions.key("changelog").stringType().defaultValue("no-update-before");
    private static final ConfigOption<Sameness> SAME =
            ConfigOptions.key("same").enumType(Sameness.class).defaultValue(Sameness.ORDER);
    private static final ConfigOption<Boolean> KEYED_RESULT =
            ConfigOptions.key("keyed-result").booleanType().defaultValue(false);
    private static final ConfigOption<Integer> RECORD =
            ConfigOptions.key("record").intType().defaultValue(-1);
    private static final ConfigOption<String> RUN =
            ConfigOptions.key("run").stringType().defaultValue("");

    @Override
    public String factoryIdentifier() {
        return "digest";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of(KEY, CHANGELOG, SAME, KEYED_RESULT, RECORD, RUN);
    }

    @Override
    public DynamicTableSink createDynamicTableSink(Context context) {
        FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        helper.validate();
        ReadableConfig options = helper.getOptions();
        RowType type = (RowType) context.getPhysicalRowDataType().getLogicalType();
        String changelog = options.get(CHANGELOG);
        if (!changelog.equals("all") && !changelog.equals("no-update-before")) {
            throw new ValidationException(
                    "digest: 'changelog' must be 'all' or 'no-update-before', is '"
                            + (changelog + "'"));
        }
        boolean all = changelog.equals("all");
        DigestSink sink =
                new DigestSink(
                        type,
                        columns(options.get(KEY), type.getFieldNames()),
                        options.get(SAME),
                        options.get(KEYED_RESULT) && !all,
                        options.get(RECORD),
                        options.get(RUN));
        return new TableSink(sink, all);
    }

    private static int[] columns(String key, List<String> names) {
        if (key.isBlank()) {
            return new int[0];
        }
        String[] parts = key.split(",");
        int[] columns = new int[parts.length];
        for (int i = 0; i < parts.length; i++) {
            columns[i] = names.indexOf(parts[i].trim());
            if (columns[i] < 0) {
                throw new ValidationException(
                        "digest: 'key' names a column that the table doesn't have: "
                                + parts[i].trim());
            }
        }
        return columns;
    }

    private record TableSink(DigestSink sink, boolean all)
            implements DynamicTableSink, SupportsPartitioning {

        @Override
        public ChangelogMode getChangelogMode(ChangelogMode requested) {
            if (all) {
                return requested;
            }
            ChangelogMode.Builder mode = ChangelogMode.newBuilder();
            for (RowKind kind : requested.getContainedKinds()) {
                if (kind != RowKind.UPDATE_BEFORE) {
                    mode.addContainedKind(kind);
                }
            }
            return mode.build();
        }

        @Override
        public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
            return SinkV2Provider.of(sink);
        }

        /** The partition columns are columns like the others here. */
        @Override
        public void applyStaticPartition(Map<String, String> partition) {}

        @Override
        public DynamicTableSink copy() {
            return new TableSink(sink, all);
        }

        @Override
        public String asSummaryString() {
            return "digest";
        }
    }
}
