package join

import (
	"fmt"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/expr"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/snapshot"
	"drey/native/spec"
	"drey/rowstate"
)

// Operator joins; see the package comment.
type Operator struct {
	// What a batch needs, in the order it needs it.
	keys     rowstate.Rows
	nulls    []bool        // rows whose key does not match because of a null; empty if there are none
	matching rowstate.Rows // the keys of the others, if there are any
	hashes   []uint64
	refs     []rowstate.Ref
	fresh    []bool
	table    *rowstate.Table // from join key to the handles of both sides' chains
	sides    [2]*side
	work     work
	bundle   *bundle // nil without mini-batch

	spec      *spec.Join
	state     snapshot.State
	budget    *rowstate.Budget
	condition condition // nil: always true
	index     *index
	touched   byte // keeps what fetch reads from being optimized away
	closed    bool
}

// What memory is used for, in the words of a budget's error.
const (
	purposeKeys   = "join keys"
	purposeLeft   = "join left rows"
	purposeRight  = "join right rows"
	purposeIndex  = "join row index"
	purposeBundle = "join mini-batch"
)

// valueSize is a key's value: the handles of the left and the right chain.
const valueSize = 2 * handleSize

// New makes the operator. The specification has been validated against the inputs.
func New(s *spec.Join, inputs []logical.Row, groups op.KeyGroups, budget *rowstate.Budget, host op.Host) (*Operator, error) {
	o := &Operator{spec: s, budget: budget}
	var err error
	if c := s.Condition; c != nil {
		switch {
		case !c.Host:
			types := append(inputs[0].Types(), inputs[1].Types()...)
			var program *expr.Program
			if program, err = expr.Compile(c.Expr, types, inputs[0].Len()); err != nil {
				return nil, op.Unsupportedf("join: condition: %w", err)
			}
			o.condition = &native{program: program}
		case host.Condition == nil:
			return nil, op.Invalidf("join: condition: the host is to evaluate it, but has none")
		default:
			o.condition = &foreign{host: host.Condition}
		}
	}
	leftOuter := s.LeftIsOuter() || s.JoinType == spec.SemiJoin || s.JoinType == spec.AntiJoin
	if o.sides[0], err = newSide(0, &s.Left, leftOuter, s.FilterNulls, inputs[0]); err != nil {
		return nil, err
	}
	if o.sides[1], err = newSide(1, &s.Right, s.RightIsOuter(), s.FilterNulls, inputs[1]); err != nil {
		return nil, err
	}
	width := o.sides[0].projector.Width()
	if w := o.sides[1].projector.Width(); w != width {
		return nil, op.Unsupportedf("join: keys of %d bytes on the left, %d on the right", width, w)
	}
	o.table = rowstate.NewTable(budget, rowstate.TableOptions{KeyWidth: width, ValueSize: valueSize, Purpose: purposeKeys})
	o.index = newIndex(budget)
	for _, d := range o.sides {
		d.open(budget, o.table, o.index)
	}
	if n, ok := o.condition.(*native); ok {
		for _, c := range n.program.Columns() {
			if left := inputs[0].Len(); c < left {
				o.sides[0].mustRead(c)
			} else {
				o.sides[1].mustRead(c - left)
			}
		}
	}
	if s.MiniBatch != nil {
		o.bundle = newBundle(o)
	}
	o.state = snapshot.State{Operator: s.Name, Identity: identify(s, inputs), Groups: groups}
	o.work.init(o)
	return o, nil
}

// Push joins the rows with those of the other side, or adds them to the bundle.
func (o *Operator) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
	if input != 0 && input != 1 {
		return op.Invalidf("join: input %d, there are inputs 0 and 1", input)
	}
	s := o.sides[input]
	if err := s.check(in); err != nil {
		return op.Corruptf("join: input %d: %w", input, err)
	}
	if err := s.projector.Project(in, &o.keys); err != nil {
		return op.Corruptf("join: input %d: %w", input, err)
	}
	return o.take(input, nil, in, out)
}

