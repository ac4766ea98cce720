package drey.plan;

import drey.spec.AggregateCalls;
import drey.spec.AggregateCalls.Call;
import drey.spec.AggregateCalls.Function;

import org.apache.flink.table.api.config.AggregatePhaseStrategy;
import org.apache.flink.table.api.config.OptimizerConfigOptions;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeChecks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Reads the aggregate calls of a node, and does to them what Flink's {@code AggregateUtil} does before it generates code:
 * looks for the COUNT(*) that tells when a group is empty, and inserts one where there is none.
 */
final class AggregateCallReader {

    /** By the names under which plans have them. What isn't here, users' functions above all, stays on Flink. */
    private static final Map<String, Function> FUNCTIONS =
            Map.of(
                    "$AVG$1", Function.AVG,
                    "$COUNT$1", Function.COUNT,
                    "$FIRST_VALUE$1", Function.FIRST_VALUE,
                    "$LAST_VALUE$1", Function.LAST_VALUE,
                    "$LISTAGG$1", Function.LISTAGG,
                    "$MAX$1", Function.MAX,
                    "$MIN$1", Function.MIN,
                    "$SINGLE_VALUE$1", Function.SINGLE_VALUE,
                    "$SUM$1", Function.SUM,
                    "$$SUM0$1", Function.SUM0);

    /**
     * Up to how many digits decimals are added in any order: 10^16 of them stay below the 38 digits at which a sum becomes null
     * and the order tells.
     */
    private static final int ORDERLESS_PRECISION = 22;

    private final List<NodeJson> calls;
    private final List<Boolean> needRetractions;
    private final boolean needRetraction;
    private final OptionalInt indexOfCountStar;
    private final RowType input;

    /**
     * @param needRetractions for each call whether its function has to retract
     * @param needRetraction the input retracts
     * @param indexOfCountStar the call that counts the rows of a group, if the plan names one
     * @param input the row type in which the calls have their arguments
     */
    AggregateCallReader(
            List<NodeJson> calls,
            List<Boolean> needRetractions,
            boolean needRetraction,
            OptionalInt indexOfCountStar,
            RowType input) {
        if (calls.size() != needRetractions.size()) {
            throw new NodeJson.Unreadable(
                    calls.size() + " aggregate calls, but " + needRetractions.size() + " flags");
        }
        this.calls = calls;
        this.needRetractions = needRetractions;
        this.needRetraction = needRetraction;
        this.indexOfCountStar = indexOfCountStar;
        this.input = input;
    }

    /** The reader of a node that has its calls under the usual names. */
    static AggregateCallReader of(NodeJson node, RowType input) {
        return new AggregateCallReader(
                node.objects("aggCalls"),
                node.bools("aggCallNeedRetractions"),
                node.bool("needRetraction"),
                node.optionalInteger("indexOfCountStar"),
                input);
    }

    /** Why one of the calls can't run natively, if so. */
    Optional<String> unsupported() {
        return calls.stream().map(this::unsupported).flatMap(Optional::stream).findFirst();
    }

    private Optional<String> unsupported(NodeJson call) {
        String name = name(call);
        Function function = function(call);
        if (function == null) {
            return Optional.of("no native aggregate function " + name);
        }
        if (call.bool("approximate")) {
            return Optional.of(name + " is approximate");
        }
        if (call.bool("ignoreNulls")) {
            return Optional.of(name + " has IGNORE NULLS");
        }
        if (function == Function.SINGLE_VALUE && call.bool("distinct")) {
            // Not of SQL: Calcite takes no notice of DISTINCT there.
            return Optional.of(name + " of distinct values");
        }
        List<Integer> arguments = call.integers("argList");
        int most = function == Function.LISTAGG ? 2 : 1;
        if (arguments.size() > most || arguments.isEmpty() && function != Function.COUNT) {
            return Optional.of(name + " has " + arguments.size() + " arguments");
        }
        for (int argument : arguments) {
            LogicalType type = input.getTypeAt(argument);
            // COUNT asks for nothing but whether the value is NULL.
            boolean known =
                    function == Function.COUNT && !call.bool("distinct") || takes(function, type);
            if (!known) {
                return Optional.of(name + " of " + type.asSummaryString());
            }
        }
        return Optional.empty();
    }

    /** Flink itself refuses most others; FIRST_VALUE and LAST_VALUE it has for any type. */
    private static boolean takes(Function function, LogicalType type) {
        return switch (function) {
            case AVG, SUM, SUM0 ->
                    switch (type.getTypeRoot()) {
                        case TINYINT, SMALLINT, INTEGER, BIGINT, FLOAT, DOUBLE, DECIMAL -> true;
                        default -> false;
                    };
            case COUNT -> RowTypes.isFlat(type);
            case MAX, MIN, FIRST_VALUE, LAST_VALUE, SINGLE_VALUE ->
                    switch (type.getTypeRoot()) {
                        case TINYINT,
                                SMALLINT,
                                INTEGER,
                                BIGINT,
                                FLOAT,
                                DOUBLE,
                                DECIMAL,
                                BOOLEAN,
                                CHAR,
                                VARCHAR,
                                DATE,
                                TIME_WITHOUT_TIME_ZONE,
                                TIMESTAMP_WITHOUT_TIME_ZONE,
                                TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
                                true;
                        default -> false;
                    };
            case LISTAGG ->
                    switch (type.getTypeRoot()) {
                        case CHAR, VARCHAR -> true;
                        default -> false;
                    };
        };
    }

