// Package topn is Flink's StreamExecRank, StreamExecSortLimit and StreamExecLimit: of each partition's rows, in an order,
// those of some ranks.
//
// Rows with equal sort keys rank in the order they came. A message for rank r goes out only if r is within the rank range;
// -U goes out only with generateUpdateBefore, +I and -D always. "With number" are operators whose output has the rank as a
// column, or whose range does not start at 1: they tell every row whose rank has changed. The others tell which rows come
// and go. N is the rank range's end; with a variable range it is what the partition's first row says.
//
//	first     (AppendOnlyFirstNFunction: append-only input, ordered by arrival)
//	    fewer than N rows came before:  +I row
//
//	top1      (FastTop1Function: rank 1 only, append-only input or updates that only improve)
//	    no row yet:                     +I row
//	    sort key better than the row's: -U held, +U row
//
//	append    (AppendOnlyTopNFunction: append-only input)
//	    row is not better than the worst of N rows: nothing
//	    with number:                    cascade
//	    else:                           -D row that is N+1st now, +I row
//
//	update    (UpdatableTopNFunction: input with updates that only improve, by a unique row key)
//	    row key is held:                with number: -U/+U of what moved; else -U held, +U row
//	    else as append
//
//	retract   (RetractableTopNFunction: any input)
//	    accumulate:                     as append, but all rows are kept
//	    retract, with number:           cascade of what ranked behind the row, -D at the last rank
//	    retract, else:                  -D row, +I row that is Nth now
//
// A cascade, for a row that ranks r from now on: for every row o that had rank r, r+1, ...: -U o, +U the row before it; at
// the end +I of the last one if ranks are left. It costs what it emits.
//
// # State
//
// A table from partition key to a set (rowstate.Ordered) of rows, whose blocks hold a sort key that ends with the number of
// the row's arrival, and the row as it came in. Work per row is logarithmic in the size of the partition: a retracted row is
// found in a large group of equal sort keys through an index (peers.go), and what input that breaks its promises, or a TTL,
// makes of ranks is kept in sets of its own (groups.go). With a TTL, what has expired of a partition goes before a batch has
// to do with it (life.go).
//
// With the rank as a column, rows go out joined with a row of the rank (output.go): the bytes of a row that a cascade moves
// are written once.
package topn
