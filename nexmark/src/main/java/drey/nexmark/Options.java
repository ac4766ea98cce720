package drey.nexmark;

import drey.nexmark.generator.GeneratorConfig;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a run is asked to do: {@code --name value} pairs of the command line. {@code nexmark/run.sh} makes them from
 * variables (Q, EVENTS, RUNG, ...) of the same names in capitals.
 */
record Options(Map<String, String> values) {

    private static final Map<String, String> DEFAULTS = new LinkedHashMap<>();

    static {
        DEFAULTS.put("q", "q18");
        DEFAULTS.put("events", "2000000");
        DEFAULTS.put("rung", "replay");
        DEFAULTS.put("backend", "heap");
        DEFAULTS.put("parallelism", "1");
        DEFAULTS.put("pairs", "1");
        DEFAULTS.put("warmup", "500000");
        DEFAULTS.put("object-reuse", "true");
        DEFAULTS.put("minibatch", "false");
        DEFAULTS.put("rate", Long.toString(GeneratorConfig.RATE));
        DEFAULTS.put("seed", "1");
        DEFAULTS.put("changelog", "no-update-before");
        DEFAULTS.put("sink", "digest");
        DEFAULTS.put("managed", "4g");
        DEFAULTS.put("fresh-jvm", "false");
        DEFAULTS.put("checkpoint", "");
        DEFAULTS.put("conf", "");
        DEFAULTS.put("csv", "");
        DEFAULTS.put("progress", "false");
        DEFAULTS.put("explain", "false");
        DEFAULTS.put("resume", "false");
        DEFAULTS.put("profile", "");
        // One run of one engine, for a parent process that asked for fresh JVMs.
        DEFAULTS.put("engine", "");
        DEFAULTS.put("result", "");
        DEFAULTS.put("record", "-1");
        // The broker of the Kafka rung: what to start it with, or where it runs.
        DEFAULTS.put("broker-classpath", "");
        DEFAULTS.put("broker", "");
    }

    static Options parse(String[] args) {
        Map<String, String> values = new LinkedHashMap<>(DEFAULTS);
        for (int i = 0; i < args.length; i += 2) {
            String name = args[i].startsWith("--") ? args[i].substring(2) : "";
            if (!DEFAULTS.containsKey(name) || i + 1 == args.length) {
                throw new IllegalArgumentException(
                        "'%s' is not an option with a value; options are: --%s"
                                .formatted(args[i], String.join(" --", DEFAULTS.keySet())));
            }
            values.put(name, args[i + 1].trim());
        }
        if (values.get("rung").equals("kafka") && values.get("checkpoint").isEmpty()) {
            // Transactions end with checkpoints.
            values.put("checkpoint", "1 s");
        }
        Options options = new Options(values);
        options.check();
        return options;
    }

    private void check() {
        oneOf("rung", "replay", "generator", "kafka");
        oneOf("backend", "heap", "rocksdb");
        oneOf("changelog", "no-update-before", "all");
        oneOf("sink", "digest", "blackhole");
        oneOf("engine", "", "stock", "drey");
        for (String name :
                List.of(
                        "object-reuse",
                        "minibatch",
                        "fresh-jvm",
                        "progress",
                        "explain",
                        "resume")) {
            oneOf(name, "true", "false");
        }
        for (String name : List.of("events", "parallelism", "pairs", "rate")) {
            if (number(name) < 1) {
                throw new IllegalArgumentException(name + " must be at least 1, is " + get(name));
            }
        }
        queries();
        configuration();
    }

    private void oneOf(String name, String... allowed) {
        if (!List.of(allowed).contains(get(name))) {
            throw new IllegalArgumentException(
                    "%s must be one of %s, is '%s'"
                            .formatted(name, String.join(", ", allowed), get(name)));
        }
    }

    String get(String name) {
        return values.get(name);
    }

    boolean is(String name) {
        return Boolean.parseBoolean(get(name));
    }

    long number(String name) {
        try {
            return Long.parseLong(get(name).replace("_", "").replace(",", ""));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(name + " must be a number, is '" + get(name) + "'");
        }
    }

    List<Query> queries() {
        return Query.parse(get("q"));
    }

    int parallelism() {
        return (int) number("parallelism");
    }

    boolean replay() {
        return get("rung").equals("replay");
    }

    GeneratorConfig generator() {
        return GeneratorConfig.of(number("seed"), number("events"), number("rate"));
    }

    Path csv() {
        return get("csv").isEmpty() ? null : Path.of(get("csv"));
    }

    /** Flink options beside those that have a name here: {@code key=value;key=value}. */
    Map<String, String> configuration() {
        Map<String, String> configuration = new LinkedHashMap<>();
        for (String pair : get("conf").split(";")) {
            if (pair.isBlank()) {
                continue;
            }
            int at = pair.indexOf('=');
            if (at < 1) {
                throw new IllegalArgumentException(
                        "conf must be key=value;key=value, has '" + pair + "'");
            }
            configuration.put(pair.substring(0, at).trim(), pair.substring(at + 1).trim());
        }
        return configuration;
    }

    Options with(String name, String value) {
        Map<String, String> changed = new LinkedHashMap<>(values);
        changed.put(name, value);
        return new Options(changed);
    }

    /** The command line that parses to these options. */
    List<String> arguments() {
        List<String> arguments = new ArrayList<>();
        values.forEach(
                (name, value) -> {
                    arguments.add("--" + name);
                    arguments.add(value);
                });
        return arguments;
    }
}
