package drey.plan;

/**
 * The operator that Flink must have made for a node, or else the translator has misread it. Subclasses don't count.
 *
 * @param operator the class of the operator
 * @param function the class of the function inside it, null if there is none
 */
record StockOperator(Class<?> operator, Class<?> function) {

    /** An operator without a function inside. */
    static StockOperator without(Class<?> operator) {
        return new StockOperator(operator, null);
    }
}
