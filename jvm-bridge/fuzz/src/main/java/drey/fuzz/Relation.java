package drey.fuzz;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A query or a part of one, with what is known about its result.
 *
 * @param sql a SELECT, or the name of a table or view
 * @param order how much of its changelog is determined
 * @param key columns that identify a row of the result, empty if none are known
 * @param updates may retract what it has emitted
 * @param batch a batch query on the final input has the same result
 * @param rowtime its column that is a rowtime attribute, or null
 * @param proctime its column that is a processing time, or null; not among the columns, since its values are anything
 * @param tables what it reads
 * @param rows about how many rows it emits
 * @param oracle who knows the right result
 * @param steady a row is retracted before it comes again; a Top-N with its rank moves rows the other way round, too
 */
record Relation(
        String sql,
        List<Column> columns,
        Order order,
        List<String> key,
        boolean updates,
        boolean batch,
        String rowtime,
        String proctime,
        Set<String> tables,
        long rows,
        Oracle oracle,
        boolean steady) {

    /** How much of a result is determined by query and input. */
    enum Order {
        /** The changes, one after the other. */
        SEQUENCE,
        /** The changes, but not their order, between two checkpoints. */
        CHANGES,
        /** What is left when all changes are applied. */
        RESULT,
        /** Nothing: it is planned and runs to its end as stock Flink's does. */
        NOTHING;

        Order or(Order other) {
            return compareTo(other) > 0 ? this : other;
        }
    }

    /** Whose result is right. */
    enum Oracle {
        STREAM,
        /** Flink's streaming operator is known to be wrong; see the rule in {@link QueryGenerator}. */
        BATCH_ONLY
    }

    /**
     * @param peculiar may be NaN or -0.0
     */
    record Column(String name, Type type, boolean peculiar) {}

    /** As what stands behind FROM. */
    String from(String alias) {
        return (sql.startsWith("SELECT ") ? "(" + sql + ")" : sql)
                + (alias.isEmpty() ? "" : " AS " + alias);
    }

    List<String> names() {
        return columns.stream().map(Column::name).toList();
    }

    List<Column> flat() {
        return columns.stream().filter(c -> c.type().isFlat()).toList();
    }

    /** Columns by which rows can be put in an order that is the same everywhere. */
    List<Column> sortable() {
        return columns.stream().filter(c -> c.type().isFlat() && !c.peculiar()).toList();
    }

    boolean hasPeculiar() {
        return columns.stream().anyMatch(Column::peculiar);
    }

    Relation as(String sql, List<Column> columns) {
        return new Relation(
                sql, columns, order, key, updates, batch, rowtime, proctime, tables, rows, oracle,
                steady);
    }

    Relation ordered(Order order) {
        return new Relation(
                sql, columns, order, key, updates, batch, rowtime, proctime, tables, rows, oracle,
                steady);
    }

    Relation keyed(List<String> key) {
        return new Relation(
                sql, columns, order, key, updates, batch, rowtime, proctime, tables, rows, oracle,
                steady);
    }

    Relation updating(boolean updates) {
        return new Relation(
                sql, columns, order, key, updates, batch, rowtime, proctime, tables, rows, oracle,
                steady);
    }

    Relation batch(boolean batch) {
        return new Relation(
                sql,
                columns,
                order,
                key,
                updates,
                this.batch && batch,
                rowtime,
                proctime,
                tables,
                rows,
                oracle,
                steady);
    }

    Relation timed(String rowtime, String proctime) {
        return new Relation(
                sql, columns, order, key, updates, batch, rowtime, proctime, tables, rows, oracle,
                steady);
    }

    Relation sized(long rows) {
        return new Relation(
                sql,
                columns,
                order,
                key,
                updates,
                batch,
                rowtime,
                proctime,
                tables,
                Math.max(1, rows),
                oracle,
                steady);
    }

    Relation judgedBy(Oracle oracle) {
        return new Relation(
                sql, columns, order, key, updates, batch, rowtime, proctime, tables, rows, oracle,
                steady);
    }

    Relation unsteady() {
        return new Relation(
                sql, columns, order, key, updates, batch, rowtime, proctime, tables, rows, oracle,
                false);
    }

    /** Reads another relation, too. */
    Relation with(Relation other) {
        return new Relation(
                sql,
                columns,
                order.or(other.order),
                key,
                updates || other.updates,
                batch && other.batch,
                rowtime,
                proctime,
                Stream.concat(tables.stream(), other.tables.stream())
                        .collect(Collectors.toUnmodifiableSet()),
                rows,
                oracle.compareTo(other.oracle) > 0 ? oracle : other.oracle,
                steady && other.steady);
    }
}
