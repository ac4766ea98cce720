package drey.fuzz;

import drey.fuzz.Relation.Oracle;
import drey.fuzz.Relation.Order;

import java.util.List;
import java.util.Map;

/**
 * Queries that are planned together, as one statement set.
 *
 * @param settings of the planner, for this unit alone
 * @param views DDL of views that the queries share
 */
record Unit(String name, Map<String, String> settings, List<String> views, List<Query> queries) {

    /**
     * @param upsertKey the sink has this key and takes upserts; empty: it takes all changes
     * @param order how much of the result is determined
     * @param batch a batch query has the same result
     */
    record Query(
            String name,
            String sql,
            List<String> upsertKey,
            Order order,
            Oracle oracle,
            boolean batch) {

        /** The same, of which no more than this is determined. */
        Query determined(Order order) {
            return new Query(name, sql, upsertKey, order, oracle, batch && order != Order.NOTHING);
        }
    }

    Unit with(Map<String, String> settings) {
        return new Unit(name, settings, views, queries);
    }

    Unit only(Query query) {
        return new Unit(name, settings, views, List.of(query));
    }

    /** All of its SQL, to look for names in. */
    String text() {
        StringBuilder text = new StringBuilder(String.join("\n", views));
        queries.forEach(q -> text.append('\n').append(q.sql()));
        return text.toString();
    }
}
