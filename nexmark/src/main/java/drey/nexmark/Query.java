package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest.Sameness;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A query of the benchmark, and how much of its changelog is determined by its input.
 *
 * <p>Flink itself doesn't fix the order in which an operator sees the rows of two inputs, nor of several channels of one;
 * so after a join only the set of changes, or only the resulting table, can be compared between two runs. With one
 * channel all along, every change and its place is determined. Mini-batches end by the clock: of an updating query they
 * leave only the result determined.
 *
 * @param name as in q18
 * @param key columns of the sink that changes belong together by: no two of its values are equal by order only
 * @param uniqueKey columns that identify a row of the resulting table
 * @param single sameness at parallelism 1
 * @param parallel sameness at higher parallelism, where the source's splits follow auctions
 * @param updating whether the changelog holds more than inserts
 */
public record Query(
        String name,
        String key,
        String uniqueKey,
        Sameness single,
        Sameness parallel,
        boolean updating) {

    private static final Map<String, Query> ALL = new LinkedHashMap<>();

    static {
        stateless("q0", "auction,bidder");
        stateless("q1", "auction,bidder");
        stateless("q2", "auction");
        inserts("q3", "id");
        updates("q4", "id", "id", Sameness.RESULT, Sameness.RESULT);
        inserts("q5", "auction");
        inserts("q7", "auction");
        inserts("q8", "id");
        updates("q9", "id", "id", Sameness.RESULT, Sameness.RESULT);
        stateless("q10", "auction,bidder");
        inserts("q11", "bidder");
        add(new Query("q12", "bidder", "", Sameness.NOTHING, Sameness.NOTHING, false));
        stateless("q13", "auction,bidder");
        stateless("q14", "auction,bidder");
        updates("q15", "day", "day", Sameness.ORDER, Sameness.RESULT);
        updates("q16", "channel,day", "channel,day", Sameness.ORDER, Sameness.RESULT);
        updates("q17", "auction,day", "auction,day", Sameness.ORDER, Sameness.CHANGES);
        updates("q18", "bidder,auction", "bidder,auction", Sameness.ORDER, Sameness.CHANGES);
        updates("q19", "auction", "auction,rank_number", Sameness.ORDER, Sameness.CHANGES);
        inserts("q20", "auction");
        stateless("q21", "auction,bidder");
        stateless("q22", "auction,bidder");
        inserts("q23", "bidder");
    }

    private static void stateless(String name, String key) {
        add(new Query(name, key, "", Sameness.ORDER, Sameness.CHANGES, false));
    }

    private static void inserts(String name, String key) {
        add(new Query(name, key, "", Sameness.CHANGES, Sameness.CHANGES, false));
    }

    private static void updates(
            String name, String key, String uniqueKey, Sameness single, Sameness parallel) {
        add(new Query(name, key, uniqueKey, single, parallel, true));
    }

    private static void add(Query query) {
        ALL.put(query.name, query);
    }

    /** Not a query of the benchmark: the source alone, to be taken away from what the others cost. */
    static final Query SOURCE =
            new Query("source", "", "", Sameness.NOTHING, Sameness.NOTHING, false);

    /** Those with state that Drey takes over, the ones that tell most first. */
    private static final List<String> FIRST =
            List.of("q18", "q19", "q20", "q9", "q4", "q17", "q16", "q15", "q3", "q23");

    private static final Set<String> STATELESS =
            Set.of("source", "q0", "q1", "q2", "q10", "q13", "q14", "q21", "q22");

    public static List<Query> all() {
        return List.copyOf(ALL.values());
    }

    /** Whether there is any state to measure. */
    boolean stateful() {
        return !STATELESS.contains(name);
    }

    /** Where the query stands when the most telling ones are to come first. */
    int rank() {
        if (this == SOURCE) {
            return -1;
        }
        int at = FIRST.indexOf(name);
        return at >= 0 ? at : FIRST.size() + List.copyOf(ALL.keySet()).indexOf(name);
    }

    /** Parses {@code q18}, {@code q18,q19} or {@code all}. */
    static List<Query> parse(String names) {
        if (names.equals("all")) {
            return all();
        }
        List<Query> queries = new ArrayList<>();
        for (String name : names.split(",")) {
            Query query = name.trim().equals(SOURCE.name) ? SOURCE : ALL.get(name.trim());
            if (query == null) {
                throw new IllegalArgumentException(
                        "no query '%s': there are %s, and 'all' (Flink SQL can't run q6)"
                                .formatted(name.trim(), String.join(" ", ALL.keySet())));
            }
            queries.add(query);
        }
        return queries;
    }

    Sameness sameness(int parallelism, boolean miniBatch) {
        Sameness sameness = parallelism == 1 ? single : parallel;
        if (miniBatch && updating) {
            return Sameness.RESULT;
        }
        return sameness;
    }

    /** The table of all events, {@code datagen}. */
    static String events(Map<String, String> source) {
        return statements("ddl").get(0).replace("${SOURCE}", with(source));
    }

    /** Another table of the same columns, without what {@code datagen} computes. */
    static String sameEvents(String table, Map<String, String> with) {
        return "CREATE TABLE %s WITH (%s) LIKE datagen (EXCLUDING ALL)"
                .formatted(table, with(with));
    }

    /** As {@link #statements(Map, Map)}, with the unique key as the sink's primary key, which upserts need. */
    List<String> statementsWithKey(Map<String, String> source, Map<String, String> sink) {
        String columns = "`" + uniqueKey.replace(",", "`, `") + "`";
        String with = ") WITH (" + with(sink) + ")";
        String withKey = ", PRIMARY KEY (" + columns + ") NOT ENFORCED" + with;
        return statements(source, sink).stream().map(s -> s.replace(with, withKey)).toList();
    }

    /** The statements of this query, the tables and views it reads first; the last one is the INSERT. */
    public List<String> statements(Map<String, String> source, Map<String, String> sink) {
        List<String> statements = new ArrayList<>(statements("ddl"));
        statements.addAll(statements(name));
        statements.replaceAll(
                s -> s.replace("${SOURCE}", with(source)).replace("${SINK}", with(sink)));
        return statements;
    }

    private static List<String> statements(String file) {
        String path = "/drey/nexmark/queries/" + file + ".sql";
        try (InputStream in = Query.class.getResourceAsStream(path)) {
            if (in == null) {
                throw new IllegalStateException("missing from the class path: " + path);
            }
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            return Arrays.stream(text.split(";\\s*(\\n|$)"))
                    .map(String::strip)
                    .filter(s -> !s.isEmpty())
                    .toList();
        } catch (IOException e) {
            throw new IllegalStateException("can't read " + path, e);
        }
    }

    private static String with(Map<String, String> options) {
        List<String> parts = new ArrayList<>();
        options.forEach((key, value) -> parts.add("'%s' = '%s'".formatted(key, value)));
        return String.join(", ", parts);
    }
}
