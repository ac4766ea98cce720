package drey.plan;

import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;

import java.util.List;

/**
 * Translates one kind of exec node. Pure: the answer follows from the {@link NodeView} alone, without JNI and without a
 * planner, and everything that isn't known to be exact is a fallback.
 */
interface Translator {

    /** The kind of native operator, see {@link drey.spec.OperatorSpec#operator()}. */
    String operator();

    /** The exec nodes it understands; subclasses don't count. */
    List<Class<? extends ExecNode<?>>> nodes();

    Translation translate(NodeView node);
}
