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
            default ->
                    throw new IllegalArgumentException(
                            "no subjects for operator '"
                                    + operator
                                    + "', there are: deduplicate, rank");
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
                    all.add(
                            ranked("AppendOnlyTopN " + range + end, number, upsert)
                                    .query(top(number, "t", "s DESC, a", range)));
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
}
