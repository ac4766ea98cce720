package drey.parity;

import drey.parity.Subject.Identity;

import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.VarCharType;

import java.util.ArrayList;
import java.util.List;

/** The subjects of each native operator. */
final class Subjects {

    private Subjects() {}

    static List<Subject> of(String operator) {
        return switch (operator) {
            case "deduplicate" -> deduplicate();
            case "rank" -> rank();
            case "join" -> join();
            case "aggregate" -> aggregate();
            default ->
                    throw new IllegalArgumentException(
                            "no subjects for operator '"
                                    + operator
                                    + "', there are: deduplicate, rank, join, aggregate");
        };
    }

    private static List<Subject> deduplicate() {
        Schema schema =
                new Schema(List.of(new BigIntType(), new VarCharType(VarCharType.MAX_LENGTH)));
        List<Subject> all = new ArrayList<>();
        for (long ttl : new long[] {0, 60}) {
            for (Deduplication d : Deduplication.all(ttl)) {
                all.add(new DeduplicateSubject(d, schema));
            }
        }
        return all;
    }

    // --- rank -----------------------------------------------------------------------------------

    private static List<Subject> rank() {
        List<Subject> all = new ArrayList<>();
        // The others have a cache in front of their state in Flink, whose rows live by the wall
        // clock.
        for (boolean number : new boolean[] {false, true}) {
            all.add(
                    ranked("AppendOnlyFirstN, TTL" + (number ? ", number" : ""), number, false)
                            .query(top(number, "t", "pt", "rn <= 3"))
                            .option("table.exec.state.ttl", "60 ms"));
        }
        all.add(
                ranked("RetractableTopN, TTL, number", true, false)
                        .query(
                                top(
                                        true,
                                        "(SELECT k, a, MAX(v) AS v, SUM(s) AS s FROM t"
                                                + " GROUP BY k, a)",
                                        "s",
                                        "rn <= 3"))
                        .feed(Feed.changelog().unique(List.of("k", "a")))
                        .option("table.exec.state.ttl", "60 ms"));
        for (boolean number : new boolean[] {false, true}) {
            for (boolean upsert : new boolean[] {false, true}) {
                String end = (number ? ", number" : "") + (upsert ? ", upsert" : "");
                for (String range : new String[] {"rn <= 3", "rn <= 4 AND rn >= 2", "rn <= v"}) {
                    PlannedSubject append =
                            ranked("AppendOnlyTopN " + range + end, number, upsert)
                                    .query(top(number, "t", "s DESC, a", range));
                    // A row in front of all others of its key moves them all.
                    all.add(range.equals("rn <= v") ? append.growing() : append);
                    if (range.contains("rn >= 2") && !number) {
                        // Flink's own function then keeps rows with the kinds they were emitted
                        // with, and doesn't find them again (native/topn/DIVERGENCES.md).
                        continue;
                    }
                    all.add(
                            ranked("RetractableTopN " + range + end, number, upsert)
                                    .query(
                                            top(
                                                    number,
                                                    "(SELECT k, a, MAX(v) AS v, SUM(s) AS s FROM t"
                                                            + " GROUP BY k, a)",
                                                    "s",
                                                    range))
                                    .feed(Feed.changelog().unique(List.of("k", "a"))));
                }
                for (String range : new String[] {"rn <= 3", "rn <= 4 AND rn >= 2"}) {
                    all.add(
                            ranked("AppendOnlyFirstN " + range + end, number, upsert)
                                    .query(top(number, "t", "pt", range)));
                    all.add(
                            ranked("UpdatableTopN " + range + end, number, upsert)
                                    .query(
                                            top(
                                                    number,
                                                    "(SELECT k, a, COUNT(*) AS s, MAX(v) AS v"
                                                            + " FROM t GROUP BY k, a)",
                                                    "s DESC",
                                                    range))
                                    .feed(Feed.upserts(List.of("k", "a"), "s")));
                }
                all.add(
                        ranked("FastTop1" + end, number, upsert)
                                .query(top(number, "t", "s DESC, a", "rn = 1")));
                all.add(
                        ranked("RetractableTopN 1" + end, number, upsert)
                                .query(
                                        top(
                                                number,
                                                "(SELECT k, a, SUM(s) AS s FROM t GROUP BY k, a)",
                                                "s DESC",
                                                "rn = 1"))
                                .feed(Feed.changelog().unique(List.of("k", "a"))));
            }
        }
        return all;
    }

