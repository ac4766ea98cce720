package drey.fuzz;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.legacy.table.connector.source.SourceFunctionProvider;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.ProviderContext;
import org.apache.flink.table.connector.RuntimeConverter;
import org.apache.flink.table.connector.sink.DataStreamSinkProvider;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.types.DataType;
import org.apache.flink.types.Row;

import java.util.Set;

/** The connector of tables and sinks whose rows are in a {@link Run}. */
public final class FuzzTableFactory implements DynamicTableSourceFactory, DynamicTableSinkFactory {

    private static final ConfigOption<String> RUN =
            ConfigOptions.key("run").stringType().noDefaultValue();
    private static final ConfigOption<String> NAME =
            ConfigOptions.key("name").stringType().noDefaultValue();
    private static final ConfigOption<FuzzTable.Kind> CHANGES =
            ConfigOptions.key("changes").enumType(FuzzTable.Kind.class).noDefaultValue();

    @Override
    public String factoryIdentifier() {
        return "fuzz";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of(RUN, NAME, CHANGES);
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of();
    }

    @Override
    public DynamicTableSource createDynamicTableSource(Context context) {
        FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        return new Table(
                helper.getOptions().get(RUN),
                helper.getOptions().get(NAME),
                helper.getOptions().get(CHANGES));
    }

    @Override
    public DynamicTableSink createDynamicTableSink(Context context) {
        FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        return new Sink(
                helper.getOptions().get(RUN),
                helper.getOptions().get(NAME),
                helper.getOptions().get(CHANGES),
                context.getPrimaryKeyIndexes(),
                context.getPhysicalRowDataType());
    }

    private record Table(String run, String name, FuzzTable.Kind changes)
            implements ScanTableSource {

        @Override
        public ChangelogMode getChangelogMode() {
            return switch (changes) {
                case APPEND -> ChangelogMode.insertOnly();
                case UPSERT -> ChangelogMode.upsert();
                case RETRACT -> ChangelogMode.all();
            };
        }

        @Override
        public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
            return SourceFunctionProvider.of(new ReplaySource(run, name), true);
        }

        @Override
        public DynamicTableSource copy() {
            return this;
        }

        @Override
        public String asSummaryString() {
            return "fuzz";
        }
    }

    private record Sink(String run, String name, FuzzTable.Kind changes, int[] key, DataType type)
            implements DynamicTableSink {

        @Override
        public ChangelogMode getChangelogMode(ChangelogMode requested) {
            return changes == FuzzTable.Kind.UPSERT ? ChangelogMode.upsert() : ChangelogMode.all();
        }

        @Override
        public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
            DataStructureConverter converter = context.createDataStructureConverter(type);
            return new DataStreamSinkProvider() {
                @Override
                public DataStreamSink<?> consumeDataStream(
                        ProviderContext provider, DataStream<RowData> rows) {
                    return rows.map(new Keep(run, name, key, converter))
                            .setParallelism(rows.getParallelism())
                            .sinkTo(new DiscardingSink<>())
                            .setParallelism(rows.getParallelism());
                }
            };
        }

        @Override
        public DynamicTableSink copy() {
            return this;
        }

        @Override
        public String asSummaryString() {
            return "fuzz";
        }
    }

    /** Leaves each row with the run. */
    private static final class Keep extends RichMapFunction<RowData, Integer> {

        private static final long serialVersionUID = 1L;

        private final String id;
        private final String query;
        private final int[] key;
        private final DynamicTableSink.DataStructureConverter converter;
        private transient Run run;
        private transient int subtask;

        Keep(
                String id,
                String query,
                int[] key,
                DynamicTableSink.DataStructureConverter converter) {
            this.id = id;
            this.query = query;
            this.key = key;
            this.converter = converter;
        }

        @Override
        public void open(OpenContext context) {
            run = Run.of(id);
            subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            run.begin(query, subtask);
            converter.open(
                    RuntimeConverter.Context.create(getRuntimeContext().getUserCodeClassLoader()));
        }

        @Override
        public Integer map(RowData data) {
            Row row = (Row) converter.toExternal(data);
            Object[] values = new Object[key.length];
            for (int i = 0; i < key.length; i++) {
                values[i] = row.getField(key[i]);
            }
            // A row's text begins with its kind.
            run.emit(
                    query,
                    subtask,
                    data.getRowKind(),
                    key.length == 0 ? "" : Row.of(values).toString(),
                    row.toString().substring(2));
            return 0;
        }
    }
}
