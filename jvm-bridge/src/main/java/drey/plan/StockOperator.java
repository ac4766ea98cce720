package drey.plan;

/**
 * The operator that Flink must have made for a node, or else the translator has misread it. Subclasses don't count.
 *
 * @param operator the class of the operator
 * @param function the class of the function inside it
 */
record StockOperator(Class<?> operator, Class<?> function) {}
