package dedup

import (
	"errors"

	"drey/native/changelog"
	"drey/native/op"
	"drey/rowstate"
)

// flagRule is keep first by arrival. That a key has an entry is all it remembers; with TTL the value is the time it was
// written.
type flagRule struct {
	o    *Operator
	size int // of a value
}

func newFlagRule(o *Operator) *flagRule {
	r := &flagRule{o: o}
	if o.clock.TTL > 0 {
		r.size = 8
	}
	return r
}

func (r *flagRule) reserve(int, int64) error { return nil }

func (r *flagRule) applyBatch(refs []rowstate.Ref, fresh []bool, in *changelog.Batch, out *changelog.Builder) {
	for i, ref := range refs {
		r.apply(ref, fresh[i], in.Row(i), i, out)
	}
}

func (r *flagRule) apply(ref rowstate.Ref, fresh bool, row []byte, source int, out *changelog.Builder) {
	if r.size > 0 {
		value := r.o.table.Value(ref)
		if !fresh && !r.o.clock.Expired(rowstate.Int64(value)) {
			return
		}
		rowstate.PutInt64(value, r.o.clock.Now)
		if fresh {
			r.o.enqueue(ref)
		}
	} else if !fresh {
		return
	}
	out.Append(changelog.Insert, row, source)
}

func (r *flagRule) due(int64, *changelog.Builder) {}

func (r *flagRule) stamp(ref rowstate.Ref) int64 { return rowstate.Int64(r.o.table.Value(ref)) }

func (r *flagRule) setStamp(ref rowstate.Ref, stamp int64) {
	rowstate.PutInt64(r.o.table.Value(ref), stamp)
}

func (r *flagRule) drop(rowstate.Ref) bool { return true }

func (r *flagRule) encode(ref rowstate.Ref, e *entry) bool {
	e.emitted = true
	if r.size > 0 {
		e.stamped, e.stamp = true, r.stamp(ref)
	}
	return !e.stamped || !r.o.clock.Expired(e.stamp)
}

func (r *flagRule) decode(_ rowstate.Ref, e *entry) (bool, error) {
	if e.row != nil || !e.emitted {
		return false, errors.New("a row, or not the flag that belongs here")
	}
	return true, nil
}

func (r *flagRule) stats(dst []op.Stat) []op.Stat { return dst }

func (r *flagRule) close() {}
