package drey.spec;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.SerializationFeature;

import java.util.Map;
import java.util.TreeMap;

/** Writes specs so that equal specs are equal texts: the text is fingerprinted in snapshots and compared in tests. */
final class CanonicalJson {

    private static final ObjectMapper MAPPER =
            new ObjectMapper().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);

    private CanonicalJson() {}

    static String write(OperatorSpec spec) {
        Map<String, Object> all = new TreeMap<>(spec.fields());
        all.put("operator", spec.operator());
        all.put("version", OperatorSpec.VERSION);
        all.forEach(
                (key, value) -> {
                    if (value == null) {
                        throw new IllegalArgumentException(
                                spec.operator() + ": field " + key + " is null");
                    }
                });
        try {
            return MAPPER.writeValueAsString(all);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(spec.operator() + ": not writable as JSON", e);
        }
    }
}
