package drey.plan;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonGenerator;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectWriter;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.SerializerProvider;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.annotation.JsonSerialize;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ser.std.StdSerializer;
import org.apache.flink.table.api.TableException;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;
import org.apache.flink.table.planner.plan.nodes.exec.serde.CompiledPlanSerdeUtil;
import org.apache.flink.table.planner.plan.nodes.exec.serde.SerdeContext;
import org.apache.flink.table.planner.plan.nodes.exec.spec.JoinSpec;

import java.io.IOException;

/** Writes a node as Flink writes it into a compiled plan. */
final class NodeWriter {

    /** The {@code kind} of an expression that is there but can't be written. */
    static final String UNWRITABLE = "UNWRITABLE";

    private NodeWriter() {}

    /**
     * Not every plan can be compiled: expressions with functions of a user's that have no name, for instance, can't be
     * written. A join is then written without its condition.
     */
    static NodeJson write(ExecNode<?> node, SerdeContext context) {
        ObjectWriter writer = CompiledPlanSerdeUtil.createJsonObjectWriter(context);
        try {
            try {
                return NodeJson.parse(writer.writeValueAsString(node));
            } catch (IOException | TableException e) {
                ObjectMapper mapper = ((ObjectMapper) writer.getFactory().getCodec()).copy();
                mapper.addMixIn(JoinSpec.class, WithoutCondition.class);
                return NodeJson.parse(
                        mapper.writer()
                                .with(writer.getConfig().getAttributes())
                                .writeValueAsString(node));
            }
        } catch (IOException e) {
            throw new NodeJson.Unreadable("not writable as a compiled plan: " + e.getMessage());
        }
    }

    /** What takes the place of annotations of {@code JoinSpec}. */
    private abstract static class WithoutCondition {
        @JsonSerialize(using = Unwritable.class)
        Object nonEquiCondition;
    }

    static final class Unwritable extends StdSerializer<Object> {
        private static final long serialVersionUID = 1L;

        Unwritable() {
            super(Object.class);
        }

        @Override
        public void serialize(Object expression, JsonGenerator json, SerializerProvider provider)
                throws IOException {
            json.writeStartObject();
            json.writeStringField("kind", UNWRITABLE);
            json.writeEndObject();
        }
    }
}
