/**
 * Decides, node by node, what of a finished streaming plan runs natively, and puts it in place.
 *
 * <p>Flink plans the query alone. {@link drey.plan.DreyPlanner} then looks at each exec node: a {@link
 * drey.plan.Translator} answers from the node's compiled-plan JSON, types and configuration with a spec or a reason.
 * Only if the transformation that Flink made holds exactly the operator the translator expects is its operator factory
 * exchanged. Name, uid, parallelism, chaining, key selector and types stay Flink's, hence so do operator IDs,
 * partitioning and the job graph. Whatever goes wrong in here leaves the stock operator in place.
 */
package drey.plan;
