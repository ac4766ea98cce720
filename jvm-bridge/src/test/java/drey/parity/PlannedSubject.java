package drey.parity;

import drey.runtime.BatchOptions;
import drey.runtime.NativeOperatorFactory;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.streaming.api.transformations.TwoInputTransformation;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.util.InstantiationUtil;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * What the planner makes of one operator of a query. Nothing of the rest of the query runs: the feed stands for what is before the
 * operator, so that must be such a changelog as that would be. Planned when it is first asked for anything.
 */
final class PlannedSubject implements Subject {

    private String name;
    private final String operator;
    private final List<String> tables = new ArrayList<>();
    private final Map<String, String> options = new LinkedHashMap<>();
    private String query;
    private boolean upsert;
    private long ttl;
    private Feed feed = Feed.append();
    private Identity identity = Identity.SEQUENCE;
    private boolean rocks;
    private boolean growing;
    private Planned planned;

    private record Planned(
            NativeOperatorFactory factory,
            List<RowType> inputs,
            List<RowDataKeySelector> selectors,
            RowType output) {}

    PlannedSubject(String name, String operator) {
        this.name = name;
        this.operator = operator;
    }

    /** Columns as in CREATE TABLE. A proctime is {@code pt AS PROCTIME()}. */
    PlannedSubject table(String table, String columns) {
        tables.add(
                "CREATE TABLE "
                        + table
                        + " ("
                        + columns
                        + ") WITH ('connector' = 'datagen', 'number-of-rows' = '1')");
        return this;
    }

    /** Adds to the name. */
    PlannedSubject named(String more) {
        name += more;
        return this;
    }

    String query() {
        return query;
    }

    PlannedSubject query(String sql) {
        query = sql;
        return this;
    }

    PlannedSubject option(String key, String value) {
        options.put(key, value);
        return this;
    }

    /** The query's result is wanted without update befores. */
    PlannedSubject upsert() {
        upsert = true;
        return this;
    }

    /** The retention that a hint of the query gives; that of the option is known. */
    PlannedSubject ttl(long millis) {
        ttl = millis;
        return this;
    }

    PlannedSubject feed(Feed rows) {
        feed = rows;
        return this;
    }

    PlannedSubject identity(Identity level) {
        identity = level;
        return this;
    }

    /** A row's output grows with the rows of its key: a long run has more keys, not more rows of each. */
    PlannedSubject growing() {
        growing = true;
        return this;
    }

    /** Flink's operator runs on RocksDB, because on the heap it changes objects that are in its state. */
    PlannedSubject rocks() {
        rocks = true;
        return this;
    }

    private Planned planned() {
        if (planned == null) {
            planned = plan();
        }
        return planned;
    }

    private Planned plan() {
        StreamTableEnvironment env =
                StreamTableEnvironment.create(StreamExecutionEnvironment.getExecutionEnvironment());
        options.forEach((key, value) -> env.getConfig().set(key, value));
        tables.forEach(env::executeSql);
        Table result = env.sqlQuery(query);
        Transformation<?> root =
                (upsert
                                ? env.toChangelogStream(
                                        result, Schema.newBuilder().build(), ChangelogMode.upsert())
                                : env.toChangelogStream(result))
                        .getTransformation();
        Planned found = find(root);
        if (found == null) {
            throw new AssertionError(
                    this + ": no native " + operator + " in the plan\n" + result.explain());
        }
        return found;
    }

    /** The native operator that is nearest to the result. */
    private Planned find(Transformation<?> next) {
        if (next instanceof OneInputTransformation<?, ?> one && isOurs(one.getOperatorFactory())) {
            return new Planned(
                    (NativeOperatorFactory) one.getOperatorFactory(),
                    List.of(row(one.getInputType())),
                    selectors(one.getStateKeySelector()),
                    row(one.getOutputType()));
        }
        if (next instanceof TwoInputTransformation<?, ?, ?> two
                && isOurs(two.getOperatorFactory())) {
            return new Planned(
                    (NativeOperatorFactory) two.getOperatorFactory(),
                    List.of(row(two.getInputType1()), row(two.getInputType2())),
                    selectors(two.getStateKeySelector1(), two.getStateKeySelector2()),
                    row(two.getOutputType()));
        }
        for (Transformation<?> input : next.getInputs()) {
            Planned found = find(input);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    private boolean isOurs(StreamOperatorFactory<?> factory) {
        return factory instanceof NativeOperatorFactory ours
                && ours.spec().contains("\"operator\":\"" + operator + "\"");
    }

    private static RowType row(TypeInformation<?> type) {
        return (RowType) ((InternalTypeInfo<?>) type).toLogicalType();
    }

    private static List<RowDataKeySelector> selectors(Object... selectors) {
        return Stream.of(selectors).map(RowDataKeySelector.class::cast).toList();
    }

    // --- subject ------------------------------------------------------------------------------

    @Override
    public String operator() {
        return operator;
    }

    @Override
    public List<RowType> inputs() {
        return planned().inputs;
    }

    @Override
    public List<RowDataKeySelector> selectors() {
        return planned().selectors.stream().map(RowDataKeySelector::copy).toList();
    }

    @Override
    public RowType output() {
        return planned().output;
    }

    @Override
    public StreamOperator<RowData> stock() {
        return ((SimpleOperatorFactory<RowData>) copy(planned().factory.stock())).getOperator();
    }

    /** The planner's, but for when it cuts batches. */
    @Override
    public NativeOperatorFactory ours(BatchOptions batches) {
        return new NativeOperatorFactory(
                copy(planned().factory.stock()), spec(), inputs(), output(), batches);
    }

    private static <T extends java.io.Serializable> T copy(T object) {
        try {
            return InstantiationUtil.clone(object);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public String spec() {
        return planned().factory.spec();
    }

    @Override
    public Identity identity() {
        return identity;
    }

    @Override
    public int keySpace(int drawn, long rows) {
        return growing ? (int) Math.max(drawn, rows / 50) : drawn;
    }

    @Override
    public Feed.Rows feed(RandomGenerator rng, int keySpace) {
        return feed.rows(inputs(), rng, keySpace);
    }

    @Override
    public long ttl() {
        String option = options.get("table.exec.state.ttl");
        return option == null ? ttl : Long.parseLong(option.replace(" ms", ""));
    }

    @Override
    public StateBackend backend() {
        return rocks ? new EmbeddedRocksDBStateBackend() : null;
    }

    @Override
    public String toString() {
        return name;
    }
}
