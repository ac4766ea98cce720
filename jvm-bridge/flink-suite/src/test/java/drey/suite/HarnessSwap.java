package drey.suite;

import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;
import static net.bytebuddy.matcher.ElementMatchers.takesNoArguments;

import drey.runtime.BatchOptions;
import drey.runtime.NativeOperatorFactory;

import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.loading.ClassReloadingStrategy;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.matcher.ElementMatcher;

import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.streaming.api.operators.AbstractUdfStreamOperator;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.AbstractStreamOperatorTestHarness;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.apache.flink.streaming.util.KeyedTwoInputStreamOperatorTestHarness;
import org.apache.flink.streaming.util.OneInputStreamOperatorTestHarness;
import org.apache.flink.streaming.util.TwoInputStreamOperatorTestHarness;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.operators.join.stream.StreamingSemiAntiJoinOperator;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.TimestampKind;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Puts native operators into Flink's operator harness.
 *
 * <p>Flink's harness tests build their operator and their harness in private methods, so there is nothing to override. But
 * all of them end in one constructor of {@link AbstractStreamOperatorTestHarness}, which takes the operator or its
 * factory. Code added at its beginning swaps a stock operator that has a native twin for the native factory, as the
 * planner hook does in a transformation. The tests stay as Flink compiled them, expected outputs included.
 *
 * <p>Each row is a batch of its own here: the tests look at the output after each row.
 */
public final class HarnessSwap {
    /** The key selectors of the harness under construction; its operator is needed before it gets its own fields. */
    private static final ThreadLocal<List<KeySelector<?, ?>>> SELECTORS = new ThreadLocal<>();

    private static final Map<StreamOperatorFactory<?>, Swapped> SWAPPED =
            Collections.synchronizedMap(new WeakHashMap<>());

    private static final Map<StreamOperator<?>, NativeOperatorFactory> PLANNED =
            Collections.synchronizedMap(new WeakHashMap<>());

    private static final String HARNESS_TESTS =
            "org.apache.flink.table.planner.runtime.harness.HarnessTestBase";

    private static final BatchOptions ROW_BY_ROW = new BatchOptions(1, 1 << 20, 0);

    private HarnessSwap() {}

    static void install() {
        ByteBuddyAgent.install();
        instrument(
                KeyedOneInputStreamOperatorTestHarness.class,
                Map.of(
                        RememberSelector.class,
                        isConstructor().and(takesArgument(1, KeySelector.class))));
        instrument(
                KeyedTwoInputStreamOperatorTestHarness.class,
                Map.of(
                        RememberSelectors.class,
                        isConstructor()
                                .and(takesArgument(1, KeySelector.class))
                                .and(takesArgument(2, KeySelector.class))));
        instrument(
                AbstractStreamOperatorTestHarness.class,
                Map.of(
                        SwapFactory.class,
                        isConstructor()
                                .and(takesArguments(5))
                                .and(takesArgument(0, StreamOperator.class))
                                .and(takesArgument(1, StreamOperatorFactory.class)),
                        CopyOutput.class,
                        named("setup").and(takesArguments(TypeSerializer.class)),
                        LinkMetrics.class,
                        named("open").and(takesNoArguments())));
        instrument(
                OneInputTransformation.class,
                Map.of(PlannedOperator.class, named("getOperator").and(takesNoArguments())));
        try {
            instrument(
                    Class.forName(HARNESS_TESTS),
                    Map.of(IsAsync.class, named("isAsyncStateOperator").and(takesArguments(1))));
        } catch (ClassNotFoundException e) {
            // The planner's tests are not on this class path.
        }
        instrument(
                OneInputStreamOperatorTestHarness.class,
                Map.of(
                        BinaryInput.class,
                        named("processElement").and(takesArguments(StreamRecord.class))));
        instrument(
                TwoInputStreamOperatorTestHarness.class,
                Map.of(
                        BinaryInput.class,
                        named("processElement1").and(takesArguments(StreamRecord.class)),
                        BinaryInput2.class,
                        named("processElement2").and(takesArguments(StreamRecord.class))));
    }

    static void instrument(
            Class<?> harness, Map<Class<?>, ElementMatcher<? super MethodDescription>> advices) {
        DynamicType.Builder<?> changed = new ByteBuddy().redefine(harness);
        for (var advice : advices.entrySet()) {
            if (new TypeDescription.ForLoadedType(harness)
                    .getDeclaredMethods()
                    .filter(advice.getValue())
                    .isEmpty()) {
                throw new IllegalStateException(
                        "Flink's harness has changed: nothing for "
                                + advice.getKey()
                                + " in "
                                + harness);
            }
            changed = changed.visit(Advice.to(advice.getKey()).on(advice.getValue()));
        }
        changed.make().load(harness.getClassLoader(), ClassReloadingStrategy.fromInstalledAgent());
    }

