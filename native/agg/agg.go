package agg

import (
	"fmt"
	"slices"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/snapshot"
	"drey/native/spec"
	"drey/rowstate"
)

// keyed is the state of the phases that answer: a table from grouping keys to values.
type keyed struct {
	name      string
	projector *binrow.Projector
	keys      rowstate.Rows
	hashes    []uint64
	refs      []rowstate.Ref
	fresh     []bool
	table     *rowstate.Table
	groups    *groups
	dead      []rowstate.Ref // groups that may be gone at the end of the batch
	emit      emitter
	merging   []byte // accumulators on their way into the state

	state  snapshot.State
	budget *rowstate.Budget
	closed bool
}

// find finds or makes the entries of keys: refs and fresh say which. Room was reserved.
func (s *keyed) find(keys *rowstate.Rows) {
	n := keys.Len()
	if cap(s.refs) < n {
		s.hashes, s.refs, s.fresh = make([]uint64, n), make([]rowstate.Ref, n), make([]bool, n)
	}
	s.hashes, s.refs, s.fresh = s.hashes[:n], s.refs[:n], s.fresh[:n]
	s.table.Hash(keys, s.hashes)
	s.table.FindOrInsert(keys, s.hashes, s.refs, s.fresh)
}

// visible tells whether a group has an accumulator. One that has expired gives all back that it holds.
func (s *keyed) visible(value []byte) bool {
	p := s.groups.plan
	if !p.alive(value) {
		return false
	}
	if p.stampAt >= 0 && s.groups.clock.Expired(rowstate.Int64(value[p.stampAt:])) {
		s.empty(value)
		return false
	}
	return true
}

// begin gives a group an accumulator.
func (s *keyed) begin(value []byte) {
	p := s.groups.plan
	copy(value[:p.viewsAt], p.empty)
	value[p.aliveAt] |= aliveMask
}

// empty takes a group's accumulator. Its entry stays until the end of the batch.
func (s *keyed) empty(value []byte) {
	p := s.groups.plan
	s.groups.free(value)
	for _, v := range p.views {
		v.clear(p, value)
	}
	clear(value[:p.viewsAt])
}

// settle removes what is empty at the end of a batch.
func (s *keyed) settle() {
	p := s.groups.plan
	for _, v := range p.views {
		v.settle(p, s.table)
	}
	if len(s.dead) == 0 {
		return
	}
	slices.Sort(s.dead)
	for _, ref := range slices.Compact(s.dead) {
		if !p.alive(s.table.Value(ref)) {
			s.table.Delete(ref)
		}
	}
	s.dead = s.dead[:0]
}

// sweepLeast is how many entries a batch looks at for having expired, besides as many as it has rows.
const sweepLeast = 64

// sweep removes groups that have expired, some per batch. No batch is at work.
func (s *keyed) sweep(rows int) {
	p, g := s.groups.plan, s.groups
	if p.stampAt < 0 {
		return
	}
	s.table.Sweep(rows+sweepLeast, func(ref rowstate.Ref) bool {
		value := s.table.Value(ref)
		if !g.clock.Expired(rowstate.Int64(value[p.stampAt:])) {
			return false
		}
		s.empty(value)
		for _, v := range p.views {
			v.settle(p, s.table)
		}
		return true
	})
	for _, v := range p.views {
		v.sweep(g, s.table, rows+sweepLeast)
	}
}

// tick sets the clock.
func (s *keyed) tick(now int64) {
	if c := &s.groups.clock; c.Tick(now) && c.TTL > 0 {
		s.stampRestored()
	}
}

func (s *keyed) close() {
	s.table.Close()
	s.groups.close()
}

// Operator is GroupAggFunction: every row is answered at once. Rows of different groups are applied together, see run.
type Operator struct {
	keyed
	layout *binrow.Layout
	needed []int // columns that are looked into and may lie outside their slot
	inRuns bool  // rows are applied call by call where groups allow it
	run    run
}

