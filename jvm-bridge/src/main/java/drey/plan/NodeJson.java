package drey.plan;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.config.ExecutionConfigOptions;
import org.apache.flink.util.TimeUtils;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads the properties of a node from its compiled-plan JSON, strictly: what is missing or misshaped is an error. */
final class NodeJson {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final JsonNode json;

    private NodeJson(JsonNode json) {
        this.json = json;
    }

    static NodeJson parse(String json) throws JsonProcessingException {
        return new NodeJson(MAPPER.readTree(json));
    }

    /** Checks the name and version of the node, which say what its properties mean. */
    void requireType(String... types) {
        if (!List.of(types).contains(text("type"))) {
            throw new Unreadable(
                    "node type is " + text("type") + ", not " + String.join(", ", types));
        }
    }

    String text(String name) {
        JsonNode value = json.get(name);
        if (value == null || !value.isTextual()) {
            throw new Unreadable("property " + name + " is " + value + ", not a text");
        }
        return value.textValue();
    }

    long number(String name) {
        JsonNode value = json.get(name);
        if (value == null || !value.isIntegralNumber()) {
            throw new Unreadable("property " + name + " is " + value + ", not a number");
        }
        return value.longValue();
    }

    NodeJson object(String name) {
        JsonNode value = json.get(name);
        if (value == null || !value.isObject()) {
            throw new Unreadable("property " + name + " is " + value + ", not an object");
        }
        return new NodeJson(value);
    }

    List<NodeJson> objects(String name) {
        JsonNode values = json.get(name);
        if (values == null || !values.isArray()) {
            throw new Unreadable("property " + name + " is " + values + ", not an array");
        }
        List<NodeJson> objects = new ArrayList<>();
        values.forEach(value -> objects.add(new NodeJson(value)));
        return objects;
    }

    boolean bool(String name) {
        return optionalBool(name)
                .orElseThrow(() -> new Unreadable("property " + name + " is missing"));
    }

    Optional<Boolean> optionalBool(String name) {
        JsonNode value = json.get(name);
        if (value == null || value.isNull()) {
            return Optional.empty();
        }
        if (!value.isBoolean()) {
            throw new Unreadable("property " + name + " is " + value + ", not a boolean");
        }
        return Optional.of(value.booleanValue());
    }

    List<Integer> integers(String name) {
        JsonNode values = json.get(name);
        if (values == null || !values.isArray()) {
            throw new Unreadable("property " + name + " is " + values + ", not an array");
        }
        List<Integer> integers = new ArrayList<>();
        for (JsonNode value : values) {
            if (!value.isInt()) {
                throw new Unreadable("property " + name + " is " + values + ", not integers");
            }
            integers.add(value.intValue());
        }
        return integers;
    }

    /**
     * The retention of each input's state, as {@code StateMetadata} reads it: a plan that carries none (compiled by an
     * older Flink) takes the job's.
     */
    List<Long> stateTtlMillis(int inputs, ReadableConfig config) {
        JsonNode states = json.get("state");
        List<Long> ttl = new ArrayList<>();
        if (states == null || states.isNull() || states.isEmpty()) {
            for (int i = 0; i < inputs; i++) {
                ttl.add(config.get(ExecutionConfigOptions.IDLE_STATE_RETENTION).toMillis());
            }
            return ttl;
        }
        for (int i = 0; i < inputs; i++) {
            ttl.add(stateTtlMillis(states, i));
        }
        return ttl;
    }

    private static long stateTtlMillis(JsonNode states, int index) {
        for (JsonNode state : states) {
            if (state.path("index").asInt(-1) == index) {
                return TimeUtils.parseDuration(state.path("ttl").asText()).toMillis();
            }
        }
        throw new Unreadable("property state is " + states + ", without index " + index);
    }

    /** The node isn't what the translator was written for. */
    static final class Unreadable extends RuntimeException {
        Unreadable(String message) {
            super(message);
        }
    }
}
