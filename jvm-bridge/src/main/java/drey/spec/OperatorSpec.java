package drey.spec;

import java.util.Map;

/** Everything a native operator has to know beyond the types of its rows. Immutable, and equal iff the JSON is equal. */
public sealed interface OperatorSpec
        permits DeduplicateSpec,
                RankSpec,
                JoinSpec,
                GroupAggregateSpec,
                LocalGroupAggregateSpec,
                GlobalGroupAggregateSpec,
                IncrementalGroupAggregateSpec {

    /** The version of the form of all specs, bumped when a reader of the old form would misread the new one. */
    int VERSION = 1;

    /** The kind of operator, as in {@code "operator"} of the JSON and {@code drey.operator.<name>.enabled}. */
    String operator();

    /** The fields that follow {@code operator} and {@code version}. A value that doesn't apply is absent, never null. */
    Map<String, Object> fields();

    /** The spec as canonical JSON: keys sorted, no white space, no nulls; equal specs give equal text. */
    default String toJson() {
        return CanonicalJson.write(this);
    }
}
