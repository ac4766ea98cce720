// Package op is the contract every native operator fulfils. It has no implementation and imports no operator.
package op

import (
	"io"

	"drey/native/changelog"
)

// Operator is one native operator of one parallel subtask. It is not safe for concurrent use: the host's task thread is
// its only caller. Batches and builders are borrowed for the length of a call; an operator that keeps bytes copies them
// into its own arena.
//
// Bad input and an exhausted memory budget are returned as errors before any state has changed. A query that fails on a row
// (ErrQuery) is an error when the row is reached. A broken invariant panics; the boundary turns the panic into an error. After
// either of the two it never calls the operator again.
type Operator interface {
	// Push processes a batch of the given input (0 or 1) in row order and appends what it emits to out.
	Push(input int, in *changelog.Batch, out *changelog.Builder) error
	// Watermark tells that event time has reached ts, in epoch milliseconds.
	Watermark(ts int64, out *changelog.Builder) error
	// ProcessingTime tells that the host's clock shows ts, in epoch milliseconds.
	ProcessingTime(ts int64, out *changelog.Builder) error
	// Flush ends a mini-batch bundle.
	Flush(out *changelog.Builder) error
	// Snapshot freezes the present state for reading by key group.
	Snapshot(groups KeyGroups) (Snapshot, error)
	// Restore adds the state of one key group, before the first Push.
	Restore(keyGroup int, r io.Reader) error
	// Stats appends the operator's counters and gauges, always the same names in the same order.
	Stats(dst []Stat) []Stat
	// Close frees all memory. It is idempotent.
	Close()
}

// Resumer is an Operator that may emit any number of rows for one. When out.Full() it may stop in the middle of Push,
// Watermark or Flush. Its Unfinished is true then, the batch stays valid, and Resume is called once the rows emitted so far
// have been taken away, again and again; nothing else is called before Unfinished is false, except for Close. An error with
// which it stays Unfinished is the end: something had changed already, and no call can make that whole again.
type Resumer interface {
	Unfinished() bool
	// Resume goes on where the operator has stopped. It too may stop when out.Full(), and for no other reason.
	Resume(out *changelog.Builder) error
}

// Mixed is an Operator of two inputs that takes rows of both in one batch. Flink reads a row of each in turn while both have
// some, so that runs of rows of one input are short; an operator that isn't Mixed gets a Push for each of them.
type Mixed interface {
	// PushMixed is Push of a batch that says for each row which input it is of.
	PushMixed(in *changelog.Batch, out *changelog.Builder) error
}

// KeyGroups is the part of the key space a subtask owns: groups First..Last, inclusive, of Max in all.
type KeyGroups struct {
	First, Last, Max int
}

// Snapshot is a frozen view of an operator's state. It stays valid until closed; the operator may go on meanwhile only
// where its implementation says so.
type Snapshot interface {
	// Write writes the frames of one key group.
	Write(keyGroup int, w io.Writer) error
	Close()
}

// Stat is one number of an operator. Names that Flink's own operator reports keep Flink's name.
type Stat struct {
	Name  string
	Value int64
}
