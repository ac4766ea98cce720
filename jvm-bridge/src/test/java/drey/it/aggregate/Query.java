package drey.it.aggregate;

import drey.it.KeptQuery;

import org.apache.flink.runtime.util.EnvironmentInformation;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A query over {@code A}, which only grows, {@code R}, which retracts, or {@code S}, with stray retractions. In bundles Flink
 * 2.2.1 loses keys when such a one comes first (MiniBatchGroupAggFunction returns instead of going on), so there is no S.
 *
 * @param natives how many of its aggregates are native
 */
record Query(
        String name, String sql, int keys, Map<String, String> options, boolean upsert, int natives)
        implements KeptQuery {

    @Override
    public String toString() {
        return name;
    }

    static final Map<String, String> DEFAULTS =
            Map.of(
                    "drey.operator.localGroupAggregate.enabled", "true",
                    "drey.operator.globalGroupAggregate.enabled", "true",
                    "table.exec.state.ttl", "0 ms",
                    "table.exec.mini-batch.enabled", "false",
                    "table.optimizer.agg-phase-strategy", "AUTO",
                    "table.optimizer.distinct-agg.split.enabled", "false",
                    "table.optimizer.incremental-agg-enabled", "true");

    @Override
    public Map<String, String> defaults() {
        return DEFAULTS;
    }

    static Query of(String name, String sql, int keys) {
        return new Query(name, sql, keys, Map.of(), false, 1);
    }

    Query with(String suffix, Map<String, String> more) {
        Map<String, String> all = new LinkedHashMap<>(options);
        all.putAll(more);
        return new Query(name + ", " + suffix, sql, keys, all, upsert, natives);
    }

    Query upserts() {
        return new Query(name + ", upserts", sql, keys, options, true, natives);
    }

    Query natives(int n) {
        return new Query(name, sql, keys, options, upsert, n);
    }

    Query expiring() {
        return with("ttl", Map.of("table.exec.state.ttl", "10 h"));
    }

    /** One phase per bundle. Only the size ends one: the latency would make results depend on the clock. */
    Query bundles(int size) {
        return with(
                "bundles of " + size,
                Map.of(
                        "table.exec.mini-batch.enabled", "true",
                        "table.exec.mini-batch.size", Integer.toString(size),
                        "table.exec.mini-batch.allow-latency", "1000 d",
                        "table.optimizer.agg-phase-strategy", "ONE_PHASE"));
    }

    Query twoPhases(int size) {
        return bundles(size)
                .with("two phases", Map.of("table.optimizer.agg-phase-strategy", "TWO_PHASE"))
                .natives(2);
    }

    /** What crosses is the same whichever phase is native. */
    List<Query> twoPhasesOfEachKind(int size) {
        return List.of(
                twoPhases(size),
                twoPhases(size)
                        .with(
                                "local on Flink",
                                Map.of("drey.operator.localGroupAggregate.enabled", "false"))
                        .natives(1),
                twoPhases(size)
                        .with(
                                "global on Flink",
                                Map.of("drey.operator.globalGroupAggregate.enabled", "false"))
                        .natives(1));
    }

    Query split(int size, boolean incremental) {
        // Of four aggregates the first two, or the first and one that stands for the two in the
        // middle, hold distinct values.
        return twoPhases(size)
                .natives(incremental ? 3 : 4)
                .with(
                        incremental ? "split, incremental" : "split",
                        Map.of(
                                "table.optimizer.distinct-agg.split.enabled",
                                "true",
                                "table.optimizer.incremental-agg-enabled",
                                Boolean.toString(incremental)));
    }

    /** Bundles are ended by checkpoints, too, and the clock says when those come. */
    boolean bundled() {
        return options.getOrDefault("table.exec.mini-batch.enabled", "false").equals("true");
    }

    /**
     * Whether it goes through failures and rescaling: not all do, to save time. The changes of each key depend on nothing but the input; and if it is bundled, the last of them. Where a bundle
     * ends, float sums, decimal overflows and lists tell, and so do retractions of what never was.
     */
    boolean steady() {
        return bundled()
                ? name.matches("(integers|no calls|keys out|split).*") && !sql.contains(" R")
                : name.matches("(.* of S|distinct of A|plain|no group|grouping|keys of|rollup).*")
                        && !name.startsWith("aggregate of");
    }

    private static String calls(String template, String... columns) {
        List<String> calls = new ArrayList<>();
        for (String column : columns) {
            calls.add(template.replace("x", column));
        }
        return String.join(", ", calls);
    }

    /** Each function of each type, over table {@code t}. */
    private static List<Query> functions(String t) {
        String from = " FROM " + t + " GROUP BY k";
        return List.of(
                of(
                        "integers of " + t,
                        "SELECT k, COUNT(*) AS n, "
                                + calls("SUM(x), AVG(x), MIN(x), MAX(x)", "ti", "si", "i", "b")
                                + from,
                        1),
                of(
                        "floats of " + t,
                        "SELECT k, "
                                + calls("COUNT(x), SUM(x), AVG(x), MIN(x), MAX(x)", "f", "d")
                                + from,
                        1),
                of(
                        "decimals of " + t,
                        "SELECT k, "
                                + calls("SUM(x), AVG(x), MIN(x), MAX(x)", "d5", "d20", "d38")
                                + from,
                        1),
                of(
                        "texts of " + t,
                        "SELECT k, COUNT(y), "
                                + calls("MIN(x), MAX(x)", "s", "c", "bo")
                                + ", LISTAGG(s), LISTAGG(c, '|')"
                                + from,
                        1),
                of(
                        "times of " + t,
                        "SELECT k, "
                                + calls("MIN(x), MAX(x)", "dt", "tm", "t3", "t9", "l3", "l6")
                                + from,
                        1),
                of(
                        "first and last of " + t,
                        "SELECT k, "
                                + calls(
                                        "FIRST_VALUE(x), LAST_VALUE(x)",
                                        "ti",
                                        "si",
                                        "i",
                                        "b",
                                        "f",
                                        "d",
                                        "d5",
                                        "d20",
                                        "s",
                                        "bo",
                                        "dt",
                                        "tm",
                                        "t3",
                                        "t9",
                                        "l6")
                                + from,
                        1),
                of(
                        "distinct of " + t,
                        "SELECT k, "
                                + calls("COUNT(DISTINCT x)", "ti", "b", "f", "d", "d5", "d20", "s")
                                + ", "
                                + calls("COUNT(DISTINCT x)", "bo", "dt", "tm", "t3", "t9", "l6")
                                + ", SUM(DISTINCT i), AVG(DISTINCT si), MAX(DISTINCT s), COUNT(i)"
                                + from,
                        1),
                of(
                        "distinct with filters of " + t,
                        "SELECT k, COUNT(DISTINCT s) FILTER (WHERE f1), COUNT(DISTINCT s),"
                                + " COUNT(DISTINCT s) FILTER (WHERE f2), SUM(DISTINCT i) FILTER (WHERE"
                                + " f1), COUNT(DISTINCT i) FILTER (WHERE f2), SUM(b) FILTER (WHERE f1),"
                                + " COUNT(*) FILTER (WHERE f2), MIN(d) FILTER (WHERE f1), LISTAGG(c)"
                                + " FILTER (WHERE f1 AND f2), COUNT(DISTINCT nn), AVG(DISTINCT d5), SUM(DISTINCT d)"
                                + from,
                        1));
    }

    static List<Query> all() {
        List<Query> all = new ArrayList<>();
        for (String t : List.of("A", "R")) {
            all.addAll(functions(t.equals("R") ? "S" : t));
            addPhases(all, t);
            addForms(all, t);
        }
        return all;
    }

    /** Bundles in one phase, where every accumulator is native; in two, those that can cross. */
    private static void addPhases(List<Query> all, String t) {
        List<Query> functions = functions(t);
        if (t.equals("R")) {
            List.of(0, 3, 5, 7).forEach(i -> all.add(functions.get(i).bundles(13)));
            List.of(1, 2, 4).forEach(i -> all.add(functions.get(i).twoPhases(40)));
            List.of(0, 3).forEach(i -> all.addAll(functions.get(i).twoPhasesOfEachKind(40)));
            all.add(functions.get(3).expiring());
            all.add(functions.get(3).expiring().twoPhases(40));
            all.add(
                    of(
                                    "sums of R",
                                    "SELECT k, COUNT(*), COUNT(s), "
                                            + calls(
                                                    "SUM(x), AVG(x)",
                                                    "ti",
                                                    "si",
                                                    "i",
                                                    "b",
                                                    "f",
                                                    "d",
                                                    "d5",
                                                    "d20",
                                                    "d38")
                                            + ", SUM(si) FILTER (WHERE f1), COUNT(DISTINCT s), COUNT(DISTINCT s) FILTER"
                                            + " (WHERE f1), SUM(DISTINCT si), COUNT(DISTINCT d20), COUNT(DISTINCT t9)"
                                            + " FROM R GROUP BY k",
                                    1)
                            .twoPhases(100));
        } else {
            all.add(functions.get(0).bundles(13));
            all.add(functions.get(7).bundles(200));
            // But for those that can't cross.
            functions.subList(0, 5).forEach(q -> all.add(q.twoPhases(100)));
            all.addAll(functions.get(6).twoPhasesOfEachKind(100));
            all.add(
                    of(
                                    "distinct values of seventy calls",
                                    "SELECT k, "
                                            + IntStream.range(0, 70)
                                                    .mapToObj(
                                                            i ->
                                                                    "COUNT(DISTINCT s) FILTER (WHERE id > "
                                                                            + 9 * i
                                                                            + ")")
                                                    .collect(Collectors.joining(", "))
                                            + " FROM A GROUP BY k",
                                    1)
                            .twoPhases(200));
        }
        Query distinct =
                of(
                        "split distinct " + t,
                        "SELECT k, COUNT(DISTINCT s), SUM(DISTINCT si), COUNT(*), SUM(i), SUM(nn) FROM "
                                + t
                                + " GROUP BY k",
                        1);
        all.add(distinct.split(60, true));
        all.add(distinct.split(60, false));
        all.add(
                of(
                                "extremes, split " + t,
                                "SELECT k, COUNT(DISTINCT s), "
                                        + calls("MIN(x), MAX(x)", "s", "i", "d20", "t9", "bo")
                                        + ", LISTAGG(c), AVG(DISTINCT d5), COUNT(*) FROM "
                                        + t
                                        + " GROUP BY k",
                                1)
                        .split(60, true));
        Query decimals =
                of(
                        "distinct decimals of " + t,
                        "SELECT k, SUM(DISTINCT d5), AVG(DISTINCT d20), SUM(DISTINCT d20) FILTER (WHERE f1),"
                                + " COUNT(DISTINCT d20) FROM "
                                + t
                                + " GROUP BY k",
                        1);
        all.add(decimals.twoPhases(80));
        all.add(decimals.twoPhases(30));
    }

    private static void addForms(List<Query> all, String t) {
        Query plain =
                of(
                        "plain " + t,
                        "SELECT kk, COUNT(*), SUM(i), MIN(s), AVG(d5) FROM (SELECT *, COALESCE(k, -1) AS kk"
                                + " FROM "
                                + t
                                + ") GROUP BY kk",
                        1);
        all.add(plain.upserts());
        all.add(plain.expiring());
        all.add(plain.upserts().bundles(50));
        all.add(plain.expiring().bundles(100_000));
        all.add(plain.bundles(1));
        all.add(of("no group " + t, "SELECT COUNT(*), SUM(b), MAX(s) FROM " + t, 0));
        all.add(
                of("no group, two phases " + t, "SELECT COUNT(nn), SUM(d) FROM " + t, 0)
                        .twoPhases(20));
        all.add(of("no calls " + t, "SELECT DISTINCT k, c FROM " + t, 2));
        all.add(of("no calls, two phases " + t, "SELECT DISTINCT k FROM " + t, 1).twoPhases(9));
        all.add(
                of(
                        "grouping sets " + t,
                        "SELECT k, bo, c, GROUPING_ID(k, bo, c), COUNT(*), SUM(i) FROM "
                                + t
                                + " GROUP BY GROUPING SETS ((k, bo), (c), ())",
                        4));
        all.add(
                of(
                        "keys of many types " + t,
                        "SELECT s, d20, t9, f, bo, COUNT(*), MAX(id) FROM "
                                + t
                                + " GROUP BY s, d20, t9, f, bo",
                        5));
        all.add(
                of(
                                "keys out of order " + t,
                                "SELECT d, k, SUM(nn), COUNT(*) FROM " + t + " GROUP BY d, k",
                                2)
                        .twoPhases(64));
        all.add(
                of(
                                "aggregate of an aggregate " + t,
                                "SELECT n, COUNT(*), MAX(k), MIN(m), SUM(n), LAST_VALUE(k) FROM (SELECT k,"
                                        + " COUNT(*) AS n, MAX(s) AS m FROM "
                                        + t
                                        + " GROUP BY k) GROUP BY n",
                                1)
                        .natives(2));
        if (t.equals("A")) {
            all.add(
                    of(
                            "rollup",
                            "SELECT k, bo, GROUPING(k), GROUPING(bo), COUNT(DISTINCT s), MAX(d) FROM A"
                                    + " GROUP BY ROLLUP (k, bo)",
                            4));
            // From 2.3 on, Flink's planner leaves deviations whole instead of making sums of them.
            all.add(
                    of(
                                    "deviation",
                                    "SELECT k, STDDEV_POP(d), VAR_SAMP(CAST(i AS DOUBLE)), AVG(nn) FROM A GROUP BY"
                                            + " k",
                                    1)
                            .natives(
                                    EnvironmentInformation.getVersion().startsWith("2.2.")
                                            ? 1
                                            : 0));
        } else {
            all.add(
                    of("cube", "SELECT k, bo, COUNT(b), SUM(d5) FROM R GROUP BY CUBE (k, bo)", 2)
                            .bundles(40));
            all.add(
                    of(
                            "having",
                            "SELECT k, COUNT(*) AS n, SUM(nn) FROM R GROUP BY k HAVING COUNT(*) > 5 AND"
                                    + " SUM(nn) < 4",
                            1));
            all.add(
                    of(
                                    "one value",
                                    "SELECT id, SINGLE_VALUE(s), SINGLE_VALUE(d20), SINGLE_VALUE(t9) FROM (SELECT"
                                            + " DISTINCT id, s, d20, t9 FROM R) GROUP BY id",
                                    1)
                            .natives(2));
            all.add(
                    of(
                            "one distinct value",
                            "SELECT id, SINGLE_VALUE(DISTINCT s), SINGLE_VALUE(DISTINCT d20), COUNT(*) FROM R"
                                    + " GROUP BY id",
                            1));
        }
    }
}
