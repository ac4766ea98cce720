package drey.plan;

import drey.spec.OperatorSpec;

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
    record Fallback(String reason) implements Translation {}
}
