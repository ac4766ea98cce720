package drey.plan;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;

/**
 * All that a translator may know of a node.
 *
 * @param json the node as Flink's compiled plan writes it; its property names are a contract across Flink versions
 * @param config the options as the node sees them: those kept in a compiled plan win over the job's
 * @param inputs the row type of each input
 * @param output the row type of the output
 */
record NodeView(NodeJson json, ReadableConfig config, List<RowType> inputs, RowType output) {}
