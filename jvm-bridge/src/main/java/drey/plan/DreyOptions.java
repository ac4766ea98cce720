package drey.plan;

import drey.runtime.BatchOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.table.api.ValidationException;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * The options, read from Flink's own configuration: {@code SET}, {@code TableConfig}, the configuration file. They are
 * not part of a compiled plan, so the same plan runs natively or not as the job that executes it says.
 */
public final class DreyOptions {

    static final String PREFIX = "drey.";

    public static final ConfigOption<Boolean> ENABLED =
            ConfigOptions.key("drey.enabled")
                    .booleanType()
                    .defaultValue(true)
                    .withDescription(
                            "Run what can be run by native operators; false leaves plans and"
                                    + " EXPLAIN to Flink.");

    public static final ConfigOption<Boolean> EXPLAIN =
            ConfigOptions.key("drey.explain.enabled")
                    .booleanType()
                    .defaultValue(true)
                    .withDescription(
                            "Add the section == Drey == to EXPLAIN where a plan has stateful"
                                    + " nodes.");

    public static final ConfigOption<Integer> BATCH_ROWS =
            ConfigOptions.key("drey.batch.rows")
                    .intType()
                    .defaultValue(BatchOptions.DEFAULT.rows())
                    .withDescription("Most rows handed to a native operator at once.");

    public static final ConfigOption<MemorySize> BATCH_BYTES =
            ConfigOptions.key("drey.batch.bytes")
                    .memoryType()
                    .defaultValue(new MemorySize(BatchOptions.DEFAULT.bytes()))
                    .withDescription("A batch is handed over once its rows take this much memory.");

    public static final ConfigOption<Duration> BATCH_LATENCY =
            ConfigOptions.key("drey.batch.latency")
                    .durationType()
                    .defaultValue(Duration.ofMillis(BatchOptions.DEFAULT.latencyMillis()))
                    .withDescription(
                            "Longest time a row waits for its batch to fill; 0 ms hands every row"
                                    + " over at once.");

    private DreyOptions() {}

    /** The switch of one kind of operator. */
    public static ConfigOption<Boolean> operatorEnabled(String operator) {
        return ConfigOptions.key("drey.operator." + operator + ".enabled")
                .booleanType()
                .defaultValue(true)
                .withDescription("Run this kind of operator natively.");
    }

    static BatchOptions batchOptions(ReadableConfig config) {
        long bytes = read(config, BATCH_BYTES).getBytes();
        try {
            return new BatchOptions(
                    read(config, BATCH_ROWS),
                    (int) Math.min(bytes, Integer.MAX_VALUE),
                    read(config, BATCH_LATENCY).toMillis());
        } catch (IllegalArgumentException e) {
            throw new ValidationException(e.getMessage(), e);
        }
    }

    /**
     * Reads an option. One that the configuration doesn't have is taken from the JVM's system property of the same name,
     * for programs whose configuration can't be reached. A value that can't be parsed is the user's error and is reported
     * with the option's name.
     */
    static <T> T read(ReadableConfig config, ConfigOption<T> option) {
        try {
            Optional<T> value = config.getOptional(option);
            String property = System.getProperty(option.key());
            if (value.isPresent() || property == null) {
                return value.orElse(option.defaultValue());
            }
            return Configuration.fromMap(Map.of(option.key(), property)).get(option);
        } catch (IllegalArgumentException e) {
            throw new ValidationException(
                    "Invalid value for option '" + option.key() + "': " + rootMessage(e), e);
        }
    }

    /** All options, in the order in which they are documented. */
    static List<ConfigOption<?>> all(Collection<String> operators) {
        List<ConfigOption<?>> options = new ArrayList<>(List.of(ENABLED, EXPLAIN));
        operators.forEach(operator -> options.add(operatorEnabled(operator)));
        options.addAll(List.of(BATCH_ROWS, BATCH_BYTES, BATCH_LATENCY));
        return options;
    }

    /** The keys that look like ours and are not, each with the option that was probably meant. */
    static Map<String, String> unknown(ReadableConfig config, Collection<String> operators) {
        List<String> known = all(operators).stream().map(option -> option.key()).toList();
        Map<String, String> unknown = new LinkedHashMap<>();
        for (String key : new TreeSet<>(config.toMap().keySet())) {
            if (key.startsWith(PREFIX) && !known.contains(key)) {
                unknown.put(key, nearest(key, known));
            }
        }
        return unknown;
    }

    /** Of two options as near, or nearly so, the one that begins like the key: names get cut off at the end. */
    private static String nearest(String key, List<String> known) {
        return Collections.min(
                known,
                Comparator.comparingInt(name -> distance(key, name) - commonPrefix(key, name)));
    }

    private static int commonPrefix(String a, String b) {
        int length = 0;
        while (length < Math.min(a.length(), b.length()) && a.charAt(length) == b.charAt(length)) {
            length++;
        }
        return length;
    }

    /** Edit distance (insert, delete, replace one character each). */
    static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
            }
        }
        return row[b.length()];
    }

    private static String rootMessage(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        return root.getMessage();
    }
}
