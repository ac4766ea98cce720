package drey.suite;

import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import drey.runtime.BatchOptions;
import drey.runtime.NativeOperatorFactory;

import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.loading.ClassReloadingStrategy;
import net.bytebuddy.matcher.ElementMatcher;

import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;
import org.apache.flink.streaming.util.AbstractStreamOperatorTestHarness;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Optional;

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
    /** The key selector of the harness under construction; its operator is needed before it gets its own fields. */
    private static final ThreadLocal<KeySelector<?, ?>> SELECTOR = new ThreadLocal<>();

    private static final BatchOptions ROW_BY_ROW = new BatchOptions(1, 1 << 20, 0);

    private HarnessSwap() {}

    static void install() {
        ByteBuddyAgent.install();
        instrument(
                KeyedOneInputStreamOperatorTestHarness.class,
                RememberSelector.class,
                isConstructor().and(takesArgument(1, KeySelector.class)));
        instrument(
                AbstractStreamOperatorTestHarness.class,
                SwapFactory.class,
                isConstructor()
                        .and(takesArguments(5))
                        .and(takesArgument(0, StreamOperator.class))
                        .and(takesArgument(1, StreamOperatorFactory.class)));
    }

    private static void instrument(
            Class<?> harness, Class<?> advice, ElementMatcher<MethodDescription> constructors) {
        long found =
                new net.bytebuddy.description.type.TypeDescription.ForLoadedType(harness)
                        .getDeclaredMethods()
                        .filter(constructors)
                        .size();
        if (found == 0) {
            throw new IllegalStateException(
                    "Flink's harness has changed: no such constructor in " + harness);
        }
        new ByteBuddy()
                .redefine(harness)
                .visit(Advice.to(advice).on(constructors))
                .make()
                .load(harness.getClassLoader(), ClassReloadingStrategy.fromInstalledAgent());
    }

    /** Goes to the beginning of the constructors of the keyed harness. */
    static final class RememberSelector {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(1) KeySelector<?, ?> selector) {
            HarnessSwap.remember(selector);
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

    /** Called by the code added to Flink's harness. */
    public static void remember(KeySelector<?, ?> selector) {
        SELECTOR.set(selector);
    }

    /** Called by the code added to Flink's harness: the native factory for it, or null to leave things as they are. */
    @SuppressWarnings("unchecked")
    public static StreamOperatorFactory<?> swap(
            StreamOperator<?> operator, StreamOperatorFactory<?> factory) {
        KeySelector<?, ?> selector = SELECTOR.get();
        SELECTOR.remove();
        StreamOperator<?> stock = operator;
        if (stock == null && factory instanceof SimpleOperatorFactory<?> simple) {
            stock = simple.getOperator();
        }
        if (stock == null || selector == null) {
            return null;
        }
        Key key = key(selector);
        if (key == null) {
            return null;
        }
        Optional<String> spec = StockSpecs.of(stock, key.fields());
        if (spec.isEmpty()) {
            return null;
        }
        RowType row = RowType.of(key.inputTypes());
        return new NativeOperatorFactory(
                SimpleOperatorFactory.of((StreamOperator<RowData>) stock),
                spec.get(),
                List.of(row),
                row,
                ROW_BY_ROW);
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
    }
}
