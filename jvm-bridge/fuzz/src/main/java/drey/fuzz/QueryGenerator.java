package drey.fuzz;

import drey.fuzz.Relation.Column;
import drey.fuzz.Relation.Oracle;
import drey.fuzz.Relation.Order;
import drey.fuzz.Type.Family;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Makes queries over tables, and knows of each how much of its result is determined. The rules by which it leaves
 * something out, or takes less of a result for determined, are where stock Flink has no one answer:
 *
 * <ul>
 *   <li>nothing is sorted by a column with NaN or -0.0: Flink's comparator finds NaN equal to everything;
 *   <li>a Top-N with an offset over an updating input is judged by a batch query: without its rank, which the planner
 *       leaves out where nobody reads it, {@code RetractableTopNFunction} loses rows;
 *   <li>a Top-1 without its rank over insertions is not compared with batch: the streaming planner takes it for
 *       insertions, so whoever reads it sees no retraction (FLINK-40368); a join overwrites the row that was first, and has
 *       joined it only with what came before the next;
 *   <li>keep-last by arrival either sees no two equal rows or runs on RocksDB: on the heap Flink emits some updates that
 *       change nothing;
 *   <li>timers of equal time, matches of a join and the keys of a bundle have no order;
 *   <li>a join takes a row's key for unique while a Top-N with its rank or an offset, below it, moves the row to another
 *       rank, the new one first; it then loses the row, and its result depends on which input comes first; so does that of a
 *       join of bundles;
 *   <li>for {@code UpdatableTopNFunction} a deletion is an update, so what is left depends on the order of changes: a Top-N over
 *       an updating input, by nothing but its key, is not compared with batch, and where only the result is determined, nothing is
 *       compared once that function is in the plan;
 *   <li>in front of the state of most Top-N functions stock has a cache whose rows live by the wall clock: with state that
 *       expires only a numbered Top-N over a table that retracts is compared, which has none;
 *   <li>FIRST_VALUE and LAST_VALUE over an updating input order values by the wall clock.
 * </ul>
 */
final class QueryGenerator {

    private final Choices choices;
    private final Expressions expressions;
    private final List<FuzzTable> tables;
    private final Traits traits;
    private final List<Relation> views = new ArrayList<>();
    private final Names names = new Names();
    private final Joins joins;
    private final SetOperations sets;

    /**
     * What of the job's settings decides how much of a result is determined.
     *
     * @param bundles mini-batch is on
     * @param alternating one table at a time emits rows
     */
    record Traits(
            int parallelism, boolean bundles, boolean alternating, boolean rocksdb, boolean ttl) {}

    QueryGenerator(Choices choices, List<FuzzTable> tables, Traits traits) {
        this.choices = choices;
        this.expressions = new Expressions(choices);
        this.tables = tables;
        this.traits = traits;
        this.joins = new Joins(choices, expressions, traits, names);
        this.sets = new SetOperations(choices, traits, names, expressions, joins);
    }

    /** Gives out names, each once. */
    static final class Names {
        private int given;

        String next(String prefix) {
            return prefix + given++;
        }
    }

    /** Queries that are run as one statement set, and the views they share. */
    Unit unit(String name, Map<String, String> settings) {
        List<String> ddl = new ArrayList<>();
        List<Unit.Query> queries = new ArrayList<>();
        int sinks = choices.chance(15) ? 2 : 1;
        if (sinks > 1) {
            Relation base = withoutTimes(relation(choices.between(0, 2)));
            String view = "v_" + name;
            ddl.add("CREATE TEMPORARY VIEW " + view + " AS " + select(base));
            views.add(base.as(view, base.columns()));
        }
        for (int i = 0; i < sinks; i++) {
            Relation r = forGood(relation(choices.from(1, 2, 1, 2, 3)));
            List<String> upsertKey =
                    !r.key().isEmpty() && r.names().containsAll(r.key()) && choices.chance(30)
                            ? r.key()
                            : List.of();
            queries.add(
                    new Unit.Query(
                            sinks == 1 ? name : name + "_" + i,
                            select(r),
                            upsertKey,
                            r.order(),
                            r.oracle(),
                            r.batch()
                                    && !r.hasPeculiar()
                                    && !traits.ttl()
                                    && r.order() != Order.NOTHING));
        }
        return new Unit(name, settings, ddl, queries);
    }

