package drey.fuzz;

import drey.fuzz.FuzzCase.Failure;
import drey.fuzz.FuzzCase.Rescale;
import drey.fuzz.FuzzTable.Change;
import drey.fuzz.FuzzTable.Column;
import drey.fuzz.Relation.Oracle;
import drey.fuzz.Relation.Order;

import org.apache.flink.types.RowKind;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A case as text, for people to read and for {@code make replay} to run. Lines that begin with # are for people only. */
final class CaseFile {

    private CaseFile() {}

    static String write(FuzzCase c, String remark) {
        StringBuilder s = new StringBuilder();
        remark.lines().forEach(line -> s.append("# ").append(line).append('\n'));
        line(s, "origin", c.origin());
        line(s, "parallelism", c.parallelism());
        line(s, "clock-step", c.clockStep());
        c.settings().forEach((k, v) -> line(s, "setting", k + "=" + v));
        if (c.failure() != null) {
            line(s, "failure", c.failure().table() + " " + c.failure().row());
        }
        if (c.rescale() != null) {
            Rescale r = c.rescale();
            line(s, "rescale", r.phase() + " " + r.parallelism() + " " + r.taken());
        }
        for (FuzzTable t : c.tables()) {
            s.append("# ").append(t.ddl("run")).append('\n');
            line(
                    s,
                    "table",
                    "%s %s %s %d %s"
                            .formatted(
                                    t.name(),
                                    t.kind(),
                                    t.primaryKey(),
                                    t.watermarkDelay(),
                                    t.proctime()));
            for (Column col : t.columns()) {
                line(
                        s,
                        "column",
                        "%s %s %s %s"
                                .formatted(col.name(), col.type(), col.notNull(), col.peculiar()));
            }
            for (Change change : t.changes()) {
                line(
                        s,
                        "row",
                        change.kind().shortString()
                                + "\t"
                                + change.entity()
                                + "\t"
                                + change.values().stream()
                                        .map(CaseFile::escape)
                                        .collect(Collectors.joining("\t")));
            }
        }
        for (Map<String, Integer> phase : c.phases()) {
            line(
                    s,
                    "phase",
                    phase.entrySet().stream()
                            .map(e -> e.getKey() + "=" + e.getValue())
                            .collect(Collectors.joining(" ")));
        }
        for (Unit u : c.units()) {
            line(s, "unit", u.name());
            u.settings().forEach((k, v) -> line(s, "planner", k + "=" + v));
            u.views().forEach(v -> line(s, "view", escape(v)));
            for (Unit.Query q : u.queries()) {
                line(
                        s,
                        "query",
                        "%s %s %s %s".formatted(q.name(), q.order(), q.oracle(), q.batch()));
                if (!q.upsertKey().isEmpty()) {
                    line(s, "key", String.join(" ", q.upsertKey()));
                }
                line(s, "sql", escape(q.sql()));
            }
        }
        return s.toString();
    }

    private static void line(StringBuilder s, String word, Object rest) {
        s.append(word).append(' ').append(rest).append('\n');
    }

    static FuzzCase read(Path file) throws IOException {
        return read(Files.readString(file));
    }