    private static PlannedSubject ranked(String name, boolean number, boolean upsert) {
        PlannedSubject subject =
                new PlannedSubject(name, "rank")
                        .table("t", "k STRING, a STRING, v INT, s BIGINT, pt AS PROCTIME()")
                        .identity(Identity.SEQUENCE);
        return upsert ? subject.upsert() : subject;
    }

    private static String top(boolean number, String from, String order, String range) {
        return "SELECT k, a, s"
                + (number ? ", rn" : "")
                + " FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY "
                + order
                + ") AS rn FROM "
                + from
                + ") WHERE "
                + range;
    }

    // --- join -----------------------------------------------------------------------------------

    /** Without a unique key, with one beside the join's key, and with one that is the join's key. */
    private enum JoinSide {
        ROWS("%s"),
        UNIQUE("(SELECT k, a, MAX(v) AS v FROM %s GROUP BY k, a)", "k", "a"),
        ONE("(SELECT k, MAX(a) AS a, MAX(v) AS v FROM %s GROUP BY k)", "k");

        final String from;
        final List<String> key;

        JoinSide(String from, String... key) {
            this.from = from;
            this.key = List.of(key);
        }
    }

    private static List<Subject> join() {
        List<Subject> all = new ArrayList<>();
        JoinSide[] sides = JoinSide.values();
        for (String type : new String[] {"INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"}) {
            for (JoinSide left : sides) {
                JoinSide right = sides[(left.ordinal() + type.length()) % sides.length];
                for (String condition : new String[] {"", " AND l.v < r.v"}) {
                    all.add(joined(type, left, right, "l.k = r.k" + condition));
                }
            }
            all.add(
                    joined(type, JoinSide.ROWS, JoinSide.UNIQUE, "l.k = r.k")
                            .named(", TTL")
                            .option("table.exec.state.ttl", "60 ms"));
            boolean semi = type.equals("SEMI") || type.equals("ANTI");
            if (!semi) {
                // Flink plans an EXISTS that is null-safe with two joins, and one without a key
                // with none that has a condition.
                all.add(
                        joined(
                                type,
                                JoinSide.ROWS,
                                JoinSide.ROWS,
                                "l.k IS NOT DISTINCT FROM r.k AND l.a = r.a"));
                all.add(joined(type, JoinSide.ROWS, JoinSide.UNIQUE, "l.v > r.v + 4"));
                for (JoinSide side : sides) {
                    all.add(bundled(joined(type, side, side, "l.k = r.k")));
                }
                all.add(
                        bundled(
                                joined(
                                        type,
                                        JoinSide.UNIQUE,
                                        JoinSide.ONE,
                                        "l.k = r.k AND l.v < r.v")));
                all.add(
                        bundled(joined(type, JoinSide.ROWS, JoinSide.UNIQUE, "l.k = r.k"))
                                .named(", TTL")
                                .option("table.exec.state.ttl", "60 ms"));
            }
        }
        // Each side has a retention of its own.
        String hint = "SELECT /*+ STATE_TTL('l'='60 ms', 'r'='25 ms') */ ";
        for (String type : new String[] {"INNER", "FULL"}) {
            PlannedSubject subject = joined(type, JoinSide.ROWS, JoinSide.ROWS, "l.k = r.k");
            all.add(
                    subject.named(", TTL by hint")
                            .query(subject.query().replaceFirst("SELECT ", hint))
                            .ttl(60));
        }
        return all;
    }