    private static String select(Relation r) {
        return r.sql().startsWith("SELECT ")
                ? r.sql()
                : "SELECT " + String.join(", ", r.names()) + " FROM " + r.sql();
    }

    /** Without a processing time, whose values are anything. */
    private Relation forGood(Relation r) {
        if (r.proctime() == null || !r.sql().startsWith("SELECT ")) {
            return r;
        }
        return r.as(
                        "SELECT " + String.join(", ", r.names()) + " FROM " + r.from(alias()),
                        r.columns())
                .timed(r.rowtime(), null);
    }

    /** Without time attributes: a join on them would be an interval join, which drops what one input's watermark has overtaken. */
    private Relation withoutTimes(Relation r) {
        if (r.rowtime() == null) {
            return forGood(r);
        }
        String items =
                r.columns().stream()
                        .map(
                                c ->
                                        c.name().equals(r.rowtime())
                                                ? "CAST(%s AS %s) AS %s"
                                                        .formatted(c.name(), c.type().sql, c.name())
                                                : c.name())
                        .collect(Collectors.joining(", "));
        return r.as("SELECT " + items + " FROM " + r.from(alias()), r.columns()).timed(null, null);
    }

    private Relation relation(int depth) {
        if (depth == 0) {
            return leaf();
        }
        Relation input;
        switch (choices.below(13)) {
            case 0:
                return filter(relation(depth - 1));
            case 1:
                input = choices.chance(30) ? filter(leaf()) : leaf();
                return input.rowtime() != null || input.proctime() != null
                        ? deduplicate(input)
                        : topN(input);
            case 2, 3:
                return topN(relation(depth - 1));
            case 4, 5, 6:
                return aggregate(relation(depth - 1));
            case 7, 8, 9:
                input = relation(depth - 1);
                return orFilter(
                        joins.join(input, choices.chance(50) ? leaf() : relation(depth - 1)),
                        input);
            case 10:
                input = relation(depth - 1);
                return orFilter(
                        joins.semiJoin(input, choices.chance(60) ? leaf() : relation(depth - 1)),
                        input);
            case 11:
                input = relation(depth - 1);
                return orFilter(
                        sets.combine(input, choices.chance(50) ? leaf() : relation(depth - 1)),
                        input);
            default:
                return limit(relation(depth - 1));
        }
    }

    private Relation orFilter(Relation joined, Relation input) {
        return joined == null ? filter(input) : joined;
    }

    private Relation leaf() {
        if (!views.isEmpty() && choices.chance(80)) {
            return choices.from(views);
        }
        FuzzTable t = choices.from(tables);
        List<Column> columns =
                t.columns().stream()
                        .map(c -> new Column(c.name(), c.type(), c.peculiar()))
                        .toList();
        // A source emits in one order. Upserts pass ChangelogNormalize, which is keyed and bundles.
        Order order =
                t.kind() == FuzzTable.Kind.UPSERT
                        ? keyed(Order.SEQUENCE, true, true)
                        : Order.SEQUENCE;
        return new Relation(
                t.name(),
                columns,
                order,
                t.primaryKey() ? List.of(t.column("id")) : List.of(),
                t.kind() != FuzzTable.Kind.APPEND,
                true,
                t.hasRowtime() ? t.column("ts") : null,
                t.proctime() ? t.column("pt") : null,
                Set.of(t.name()),
                Math.max(1, t.changes().size()),
                Oracle.STREAM,
                true);
    }

    /**
     * How much is determined behind an operator with a key.
     *
     * @param anyOrder its final result is the same in whatever order its input comes
     * @param bundling it works on bundles if mini-batch is on
     */
    private Order keyed(Order input, boolean anyOrder, boolean bundling) {
        if (input == Order.SEQUENCE) {
            if (traits.bundles() && bundling) {
                return Order.RESULT;
            }
            return traits.parallelism() == 1 ? Order.SEQUENCE : Order.CHANGES;
        }
        // Rows that vanish when they are not used for a while: which, depends on the order of
        // changes.
        return input != Order.NOTHING && anyOrder && !traits.ttl() ? Order.RESULT : Order.NOTHING;
    }

