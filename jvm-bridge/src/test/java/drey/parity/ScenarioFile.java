package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LocalZonedTimestampType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.TimestampType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.function.ThrowingConsumer;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/**
 * A scenario of the native tests, in the text form that package {@code native/optest} documents: what goes in, event by
 * event, and below each event what must come out.
 */
final class ScenarioFile {

    private static final ObjectMapper JSON = new ObjectMapper();

    /** An event line without its marker, and the lines of the rows it causes. */
    record Event(String text, List<String> output) {}

    final List<String> header = new ArrayList<>();
    final List<Event> events = new ArrayList<>();
    final List<RowType> inputs = new ArrayList<>();
    String spec;

    /** Of the rows that come out: that of the first input, unless the file says otherwise. */
    RowType output;

    /** The scenarios of a directory whose names match. */
    static List<Path> in(Path directory, String pattern) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.filter(p -> p.getFileName().toString().matches(pattern)).sorted().toList();
        }
    }

    static ScenarioFile read(Path path) throws IOException {
        ScenarioFile file = new ScenarioFile();
        for (String line : Files.readAllLines(path)) {
            if (line.startsWith("> ")) {
                file.events.add(new Event(line.substring(2), new ArrayList<>()));
            } else if (file.events.isEmpty()) {
                file.header(line);
            } else if (!line.isEmpty() && !line.startsWith("#")) {
                file.events.get(file.events.size() - 1).output.add(line);
            }
        }
        if (file.spec == null || file.inputs.isEmpty()) {
            throw new IOException(path + " has no spec or no input");
        }
        return file;
    }

    /** A test of each file of a folder, of which there are so many at least. */
    static Stream<DynamicTest> each(
            Path directory, String name, int least, ThrowingConsumer<Path> test)
            throws IOException {
        List<Path> files = in(directory, name);
        assertThat(files).hasSizeGreaterThanOrEqualTo(least);
        return files.stream()
                .map(
                        path ->
                                DynamicTest.dynamicTest(
                                        path.getFileName().toString(), () -> test.accept(path)));
    }

    /** Holds what is written of each event against what Flink makes of it. */
    void verify(List<List<String>> flink, boolean ordered) {
        for (int i = 0; i < events.size(); i++) {
            Event event = events.get(i);
            var written = assertThat(written(event)).as("event %d: %s", i, event.text());
            if (ordered) {
                written.isEqualTo(flink.get(i));
            } else {
                written.containsExactlyInAnyOrderElementsOf(flink.get(i));
            }
        }
    }

    /** Adds a line before the first event. */
    void header(String line) throws IOException {
        header.add(line);
        if (line.startsWith("spec ")) {
            spec = line.substring(5);
        } else if (line.startsWith("input ")) {
            inputs.add(rowType(line.substring(6)));
            output = inputs.get(0);
        } else if (line.startsWith("output ")) {
            output = rowType(line.substring(7));
        }
    }

    RowType input() {
        return inputs.get(0);
    }

    /** The rows that an event must cause. A row may be written in more than one way: here it is as {@link #format} does. */
    List<String> written(Event event) {
        return event.output.stream()
                .map(line -> format(output, kind(line), parse(output, line)))
                .toList();
    }

    /**
     * Plays the events to an operator and returns what rows each causes.
     *
     * @param log where the operator's output goes
     */
    List<List<String>> play(Harness harness, Log log) throws Exception {
        List<List<String>> all = new ArrayList<>();
        harness.setClock(0);
        harness.start(null);
        long checkpoint = 0;
        for (Event event : events) {
            log.entries.clear();
            String[] words = event.text.split(" ", 2);
            switch (words[0]) {
                case "now" -> harness.setClock(Long.parseLong(words[1]));
                case "watermark" -> harness.processWatermark(Long.parseLong(words[1]));
                case "flush" -> harness.prepareSnapshotPreBarrier(++checkpoint);
                case "1" -> row(harness, 1, words[1]);
                default -> row(harness, 0, event.text);
            }
            List<String> rows = new ArrayList<>();
            for (Log.Entry e : log.entries) {
                if (e.row() != null) {
                    rows.add(format(output, e.kind(), e.row()));
                }
            }
            all.add(rows);
        }
        return all;
    }

    private void row(Harness harness, int input, String line) throws Exception {
        RowType type = inputs.get(input);
        BinaryRowData row = new RowDataSerializer(type).toBinaryRow(parse(type, line));
        row.setRowKind(kind(line));
        harness.processElement(input, new StreamRecord<>(row));
    }

    /** Writes down what each event has caused. */
    void record(List<List<String>> output) {
        for (int i = 0; i < output.size(); i++) {
            events.get(i).output.clear();
            events.get(i).output.addAll(output.get(i));
        }
    }

    void write(Path path) throws IOException {
        List<String> lines = new ArrayList<>(header);
        for (Event e : events) {
            lines.add("> " + e.text);
            lines.addAll(e.output);
        }
        Files.write(path, lines);
    }

    int[] keys() throws IOException {
        JsonNode keys = JSON.readTree(spec).get("uniqueKeys");
        int[] columns = new int[keys.size()];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = keys.get(i).asInt();
        }
        return columns;
    }

    Deduplication deduplication() throws IOException {
        JsonNode json = JSON.readTree(spec);
        JsonNode miniBatch = json.path("miniBatch");
        return new Deduplication(
                json.get("isRowtime").asBoolean(),
                json.get("keepLastRow").asBoolean(),
                json.get("generateUpdateBefore").asBoolean(),
                json.get("generateInsert").asBoolean(),
                json.get("outputInsertOnly").asBoolean(),
                miniBatch.path("size").asInt(0),
                miniBatch.path("compactChanges").asBoolean(false),
                json.get("stateTtlMillis").asLong());
    }

    int rowtimeIndex() throws IOException {
        return JSON.readTree(spec).path("rowtimeIndex").asInt(-1);
    }

    static String fields(RowType type) {
        StringBuilder s = new StringBuilder("[");
        for (RowType.RowField f : type.getFields()) {
            s.append(s.length() > 1 ? "," : "")
                    .append("{\"name\":\"")
                    .append(f.getName())
                    .append("\",\"type\":\"")
                    .append(f.getType().asSerializableString())
                    .append("\"}");
        }
        return s.append(']').toString();
    }

    static RowType rowType(String json) throws IOException {
        List<RowType.RowField> fields = new ArrayList<>();
        for (JsonNode field : JSON.readTree(json)) {
            fields.add(
                    new RowType.RowField(
                            field.get("name").asText(),
                            LogicalTypeParser.parse(
                                    field.get("type").asText(),
                                    ScenarioFile.class.getClassLoader())));
        }
        return new RowType(false, fields);
    }

    // --- rows ---------------------------------------------------------------------------------

    static String format(RowType type, RowKind kind, RowData row) {
        StringBuilder s = new StringBuilder(kind.shortString());
        for (int i = 0; i < type.getFieldCount(); i++) {
            LogicalType t = type.getTypeAt(i);
            Object value = RowData.createFieldGetter(t, i).getFieldOrNull(row);
            s.append(' ').append(value == null ? "NULL" : format(t, value));
        }
        return s.toString();
    }

    private static String format(LogicalType type, Object value) {
        return switch (type.getTypeRoot()) {
            case CHAR, VARCHAR -> quote(value.toString());
            case BINARY, VARBINARY -> "x'" + HexFormat.of().formatHex((byte[]) value) + "'";
            case DECIMAL -> ((DecimalData) value).toBigDecimal().toPlainString();
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE -> {
                TimestampData t = (TimestampData) value;
                yield t.getMillisecond()
                        + (precision(type) > 3 ? "+" + t.getNanoOfMillisecond() : "");
            }
            default -> value.toString();
        };
    }

    static RowKind kind(String line) {
        for (RowKind kind : RowKind.values()) {
            if (line.startsWith(kind.shortString() + " ")) {
                return kind;
            }
        }
        throw new IllegalArgumentException("no row kind: " + line);
    }

    static RowData parse(RowType type, String line) {
        String text = line.substring(3);
        if (text.startsWith("row:")) {
            byte[] bytes = HexFormat.of().parseHex(text.substring(4));
            BinaryRowData row = new BinaryRowData(type.getFieldCount());
            row.pointTo(MemorySegmentFactory.wrap(bytes), 0, bytes.length);
            return row;
        }
        List<String> words = split(text);
        if (words.size() != type.getFieldCount()) {
            throw new IllegalArgumentException(words.size() + " fields: " + line);
        }
        GenericRowData row = new GenericRowData(words.size());
        for (int i = 0; i < words.size(); i++) {
            String word = words.get(i);
            row.setField(i, word.equals("NULL") ? null : parseField(type.getTypeAt(i), word));
        }
        return row;
    }

    private static Object parseField(LogicalType type, String word) {
        return switch (type.getTypeRoot()) {
            case BOOLEAN -> Boolean.valueOf(word);
            case TINYINT -> Byte.valueOf(word);
            case SMALLINT -> Short.valueOf(word);
            case INTEGER, DATE, TIME_WITHOUT_TIME_ZONE, INTERVAL_YEAR_MONTH ->
                    Integer.valueOf(word);
            case BIGINT, INTERVAL_DAY_TIME -> Long.valueOf(word);
            case FLOAT -> Float.valueOf(word);
            case DOUBLE -> Double.valueOf(word);
            case CHAR, VARCHAR -> StringData.fromString(unquote(word));
            case BINARY, VARBINARY -> HexFormat.of().parseHex(word.substring(2, word.length() - 1));
            case DECIMAL -> {
                DecimalType d = (DecimalType) type;
                yield DecimalData.fromBigDecimal(
                        new BigDecimal(word), d.getPrecision(), d.getScale());
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE -> {
                int plus = word.indexOf('+', 1);
                yield plus < 0
                        ? TimestampData.fromEpochMillis(Long.parseLong(word))
                        : TimestampData.fromEpochMillis(
                                Long.parseLong(word.substring(0, plus)),
                                Integer.parseInt(word.substring(plus + 1)));
            }
            default -> throw new IllegalArgumentException(type.asSummaryString());
        };
    }

    private static int precision(LogicalType type) {
        return type instanceof TimestampType t
                ? t.getPrecision()
                : ((LocalZonedTimestampType) type).getPrecision();
    }

    private static List<String> split(String text) {
        List<String> words = new ArrayList<>();
        for (int at = 0; at < text.length(); at++) {
            int start = at;
            boolean quoted = text.charAt(at) == '"';
            for (at++; at < text.length(); at++) {
                char c = text.charAt(at);
                if (quoted && c == '\\') {
                    at++;
                } else if (quoted && c == '"') {
                    quoted = false;
                } else if (!quoted && c == ' ') {
                    break;
                }
            }
            words.add(text.substring(start, at));
        }
        return words;
    }

    private static String quote(String text) {
        try {
            return JSON.writeValueAsString(text);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String unquote(String json) {
        try {
            return JSON.readValue(json, String.class);
        } catch (IOException e) {
            throw new IllegalArgumentException(json, e);
        }
    }
}