// PushMixed is Push of rows of both inputs, in the order in which they came.
func (o *Operator) PushMixed(in *changelog.Batch, out *changelog.Builder) error {
	n := in.Len()
	switch {
	case len(in.Inputs) != n:
		return op.Corruptf("join: %d rows with %d inputs", n, len(in.Inputs))
	case n == 0:
		return nil
	case in.Run(0) == n:
		return o.Push(int(in.Inputs[0]), in, out)
	}
	if err := o.checkMixed(in); err != nil {
		return op.Corruptf("join: %w", err)
	}
	binrow.ProjectMixed([2]*binrow.Projector{o.sides[0].projector, o.sides[1].projector}, in, &o.keys)
	return o.take(0, in.Inputs, in, out)
}

// checkMixed is check of a batch of rows of both inputs.
func (o *Operator) checkMixed(in *changelog.Batch) error {
	for i, input := range in.Inputs {
		if input > 1 {
			return fmt.Errorf("row %d: input %d, there are inputs 0 and 1", i, input)
		}
	}
	if err := binrow.CheckMixed([2]*binrow.Layout{o.sides[0].layout, o.sides[1].layout}, in); err != nil {
		return err
	}
	if err := checkKinds(in); err != nil {
		return err
	}
	for i, input := range in.Inputs {
		if err := o.sides[input].checkFields(in, i); err != nil {
			return fmt.Errorf("input %d: %w", input, err)
		}
	}
	return nil
}

// take begins with rows that have been checked, whose join keys are in o.keys. inputs is nil if all are of one input.
func (o *Operator) take(input int, inputs []uint8, in *changelog.Batch, out *changelog.Builder) error {
	o.state.Begun = true
	o.tick(in.Now)
	if o.bundle != nil {
		if err := o.bundle.reserve(in); err != nil {
			return err
		}
		o.bundle.feed(input, inputs, in)
		return o.drive(out)
	}
	o.sweep(in.Len())
	w := &o.work
	w.begin(input, inputs)
	w.rows.Reset(0)
	appendBatch(&w.rows, in)
	w.kinds = append(w.kinds[:0], in.Kinds...)
	if err := o.prepare(); err != nil {
		w.active = false
		return err
	}
	return o.drive(out)
}

// appendBatch copies the rows of a batch, with header byte 0: the kind is no part of a row here.
func appendBatch(rows *rowstate.Rows, in *changelog.Batch) {
	for i := range in.Len() {
		rows.Append(in.Row(i))
		rows.Data[rows.Offsets[i]] = 0
	}
}

// prepare looks up the keys of the work's rows, which stand in o.keys, and makes room for all that the work may store, or
// changes nothing.
func (o *Operator) prepare() error {
	w := &o.work
	n := w.rows.Len()
	w.refs = w.refs[:0]
	if n == 0 {
		return nil
	}
	nulls := o.findNulls()
	keys := &o.keys
	if nulls > 0 {
		keys = o.withoutNulls()
	}
	m := n - nulls
	if err := o.table.Reserve(m, int64(len(keys.Data))); err != nil {
		return err
	}
	if cap(o.refs) < n {
		o.hashes, o.refs, o.fresh = make([]uint64, n), make([]rowstate.Ref, n), make([]bool, n)
	}
	o.hashes, o.refs, o.fresh = o.hashes[:m], o.refs[:m], o.fresh[:m]
	o.table.Hash(keys, o.hashes)
	o.table.FindOrInsert(keys, o.hashes, o.refs, o.fresh)
	if nulls == 0 {
		w.refs = append(w.refs, o.refs...)
	} else {
		next := 0
		for i := range n {
			if o.nulls[i] {
				w.refs = append(w.refs, 0)
				continue
			}
			w.refs = append(w.refs, o.refs[next])
			next++
		}
	}
	if err := o.reserveRecords(); err != nil {
		for i, ref := range o.refs {
			if o.fresh[i] {
				o.table.Delete(ref)
			}
		}
		return err
	}
	w.identify()
	if o.condition != nil {
		w.pairs.begin(w)
	}
	return nil
}

// reserveRecords makes room for a record of each of the work's rows.
func (o *Operator) reserveRecords() error {
	w := &o.work
	var need [2]int64
	for i, ref := range w.refs {
		if ref == 0 {
			continue
		}
		s := w.roleOf(i).own
		// A chain's next node has twice its rows at most, or four: see link.
		node := nodeHead + element*min(2*handleLen(s.handle(o.table, ref))+4, mostNode)
		need[s.number] += int64(s.head + len(w.rows.Row(i)) + node)
	}
	for i, s := range o.sides {
		if need[i] == 0 {
			continue
		}
		if err := s.arena.Reserve(need[i]); err != nil {
			return err
		}
	}
	return nil
}