    private Relation filter(Relation input) {
        List<Column> columns = new ArrayList<>();
        List<String> items = new ArrayList<>();
        boolean all = choices.chance(40);
        for (Column c : input.columns()) {
            if (all
                    || input.key().contains(c.name())
                    || c.name().equals(input.rowtime())
                    || choices.chance(70)) {
                columns.add(c);
                items.add(c.name());
            }
        }
        if (choices.chance(40) || columns.isEmpty()) {
            String name = name();
            Column value = expressions.value(input.columns(), name);
            columns.add(new Column(name, value.type(), false));
            items.add(value.name());
        }
        if (input.proctime() != null) {
            items.add(input.proctime());
        }
        String where =
                choices.chance(70) ? " WHERE " + expressions.condition(input.columns(), 2) : "";
        return input.as(
                "SELECT " + String.join(", ", items) + " FROM " + input.from(alias()) + where,
                columns);
    }

    private Relation deduplicate(Relation input) {
        boolean rowtime =
                input.rowtime() != null && (input.proctime() == null || choices.chance(70));
        boolean last = choices.chance(60);
        List<Column> columns = new ArrayList<>(input.columns());
        boolean distinctRows = !input.key().isEmpty();
        if (!rowtime && last && !distinctRows && !traits.rocksdb()) {
            last = false;
        }
        List<Column> keys =
                some(
                        input.columns().stream()
                                .filter(
                                        c ->
                                                c.type().family != Family.MAP
                                                        && !c.name().equals(input.rowtime()))
                                .toList(),
                        0,
                        2);
        String time = rowtime ? input.rowtime() : input.proctime();
        Relation result =
                numbered(
                        input,
                        keys,
                        time + (last ? " DESC" : " ASC"),
                        "rn = 1",
                        columns,
                        List.of());
        Order order = keyed(input.order(), false, true);
        if (rowtime && !last && order == Order.SEQUENCE) {
            // Many keys at one tick of the watermark.
            order = Order.CHANGES;
        }
        if (traits.bundles() && input.order() == Order.SEQUENCE) {
            order = Order.CHANGES;
        }
        return result.ordered(order)
                .keyed(keyNames(keys))
                .updating(last || traits.bundles())
                .batch(false)
                .timed(null, null);
    }

