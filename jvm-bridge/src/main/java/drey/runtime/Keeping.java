package drey.runtime;

import org.apache.flink.streaming.api.graph.StreamConfig;
import org.apache.flink.streaming.api.graph.StreamEdge;
import org.apache.flink.streaming.runtime.tasks.StreamTask;

import java.util.Map;

/**
 * What those who get an operator's rows may keep of them. The rows lie in a buffer that the next batch overwrites; Flink's own
 * operators emit rows whose fields are never written to again, so nobody there had to be careful.
 */
enum Keeping {
    /** A record writer serializes a row at once; without object reuse, Flink copies it before the next operator gets it. */
    NOTHING,

    /** A chained sink or Calc may keep fields for a while: a writer that buffers by key keeps the strings of the key. */
    PARTS,

    /** A chained operator with keyed state keeps whole rows for good when its state is on the heap. */
    ROWS;

    static Keeping of(StreamTask<?, ?> task, StreamConfig operator) {
        return of(
                operator,
                task.getConfiguration(),
                task.getExecutionConfig().isObjectReuseEnabled(),
                task.getUserCodeClassLoader());
    }

    /**
     * @param head the first operator's of the chain
     */
    static Keeping of(
            StreamConfig operator, StreamConfig head, boolean objectReuse, ClassLoader loader) {
        if (!objectReuse || operator.isChainEnd()) {
            return NOTHING;
        }
        Map<Integer, StreamConfig> chain = head.getTransitiveChainedTaskConfigs(loader);
        return keepsRows(operator, chain, loader) ? ROWS : PARTS;
    }

    /** Whether any operator behind this one has keyed state, or nothing is known of what is there. */
    private static boolean keepsRows(
            StreamConfig operator, Map<Integer, StreamConfig> chain, ClassLoader loader) {
        if (operator.isChainEnd()) {
            return false;
        }
        boolean known = false;
        for (StreamEdge edge : operator.getChainedOutputs(loader)) {
            StreamConfig next = chain.get(edge.getTargetId());
            if (next == null
                    || next.getStatePartitioner(0, loader) != null
                    || keepsRows(next, chain, loader)) {
                return true;
            }
            known = true;
        }
        return !known;
    }
}
