// Package agg is Flink's GROUP BY without windows, StreamExecGroupAggregate and the nodes it is split into.
//
// What goes out is a row joined of two: the grouping columns and the results. Per row and group, answered at once
// (GroupAggFunction):
//
//	no accumulator, and the row is a retraction: nothing
//	no accumulator:                              make one
//	apply the row: accumulate +I and +U, retract -U and -D
//	COUNT(*) is 0 (only inputs with retractions have one):
//	    there was an accumulator before:         -D results before
//	    forget the group
//	there was no accumulator before:             +I results
//	results equal those before, without TTL:     nothing
//	else:                                        -U results before if generateUpdateBefore, +U results
//
// A count below 0 is not 0: such a group lives on. Without grouping columns there is one group, whose key is the empty row;
// nothing goes out before its first row.
//
// # Phases
//
//	one phase, mini-batch (MiniBatchGroupAggFunction)         the rules above, once per key of a bundle, for all its rows
//	local (MiniBatchLocalGroupAggFunction)                    per key of a bundle +I accumulators; no state
//	global (MiniBatchGlobalGroupAggFunction)                  accumulators are merged per bundle, then with the state, and
//	                                                          the rules above apply, but a retraction makes a group, too
//	incremental (MiniBatchIncrementalGroupAggFunction)        per final key of a bundle +I accumulators; the state is the
//	                                                          distinct values, by partial key
//
// A bundle ends with so many rows, a watermark or Flush; its keys are answered in the order of a java.util.HashMap (see package
// javamap). Accumulators cross phases as Flink's do: distinct values, and what retracting MIN, MAX and LISTAGG
// hold, as the bytes of its MapViews and ListViews.
//
// # State
//
// A table maps the key's BinaryRowData to a value that begins with the row of results (see plan). COUNT, SUM, MIN and most
// others are computed in place, in the slots that go out; AVG and what else is derived follow when the accumulators have
// changed. Long strings, the values of retracting MIN, MAX, FIRST_VALUE and LAST_VALUE, and lists are in an arena. Distinct
// values of all groups are in one table per set of arguments (see view).
//
// # Functions
//
// Each is Flink's of the same name, by the types of its arguments; the retracting form is taken where the call needs it.
// Integers wrap in their own width, floats are added in the order they come, decimal sums have 38 digits (see
// DecimalDataUtils): a larger one is null, and SUM, but not $SUM0 or AVG, begins anew with the next value. Comparing is
// done by < and > in MIN and MAX, and by Java's compareTo, for which NaN is greatest and -0.0 less than 0.0, in their
// retracting forms, which keep every value and how often it is there.
package agg