// New makes the operator of a group aggregate. The specification has been validated against the input.
func New(s *spec.GroupAggregate, input logical.Row, groups op.KeyGroups, budget *rowstate.Budget) (op.Operator, error) {
	o, err := newOperator(s, input, groups, budget)
	switch {
	case err != nil:
		return nil, fmt.Errorf("groupAggregate: %w", err)
	case s.MiniBatch == nil:
		return o, nil
	}
	m := &miniBatch{Operator: *o, bundle: bundle{size: s.MiniBatch.Size}, epoch: 1}
	if s.StateTTLMillis > 0 {
		m.held = &heldRows{arena: rowstate.NewArena(budget, purposeBundle)}
	}
	return m, nil
}

func newOperator(s *spec.GroupAggregate, input logical.Row, groups op.KeyGroups, budget *rowstate.Budget) (*Operator, error) {
	r := request{
		calls: s.AggCalls, retract: s.AggCallNeedRetractions, countStar: -1, inserted: s.CountStarInserted, needs: s.NeedRetraction,
		columns: input, stampedTTL: s.StateTTLMillis > 0, epochs: s.MiniBatch != nil,
	}
	if s.IndexOfCountStar != nil {
		r.countStar = *s.IndexOfCountStar
	}
	p, err := newPlan(r)
	if err != nil {
		return nil, err
	}
	if err := p.supportsTTL(s.StateTTLMillis); err != nil {
		return nil, err
	}
	types := input.Types()
	layout, err := layoutOf(types)
	if err != nil {
		return nil, err
	}
	projector, err := binrow.NewProjector(types, s.Grouping)
	if err != nil {
		return nil, op.Unsupportedf("grouping: %w", err)
	}
	o := &Operator{layout: layout, needed: neededColumns(s.AggCalls, types)}
	o.keyed = keyed{name: s.Name, projector: projector, budget: budget}
	o.open(p, s.StateTTLMillis, s.GenerateUpdateBefore)
	o.identify(s.AggCalls, s.AggCallNeedRetractions, s.Grouping, types, r, groups)
	o.inRuns = p.appliesInRuns()
	return o, nil
}

// open makes the table and what belongs to it.
func (s *keyed) open(p *plan, ttl int64, updateBefore bool) {
	s.groups = newGroups(p, ttl, s.budget)
	s.emit.updateBefore = updateBefore
	s.table = rowstate.NewTable(s.budget, rowstate.TableOptions{
		KeyWidth: s.projector.Width(), ValueSize: p.size, Purpose: purposeGroups,
	})
}

// supportsTTL refuses functions whose values expire by the milliseconds that Flink's system clock had when they came.
func (p *plan) supportsTTL(ttl int64) error {
	if ttl <= 0 {
		return nil
	}
	for _, k := range p.calls {
		switch k.op {
		case opFirstRetract, opLastRetract:
			return op.Unsupportedf("aggCalls[%d]: a sequence of values that expire", k.index)
		}
	}
	return nil
}

