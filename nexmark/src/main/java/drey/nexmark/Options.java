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
        // Events per second of wall time that sources emit; 0 is as fast as possible.
        DEFAULTS.put("pace", "0");
        DEFAULTS.put("csv", "");
        // The matrix: how many settings may differ from the plain ones, and what is measured beside
        // the timed runs.
        DEFAULTS.put("factors", "9");
        DEFAULTS.put("state", "false");
        DEFAULTS.put("kind", "");
        DEFAULTS.put("progress", "false");
        DEFAULTS.put("explain", "false");
        DEFAULTS.put("plans", "");
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
        Options options = new Options(values);
        options.check();
        return options;
    }

    private void check() {
        eachOf("rung", "replay", "generator", "kafka");
        eachOf("backend", "heap", "rocksdb");
        eachOf("object-reuse", "true", "false");
        eachOf("minibatch", "true", "false");
        oneOf("changelog", "no-update-before", "all");
        oneOf("sink", "digest", "blackhole");
        oneOf("engine", "", "stock", "drey");
        for (String name : List.of("state", "fresh-jvm", "progress", "explain", "resume")) {
            oneOf(name, "true", "false");
        }
        for (String name : List.of("events", "pairs", "rate")) {
            if (number(name) < 1) {
                throw new IllegalArgumentException(name + " must be at least 1, is " + get(name));
            }
        }
        for (String each : list("parallelism")) {
            if (with("parallelism", each).number("parallelism") < 1) {
                throw new IllegalArgumentException("parallelism must be at least 1, is " + each);
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

    private void eachOf(String name, String... allowed) {
        list(name).forEach(value -> with(name, value).oneOf(name, allowed));
    }

    /** The values of an option that may have several. */
    List<String> list(String name) {
        return List.of(get(name).split(",")).stream().map(String::trim).toList();
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

    /** How often to take a checkpoint, or nothing. Kafka's transactions end with them. */
    String checkpoint() {
        return get("rung").equals("kafka") && get("checkpoint").isEmpty()
                ? "1 s"
                : get("checkpoint");
    }

    /** Settings that have no column of their own and aren't as usual. */
    String unusual() {
        List<String> unusual = new ArrayList<>();
        for (String name : List.of("rate", "seed", "changelog", "sink", "pace", "conf")) {
            if (!get(name).equals(DEFAULTS.get(name))) {
                unusual.add(name + "=" + get(name));
            }
        }
        return String.join(" ", unusual);
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
