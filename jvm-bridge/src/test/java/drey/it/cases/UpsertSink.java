package drey.it.cases;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.streaming.api.functions.sink.legacy.RichSinkFunction;
import org.apache.flink.table.connector.sink.legacy.SinkFunctionProvider;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.types.RowKind;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** A table of counts by key that takes upserts, with as many subtasks as asked for. */
public final class UpsertSink implements DynamicTableSinkFactory {

    static final Map<Integer, Long> TABLE = Collections.synchronizedMap(new TreeMap<>());

    @Override
    public String factoryIdentifier() {
        return "drey-cases";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of(FactoryUtil.SINK_PARALLELISM);
    }

    @Override
    public DynamicTableSink createDynamicTableSink(Context context) {
        FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        helper.validate();
        return new Sink(helper.getOptions().get(FactoryUtil.SINK_PARALLELISM));
    }

    private record Sink(Integer parallelism) implements DynamicTableSink {

        @Override
        public ChangelogMode getChangelogMode(ChangelogMode requested) {
            return ChangelogMode.upsert();
        }

        @Override
        public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
            return SinkFunctionProvider.of(new Keep(), parallelism);
        }

        @Override
        public DynamicTableSink copy() {
            return this;
        }

        @Override
        public String asSummaryString() {
            return "counts";
        }
    }

    private static final class Keep extends RichSinkFunction<RowData> {
        private static final long serialVersionUID = 1L;

        @Override
        public void open(OpenContext context) {}

        @Override
        public void invoke(RowData row, Context context) {
            if (row.getRowKind() == RowKind.DELETE) {
                TABLE.remove(row.getInt(0));
            } else {
                TABLE.put(row.getInt(0), row.getLong(1));
            }
        }
    }
}