    private Relation topN(Relation input) {
        List<Column> partition =
                some(
                        input.columns().stream()
                                .filter(c -> c.type().family != Family.MAP)
                                .toList(),
                        choices.chance(15) ? 0 : 1,
                        2);
        List<Column> sortable = input.sortable();
        boolean sequence = input.order() == Order.SEQUENCE;
        if (sortable.isEmpty() || !sequence && input.key().isEmpty() && choices.chance(80)) {
            return filter(input);
        }
        List<String> order = new ArrayList<>();
        Set<String> sorted = new LinkedHashSet<>();
        int sortColumns = choices.from(1, 2, 1, 3);
        for (int i = 0; i < sortColumns; i++) {
            Column c = choices.from(sortable);
            if (sorted.add(c.name())) {
                order.add(sort(c.name()));
            }
        }
        boolean total = false;
        if (!input.key().isEmpty()
                && sortable.stream().map(Column::name).toList().containsAll(input.key())
                && choices.chance(sequence ? 70 : 95)) {
            input.key().stream().filter(sorted::add).forEach(k -> order.add(sort(k)));
            total = true;
        }
        int n = choices.from(1, 2, 3, 5, 20);
        boolean offset = choices.chance(20);
        boolean number = choices.chance(45);
        String condition = n == 1 ? "rn = 1" : "rn <= " + n;
        if (choices.chance(15)) {
            condition =
                    choices.from(
                            "rn < " + (n + 1),
                            n + " >= rn",
                            "rn BETWEEN -3 AND " + n,
                            "rn > 0 AND rn <= " + n);
        }
        boolean variable = false;
        if (offset) {
            int start = choices.between(2, 4);
            condition =
                    choices.chance(25)
                            ? "rn = " + start
                            : "rn BETWEEN " + start + " AND " + (start + n);
        } else {
            List<Column> ends =
                    partition.stream()
                            .filter(
                                    c ->
                                            List.of(Type.SMALLINT, Type.INT, Type.BIGINT)
                                                    .contains(c.type()))
                            .toList();
            if (!ends.isEmpty() && choices.chance(20)) {
                condition = "rn <= " + choices.from(ends).name();
                variable = true;
            }
        }
        // With its rank, too: the planner leaves it out where nobody reads it.
        boolean lossy = offset && input.updates();
        String rank = number ? name() : "rn";
        List<Column> columns = someKeeping(input.columns(), input.key(), partition);
        Relation result =
                numbered(
                        input,
                        partition,
                        String.join(", ", order),
                        condition.replace("rn", rank),
                        columns,
                        number ? List.of(rank) : List.of());
        List<String> key = List.of();
        if (number) {
            key = Stream.concat(partition.stream().map(Column::name), Stream.of(rank)).toList();
        } else if (!input.key().isEmpty()) {
            key = input.key();
        }
        boolean cached =
                traits.ttl() && !(number && input.updates() && !input.sql().startsWith("SELECT "));
        Relation ranked =
                result.ordered(cached ? Order.NOTHING : keyed(input.order(), total, false))
                        .keyed(key)
                        .updating(true)
                        .batch(
                                total
                                        && !variable
                                        && (n > 1 || offset || number || input.updates())
                                        && !byKey(input, sorted))
                        .timed(null, null)
                        .judgedBy(lossy ? Oracle.BATCH_ONLY : input.oracle());
        boolean takenForInsertions = n == 1 && !number && !offset && !input.updates();
        return number || offset || takenForInsertions ? ranked.unsteady() : ranked;
    }

    /** Only the key of rows that change decides their place: Flink then takes a deletion for a new version. */
    private static boolean byKey(Relation input, Set<String> sorted) {
        return input.updates() && input.key().containsAll(sorted);
    }

    private String sort(String name) {
        return name
                + choices.from(
                        " ASC",
                        " DESC",
                        "",
                        " DESC NULLS LAST",
                        " ASC NULLS LAST",
                        " DESC NULLS FIRST");
    }

    private Relation numbered(
            Relation input,
            List<Column> partition,
            String order,
            String condition,
            List<Column> columns,
            List<String> rank) {
        String over =
                (partition.isEmpty()
                                ? ""
                                : "PARTITION BY " + String.join(", ", keyNames(partition)) + " ")
                        + "ORDER BY "
                        + order;
        String number = rank.isEmpty() ? "rn" : rank.get(0);
        List<String> items = new ArrayList<>(columns.stream().map(Column::name).toList());
        List<Column> result = new ArrayList<>(columns);
        if (!rank.isEmpty()) {
            items.add(number);
            result.add(new Column(number, Type.BIGINT, false));
        }
        return input.as(
                "SELECT %s FROM (SELECT *, ROW_NUMBER() OVER (%s) AS %s FROM %s) WHERE %s"
                        .formatted(
                                String.join(", ", items), over, number, input.from(""), condition),
                result);
    }

    private Relation limit(Relation input) {
        List<Column> sortable = input.sortable();
        int n = choices.from(3, 1, 10, 50, 3, 10, 50, 0);
        boolean offset = choices.chance(25);
        String limit = " LIMIT " + n + (offset ? " OFFSET " + choices.between(1, 5) : "");
        List<Column> columns = someKeeping(input.columns(), input.key(), List.of());
        String select =
                "SELECT " + String.join(", ", keyNames(columns)) + " FROM " + input.from(alias());
        Oracle oracle = offset && input.updates() ? Oracle.BATCH_ONLY : input.oracle();
        List<Column> visible = sortable.stream().filter(columns::contains).toList();
        if (visible.isEmpty() || choices.chance(25)) {
            return input.as(select + limit, columns)
                    .ordered(traits.ttl() ? Order.NOTHING : keyed(input.order(), false, false))
                    .updating(input.updates())
                    .batch(false)
                    .timed(null, null)
                    .judgedBy(oracle);
        }
        List<String> order = new ArrayList<>();
        Column first = choices.from(visible);
        int totalChance = input.order() == Order.SEQUENCE ? 70 : 95;
        order.add(sort(first.name()));
        boolean total =
                !input.key().isEmpty()
                        && keyNames(visible).containsAll(input.key())
                        && choices.chance(totalChance);
        if (total) {
            input.key().stream()
                    .filter(k -> !k.equals(first.name()))
                    .forEach(k -> order.add(sort(k)));
        }
        Relation limited =
                input.as(select + " ORDER BY " + String.join(", ", order) + limit, columns)
                        .ordered(traits.ttl() ? Order.NOTHING : keyed(input.order(), total, false))
                        .updating(true)
                        .batch(total && !byKey(input, Set.of(first.name())))
                        .timed(null, null)
                        .judgedBy(oracle);
        return offset ? limited.unsteady() : limited;
    }

