package agg

import (
	"fmt"

	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// Global is MiniBatchGlobalGroupAggFunction: rows are accumulators, which are merged per bundle first, then with the state. A
// group without state gets it by whatever comes, be it a retraction.
type Global struct {
	mergingState
	fromPartial []source
	batch       rowstate.Rows  // keys on their way to the state
	at          []int          // per view, entries that have been merged
	owners      []rowstate.Ref // groups that entries belong to
}

// NewGlobal makes the operator of a global aggregate. The specification has been validated against the input.
func NewGlobal(s *spec.GlobalGroupAggregate, input logical.Row, groups op.KeyGroups, budget *rowstate.Budget) (op.Operator, error) {
	o, err := newGlobal(s, input, groups, budget)
	if err != nil {
		return nil, fmt.Errorf("globalGroupAggregate: %w", err)
	}
	return o, nil
}

func newGlobal(s *spec.GlobalGroupAggregate, input logical.Row, groups op.KeyGroups, budget *rowstate.Budget) (*Global, error) {
	original, err := spec.ParseRow(s.LocalAggInputRowType)
	if err != nil {
		return nil, op.Invalidf("localAggInputRowType: %w", err)
	}
	r := request{
		calls: s.AggCalls, retract: s.AggCallNeedRetractions, countStar: -1, inserted: s.CountStarInserted, needs: s.NeedRetraction,
		columns: original, stampedTTL: s.StateTTLMillis > 0, crosses: true,
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
	partial := r
	partial.partial, partial.maps, partial.stampedTTL = true, true, false
	o := &Global{at: make([]int, len(p.views))}
	if o.merger, err = newMerger(s.Name, partial, s.Grouping, input, s.MiniBatch.Size, budget); err != nil {
		return nil, err
	}
	q := o.dictionary.groups.plan
	if o.fromPartial, err = newSources(p.calls, q.accumulators, q.types, 0); err != nil {
		o.dictionary.close()
		return nil, err
	}
	o.keyed = keyed{name: s.Name, projector: o.merger.projector, budget: budget}
	o.open(p, s.StateTTLMillis, s.GenerateUpdateBefore)
	o.identify(s.AggCalls, s.AggCallNeedRetractions, s.Grouping, original.Types(), r, groups)
	return o, nil
}

// Push merges rows into the bundle, and ends it as often as it is full. Room is made first for all of that.
func (o *Global) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
	if err := o.read(input, in); err != nil {
		return err
	}
	o.state.Begun = true
	o.tick(in.Now)
	if err := o.reserve(in, &o.keyed); err != nil {
		return err
	}
	if err := o.groups.reserve(o.whole(in)); err != nil {
		return err
	}
	return o.take(in, func() error { return o.finish(out) })
}

// finish ends the bundle: its accumulators are merged with the state, key by key in stock's order.
func (o *Global) finish(out *changelog.Builder) error {
	d := o.dictionary
	if len(d.touched.refs) == 0 {
		o.bundle.elements = 0
		return nil
	}
	o.sweep(len(d.touched.refs))
	p, q := o.groups.plan, d.groups.plan
	walk := d.touched.inOrder()
	for len(walk) > 0 {
		some := walk[:min(finishAtOnce, len(walk))]
		walk = walk[len(some):]
		o.batch.Reset(o.keyed.projector.Width())
		for _, i := range some {
			o.batch.Append(d.table.Key(d.touched.refs[i]))
		}
		o.find(&o.batch)
		for i, v := range p.views {
			v.keys.Reset(v.width)
			owners := o.owners[:0]
			for n, key := range some {
				v.collect(q.views[i], q, d.table.Value(d.touched.refs[key]), o.refs[n])
				for len(owners) < v.keys.Len() {
					owners = append(owners, o.refs[n])
				}
			}
			o.owners = owners
			v.find(p, func(i int) []byte { return o.table.Value(owners[i]) })
			o.at[i] = 0
		}
		for n, i := range some {
			o.absorb(o.refs[n], o.batch.Row(n), d.table.Value(d.touched.refs[i]), out)
			if o.groups.err != nil {
				return fmt.Errorf("%s: %w", o.keyed.name, o.groups.err)
			}
		}
		for _, v := range p.views {
			v.settle(p, o.table)
		}
	}
	o.clear()
	o.settle()
	return nil
}

// finishAtOnce is how many keys go to the state together.
const finishAtOnce = 1024

// absorb merges what a bundle has of a key with the state, and answers.
func (o *Global) absorb(ref rowstate.Ref, key, partial []byte, out *changelog.Builder) {
	g, d := o.groups, o.dictionary
	value := o.table.Value(ref)
	first := !o.visible(value)
	if first {
		o.begin(value)
	} else {
		o.emit.before(g, value)
	}
	d.groups.plan.derive(partial)
	o.merging = d.groups.appendFields(o.merging[:0], partial)
	g.mergePartial(o.fromPartial, value, o.merging)
	for i, v := range g.plan.views {
		o.at[i] = v.mergeView(g, d.groups.plan.views[i], d.groups.plan, partial, value, o.at[i])
	}
	g.plan.derive(value)
	o.answer(ref, key, value, first, out)
}

// answer emits what a mini-batch has made of a group, whose results before are with the emitter unless it is new.
func (s *keyed) answer(ref rowstate.Ref, key, value []byte, first bool, out *changelog.Builder) {
	p, g := s.groups.plan, s.groups
	if p.countAt >= 0 && getUint64(value, p.countAt) == 0 {
		if !first {
			s.emit.remove(key, changelog.NoSource, out)
		}
		s.empty(value)
		s.dead = append(s.dead, ref)
		return
	}
	if p.stampAt >= 0 {
		rowstate.PutInt64(value[p.stampAt:], g.clock.Now)
	}
	next := s.emit.after(g, value)
	switch {
	case first:
		s.emit.insert(key, next, changelog.NoSource, out)
	case p.stampAt >= 0 || !p.equal(s.emit.rows[0], next):
		s.emit.update(key, next, changelog.NoSource, out)
	}
}

// Watermark ends the bundle.
func (o *Global) Watermark(_ int64, out *changelog.Builder) error { return o.finish(out) }

// Flush ends the bundle.
func (o *Global) Flush(out *changelog.Builder) error { return o.finish(out) }

// isEmpty refuses a snapshot in the middle of a bundle.
func (b *bundle) isEmpty(name string) error {
	if b.elements > 0 {
		return op.Invalidf("%s: snapshot with %d rows in the mini-batch bundle; flush comes first", name, b.elements)
	}
	return nil
}

func (b *bundle) stats(dst []op.Stat, keys int) []op.Stat {
	return append(dst, op.Stat{Name: "bundleSize", Value: b.elements}, op.Stat{Name: "bundleKeys", Value: int64(keys)})
}
