// Package join is Flink's regular join of two changelogs: StreamExecJoin, with StreamingJoinOperator,
// StreamingSemiAntiJoinOperator and MiniBatchStreamingJoinOperator. Rows with equal join keys match if the condition, when
// there is one, is true for the pair. A null in a key column matches nothing, unless it is compared null-safely
// (filterNulls false).
//
// In the pseudo-code, r is a row that comes in with kind k, m a row of the other side that it matches, m.n the number of
// rows that m matches (its associations), pad(x) row x beside nulls. A side is outer if its unmatched rows go out padded.
//
//	INNER, LEFT, RIGHT, FULL      (StreamingJoinOperator)
//	    r accumulates, own side not outer:    add r
//	    r retracts:                           retract r
//	    for each m:
//	        r accumulates, other side outer:      -D pad(m) if m.n = 0;  m.n + 1
//	        +I (r, m) if r accumulates and a side is outer;  -D (r, m) if r retracts and its own side is outer;  else k (r, m)
//	        r retracts, other side outer:         +I pad(m) if m.n = 1;  m.n - 1
//	    no m, own side outer:                 +I or -D pad(r)
//	    r accumulates, own side outer:        add r with r.n = number of matches
//
//	SEMI, ANTI, left input        (StreamingSemiAntiJoinOperator)
//	    k r if there is an m (SEMI), or none (ANTI)
//	    add r with r.n = number of matches, or retract r
//
//	SEMI, ANTI, right input
//	    add or retract r
//	    for each left m:
//	        r accumulates:    if m.n = 0:  k m (SEMI), -D m (ANTI);   m.n + 1
//	        r retracts:       if m.n = 1:  k m (SEMI), +I m (ANTI);   m.n - 1
//
// Numbers of associations are trusted, not counted again: with TTL they may be wrong, and padded rows are missing or too many
// then, as in Flink.
//
// # State
//
// What a side keeps follows from its unique key, as in JoinRecordStateViews and OuterJoinRecordStateViews:
//
//	within the join key      one row: add overwrites, retract forgets it whatever it is
//	elsewhere                rows by unique key: add overwrites, retract forgets the key's
//	none                     rows with counts: equal rows are one record; a retraction of what is not there is ignored
//
// One table, by join key, serves both sides, so that a row needs one lookup: a key's value is the handles of two chains of
// records (see chain.go, side.go). Chains are in the order of insertion, in which matches go out. Rows with a null that
// matches nothing are not kept: no one would ever look at them.
//
// With TTL a record carries the time it was written, by its own side or by one that counts its associations. It is
// invisible from that time plus TTL on, and is freed by a sweep over a few keys with each batch.
//
// # A batch
//
// All keys of a batch are projected, hashed and looked up at once, and the state of some rows ahead is fetched into the cache
// together (see fetch.go), in a batch of both inputs, too, of which the rows are joined in the order they came. While a row is
// joined, those of the other side neither come nor go, so between any two rows that it emits the work can stop, and be resumed.
// The condition is evaluated for a thousand pairs at a time, ahead of the rows (see pairs.go).
package join
