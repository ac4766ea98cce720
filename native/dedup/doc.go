// Package dedup is Flink's StreamExecDeduplicate: of all rows with the same unique key it keeps the first or the last, by
// event time or by arrival. Rows come in as +I only; what goes out, per row and key, is
//
//	by arrival, keep first        (ProcTimeDeduplicateKeepFirstRowFunction)
//	    key new:                      +I row
//	    else:                         nothing
//
//	by arrival, keep last         (ProcTimeDeduplicateKeepLastRowFunction)
//	    neither generateUpdateBefore nor generateInsert: +U row, always, and no state at all
//	    key new:                      +I row
//	    row equals the stored one and there is no TTL: nothing
//	    else:                         -U stored if generateUpdateBefore, +U row
//	    row becomes the stored one
//
//	by event time                 (RowTimeDeduplicateFunction)
//	    keep last and row older than the stored one, or keep first and row not older: nothing at all
//	    key new:                      +I row; but +U row if neither generateUpdateBefore nor generateInsert
//	    else:                         -U stored if generateUpdateBefore, +U row
//	    row becomes the stored one
//
//	by event time, keep first, insert-only output (RowTimeDeduplicateKeepFirstRowFunction)
//	    row older than the watermark: dropped and counted
//	    key was emitted before:       nothing
//	    no row waits, or row is older than the waiting one: row waits from now on
//	    watermark reaches the waiting row: +I waiting, the key counts as emitted
//
// Equal event times: keep last takes the newer arrival, keep first stays with the older.
//
// In mini-batches (KeyedMapBundleOperator) rows are collected in a bundle until it has so many, or until Flush or a
// watermark. Then, key by key in the order of a java.util.HashMap (see package javamap), the rules above are applied: by
// arrival to the bundle's first, or last, row of the key; by event time to all of them, or with compactChanges to the best of
// them.
//
// # State
//
// A table from unique key to a small value, and an arena with the rows. Rows are stored with header byte 0. With a state
// TTL a value carries the time it was last written; it is invisible from that time plus TTL on, and a queue of keys by
// expiry frees the memory soon after (expiry). The clock is the host's: Batch.Now, ProcessingTime.
//
// # Where stock disagrees with itself
//
// Whether keep-last by arrival suppresses an equal row depends on stock's state backend: with the heap backend the stored
// row's kind is overwritten in place, so a third equal row is emitted again; with RocksDB it is not. This package does
// what RocksDB does.
package dedup