    static FuzzCase read(String text) {
        String origin = "";
        int parallelism = 1;
        long clockStep = 0;
        Map<String, String> settings = new LinkedHashMap<>();
        Failure failure = null;
        Rescale rescale = null;
        List<Map<String, Integer>> phases = new ArrayList<>();
        List<FuzzTable> tables = new ArrayList<>();
        List<Unit> units = new ArrayList<>();
        String[] query = null;
        List<String> key = List.of();
        for (String line : text.split("\n")) {
            if (line.isBlank() || line.startsWith("#")) {
                continue;
            }
            String word = line.substring(0, (line + " ").indexOf(' '));
            String rest = line.length() > word.length() ? line.substring(word.length() + 1) : "";
            String[] words = rest.split(" ");
            switch (word) {
                case "origin" -> origin = rest;
                case "parallelism" -> parallelism = Integer.parseInt(rest);
                case "clock-step" -> clockStep = Long.parseLong(rest);
                case "setting" -> put(settings, rest);
                case "failure" -> failure = new Failure(words[0], Integer.parseInt(words[1]));
                case "rescale" ->
                        rescale =
                                new Rescale(
                                        Integer.parseInt(words[0]),
                                        Integer.parseInt(words[1]),
                                        FuzzCase.Taken.valueOf(words[2]));
                case "table" ->
                        tables.add(
                                new FuzzTable(
                                        words[0],
                                        FuzzTable.Kind.valueOf(words[1]),
                                        new ArrayList<>(),
                                        Boolean.parseBoolean(words[2]),
                                        Integer.parseInt(words[3]),
                                        Boolean.parseBoolean(words[4]),
                                        new ArrayList<>()));
                case "column" ->
                        last(tables)
                                .columns()
                                .add(
                                        new Column(
                                                words[0],
                                                Type.valueOf(words[1]),
                                                Boolean.parseBoolean(words[2]),
                                                Boolean.parseBoolean(words[3])));
                case "row" -> last(tables).changes().add(change(rest));
                case "phase" -> {
                    Map<String, Integer> phase = new LinkedHashMap<>();
                    for (String count : words) {
                        phase.put(
                                count.substring(0, count.indexOf('=')),
                                Integer.parseInt(count.substring(count.indexOf('=') + 1)));
                    }
                    phases.add(phase);
                }
                case "unit" ->
                        units.add(
                                new Unit(
                                        rest,
                                        new LinkedHashMap<>(),
                                        new ArrayList<>(),
                                        new ArrayList<>()));
                case "planner" -> put(last(units).settings(), rest);
                case "view" -> last(units).views().add(unescape(rest));
                case "query" -> {
                    query = words;
                    key = List.of();
                }
                case "key" -> key = List.of(words);
                case "sql" ->
                        last(units)
                                .queries()
                                .add(
                                        new Unit.Query(
                                                query[0],
                                                unescape(rest),
                                                key,
                                                Order.valueOf(query[1]),
                                                Oracle.valueOf(query[2]),
                                                Boolean.parseBoolean(query[3])));
                default -> throw new IllegalArgumentException("what is this: " + line);
            }
        }
        return new FuzzCase(
                origin, parallelism, clockStep, settings, failure, rescale, phases, tables, units);
    }

    private static <T> T last(List<T> list) {
        return list.get(list.size() - 1);
    }

    private static void put(Map<String, String> map, String assignment) {
        int equals = assignment.indexOf('=');
        map.put(assignment.substring(0, equals), assignment.substring(equals + 1));
    }

    private static Change change(String line) {
        String[] fields = line.split("\t", -1);
        RowKind kind =
                Arrays.stream(RowKind.values())
                        .filter(k -> k.shortString().equals(fields[0]))
                        .findFirst()
                        .orElseThrow();
        List<String> values = new ArrayList<>();
        for (int i = 2; i < fields.length; i++) {
            values.add(unescape(fields[i]));
        }
        return new Change(kind, Integer.parseInt(fields[1]), values);
    }

    private static String escape(String value) {
        if (value == null) {
            return "\\N";
        }
        return value.replace("\\", "\\\\")
                .replace("\n", "\\n")
                .replace("\t", "\\t")
                .replace("\0", "\\0");
    }

    private static String unescape(String text) {
        if (text.equals("\\N")) {
            return null;
        }
        StringBuilder s = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != '\\') {
                s.append(c);
                continue;
            }
            char next = text.charAt(++i);
            s.append(
                    switch (next) {
                        case 'n' -> '\n';
                        case 't' -> '\t';
                        case '0' -> '\0';
                        default -> next;
                    });
        }
        return s.toString();
    }
}