// findNulls marks the rows that match nothing because of a null in their key, and counts them. They are never stored:
// nothing can find them, and what they emit depends on nothing.
func (o *Operator) findNulls() int {
	s := o.sides[0] // the keys of both look alike
	if len(s.filter) == 0 {
		return 0
	}
	n := o.keys.Len()
	count := 0
	if cap(o.nulls) < n {
		o.nulls = make([]bool, n)
	}
	o.nulls = o.nulls[:n]
	for i := range n {
		null := s.hasNull(o.keys.Row(i))
		o.nulls[i] = null
		if null {
			count++
		}
	}
	return count
}

// withoutNulls is the keys that can match.
func (o *Operator) withoutNulls() *rowstate.Rows {
	keys := &o.matching
	keys.Reset(o.keys.Width)
	for i, null := range o.nulls {
		if !null {
			keys.Append(o.keys.Row(i))
		}
	}
	return keys
}

// drive goes on until all is done or enough has come out.
func (o *Operator) drive(out *changelog.Builder) error {
	for {
		if o.work.active {
			if done, err := o.work.run(out); err != nil || !done {
				return err
			}
			o.endWork()
		}
		if o.bundle == nil {
			return nil
		}
		more, err := o.bundle.advance()
		if err != nil || !more {
			return err
		}
		if out.Full() {
			return nil
		}
	}
}

// endWork forgets the keys that have no row on either side any more.
func (o *Operator) endWork() {
	w := &o.work
	w.active, w.inputs = false, nil
	dead := w.empty[:0]
	for _, ref := range w.empty {
		v := o.table.Value(ref)
		found := false // a key may have been queued twice
		for _, s := range o.sides {
			if handle := v[handleSize*s.number:]; getUint64(handle) == queued {
				putUint64(handle, 0)
				found = true
			}
		}
		if found && noRows(v) {
			dead = append(dead, ref)
		}
	}
	for _, ref := range dead {
		o.table.Delete(ref)
	}
	w.empty = w.empty[:0]
}

// noRows tells of a key's value that neither side has a row.
func noRows(value []byte) bool { return getUint64(value) == 0 && getUint64(value[handleSize:]) == 0 }

// Unfinished tells that an input or a bundle is not done with.
func (o *Operator) Unfinished() bool {
	return o.work.active || o.bundle != nil && o.bundle.unfinished()
}

// Resume goes on.
func (o *Operator) Resume(out *changelog.Builder) error { return o.drive(out) }

// Watermark ends the bundle.
func (o *Operator) Watermark(_ int64, out *changelog.Builder) error { return o.Flush(out) }

// Flush ends the bundle.
func (o *Operator) Flush(out *changelog.Builder) error {
	if o.bundle == nil {
		return nil
	}
	o.bundle.finish()
	return o.drive(out)
}

// ProcessingTime sets the clock that TTL goes by, until the next batch brings its own, and frees rows that have expired.
func (o *Operator) ProcessingTime(ts int64, _ *changelog.Builder) error {
	o.tick(ts)
	o.sweep(sweepIdle)
	return nil
}

// Stats has Flink's metrics, then what the state takes.
func (o *Operator) Stats(dst []op.Stat) []op.Stat {
	if o.bundle != nil {
		dst = append(dst,
			op.Stat{Name: "leftBundleReducedSize", Value: o.bundle.reduced[0]},
			op.Stat{Name: "rightBundleReducedSize", Value: o.bundle.reduced[1]})
	}
	return append(dst,
		op.Stat{Name: "state.keys", Value: int64(o.table.Len())},
		op.Stat{Name: "state.leftRows", Value: o.sides[0].records},
		op.Stat{Name: "state.rightRows", Value: o.sides[1].records},
		op.Stat{Name: "state.indexedRows", Value: int64(o.index.table.Len())},
		op.Stat{Name: "state.bytes", Value: o.budget.Used()})
}

// Close frees all memory.
func (o *Operator) Close() {
	if o.closed {
		return
	}
	o.closed = true
	o.table.Close()
	o.index.table.Close()
	for _, s := range o.sides {
		s.arena.Close()
	}
	if o.bundle != nil {
		o.bundle.close()
	}
	o.work.active = false
}
