package drey.spec;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** An expression over two rows in the language of {@code native/expr}, whose package comment defines it. */
public sealed interface Expression {

    /** The type of the result: a logical type's serializable text, nullable. */
    String type();

    /** The form in which it is written as JSON. */
    Map<String, Object> fields();

    /**
     * A column.
     *
     * @param index counted over the left row followed by the right row
     */
    record Ref(int index, String type) implements Expression {
        @Override
        public Map<String, Object> fields() {
            return new TreeMap<>(Map.of("op", "REF", "index", index, "type", type));
        }
    }

    /**
     * A constant.
     *
     * @param value as text, absent for NULL
     */
    record Literal(String type, Optional<String> value) implements Expression {
        @Override
        public Map<String, Object> fields() {
            Map<String, Object> fields = new TreeMap<>(Map.of("op", "LITERAL", "type", type));
            value.ifPresent(text -> fields.put("value", text));
            return fields;
        }
    }

    /** An operator and its arguments. */
    record Call(String op, String type, List<Expression> args) implements Expression {
        public Call {
            args = List.copyOf(args);
        }

        @Override
        public Map<String, Object> fields() {
            return new TreeMap<>(
                    Map.of(
                            "op",
                            op,
                            "type",
                            type,
                            "args",
                            args.stream().map(Expression::fields).toList()));
        }
    }
}
