package agg

import (
	"fmt"

	"drey/native/changelog"
	"drey/native/keygroup"
	"drey/native/op"
	"drey/rowstate"
)

// miniBatch is MiniBatchGroupAggFunction: all rows of a key in a bundle get one answer. Stock holds the rows back and applies
// them when the bundle ends. Applying them when they come is the same, as nobody looks at a group in between: only its
// results at the start of the bundle must be remembered. With TTL it is not, since what has expired is decided at the end:
// there the rows are held back, too.
//
// Stock up to Flink 2.2 drops the rest of a bundle behind a key without accumulator for which only retractions came; this
// does as Flink 2.3.
type miniBatch struct {
	Operator
	bundle bundle
	marks  touched
	epoch  uint32
	at     []mark
	before []byte // results at the start of the bundle, those of mark one behind the other
	held   *heldRows
}

// mark is what a bundle remembers of a key.
type mark struct {
	first      bool
	from, to   int // of its results in before
	head, tail int32
}

// keyCode is the hashCode of row i's key.
func (o *Operator) keyCode(i int) int32 { return keygroup.Hash(o.keys.Row(i)) }

// Push adds rows to the bundle, and ends it as often as it is full.
func (o *miniBatch) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
	if input != 0 {
		return op.Invalidf("%s: input %d, there is only input 0", o.name, input)
	}
	if err := check(o.layout, o.needed, in); err != nil {
		return op.Corruptf("%s: %w", o.name, err)
	}
	if err := o.projector.Project(in, &o.keys); err != nil {
		return op.Corruptf("%s: %w", o.name, err)
	}
	o.state.Begun = true
	o.tick(in.Now)
	n := in.Len()
	if o.held != nil {
		return o.hold(in, out)
	}
	if err := o.table.Reserve(n, int64(len(o.keys.Data))); err != nil {
		return err
	}
	if err := o.groups.reserve(o.groups.measure(in)); err != nil {
		return err
	}
	insertOnly := isInsertOnly(in)
	for from := 0; from < n; {
		rows, full := o.bundle.split(n - from)
		if err := o.take(in, from, rows, insertOnly); err != nil {
			return err
		}
		o.bundle.elements += int64(rows)
		from += rows
		if full {
			o.finish(out)
		}
	}
	return nil
}

// take applies some rows of a batch.
func (o *miniBatch) take(in *changelog.Batch, from, rows int, insertOnly bool) error {
	keys := part(&o.keys, from, from+rows)
	o.find(&keys)
	p, g := o.groups.plan, o.groups
	for i, ref := range o.refs {
		value := o.table.Value(ref)
		if o.epochOf(value) != o.epoch {
			o.mark(ref, value, o.keyCode(from+i))
		}
		if !p.alive(value) {
			if !in.Kinds[from+i].IsAccumulate() {
				o.refs[i] = 0 // all retractions before the first row of a group
				insertOnly = false
				continue
			}
			o.begin(value)
		}
	}
	g.applyColumns(o.table, o.refs, in, from, insertOnly)
	g.applyViews(o.table, o.refs, in, from)
	if g.err != nil {
		return fmt.Errorf("%s: %w", o.name, g.err)
	}
	return nil
}

// epochOf is the bundle in which a group was last marked.
func (o *miniBatch) epochOf(value []byte) uint32 {
	return uint32(getUint64(value, o.groups.plan.epochAt))
}

// mark remembers the results of a group that the bundle meets for the first time.
func (o *miniBatch) mark(ref rowstate.Ref, value []byte, code int32) {
	putUint64(value, o.groups.plan.epochAt, uint64(o.epoch)|uint64(len(o.at))<<32)
	m := mark{first: !o.groups.plan.alive(value), from: len(o.before), head: -1, tail: -1}
	if !m.first {
		o.emit.before(o.groups, value)
		o.before = append(o.before, o.emit.rows[0]...)
	}
	m.to = len(o.before)
	o.at = append(o.at, m)
	o.marks.add(ref, code)
}

// finish ends the bundle.
func (o *miniBatch) finish(out *changelog.Builder) {
	o.bundle.elements = 0
	p := o.groups.plan
	for _, i := range o.marks.inOrder() {
		ref, m := o.marks.refs[i], &o.at[i]
		value := o.table.Value(ref)
		if m.first && !p.alive(value) {
			o.dead = append(o.dead, ref)
			continue
		}
		p.derive(value)
		o.emit.rows[0] = append(o.emit.rows[0][:0], o.before[m.from:m.to]...)
		o.answer(ref, o.table.Key(ref), value, m.first, out)
	}
	o.end()
}

// end forgets the bundle.
func (o *miniBatch) end() {
	o.settle()
	o.marks.clear()
	o.at, o.before = o.at[:0], o.before[:0]
	o.epoch++
}

// Watermark ends the bundle.
func (o *miniBatch) Watermark(_ int64, out *changelog.Builder) error { return o.Flush(out) }

// ProcessingTime sets the clock that TTL goes by, until the next batch brings its own.
func (o *miniBatch) ProcessingTime(ts int64, _ *changelog.Builder) error {
	o.tick(ts)
	return nil
}

// Flush ends the bundle.
func (o *miniBatch) Flush(out *changelog.Builder) error {
	if o.held != nil {
		return o.finishHeld(out)
	}
	o.finish(out)
	return nil
}