    /**
     * Replaces {@code OneInputTransformation.getOperator()} where the planner has put a native factory. Flink's method only knows
     * factories that hold an operator; tests take the operator of a planned query from there and put it into the harness.
     */
    static final class PlannedOperator {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static Object enter(@Advice.This OneInputTransformation<?, ?> transformation) {
            return HarnessSwap.planned(transformation.getOperatorFactory());
        }

        @Advice.OnMethodExit
        static void exit(
                @Advice.Enter Object stock,
                @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC)
                        Object operator) {
            if (stock != null) {
                operator = stock;
            }
        }
    }

    /** Skips the question whether the operator inside the harness's factory is one of Flink's asynchronous ones: ours isn't. */
    static final class IsAsync {
        @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
        static boolean enter(@Advice.Argument(0) AbstractStreamOperatorTestHarness<?> harness) {
            return HarnessSwap.isSwapped(harness);
        }
    }

    /** Called by the code added to Flink's harness tests. */
    public static boolean isSwapped(AbstractStreamOperatorTestHarness<?> harness) {
        return SWAPPED.containsKey(harness.getOperatorFactory());
    }

    /**
     * Called by the code added to Flink's transformation: the stock operator inside a native factory, null for other
     * factories. The harness that gets it, gets the native one.
     */
    public static StreamOperator<?> planned(StreamOperatorFactory<?> factory) {
        if (factory instanceof NativeOperatorFactory ours
                && ours.stock() instanceof SimpleOperatorFactory<?> stock) {
            PLANNED.put(stock.getOperator(), ours);
            return stock.getOperator();
        }
        return null;
    }

    /** Goes to the beginning of the constructors of the keyed harness. */
    static final class RememberSelector {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(1) KeySelector<?, ?> selector) {
            HarnessSwap.remember(selector, null);
        }
    }

    /** The same for the harness of two inputs. */
    static final class RememberSelectors {
        @Advice.OnMethodEnter
        static void enter(
                @Advice.Argument(1) KeySelector<?, ?> first,
                @Advice.Argument(2) KeySelector<?, ?> second) {
            HarnessSwap.remember(first, second);
        }
    }

    /** Goes to the beginning of the constructor where all harnesses end. */
    static final class SwapFactory {
        @Advice.OnMethodEnter
        static void enter(
                @Advice.Argument(value = 0, readOnly = false) StreamOperator<?> operator,
                @Advice.Argument(value = 1, readOnly = false) StreamOperatorFactory<?> factory) {
            StreamOperatorFactory<?> ours = HarnessSwap.swap(operator, factory);
            if (ours != null) {
                operator = null;
                factory = ours;
            }
        }
    }

    /** Goes to the end of {@code open()}. */
    static final class LinkMetrics {
        @Advice.OnMethodExit
        static void exit(@Advice.This AbstractStreamOperatorTestHarness<?> harness) {
            HarnessSwap.linkMetrics(harness);
        }
    }

    /**
     * Called by the code added to Flink's harness. Tests read this metric off Flink's function; here it is the native
     * operator that counts.
     */
    public static void linkMetrics(AbstractStreamOperatorTestHarness<?> harness) {
        Swapped swapped = SWAPPED.get(harness.getOperatorFactory());
        if (swapped != null && harness instanceof TwoInputStreamOperatorTestHarness<?, ?, ?>) {
            // It keeps the operator that the test has given it.
            Fields.set(harness, "twoInputOperator", harness.getOperator());
        }
        if (swapped != null && swapped.stock instanceof AbstractUdfStreamOperator<?, ?> udf) {
            StreamOperator<?> ours = harness.getOperator();
            Fields.setIfPresent(
                    udf.getUserFunction(), "numLateRecordsDropped", new NativeCounter(ours));
        }
    }

    private static final class NativeCounter extends SimpleCounter {
        private final Object metrics;

        NativeCounter(StreamOperator<?> operator) {
            metrics = Fields.get(Fields.get(operator, "lifecycle"), "metrics");
        }

        @Override
        public long getCount() {
            try {
                Method get = metrics.getClass().getDeclaredMethod("get", String.class);
                get.setAccessible(true);
                return (Long) get.invoke(metrics, "numLateRecordsDropped");
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Goes to the beginning of {@code processElement(StreamRecord)}. */
    static final class BinaryInput {
        @Advice.OnMethodEnter
        static void enter(
                @Advice.This AbstractStreamOperatorTestHarness<?> harness,
                @Advice.Argument(value = 0, readOnly = false) StreamRecord<?> record) {
            record = HarnessSwap.binary(harness, 0, record);
        }
    }

    /** Goes to the beginning of {@code processElement2(StreamRecord)}. */
    static final class BinaryInput2 {
        @Advice.OnMethodEnter
        static void enter(
                @Advice.This AbstractStreamOperatorTestHarness<?> harness,
                @Advice.Argument(value = 0, readOnly = false) StreamRecord<?> record) {
            record = HarnessSwap.binary(harness, 1, record);
        }
    }

    /**
     * Called by the code added to Flink's harness. Behind a keyed exchange every row is binary; the tests hand over generic
     * rows, whose rowtime is a plain BIGINT.
     */
    public static StreamRecord<?> binary(
            AbstractStreamOperatorTestHarness<?> harness, int input, StreamRecord<?> record) {
        Swapped swapped = SWAPPED.get(harness.getOperatorFactory());
        if (swapped == null) {
            return record;
        }
        RowData row = swapped.inputs.get(input).toBinaryRow((RowData) record.getValue()).copy();
        return record.hasTimestamp()
                ? new StreamRecord<>(row, record.getTimestamp())
                : new StreamRecord<>(row);
    }

    /** Goes to the beginning of {@code setup(TypeSerializer)}. */
    static final class CopyOutput {
        @Advice.OnMethodEnter
        static void enter(
                @Advice.This AbstractStreamOperatorTestHarness<?> harness,
                @Advice.Argument(value = 0, readOnly = false) TypeSerializer<?> output) {
            output = HarnessSwap.outputSerializer(harness, output);
        }
    }

    /**
     * Called by the code added to Flink's harness: the serializer with which it copies what is emitted. Left to itself it
     * takes a generic one, which copies neither the bytes of a row nor their being reused.
     */
    public static TypeSerializer<?> outputSerializer(
            AbstractStreamOperatorTestHarness<?> harness, TypeSerializer<?> output) {
        Swapped swapped = SWAPPED.get(harness.getOperatorFactory());
        return output == null && swapped != null ? swapped.output : output;
    }

    /** Called by the code added to Flink's harness. */
    public static void remember(KeySelector<?, ?> first, KeySelector<?, ?> second) {
        SELECTORS.set(second == null ? List.of(first) : List.of(first, second));
    }

    /** Called by the code added to Flink's harness: the native factory for it, or null to leave things as they are. */
    @SuppressWarnings("unchecked")
    public static StreamOperatorFactory<?> swap(
            StreamOperator<?> operator, StreamOperatorFactory<?> factory) {
        List<KeySelector<?, ?>> selectors = SELECTORS.get();
        SELECTORS.remove();
        StreamOperator<?> stock = operator;
        if (stock == null && factory instanceof SimpleOperatorFactory<?> simple) {
            stock = simple.getOperator();
        }
        if (stock == null) {
            return null;
        }
        NativeOperatorFactory planned = PLANNED.get(stock);
        if (planned != null) {
            List<RowType> inputs = (List<RowType>) Fields.get(planned, "inputs");
            RowType output = (RowType) Fields.get(planned, "output");
            StreamOperatorFactory<RowData> ours =
                    new NativeOperatorFactory(
                            planned.stock(), planned.spec(), inputs, output, ROW_BY_ROW);
            SWAPPED.put(
                    ours,
                    new Swapped(
                            stock,
                            inputs.stream().map(RowDataSerializer::new).toList(),
                            new RowDataSerializer(output)));
            return ours;
        }
        Key key = selectors == null ? null : key(selectors.get(0));
        if (key == null) {
            return null;
        }
        if (selectors.size() == 2) {
            return swapJoin(stock, key, key(selectors.get(1)));
        }
        Optional<String> spec = StockSpecs.of(stock, key.fields());
        if (spec.isEmpty()) {
            return null;
        }
        // One test gives its function other rows than its key selector.
        LogicalType[] declared = StockSpecs.inputTypes(stock).orElse(key.inputTypes());
        LogicalType[] inputTypes = withRowtime(declared, spec.get());
        boolean rank = StockSpecs.addsRank(stock);
        StreamOperatorFactory<RowData> ours =
                new NativeOperatorFactory(
                        SimpleOperatorFactory.of((StreamOperator<RowData>) stock),
                        spec.get(),
                        List.of(RowType.of(inputTypes)),
                        RowType.of(withRank(inputTypes, rank)),
                        ROW_BY_ROW);
        SWAPPED.put(
                ours,
                new Swapped(
                        stock,
                        List.of(new RowDataSerializer(declared)),
                        new RowDataSerializer(withRank(declared, rank))));
        return ours;
    }

    @SuppressWarnings("unchecked")
    private static StreamOperatorFactory<?> swapJoin(StreamOperator<?> stock, Key left, Key right) {
        Optional<String> spec =
                right == null
                        ? Optional.empty()
                        : StockSpecs.join(stock, left.fields(), right.fields());
        if (spec.isEmpty()) {
            return null;
        }
        RowType leftType = ((InternalTypeInfo<?>) Fields.get(stock, "leftType")).toRowType();
        RowType rightType = ((InternalTypeInfo<?>) Fields.get(stock, "rightType")).toRowType();
        List<RowType.RowField> fields = new ArrayList<>(leftType.getFields());
        if (!(stock instanceof StreamingSemiAntiJoinOperator)) {
            // A field may be called the same on both sides.
            rightType
                    .getFields()
                    .forEach(
                            f ->
                                    fields.add(
                                            new RowType.RowField(
                                                    "r_" + f.getName(), f.getType().copy(true))));
        }
        RowType output = new RowType(fields);
        StreamOperatorFactory<RowData> ours =
                new NativeOperatorFactory(
                        SimpleOperatorFactory.of((StreamOperator<RowData>) stock),
                        spec.get(),
                        List.of(leftType, rightType),
                        output,
                        ROW_BY_ROW);
        SWAPPED.put(
                ours,
                new Swapped(
                        stock,
                        List.of(new RowDataSerializer(leftType), new RowDataSerializer(rightType)),
                        new RowDataSerializer(output)));
        return ours;
    }

    /**
     * What a native factory stands in for.
     *
     * @param inputs the rows that go in, as the test declares them
     * @param output the rows that come out
     */
    private record Swapped(
            StreamOperator<?> stock, List<RowDataSerializer> inputs, RowDataSerializer output) {}

    private static LogicalType[] withRank(LogicalType[] types, boolean rank) {
        LogicalType[] row = Arrays.copyOf(types, types.length + (rank ? 1 : 0));
        if (rank) {
            row[types.length] = new BigIntType();
        }
        return row;
    }

    /**
     * The tests order by a plain BIGINT, which the planner would never do. A rowtime has the same form in a row.
     */
    private static LogicalType[] withRowtime(LogicalType[] types, String spec) {
        Matcher rowtime = Pattern.compile("\"rowtimeIndex\":(\\d+)").matcher(spec);
        LogicalType[] row = types.clone();
        if (rowtime.find()) {
            row[Integer.parseInt(rowtime.group(1))] =
                    new LocalZonedTimestampType(true, TimestampKind.ROWTIME, 3);
        }
        return row;
    }

    private record Key(int[] fields, LogicalType[] inputTypes) {}

    /** What the key selector of {@code HandwrittenSelectorUtil} projects; the planner's own selector is generated code. */
    private static Key key(KeySelector<?, ?> selector) {
        if (!selector.getClass().getName().endsWith("$HandwrittenKeySelector")) {
            return null;
        }
        return new Key(
                (int[]) Fields.get(selector, "keyFields"),
                (LogicalType[]) Fields.get(selector, "inputFieldTypes"));
    }

    /** Private fields of Flink's operators, also of their super classes. */
    static final class Fields {
        private Fields() {}

        static Object get(Object object, String name) {
            for (Class<?> c = object.getClass(); c != null; c = c.getSuperclass()) {
                try {
                    Field field = c.getDeclaredField(name);
                    field.setAccessible(true);
                    return field.get(object);
                } catch (NoSuchFieldException e) {
                    // Perhaps the super class has it.
                } catch (IllegalAccessException e) {
                    throw new IllegalStateException(e);
                }
            }
            throw new IllegalStateException(object.getClass() + " has no field " + name);
        }

        static void set(Object object, String name, Object value) {
            for (Class<?> c = object.getClass(); c != null; c = c.getSuperclass()) {
                try {
                    Field field = c.getDeclaredField(name);
                    field.setAccessible(true);
                    field.set(object, value);
                    return;
                } catch (NoSuchFieldException e) {
                    // Perhaps the super class has it.
                } catch (IllegalAccessException e) {
                    throw new IllegalStateException(e);
                }
            }
            throw new IllegalStateException(object.getClass() + " has no field " + name);
        }

        static void setIfPresent(Object object, String name, Object value) {
            try {
                Field field = object.getClass().getDeclaredField(name);
                field.setAccessible(true);
                field.set(object, value);
            } catch (NoSuchFieldException e) {
                // Not a function that counts.
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
