package drey.plan;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.core.memory.ManagedMemoryUseCase;
import org.apache.flink.streaming.api.operators.AbstractUdfStreamOperator;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;
import org.apache.flink.streaming.api.transformations.KeyedMultipleInputTransformation;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.streaming.api.transformations.TwoInputTransformation;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.planner.plan.nodes.exec.ExecEdge;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeBase;
import org.apache.flink.table.runtime.operators.bundle.AbstractMapBundleOperator;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Reads and changes finished transformations, partly where Flink has no method for it. */
final class Transformations {

    private Transformations() {}

    /** What Flink made of the node, or null if it made nothing (yet). */
    static Transformation<?> of(ExecNode<?> node) {
        return node instanceof ExecNodeBase<?> base ? base.getTransformation() : null;
    }

    /** Whether any transformation that belongs to the node (and not to one of its inputs) keeps keyed state. */
    static boolean isStateful(ExecNode<?> node) {
        Transformation<?> last = of(node);
        // What feeds a source may be a user's DataStream program, none of our business.
        if (last == null || node.getInputEdges().isEmpty()) {
            return false;
        }
        Set<Transformation<?>> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (ExecEdge edge : node.getInputEdges()) {
            seen.add(of(edge.getSource()));
        }
        Deque<Transformation<?>> open = new ArrayDeque<>(Set.of(last));
        while (!open.isEmpty()) {
            Transformation<?> next = open.pop();
            if (!seen.add(next)) {
                continue;
            }
            if (isKeyed(next)) {
                return true;
            }
            open.addAll(next.getInputs());
        }
        return false;
    }

    private static boolean isKeyed(Transformation<?> transformation) {
        if (transformation instanceof OneInputTransformation<?, ?> one) {
            return one.getStateKeySelector() != null;
        }
        if (transformation instanceof TwoInputTransformation<?, ?, ?> two) {
            return two.getStateKeySelector1() != null;
        }
        return transformation instanceof KeyedMultipleInputTransformation<?>;
    }

    /** Why the factory doesn't make exactly the expected operator, if so. */
    static Optional<String> mismatch(StreamOperatorFactory<?> factory, StockOperator expected) {
        if (!(factory instanceof SimpleOperatorFactory<?> simple)) {
            return Optional.of("operator factory is " + factory.getClass().getName());
        }
        StreamOperator<?> operator = simple.getOperator();
        if (operator.getClass() != expected.operator()) {
            return Optional.of("operator is " + operator.getClass().getName());
        }
        Object function = function(operator);
        if ((function == null ? null : function.getClass()) != expected.function()) {
            return Optional.of(
                    "function is " + (function == null ? null : function.getClass().getName()));
        }
        return Optional.empty();
    }

    private static Object function(StreamOperator<?> operator) {
        if (operator instanceof AbstractUdfStreamOperator<?, ?> udf) {
            return udf.getUserFunction();
        }
        if (operator instanceof AbstractMapBundleOperator<?, ?, ?, ?>) {
            return get(AbstractMapBundleOperator.class, "function", operator);
        }
        return null;
    }

    /** The operator factory of a transformation with one or two inputs; nothing for any other. */
    static Optional<StreamOperatorFactory<?>> operatorFactory(Transformation<?> transformation) {
        if (transformation instanceof OneInputTransformation<?, ?> one) {
            return Optional.of(one.getOperatorFactory());
        }
        if (transformation instanceof TwoInputTransformation<?, ?, ?> two) {
            return Optional.of(two.getOperatorFactory());
        }
        return Optional.empty();
    }

    /** The type of each input of such a transformation. */
    static List<TypeInformation<?>> inputTypes(Transformation<?> transformation) {
        return transformation instanceof TwoInputTransformation<?, ?, ?> two
                ? List.of(two.getInputType1(), two.getInputType2())
                : List.of(((OneInputTransformation<?, ?>) transformation).getInputType());
    }

    /** Exchanges the operator factory. Nothing that the job graph or an operator ID is made of depends on it. */
    static void setOperatorFactory(
            Transformation<?> transformation, StreamOperatorFactory<RowData> factory) {
        Class<?> owner =
                transformation instanceof TwoInputTransformation<?, ?, ?>
                        ? TwoInputTransformation.class
                        : OneInputTransformation.class;
        set(owner, "operatorFactory", transformation, factory);
    }

    /** Asks for a share of the slot's managed memory, or takes the wish back. */
    static void useManagedMemory(Transformation<?> transformation, boolean use) {
        if (use) {
            transformation.declareManagedMemoryUseCaseAtOperatorScope(
                    ManagedMemoryUseCase.OPERATOR, MEMORY_WEIGHT);
        } else {
            ((Map<?, ?>)
                            get(
                                    Transformation.class,
                                    "managedMemoryOperatorScopeUseCaseWeights",
                                    transformation))
                    .remove(ManagedMemoryUseCase.OPERATOR);
        }
    }

    /**
     * Flink shares a slot's operator memory by weight. Its own window aggregates weigh 1, and fail with less than a mebibyte;
     * all native operators weigh the same as they do.
     */
    private static final int MEMORY_WEIGHT = 1;

    private static Object get(Class<?> owner, String name, Object target) {
        try {
            return field(owner, name).get(target);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void set(Class<?> owner, String name, Object target, Object value) {
        try {
            field(owner, name).set(target, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field field(Class<?> owner, String name) {
        try {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(owner.getName() + " has no field " + name, e);
        }
    }
}
