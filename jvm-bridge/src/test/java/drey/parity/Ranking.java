package drey.parity;

import drey.spec.RankSpec;
import drey.spec.RankSpec.Function;
import drey.spec.RankSpec.SortField;

import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.planner.codegen.EqualiserCodeGenerator;
import org.apache.flink.table.planner.codegen.sort.ComparatorCodeGenerator;
import org.apache.flink.table.planner.plan.nodes.exec.spec.SortSpec;
import org.apache.flink.table.planner.plan.utils.KeySelectorUtil;
import org.apache.flink.table.runtime.generated.GeneratedRecordComparator;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.runtime.operators.rank.AbstractTopNFunction;
import org.apache.flink.table.runtime.operators.rank.AppendOnlyFirstNFunction;
import org.apache.flink.table.runtime.operators.rank.AppendOnlyTopNFunction;
import org.apache.flink.table.runtime.operators.rank.ComparableRecordComparator;
import org.apache.flink.table.runtime.operators.rank.ConstantRankRange;
import org.apache.flink.table.runtime.operators.rank.FastTop1Function;
import org.apache.flink.table.runtime.operators.rank.RankRange;
import org.apache.flink.table.runtime.operators.rank.RankType;
import org.apache.flink.table.runtime.operators.rank.RetractableTopNFunction;
import org.apache.flink.table.runtime.operators.rank.UpdatableTopNFunction;
import org.apache.flink.table.runtime.operators.rank.VariableRankRange;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.runtime.util.StateConfigUtil;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * One way StreamExecRank can be translated. Knows Flink's own operator for it and the specification of the native one.
 *
 * @param spec what is asked for
 * @param cacheSize of Flink's functions, in rows
 */
record Ranking(RankSpec spec, long cacheSize) {

    private static final ClassLoader LOADER = Ranking.class.getClassLoader();

    /** What a specification asks for, with a cache of Flink's functions that holds one partition. */
    static Ranking parse(String spec) throws IOException {
        JsonNode json = new ObjectMapper().readTree(spec);
        Function function = null;
        for (Function f : Function.values()) {
            String name = f.name().replace("_", "");
            if (name.equalsIgnoreCase(json.get("function").asText())) {
                function = f;
            }
        }
        List<SortField> orderBy = new ArrayList<>();
        for (JsonNode f : json.get("orderBy")) {
            orderBy.add(
                    new SortField(
                            f.get("index").asInt(),
                            f.get("isAscending").asBoolean(),
                            f.get("nullIsLast").asBoolean()));
        }
        JsonNode range = json.get("rankRange");
        return new Ranking(
                new RankSpec(
                        function,
                        list(json.path("partition")),
                        orderBy,
                        range.get("type").asText().equals("Constant")
                                ? new RankSpec.RankRange.Constant(
                                        range.get("start").asLong(), range.get("end").asLong())
                                : new RankSpec.RankRange.Variable(range.get("endIndex").asInt()),
                        list(json.path("primaryKeys")),
                        json.get("outputRowNumber").asBoolean(),
                        json.get("generateUpdateBefore").asBoolean(),
                        json.get("stateTtlMillis").asLong()),
                1);
    }

    private static List<Integer> list(JsonNode array) {
        List<Integer> list = new ArrayList<>();
        array.forEach(n -> list.add(n.asInt()));
        return list;
    }

    /** Whether Flink's function keeps partitions in a cache, where rows live longer than the state's retention says. */
    boolean hasCache() {
        return spec.function() == Function.FAST_TOP_1
                || spec.function() == Function.APPEND_ONLY_TOP_N
                || spec.function() == Function.UPDATABLE_TOP_N;
    }

    boolean hasOffset() {
        return spec.rankRange() instanceof RankSpec.RankRange.Constant range && range.start() > 1;
    }

    /**
     * Whether Flink's function changes the row kind of what it keeps, and loses messages for it: then what counts is what
     * it emits with the rank as a column, less that column.
     */
    boolean losesMessages() {
        return spec.function() == Function.RETRACTABLE_TOP_N
                && hasOffset()
                && !spec.outputRowNumber();
    }

    /** The same with the rank as a column. */
    Ranking numbered() {
        return new Ranking(
                new RankSpec(
                        spec.function(),
                        spec.partition(),
                        spec.orderBy(),
                        spec.rankRange(),
                        spec.primaryKeys(),
                        true,
                        spec.generateUpdateBefore(),
                        spec.stateTtlMillis()),
                cacheSize);
    }

