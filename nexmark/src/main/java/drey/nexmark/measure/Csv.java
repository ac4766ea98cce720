package drey.nexmark.measure;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;

/**
 * Records as lines of a file of comma-separated values: a column per component, those of a record within a record in its
 * place, named as the components are with underscores. Texts must not hold commas.
 */
public final class Csv<T extends Record> {

    private final Class<T> type;

    public Csv(Class<T> type) {
        this.type = type;
    }

    public String header() {
        List<String> names = new ArrayList<>();
        names(type, names);
        return String.join(",", names);
    }

    private static void names(Class<?> type, List<String> names) {
        for (RecordComponent c : type.getRecordComponents()) {
            if (c.getType().isRecord()) {
                names(c.getType(), names);
            } else {
                names.add(c.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT));
            }
        }
    }

    public String line(T record) {
        List<String> values = new ArrayList<>();
        try {
            values(record, values);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        return String.join(",", values);
    }

    private static void values(Record record, List<String> values)
            throws ReflectiveOperationException {
        for (RecordComponent c : record.getClass().getRecordComponents()) {
            c.getAccessor().setAccessible(true);
            Object value = c.getAccessor().invoke(record);
            if (value instanceof Record nested) {
                values(nested, values);
            } else if (value instanceof Double number) {
                values.add(String.format(Locale.ROOT, "%.4f", number));
            } else {
                values.add(value.toString().replace(',', ' '));
            }
        }
    }

    public T parse(String line) {
        List<String> cells = Arrays.asList(line.split(",", -1));
        if (cells.size() != header().split(",").length) {
            throw new IllegalArgumentException(
                    "not a line of " + type.getSimpleName() + ": " + line);
        }
        try {
            return type.cast(record(type, cells.iterator()));
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(
                    "not a line of " + type.getSimpleName() + ": " + line, e);
        }
    }

    private static Object record(Class<?> type, Iterator<String> cells)
            throws ReflectiveOperationException {
        RecordComponent[] components = type.getRecordComponents();
        Class<?>[] types = new Class<?>[components.length];
        Object[] values = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            types[i] = components[i].getType();
            values[i] =
                    types[i].isRecord() ? record(types[i], cells) : value(types[i], cells.next());
        }
        Constructor<?> constructor = type.getDeclaredConstructor(types);
        constructor.setAccessible(true);
        return constructor.newInstance(values);
    }

    private static Object value(Class<?> type, String text) {
        if (type == int.class) {
            return Integer.parseInt(text);
        } else if (type == long.class) {
            return Long.parseLong(text);
        } else if (type == double.class) {
            return Double.parseDouble(text);
        } else if (type == boolean.class) {
            return Boolean.parseBoolean(text);
        }
        return text;
    }

    /** The records of a file, none if there is no such file. A last line that was cut off doesn't count. */
    public List<T> read(Path file) throws IOException {
        if (file == null || !Files.exists(file)) {
            return List.of();
        }
        String text = Files.readString(file);
        List<String> lines = text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
        if (lines.isEmpty()) {
            return List.of();
        }
        if (!lines.get(0).equals(header())) {
            throw new IOException(file + " was not written by this version: move it away");
        }
        return lines.stream().skip(1).map(this::parse).toList();
    }

    /** Adds records to a file, behind its last complete line. */
    public void append(Path file, List<T> records) throws IOException {
        StringBuilder text = new StringBuilder();
        if (file.toAbsolutePath().getParent() != null) {
            Files.createDirectories(file.toAbsolutePath().getParent());
        }
        if (Files.exists(file)) {
            cutBrokenLine(file);
        }
        if (!Files.exists(file) || Files.size(file) == 0) {
            text.append(header()).append('\n');
        }
        records.forEach(record -> text.append(line(record)).append('\n'));
        Files.writeString(file, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static void cutBrokenLine(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        String text = new String(bytes, StandardCharsets.UTF_8);
        if (!text.isEmpty() && !text.endsWith("\n")) {
            Files.writeString(file, text.substring(0, text.lastIndexOf('\n') + 1));
        }
    }
}
