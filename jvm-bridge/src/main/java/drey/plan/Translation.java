package drey.plan;

import drey.spec.OperatorSpec;

import org.apache.flink.table.api.config.ExecutionConfigOptions;

/** A translator's answer. */
sealed interface Translation {

    /**
     * The node can run natively.
     *
     * @param spec what the native operator is told
     * @param stock what it takes the place of
     */
    record Native(OperatorSpec spec, StockOperator stock) implements Translation {}

    /**
     * The node stays on Flink.
     *
     * @param reason why, in the user's terms
     */
    record Fallback(String reason) implements Translation {

        static final Fallback ASYNC_STATE =
                new Fallback(
                        "asynchronous state access is on ("
                                + ExecutionConfigOptions.TABLE_EXEC_ASYNC_STATE_ENABLED.key()
                                + ")");
    }
}
