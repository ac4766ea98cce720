package drey.plan;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.TableException;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.api.config.ExecutionConfigOptions;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.util.TimeUtils;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

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

    int integer(String name) {
        return optionalInteger(name)
                .orElseThrow(() -> new Unreadable("property " + name + " is missing"));
    }

    OptionalInt optionalInteger(String name) {
        JsonNode value = json.get(name);
        if (value == null || value.isNull()) {
            return OptionalInt.empty();
        }
        if (!value.isInt()) {
            throw new Unreadable("property " + name + " is " + value + ", not an integer");
        }
        return OptionalInt.of(value.intValue());
    }

    Optional<String> optionalText(String name) {
        JsonNode value = json.get(name);
        return value == null || value.isNull() ? Optional.empty() : Optional.of(text(name));
    }

    /** A type, without what it says of time attributes: that is for the planner. */
    LogicalType type(String name) {
        JsonNode value = json.get(name);
        if (value == null) {
            throw new Unreadable("property " + name + " is missing");
        }
        return type(name, value);
    }

    RowType rowType(String name) {
        if (!(type(name) instanceof RowType row)) {
            throw new Unreadable("property " + name + " is no row type");
        }
        return row;
    }

    /** Types are texts, and objects where the text would not tell all. */
    private static LogicalType type(String property, JsonNode json) {
        if (json.isTextual()) {
            try {
                return LogicalTypeParser.parse(json.textValue(), NodeJson.class.getClassLoader());
            } catch (TableException | ValidationException e) {
                throw new Unreadable("property " + property + ": " + e.getMessage());
            }
        }
        NodeJson object = new NodeJson(json);
        boolean nullable = object.optionalBool("nullable").orElse(true);
        return switch (object.text("type")) {
            case "ROW" -> {
                List<RowType.RowField> fields = new ArrayList<>();
                for (NodeJson field : object.objects("fields")) {
                    fields.add(new RowType.RowField(field.text("name"), field.type("fieldType")));
                }
                yield new RowType(nullable, fields);
            }
            case "TIMESTAMP_WITHOUT_TIME_ZONE" ->
                    new TimestampType(nullable, object.integer("precision"));
            case "TIMESTAMP_WITH_LOCAL_TIME_ZONE" ->
                    new LocalZonedTimestampType(nullable, object.integer("precision"));
            default ->
                    throw new Unreadable(
                            "property " + property + " has a type " + object.text("type"));
        };
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

    List<Boolean> bools(String name) {
        JsonNode values = json.get(name);
        if (values == null || !values.isArray()) {
            throw new Unreadable("property " + name + " is " + values + ", not an array");
        }
        List<Boolean> bools = new ArrayList<>();
        for (JsonNode value : values) {
            if (!value.isBoolean()) {
                throw new Unreadable("property " + name + " is " + values + ", not booleans");
            }
            bools.add(value.booleanValue());
        }
        return bools;
    }

    List<Integer> integers(String name) {
        return integers(name, json.get(name));
    }

    private static List<Integer> integers(String name, JsonNode values) {
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

    /** Lists of numbers; none if the property is missing. */
    List<List<Integer>> lists(String name) {
        JsonNode values = json.get(name);
        List<List<Integer>> lists = new ArrayList<>();
        if (values == null || values.isNull()) {
            return lists;
        }
        if (!values.isArray()) {
            throw new Unreadable("property " + name + " is " + values + ", not an array");
        }
        for (JsonNode value : values) {
            lists.add(integers(name, value));
        }
        return lists;
    }

    /** An object that may be missing. */
    Optional<NodeJson> optional(String name) {
        JsonNode value = json.get(name);
        return value == null || value.isNull() ? Optional.empty() : Optional.of(object(name));
    }

    /** All of it. */
    JsonNode tree() {
        return json;
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
