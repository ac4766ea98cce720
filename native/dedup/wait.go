package dedup

import (
	"encoding/binary"
	"errors"

	"drey/native/changelog"
	"drey/native/op"
	"drey/rowstate"
)

// waitRule is keep first by event time with insert-only output: the oldest row of a key waits until the watermark says
// that no older one can come. A key's value is
//
//	 0  place of the waiting row, if one waits
//	 8  position of its timer in the heap, uint32
//	12  flags, uint32
//	16  when the key was last emitted   only with TTL, which is that of the emitted flag; a waiting row has none
//
// Flink fires timers of equal time in an order that depends on its state backend; here it is the order of registration.
type waitRule struct {
	o         *Operator
	rows      rows
	timers    timers
	size      int // of a value
	rowtimeAt int // slot of the event time in a row
	late      int64
	empty     []rowstate.Ref // entries made for rows that were late
}

const (
	emitted = 1 << iota // the key's row is out
	queued              // the key is in the expiry queue
)

const (
	positionAt = 8
	flagsAt    = 12
	emittedAt  = 16
)

func newWaitRule(o *Operator, budget *rowstate.Budget) *waitRule {
	r := &waitRule{
		o: o, rows: rows{rowstate.NewArena(budget, purposeRows)}, size: 16, rowtimeAt: o.layout.Slot(*o.spec.RowtimeIndex),
	}
	if o.clock.TTL > 0 {
		r.size = 24
	}
	r.timers = timers{heap: newVector(budget, purposeTimers, timerRecord), o: o}
	return r
}

func (r *waitRule) reserve(rows int, bytes int64) error {
	if err := r.timers.heap.reserve(rows); err != nil {
		return err
	}
	return r.rows.arena.Reserve(bytes)
}

func (r *waitRule) applyBatch(refs []rowstate.Ref, fresh []bool, in *changelog.Batch, out *changelog.Builder) {
	for i, ref := range refs {
		r.apply(ref, fresh[i], in.Row(i), i, out)
	}
	for _, ref := range r.empty {
		value := r.o.table.Value(ref)
		if waiting, _ := place(value); waiting == 0 && flags(value) == 0 {
			r.o.table.Delete(ref)
		}
	}
	r.empty = r.empty[:0]
}

func (r *waitRule) apply(ref rowstate.Ref, fresh bool, row []byte, _ int, _ *changelog.Builder) {
	t := rowstate.Int64(row[r.rowtimeAt:])
	value := r.o.table.Value(ref)
	if t < r.o.watermark {
		r.late++
		if fresh {
			r.empty = append(r.empty, ref) // a row behind may want the entry: see applyBatch
		}
		return
	}
	if r.isEmitted(value) {
		return
	}
	if waiting, _ := place(value); waiting == 0 {
		r.timers.add(t, ref)
	} else if position := int(binary.LittleEndian.Uint32(value[positionAt:])); t < r.timers.time(position) {
		r.timers.advance(position, t)
	} else {
		return
	}
	r.rows.store(value, row)
}

// isEmitted tells whether the key's row is out, and has not been forgotten since.
func (r *waitRule) isEmitted(value []byte) bool {
	if flags(value)&emitted == 0 {
		return false
	}
	return r.size <= emittedAt || !r.o.clock.Expired(rowstate.Int64(value[emittedAt:]))
}

func flags(value []byte) uint32 { return binary.LittleEndian.Uint32(value[flagsAt:]) }

func setFlags(value []byte, f uint32) { binary.LittleEndian.PutUint32(value[flagsAt:], f) }

func (r *waitRule) due(watermark int64, out *changelog.Builder) {
	for {
		ref, ok := r.timers.next(watermark)
		if !ok {
			return
		}
		value := r.o.table.Value(ref)
		out.Append(changelog.Insert, r.rows.row(value), changelog.NoSource)
		r.rows.free(value)
		f := flags(value)
		if r.size > emittedAt {
			rowstate.PutInt64(value[emittedAt:], r.o.clock.Now)
			if f&queued == 0 {
				r.o.enqueue(ref)
				f |= queued
			}
		}
		setFlags(value, f|emitted)
	}
}

func (r *waitRule) stamp(ref rowstate.Ref) int64 {
	return rowstate.Int64(r.o.table.Value(ref)[emittedAt:])
}

func (r *waitRule) setStamp(ref rowstate.Ref, stamp int64) {
	rowstate.PutInt64(r.o.table.Value(ref)[emittedAt:], stamp)
}

// drop keeps a key for which a row waits already, and takes it out of the queue.
func (r *waitRule) drop(ref rowstate.Ref) bool {
	value := r.o.table.Value(ref)
	setFlags(value, 0)
	waiting, _ := place(value)
	return waiting == 0
}

