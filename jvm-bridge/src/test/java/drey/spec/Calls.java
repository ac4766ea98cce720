package drey.spec;

import drey.spec.AggregateCalls.Call;
import drey.spec.AggregateCalls.Function;

import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;

/** Aggregate calls as tests write them down: none of them with a filter. */
public final class Calls {

    private Calls() {}

    public static Call call(Function function, String type, Integer... arguments) {
        return new Call(function, List.of(arguments), false, -1, type);
    }

    public static Call distinct(Function function, String type, Integer... arguments) {
        return new Call(function, List.of(arguments), true, -1, type);
    }

    /** Of an input that only grows. */
    public static AggregateCalls appendOnly(Call... calls) {
        return new AggregateCalls(
                List.of(calls),
                Collections.nCopies(calls.length, false),
                false,
                OptionalInt.empty(),
                false);
    }

    /**
     * Of an input that retracts.
     *
     * @param countStar which call counts the rows of a group
     * @param inserted it is none of the query's
     */
    public static AggregateCalls retracting(int countStar, boolean inserted, Call... calls) {
        return new AggregateCalls(
                List.of(calls),
                Collections.nCopies(calls.length, true),
                true,
                OptionalInt.of(countStar),
                inserted);
    }
}