    private Relation aggregate(Relation input) {
        List<Column> groupable =
                input.columns().stream().filter(c -> c.type().family != Family.MAP).toList();
        List<Column> groups = some(groupable, choices.chance(15) ? 0 : 1, 3);
        Calls calls = new Calls(choices, expressions, input);
        int count = choices.from(1, 2, 3, 4);
        List<Column> columns = new ArrayList<>(groups);
        List<String> items = new ArrayList<>(keyNames(groups));
        boolean distinctOnly = !groups.isEmpty() && choices.chance(8);
        for (int i = 0; i < count && !distinctOnly; i++) {
            String name = name();
            Column call = calls.next();
            items.add(call.name() + " AS " + name);
            columns.add(new Column(name, call.type(), call.peculiar()));
        }
        String by =
                groups.isEmpty() || distinctOnly
                        ? ""
                        : " GROUP BY " + String.join(", ", keyNames(groups));
        List<String> key = keyNames(groups);
        if (groups.size() > 1 && !distinctOnly && choices.chance(20)) {
            by =
                    switch (choices.below(3)) {
                        case 0 -> " GROUP BY ROLLUP (" + String.join(", ", keyNames(groups)) + ")";
                        case 1 -> " GROUP BY CUBE (" + String.join(", ", keyNames(groups)) + ")";
                        default ->
                                " GROUP BY GROUPING SETS (("
                                        + groups.get(0).name()
                                        + "), ("
                                        + String.join(", ", keyNames(groups))
                                        + "))";
                    };
            key = List.of();
        }
        String where =
                choices.chance(25) ? " WHERE " + expressions.condition(input.columns(), 1) : "";
        // Without groups there is no row before the first one came, but batch has one.
        String having = !by.isEmpty() && choices.chance(10) ? " HAVING COUNT(*) > 1" : "";
        Order order =
                calls.undetermined ? Order.NOTHING : keyed(input.order(), calls.anyOrder, true);
        return input.as(
                        "SELECT "
                                + (distinctOnly ? "DISTINCT " : "")
                                + String.join(", ", items)
                                + " FROM "
                                + input.from(alias())
                                + where
                                + by
                                + having,
                        columns)
                .ordered(order)
                .keyed(key)
                .updating(true)
                .batch(calls.anyOrder && !groups.isEmpty() && !input.hasPeculiar())
                .timed(null, null)
                .sized(input.rows());
    }

    /** Some columns, each once. */
    private List<Column> some(List<Column> columns, int least, int most) {
        int count = Math.min(columns.size(), choices.between(least, most));
        Set<Column> some = new LinkedHashSet<>();
        for (int i = 0; i < count; i++) {
            some.add(choices.from(columns));
        }
        return List.copyOf(some);
    }

    private List<Column> someKeeping(List<Column> columns, List<String> key, List<Column> also) {
        boolean all = choices.chance(50);
        return columns.stream()
                .filter(
                        c ->
                                all
                                        || key.contains(c.name())
                                        || also.contains(c)
                                        || choices.chance(60))
                .toList();
    }

    private static List<String> keyNames(List<Column> columns) {
        return columns.stream().map(Column::name).toList();
    }

    private String name() {
        return names.next("x");
    }

    private String alias() {
        return names.next("q");
    }
}