    Schema input(RowType type) {
        return new Schema(type, ints(spec.partition()), -1);
    }

    Schema output(RowType type) {
        List<RowType.RowField> fields = new ArrayList<>(type.getFields());
        if (spec.outputRowNumber()) {
            fields.add(new RowType.RowField("rank", new BigIntType(false)));
        }
        return new Schema(new RowType(false, fields), ints(spec.partition()), -1);
    }

    OneInputStreamOperator<RowData, RowData> stock(RowType type) {
        StateTtlConfig ttl = StateConfigUtil.createTtlConfig(spec.stateTtlMillis());
        InternalTypeInfo<RowData> info = InternalTypeInfo.of(type);
        int[] sortFields = ints(spec.orderBy().stream().map(SortField::index).toList());
        RowDataKeySelector sortKeys = KeySelectorUtil.getRowDataSelector(LOADER, sortFields, info);
        LogicalType[] sortTypes = new LogicalType[sortFields.length];
        boolean[] ascending = new boolean[sortFields.length];
        boolean[] nullsLast = new boolean[sortFields.length];
        int[] positions = new int[sortFields.length];
        SortSpec.SortSpecBuilder sort = SortSpec.builder();
        for (int i = 0; i < sortFields.length; i++) {
            SortField field = spec.orderBy().get(i);
            positions[i] = i;
            sortTypes[i] = type.getTypeAt(sortFields[i]);
            ascending[i] = field.isAscending();
            nullsLast[i] = field.nullIsLast();
            sort.addField(i, ascending[i], nullsLast[i]);
        }
        GeneratedRecordComparator comparator =
                ComparatorCodeGenerator.gen(
                        new Configuration(),
                        LOADER,
                        "SortKeys",
                        RowType.of(sortTypes),
                        sort.build());
        RankRange range =
                spec.rankRange() instanceof RankSpec.RankRange.Constant constant
                        ? new ConstantRankRange(constant.start(), constant.end())
                        : new VariableRankRange(
                                ((RankSpec.RankRange.Variable) spec.rankRange()).endIndex());
        boolean before = spec.generateUpdateBefore();
        boolean number = spec.outputRowNumber();
        RankType rowNumber = RankType.ROW_NUMBER;
        AbstractTopNFunction function =
                switch (spec.function()) {
                    case APPEND_ONLY_FIRST_N ->
                            new AppendOnlyFirstNFunction(
                                    ttl,
                                    info,
                                    comparator,
                                    sortKeys,
                                    rowNumber,
                                    range,
                                    before,
                                    number);
                    case FAST_TOP_1 ->
                            new FastTop1Function(
                                    ttl,
                                    info,
                                    comparator,
                                    sortKeys,
                                    rowNumber,
                                    range,
                                    before,
                                    number,
                                    cacheSize);
                    case APPEND_ONLY_TOP_N ->
                            new AppendOnlyTopNFunction(
                                    ttl,
                                    info,
                                    comparator,
                                    sortKeys,
                                    rowNumber,
                                    range,
                                    before,
                                    number,
                                    cacheSize);
                    case UPDATABLE_TOP_N ->
                            new UpdatableTopNFunction(
                                    ttl,
                                    info,
                                    KeySelectorUtil.getRowDataSelector(
                                            LOADER, ints(spec.primaryKeys()), info),
                                    comparator,
                                    sortKeys,
                                    rowNumber,
                                    range,
                                    before,
                                    number,
                                    cacheSize);
                    case RETRACTABLE_TOP_N ->
                            new RetractableTopNFunction(
                                    ttl,
                                    info,
                                    new ComparableRecordComparator(
                                            comparator, positions, sortTypes, ascending, nullsLast),
                                    sortKeys,
                                    rowNumber,
                                    range,
                                    new EqualiserCodeGenerator(type, LOADER)
                                            .generateRecordEqualiser("RankRows"),
                                    before,
                                    number);
                };
        KeyedProcessOperator<RowData, RowData, RowData> operator =
                new KeyedProcessOperator<>(function);
        function.setKeyContext(operator);
        return operator;
    }

    private static int[] ints(List<Integer> list) {
        return list.stream().mapToInt(Integer::intValue).toArray();
    }
}
