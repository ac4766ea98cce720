package drey.it.parity;

import drey.it.KeptQuery;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A query over the table {@code T} of {@link Events}.
 *
 * @param bundles mini-batch is on: a checkpoint ends a bundle, so then only the final content is fixed
 */
record Query(
        String name,
        String sql,
        int keys,
        Map<String, String> options,
        boolean upsert,
        boolean bundles)
        implements KeptQuery {

    static final Map<String, String> DEFAULTS =
            Map.of(
                    "table.exec.state.ttl", "0 ms",
                    "table.exec.mini-batch.enabled", "false",
                    "table.exec.deduplicate.mini-batch.compact-changes-enabled", "false",
                    "table.exec.deduplicate.insert-update-after-sensitive-enabled", "true");

    @Override
    public Map<String, String> defaults() {
        return DEFAULTS;
    }

    private static Query of(String name, String sql, int keys) {
        return new Query(name, sql, keys, Map.of(), false, false);
    }

    private Query with(String suffix, Map<String, String> options) {
        return new Query(name + ", " + suffix, sql, keys, options, upsert, bundles);
    }

    private Query upserts() {
        return new Query(name + ", upserts", sql, keys, options, true, bundles);
    }

    private Query miniBatch(int size, boolean compact) {
        // Only the size ends a bundle: the latency would make results depend on the clock.
        Map<String, String> options =
                Map.of(
                        "table.exec.mini-batch.enabled",
                        "true",
                        "table.exec.mini-batch.size",
                        Integer.toString(size),
                        "table.exec.mini-batch.allow-latency",
                        "1000 d",
                        "table.exec.deduplicate.mini-batch.compact-changes-enabled",
                        Boolean.toString(compact));
        String suffix = "bundles of " + size + (compact ? ", compact" : "");
        return new Query(name + ", " + suffix, sql, keys, options, upsert, true);
    }

    private static String dedup(String columns, String partition, String order) {
        String over =
                (partition.isEmpty() ? "" : "PARTITION BY " + partition + " ")
                        + "ORDER BY "
                        + order;
        return "SELECT "
                + columns
                + " FROM (SELECT *, ROW_NUMBER() OVER ("
                + over
                + ") AS rn FROM T) WHERE rn = 1";
    }

    /** Every kind of deduplication that Flink's planner makes, and every type a key can have. */
    static List<Query> all() {
        List<Query> all = new ArrayList<>();
        Map<String, String> ttl = Map.of("table.exec.state.ttl", "10 h");
        Map<String, String> insensitive =
                Map.of("table.exec.deduplicate.insert-update-after-sensitive-enabled", "false");

        for (String[] order :
                new String[][] {
                    {"rowtime last", "ts DESC"},
                    {"rowtime first", "ts ASC"},
                    {"proctime last", "pt DESC"},
                    {"proctime first", "pt ASC"}
                }) {
            Query q = of(order[0], dedup("kn, id, s, d, ts, r, arr, m", "kn", order[1]), 1);
            all.add(q);
            all.add(q.upserts());
            all.add(q.with("ttl", ttl));
            all.add(q.miniBatch(7, false));
            all.add(q.miniBatch(100_000, false));
            if (order[0].startsWith("rowtime")) {
                all.add(q.miniBatch(7, true));
                all.add(q.upserts().miniBatch(11, true));
            }
            if (order[0].endsWith("last")) {
                all.add(q.upserts().with("insert insensitive", insensitive));
            }
        }
        for (String key :
                List.of(
                        "k", "s", "c", "d", "dd", "t3", "t6", "dt", "tm", "bo", "ti", "si", "fl",
                        "db", "`by`", "r", "arr")) {
            all.add(of("key " + key, dedup(key + ", id, ts", key, "ts DESC"), 1));
        }
        all.add(of("keys bo, s, dd", dedup("bo, s, dd, id", "bo, s, dd", "ts DESC"), 3));
        all.add(of("keys out of order", dedup("dt, k, id", "dt, k", "pt DESC"), 2));
        all.add(of("no key", dedup("id, k, s", "", "ts DESC"), 0));
        all.add(
                of(
                        "wide rows",
                        dedup(
                                "k, id, s, c, d, dd, t3, t6, dt, tm, bo, ti, si, fl, db, `by`, r, arr, m, ts",
                                "k",
                                "ts DESC"),
                        1));
        return all;
    }
}