    private static PlannedSubject joined(String type, JoinSide left, JoinSide right, String on) {
        String l = String.format(left.from, "t");
        String r = String.format(right.from, "u");
        String sql =
                switch (type) {
                    case "SEMI", "ANTI" ->
                            String.format(
                                    "SELECT * FROM %s l WHERE %sEXISTS (SELECT 1 FROM %s r WHERE %s)",
                                    l, type.equals("ANTI") ? "NOT " : "", r, on);
                    default ->
                            String.format("SELECT * FROM %s l %s JOIN %s r ON %s", l, type, r, on);
                };
        return new PlannedSubject(
                        "join " + type + ", " + left + " and " + right + ", " + on, "join")
                .table("t", "k STRING, a STRING, v BIGINT")
                .table("u", "k STRING, a STRING, v BIGINT")
                .query(sql)
                .feed(new Feed(List.of(left.key, right.key), 40, true, true, null))
                // The order of matches is the backend's.
                .identity(
                        left == JoinSide.ONE && right == JoinSide.ONE
                                ? Identity.SEQUENCE
                                : Identity.PER_RECORD);
    }

    private static PlannedSubject bundled(PlannedSubject subject) {
        return subject.named(", bundles")
                .option("table.exec.mini-batch.enabled", "true")
                .option("table.exec.mini-batch.allow-latency", "1 s")
                .option("table.exec.mini-batch.size", "70");
    }

    // --- aggregate ------------------------------------------------------------------------------

    private static List<Subject> aggregate() {
        List<Subject> all = new ArrayList<>();
        all.add(
                new PlannedSubject("aggregate sequences", "groupAggregate")
                        .table("t", "k STRING, a STRING, v BIGINT")
                        .query(
                                "SELECT k, FIRST_VALUE(v), LAST_VALUE(a), LISTAGG(a), LISTAGG(a, '|') FROM t"
                                        + " GROUP BY k")
                        .growing()
                        .feed(Feed.append()));
        String calls =
                "COUNT(*), COUNT(v), SUM(v), AVG(v), MIN(a), MAX(v), SUM(v) FILTER (WHERE a <> '7'),"
                        + " COUNT(DISTINCT a)";
        for (boolean upsert : new boolean[] {false, true}) {
            for (long ttl : new long[] {0, 60}) {
                for (boolean retracts : new boolean[] {false, true}) {
                    String name =
                            (retracts ? "changelog" : "append")
                                    + (upsert ? ", upsert" : "")
                                    + (ttl > 0 ? ", TTL" : "");
                    PlannedSubject subject =
                            ofEachKey(
                                    new PlannedSubject("aggregate " + name, "groupAggregate")
                                            .table("t", "k STRING, a STRING, v BIGINT"),
                                    calls,
                                    retracts);
                    if (ttl > 0) {
                        subject.option("table.exec.state.ttl", ttl + " ms");
                    }
                    all.add(upsert ? subject.upsert() : subject);
                }
            }
        }
        for (boolean retracts : new boolean[] {false, true}) {
            for (int size : new int[] {1, 5, 300}) {
                String name =
                        "aggregate %s, bundles of %d"
                                .formatted(retracts ? "changelog" : "append", size);
                all.add(
                        ofEachKey(
                                bundles(name, "groupAggregate", size)
                                        .option("table.optimizer.agg-phase-strategy", "ONE_PHASE"),
                                calls,
                                retracts));
            }
        }
        // Its input is what a local aggregate emits. Any numbers will do but for those of COUNT,
        // which are never NULL.
        all.add(
                bundles("aggregate of partial results", "globalGroupAggregate", 40)
                        .option("table.optimizer.agg-phase-strategy", "TWO_PHASE")
                        .query("SELECT k, SUM(v), MAX(v), MIN(a) FROM t GROUP BY k"));
        return all;
    }

    /** Asks for the calls of each key, over insertions or over a changelog. */
    private static PlannedSubject ofEachKey(
            PlannedSubject subject, String calls, boolean retracts) {
        String input = retracts ? "(SELECT k, a, MAX(v) AS v FROM t GROUP BY k, a)" : "t";
        return subject.query("SELECT k, " + calls + " FROM " + input + " GROUP BY k")
                .feed(retracts ? Feed.changelog().unique(List.of("k", "a")) : Feed.append());
    }

    private static PlannedSubject bundles(String name, String operator, int size) {
        return new PlannedSubject(name, operator)
                .table("t", "k STRING, a STRING, v BIGINT")
                .option("table.exec.mini-batch.enabled", "true")
                .option("table.exec.mini-batch.allow-latency", "1000 d")
                .option("table.exec.mini-batch.size", Integer.toString(size));
    }
}