func (r *waitRule) encode(ref rowstate.Ref, e *entry) bool {
	value := r.o.table.Value(ref)
	if waiting, _ := place(value); waiting != 0 {
		e.row = r.rows.row(value)
		e.order = r.timers.order(int(binary.LittleEndian.Uint32(value[positionAt:])))
	}
	e.emitted = r.isEmitted(value)
	if e.emitted && r.size > emittedAt {
		e.stamped, e.stamp = true, r.stamp(ref)
	}
	return e.emitted || e.row != nil
}

func (r *waitRule) decode(ref rowstate.Ref, e *entry) (bool, error) {
	value := r.o.table.Value(ref)
	if e.row == nil && !e.emitted {
		return false, errors.New("neither a row nor the flag")
	}
	if e.row != nil {
		r.timers.restore(rowstate.Int64(e.row[r.rowtimeAt:]), e.order, ref)
		r.rows.store(value, e.row)
	}
	if e.emitted {
		setFlags(value, emitted)
		if r.size > emittedAt {
			setFlags(value, emitted|queued)
		}
	}
	return e.emitted, nil
}

func (r *waitRule) stats(dst []op.Stat) []op.Stat {
	return append(dst, op.Stat{Name: "numLateRecordsDropped", Value: r.late}, op.Stat{Name: "timers", Value: int64(r.timers.heap.n)})
}

func (r *waitRule) close() {
	r.rows.arena.Close()
	r.timers.heap.close()
}

// timers is a binary heap of event-time timers, one per key at most. Each key's value knows where its timer is, so that a
// timer can be set to an earlier time; the heap's records have all that comparing needs.
type timers struct {
	heap vector // records {time int64, order uint64, ref uint64}
	last uint64 // order of the timer that was registered last
	o    *Operator
}

const timerRecord = 24

func (t *timers) time(position int) int64 { return rowstate.Int64(t.heap.at(position)) }

func (t *timers) order(position int) uint64 {
	return binary.LittleEndian.Uint64(t.heap.at(position)[8:])
}

func (t *timers) put(position int, time int64, order uint64, ref rowstate.Ref) {
	r := t.heap.at(position)
	rowstate.PutInt64(r, time)
	binary.LittleEndian.PutUint64(r[8:], order)
	binary.LittleEndian.PutUint64(r[16:], uint64(ref))
	binary.LittleEndian.PutUint32(t.o.table.Value(ref)[positionAt:], uint32(position))
}

func (t *timers) get(position int) (time int64, order uint64, ref rowstate.Ref) {
	r := t.heap.at(position)
	return rowstate.Int64(r), binary.LittleEndian.Uint64(r[8:]), rowstate.Ref(binary.LittleEndian.Uint64(r[16:]))
}

// add registers a timer for a key that has none.
func (t *timers) add(time int64, ref rowstate.Ref) {
	t.last++
	t.heap.add()
	t.up(t.heap.n-1, time, t.last, ref)
}

// restore registers a timer with the order it once had.
func (t *timers) restore(time int64, order uint64, ref rowstate.Ref) {
	t.last = max(t.last, order)
	t.heap.add()
	t.up(t.heap.n-1, time, order, ref)
}

// advance deletes a timer and registers one for the same key at an earlier time.
func (t *timers) advance(position int, time int64) {
	_, _, ref := t.get(position)
	t.last++
	t.up(position, time, t.last, ref)
}

// next takes out the first timer if its time has come.
func (t *timers) next(now int64) (rowstate.Ref, bool) {
	if t.heap.n == 0 || t.time(0) > now {
		return 0, false
	}
	_, _, first := t.get(0)
	time, order, ref := t.get(t.heap.n - 1)
	t.heap.n--
	if t.heap.n > 0 {
		t.down(0, time, order, ref)
	}
	return first, true
}

func before(time int64, order uint64, otherTime int64, otherOrder uint64) bool {
	return time < otherTime || time == otherTime && order < otherOrder
}

// up puts a timer at a free position and moves it towards the top as far as it belongs.
func (t *timers) up(position int, time int64, order uint64, ref rowstate.Ref) {
	for position > 0 {
		parent := (position - 1) / 2
		pt, po, pr := t.get(parent)
		if !before(time, order, pt, po) {
			break
		}
		t.put(position, pt, po, pr)
		position = parent
	}
	t.put(position, time, order, ref)
}

// down puts a timer at a free position and moves it away from the top as far as it belongs.
func (t *timers) down(position int, time int64, order uint64, ref rowstate.Ref) {
	for {
		child := 2*position + 1
		if child >= t.heap.n {
			break
		}
		ct, co, cr := t.get(child)
		if child+1 < t.heap.n {
			if rt, ro, rr := t.get(child + 1); before(rt, ro, ct, co) {
				child, ct, co, cr = child+1, rt, ro, rr
			}
		}
		if !before(ct, co, time, order) {
			break
		}
		t.put(position, ct, co, cr)
		position = child
	}
	t.put(position, time, order, ref)
}
