package dedup

import (
	"bytes"
	"encoding/binary"
	"errors"

	"drey/native/changelog"
	"drey/native/op"
	"drey/rowstate"
)

// rows keeps one row per key. The place of a row is the first 8 bytes of the key's value: ref, length; ref 0 is no row.
type rows struct {
	arena *rowstate.Arena
}

func place(value []byte) (rowstate.Ref, int) {
	v := binary.LittleEndian.Uint64(value)
	return rowstate.Ref(v), int(v >> 32)
}

func setPlace(value []byte, ref rowstate.Ref, n int) {
	binary.LittleEndian.PutUint64(value, uint64(ref)|uint64(n)<<32)
}

// row is the stored row, which is there.
func (s *rows) row(value []byte) []byte { return s.arena.Bytes(place(value)) }

// store puts a row in the place of the one that was there, if any. Its memory is used again where the new row fits: most
// rows of an input are of few sizes.
func (s *rows) store(value, row []byte) {
	ref, n := place(value)
	if n != len(row) || ref == 0 {
		if ref == 0 {
			ref = s.arena.Alloc(len(row))
		} else {
			ref = s.arena.Refit(ref, n, len(row))
		}
		setPlace(value, ref, len(row))
	}
	stored := s.arena.Bytes(ref, len(row))
	copy(stored, row)
	stored[0] = 0 // the kind is no part of the state
}

// free forgets the row, if there is one.
func (s *rows) free(value []byte) {
	if ref, n := place(value); ref != 0 {
		s.arena.Free(ref, n)
		setPlace(value, 0, 0)
	}
}

// rowRule is all variants that remember a row and answer at once: keep last by arrival, keep first or last by event time
// with updates. A key's value is
//
//	0  place of the row
//	8  its event time           only by event time: comparing does not touch the row
//	-  when it was written      only with TTL
type rowRule struct {
	o       *Operator
	rows    rows
	size    int // of a value
	stampAt int
	touched byte // keeps what touch reads from being optimized away

	// The specification, at hand.
	rowtime      bool
	rowtimeAt    int // slot of the event time in a row
	keepLast     bool
	updateBefore bool
	insert       bool // +I for the first row of a key
	ttl          bool
}

func newRowRule(o *Operator, budget *rowstate.Budget) *rowRule {
	s := o.spec
	r := &rowRule{
		o: o, rows: rows{rowstate.NewArena(budget, purposeRows)}, size: 8, rowtime: s.IsRowtime, keepLast: s.KeepLastRow,
		updateBefore: s.GenerateUpdateBefore, insert: s.GenerateInsert || s.GenerateUpdateBefore, ttl: s.StateTTLMillis > 0,
	}
	if r.rowtime {
		r.rowtimeAt = o.layout.Slot(*s.RowtimeIndex)
		r.size += 8
	}
	if r.ttl {
		r.stampAt = r.size
		r.size += 8
	}
	return r
}

func (r *rowRule) reserve(_ int, bytes int64) error { return r.rows.arena.Reserve(bytes) }

// touchAtOnce is how many rows' memory is fetched together, and touchFrom is how much memory all rows take before that pays:
// while they stay in the cache it costs 3 ns a row, behind it a retracting keep-last gains a third (op=rowtime-last-retract
// at 2 M keys: 290 to 203 ns a row).
const (
	touchAtOnce = 64
	touchFrom   = 4 << 20
)

func (r *rowRule) applyBatch(refs []rowstate.Ref, _ []bool, in *changelog.Batch, out *changelog.Builder) {
	cold := r.rows.arena.Stats().Held > touchFrom
	for from := 0; from < len(refs); from += touchAtOnce {
		part := refs[from:min(from+touchAtOnce, len(refs))]
		if cold {
			r.touch(part)
		}
		for i, ref := range part {
			r.apply(ref, false, in.Row(from+i), from+i, out)
		}
	}
}

// touch reads from every cache line of the stored rows, so that the misses of many rows overlap; one after the other, each
// copy to or from a row would wait for its own.
func (r *rowRule) touch(refs []rowstate.Ref) {
	sum := byte(0)
	for _, ref := range refs {
		if at, n := place(r.o.table.Value(ref)); at != 0 {
			row := r.rows.arena.Bytes(at, n)
			for i := 0; i < len(row); i += 64 {
				sum += row[i]
			}
		}
	}
	r.touched = sum
}

func (r *rowRule) apply(ref rowstate.Ref, _ bool, row []byte, source int, out *changelog.Builder) {
	value := r.o.table.Value(ref)
	previous, _ := place(value)
	seen := previous != 0
	if r.ttl {
		seen = seen && !r.o.clock.Expired(rowstate.Int64(value[r.stampAt:]))
	}
	if r.rowtime {
		// RowData.getLong: a null reads as what its slot has, 0.
		t := rowstate.Int64(row[r.rowtimeAt:])
		if seen {
			if stored := rowstate.Int64(value[8:]); r.keepLast && stored > t || !r.keepLast && stored <= t {
				return
			}
		}
		rowstate.PutInt64(value[8:], t)
	} else if seen && !r.ttl && bytes.Equal(r.rows.row(value)[1:], row[1:]) {
		return
	}
	switch {
	case !seen && r.insert:
		out.Append(changelog.Insert, row, source)
	case seen && r.updateBefore:
		out.Append(changelog.UpdateBefore, r.rows.row(value), source)
		out.Append(changelog.UpdateAfter, row, source)
	default:
		out.Append(changelog.UpdateAfter, row, source)
	}
	r.rows.store(value, row)
	if r.ttl {
		rowstate.PutInt64(value[r.stampAt:], r.o.clock.Now)
		if previous == 0 {
			r.o.enqueue(ref)
		}
	}
}

// renew stamps the value of a key that is visible, without a change: mini-batches by event time write their state even if
// no row of the bundle was better.
func (r *rowRule) renew(ref rowstate.Ref) {
	if r.ttl {
		rowstate.PutInt64(r.o.table.Value(ref)[r.stampAt:], r.o.clock.Now)
	}
}

func (r *rowRule) due(int64, *changelog.Builder) {}

func (r *rowRule) stamp(ref rowstate.Ref) int64 {
	return rowstate.Int64(r.o.table.Value(ref)[r.stampAt:])
}

func (r *rowRule) setStamp(ref rowstate.Ref, stamp int64) {
	rowstate.PutInt64(r.o.table.Value(ref)[r.stampAt:], stamp)
}

func (r *rowRule) drop(ref rowstate.Ref) bool {
	r.rows.free(r.o.table.Value(ref))
	return true
}

func (r *rowRule) encode(ref rowstate.Ref, e *entry) bool {
	e.row = r.rows.row(r.o.table.Value(ref))
	if r.ttl {
		e.stamped, e.stamp = true, r.stamp(ref)
	}
	return !e.stamped || !r.o.clock.Expired(e.stamp)
}

func (r *rowRule) decode(ref rowstate.Ref, e *entry) (bool, error) {
	if e.row == nil || e.emitted {
		return false, errors.New("no row, or a flag that does not belong here")
	}
	value := r.o.table.Value(ref)
	r.rows.store(value, e.row)
	if r.rowtime {
		rowstate.PutInt64(value[8:], rowstate.Int64(e.row[r.rowtimeAt:]))
	}
	return true, nil
}

func (r *rowRule) stats(dst []op.Stat) []op.Stat { return dst }

func (r *rowRule) close() { r.rows.arena.Close() }