    /**
     * Why accumulators can't cross from one phase to another, if so. Distinct values cross as Flink's map of them, whose order is
     * not kept where it doesn't matter to the result. (FIRST_VALUE and LAST_VALUE Flink never plans in two phases.)
     */
    Optional<String> unsupportedAccumulator() {
        return calls.stream()
                .filter(call -> call.bool("distinct") && !ignoresOrder(call))
                .findFirst()
                .map(
                        call ->
                                "the accumulator of "
                                        + name(call)
                                        + " depends on the order of distinct values, which goes natively in one"
                                        + " phase only (set "
                                        + OptimizerConfigOptions.TABLE_OPTIMIZER_AGG_PHASE_STRATEGY
                                                .key()
                                        + " to "
                                        + AggregatePhaseStrategy.ONE_PHASE
                                        + ")");
    }

    private boolean ignoresOrder(NodeJson call) {
        return call.integers("argList").size() == 1
                && switch (function(call)) {
                    case COUNT, MAX, MIN -> true;
                    case AVG, SUM, SUM0 -> {
                        LogicalType type = input.getTypeAt(call.integers("argList").get(0));
                        yield switch (type.getTypeRoot()) {
                            case TINYINT, SMALLINT, INTEGER, BIGINT -> true;
                            case DECIMAL ->
                                    LogicalTypeChecks.getPrecision(type) <= ORDERLESS_PRECISION;
                            default -> false;
                        };
                    }
                    case FIRST_VALUE, LAST_VALUE, LISTAGG, SINGLE_VALUE -> false;
                };
    }

    /**
     * Why accumulators can't expire, if so: values that came in the same millisecond of the system's clock expire together for
     * Flink, whatever the clock of the state says.
     */
    Optional<String> unsupportedRetention(long stateTtlMillis) {
        if (stateTtlMillis == 0) {
            return Optional.empty();
        }
        for (int i = 0; i < calls.size(); i++) {
            boolean sequence =
                    needRetractions.get(i)
                            && switch (function(calls.get(i))) {
                                case FIRST_VALUE, LAST_VALUE -> true;
                                default -> false;
                            };
            if (sequence) {
                return Optional.of(
                        "state expires after "
                                + stateTtlMillis
                                + " ms, value by value for "
                                + name(calls.get(i))
                                + " with retraction");
            }
        }
        return Optional.empty();
    }

    /** Whether an accumulator is a view on state, and not plain fields alone. */
    boolean hasDataViews() {
        for (int i = 0; i < calls.size(); i++) {
            if (calls.get(i).bool("distinct") || hasDataView(i)) {
                return true;
            }
        }
        return false;
    }

    private boolean hasDataView(int i) {
        return needRetractions.get(i)
                && switch (function(calls.get(i))) {
                    case FIRST_VALUE, LAST_VALUE, LISTAGG, MAX, MIN -> true;
                    case AVG, COUNT, SINGLE_VALUE, SUM, SUM0 -> false;
                };
    }

    /** The calls; to be asked for only if none is unsupported. */
    AggregateCalls read() {
        List<Call> all = new ArrayList<>();
        OptionalInt countStar = indexOfCountStar;
        for (NodeJson call : calls) {
            Call read =
                    new Call(
                            function(call),
                            call.integers("argList"),
                            call.bool("distinct"),
                            call.integer("filterArg"),
                            call.type("type").asSerializableString());
            // Of several Flink takes the last.
            if (needRetraction && indexOfCountStar.isEmpty() && isCountStar(read)) {
                countStar = OptionalInt.of(all.size());
            }
            all.add(read);
        }
        List<Boolean> retractions = new ArrayList<>(needRetractions);
        boolean inserted = needRetraction && countStar.isEmpty();
        if (inserted) {
            countStar = OptionalInt.of(all.size());
            all.add(new Call(Function.COUNT, List.of(), false, -1, "BIGINT NOT NULL"));
            retractions.add(true);
        }
        return new AggregateCalls(all, retractions, needRetraction, countStar, inserted);
    }

    private static boolean isCountStar(Call call) {
        return call.function() == Function.COUNT
                && call.argList().isEmpty()
                && call.filterArg() < 0
                && !call.distinct();
    }

    private static Function function(NodeJson call) {
        return call.optionalText("internalName").map(FUNCTIONS::get).orElse(null);
    }

    /** What the user calls the function, as far as the plan knows. */
    private static String name(NodeJson call) {
        Function function = function(call);
        if (function != null) {
            return function.text();
        }
        return call.optionalText("internalName")
                .map(name -> name.replaceFirst("^\\$(.*)\\$\\d+$", "$1"))
                .or(() -> call.optionalText("systemName"))
                .or(() -> call.optionalText("catalogName"))
                .or(() -> call.optionalText("class"))
                .orElse("without a name");
    }
}