// neededColumns are the arguments that a row has behind its slots: they are checked before they are read.
func neededColumns(calls []spec.AggregateCall, types []logical.Type) []int {
	var columns []int
	for _, c := range calls {
		for _, a := range c.ArgList {
			if p, err := physicalOf(types[a]); err == nil && (p.kind == kindBytes || p.room() > 0) {
				columns = append(columns, a)
			}
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// check refuses a batch before anything has happened.
func check(layout *binrow.Layout, needed []int, in *changelog.Batch) error {
	if err := layout.CheckBatch(in); err != nil {
		return err
	}
	for i, kind := range in.Kinds {
		if uint8(kind) > uint8(changelog.Delete) {
			return fmt.Errorf("row %d has row kind %d", i, kind)
		}
	}
	if len(needed) == 0 {
		return nil
	}
	for i := range in.Len() {
		row := in.Row(i)
		for _, c := range needed {
			if err := layout.CheckField(row, c); err != nil {
				return fmt.Errorf("row %d: %w", i, err)
			}
		}
	}
	return nil
}

// Push applies the rows and answers each of them.
func (o *Operator) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
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
	o.sweep(n)
	if err := o.table.Reserve(n, int64(len(o.keys.Data))); err != nil {
		return err
	}
	if err := o.groups.reserve(o.groups.measure(in)); err != nil {
		return err
	}
	o.find(&o.keys)
	p := o.groups.plan
	for _, v := range p.views {
		v.prepare(in, 0, o.groups, o.table, o.refs)
	}
	if o.inRuns {
		o.applyRuns(in, out)
		o.settle()
		return nil
	}
	for i, ref := range o.refs {
		o.apply(i, in.Kinds[i].IsAccumulate(), ref, in.Row(i), out)
		if o.groups.err != nil {
			return fmt.Errorf("%s: row %d: %w", o.name, i, o.groups.err)
		}
	}
	o.settle()
	return nil
}

// apply is GroupAggHelper.processElement.
func (o *Operator) apply(i int, accumulates bool, ref rowstate.Ref, row []byte, out *changelog.Builder) {
	g := o.groups
	p := g.plan
	value := o.table.Value(ref)
	first := !o.visible(value)
	if first {
		if !accumulates {
			o.dead = append(o.dead, ref)
			return
		}
		o.begin(value)
	} else {
		o.emit.before(g, value)
	}
	o.applyRow(i, accumulates, value, row)
	p.derive(value)
	o.answerRow(i, ref, value, first, out)
}

// answerRow emits what row i has made of its group, whose results before are with the emitter unless it is new.
func (o *Operator) answerRow(i int, ref rowstate.Ref, value []byte, first bool, out *changelog.Builder) {
	g := o.groups
	p := g.plan
	if p.countAt >= 0 && getUint64(value, p.countAt) == 0 {
		if !first {
			o.emit.remove(o.keys.Row(i), i, out)
		}
		o.empty(value)
		o.dead = append(o.dead, ref)
		return
	}
	if p.stampAt >= 0 {
		rowstate.PutInt64(value[p.stampAt:], g.clock.Now)
	}
	next := o.emit.after(g, value)
	switch {
	case first:
		o.emit.insert(o.keys.Row(i), next, i, out)
	case p.stampAt >= 0 || !p.equal(o.emit.rows[0], next):
		o.emit.update(o.keys.Row(i), next, i, out)
	}
}

// applyRow applies row i of the batch to a group that has an accumulator.
func (o *Operator) applyRow(i int, accumulates bool, value, row []byte) {
	g := o.groups
	if accumulates {
		g.accumulate(value, row)
		for _, v := range g.plan.views {
			v.accumulate(g, i, value, row)
		}
		return
	}
	g.retract(value, row)
	for _, v := range g.plan.views {
		v.retract(g, i, value, row)
	}
}

// Watermark does nothing.
func (o *Operator) Watermark(int64, *changelog.Builder) error { return nil }

// ProcessingTime sets the clock that TTL goes by, until the next batch brings its own, and frees groups that have expired.
func (s *keyed) ProcessingTime(ts int64, _ *changelog.Builder) error {
	s.tick(ts)
	s.sweep(0)
	return nil
}

// Flush does nothing: there are no mini-batches.
func (o *Operator) Flush(*changelog.Builder) error { return nil }

// Stats tells what the state takes.
func (s *keyed) Stats(dst []op.Stat) []op.Stat {
	distinct := 0
	for _, v := range s.groups.plan.views {
		distinct += v.table.Len()
	}
	return append(dst, op.Stat{Name: "state.keys", Value: int64(s.table.Len())},
		op.Stat{Name: "state.distinct", Value: int64(distinct)}, op.Stat{Name: "state.bytes", Value: s.budget.Used()})
}

// Close frees all memory.
func (o *Operator) Close() {
	if !o.closed {
		o.closed = true
		o.close()
	}
}
