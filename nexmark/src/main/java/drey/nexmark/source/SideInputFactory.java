package drey.nexmark.source;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.LookupTableSource;
import org.apache.flink.table.connector.source.lookup.LookupFunctionProvider;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.functions.LookupFunction;

/**
 * {@code 'connector' = 'nexmark-side-input'}: the bounded side input of q13, the numbers from 0 up, each with itself as
 * text. The benchmark's Flink edition reads the same rows from a file through a connector that Flink no longer has.
 */
public final class SideInputFactory implements DynamicTableSourceFactory {

    private static final ConfigOption<Long> ROWS =
            ConfigOptions.key("rows").longType().defaultValue(10_000L);

    @Override
    public String factoryIdentifier() {
        return "nexmark-side-input";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of(ROWS);
    }

    @Override
    public DynamicTableSource createDynamicTableSource(Context context) {
        FactoryUtil.TableFactoryHelper helper = FactoryUtil.createTableFactoryHelper(this, context);
        helper.validate();
        return new SideInput(helper.getOptions().get(ROWS));
    }

    private record SideInput(long rows) implements LookupTableSource {

        @Override
        public LookupRuntimeProvider getLookupRuntimeProvider(LookupContext context) {
            return LookupFunctionProvider.of(new Lookup(rows));
        }

        @Override
        public DynamicTableSource copy() {
            return new SideInput(rows);
        }

        @Override
        public String asSummaryString() {
            return "nexmark-side-input";
        }
    }

    /** Looks a number up by itself. */
    public static final class Lookup extends LookupFunction {

        private static final long serialVersionUID = 1L;

        private final long rows;

        Lookup(long rows) {
            this.rows = rows;
        }

        @Override
        public Collection<RowData> lookup(RowData key) {
            if (key.isNullAt(0) || key.getLong(0) < 0 || key.getLong(0) >= rows) {
                return List.of();
            }
            long number = key.getLong(0);
            StringData text = StringData.fromString(Long.toString(number));
            return List.of(GenericRowData.of(number, text));
        }
    }
}