// Snapshot is the state's. Rows in a bundle are no state: the host ends the bundle first.
func (o *miniBatch) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	if err := o.bundle.isEmpty(o.name); err != nil {
		return nil, err
	}
	return o.keyed.Snapshot(groups)
}

// Stats has Flink's metrics of a bundle, then what the state takes.
func (o *miniBatch) Stats(dst []op.Stat) []op.Stat {
	return o.keyed.Stats(o.bundle.stats(dst, len(o.marks.refs)))
}

// Close frees all memory.
func (o *miniBatch) Close() {
	if o.held != nil && !o.closed {
		o.held.arena.Close()
	}
	o.Operator.Close()
}

// heldRows are rows that wait for the end of their bundle. Their bytes count as memory of the operator; the lists of them
// do not: some 30 bytes per row, of at most miniBatch.size rows.
type heldRows struct {
	batch  changelog.Batch
	next   []int32 // row of the same key, -1 for none
	amount amount  // of all of them, at most
	keys   rowstate.Rows
	arena  *rowstate.Arena
	ref    rowstate.Ref
	data   []byte
}

// grow makes room for n bytes more.
func (h *heldRows) grow(n int) error {
	need := len(h.batch.Data) + n
	if need <= len(h.data) {
		return nil
	}
	size := max(2*len(h.data), need, 1<<12)
	if err := h.arena.Reserve(rowstate.BlockSize(size)); err != nil {
		return err
	}
	ref := h.arena.Alloc(size)
	data := h.arena.Bytes(ref, size)
	used := copy(data, h.batch.Data)
	if h.ref != 0 {
		h.arena.Free(h.ref, len(h.data))
	}
	h.ref, h.data, h.batch.Data = ref, data, data[:used:size]
	return nil
}

// hold keeps the rows of a batch, and ends the bundle as often as it is full.
func (o *miniBatch) hold(in *changelog.Batch, out *changelog.Builder) error {
	n, h := in.Len(), o.held
	if err := h.grow(len(in.Data)); err != nil {
		return err
	}
	arrived := o.groups.measure(in)
	all := arrived
	if len(h.batch.Kinds) > 0 {
		all = h.amount.plus(arrived)
	}
	if err := o.table.Reserve(all.rows, int64(len(o.keys.Data)+len(h.keys.Data))); err != nil {
		return err
	}
	if err := o.groups.reserve(all); err != nil {
		return err
	}
	h.amount = all
	for i := range n {
		if len(h.batch.Kinds) == 0 {
			h.keys.Reset(o.projector.Width())
			h.batch.Offsets = append(h.batch.Offsets[:0], 0)
		}
		h.keys.Append(o.keys.Row(i))
		h.batch.Kinds = append(h.batch.Kinds, in.Kinds[i])
		h.batch.Data = append(h.batch.Data, in.Row(i)...)
		h.batch.Offsets = append(h.batch.Offsets, int32(len(h.batch.Data)))
		h.next = append(h.next, -1)
		if o.bundle.elements++; o.bundle.elements >= o.bundle.size {
			if err := o.finishHeld(out); err != nil {
				return err
			}
			h.amount = arrived // and no more
		}
	}
	h.amount = h.amount.plus(amount{}) // what was measured is not to last
	return nil
}

// finishHeld ends a bundle of rows that were held back.
func (o *miniBatch) finishHeld(out *changelog.Builder) error {
	h := o.held
	n := len(h.batch.Kinds)
	o.bundle.elements = 0
	if n == 0 {
		return nil
	}
	o.sweep(n)
	o.find(&h.keys)
	p, g := o.groups.plan, o.groups
	for i, ref := range o.refs {
		value := o.table.Value(ref)
		if o.epochOf(value) != o.epoch {
			o.visible(value)
			o.mark(ref, value, keygroup.Hash(h.keys.Row(i)))
		}
		m := &o.at[getUint64(value, p.epochAt)>>32]
		if m.head < 0 {
			m.head = int32(i)
		} else {
			h.next[m.tail] = int32(i)
		}
		m.tail = int32(i)
	}
	for _, v := range p.views {
		v.prepare(&h.batch, 0, g, o.table, o.refs)
	}
	for _, i := range o.marks.inOrder() {
		ref, m := o.marks.refs[i], &o.at[i]
		value := o.table.Value(ref)
		for row := m.head; row >= 0; row = h.next[row] {
			accumulates := h.batch.Kinds[row].IsAccumulate()
			if !p.alive(value) {
				if !accumulates {
					continue
				}
				o.begin(value)
			}
			o.applyRow(int(row), accumulates, value, h.batch.Row(int(row)))
		}
		if g.err != nil {
			return fmt.Errorf("%s: %w", o.name, g.err)
		}
		if !p.alive(value) {
			o.dead = append(o.dead, ref)
			continue
		}
		p.derive(value)
		o.emit.rows[0] = append(o.emit.rows[0][:0], o.before[m.from:m.to]...)
		o.answer(ref, h.keys.Row(int(m.head)), value, m.first, out)
	}
	h.batch.Kinds, h.batch.Data, h.next = h.batch.Kinds[:0], h.batch.Data[:0], h.next[:0]
	o.end()
	return nil
}
