package agg

import (
	"fmt"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// Global is MiniBatchGlobalGroupAggFunction: rows are accumulators, which are merged per bundle first, then with the state. A
// group without state gets it by whatever comes, be it a retraction.
type Global struct {
	keyed
	layout      *binrow.Layout
	needed      []int
	dictionary  *dictionary
	fromInput   []source
	fromPartial []source
	bundle      bundle
	batch       rowstate.Rows // keys on their way to the state
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
		columns: original, stampedTTL: s.StateTTLMillis > 0,
	}
	if s.IndexOfCountStar != nil {
		r.countStar = *s.IndexOfCountStar
	}
	p, err := newPlan(r)
	if err != nil {
		return nil, err
	}
	partial := r
	partial.partial, partial.stampedTTL = true, false
	q, err := newPlan(partial)
	if err != nil {
		return nil, err
	}
	types := input.Types()
	o := &Global{bundle: bundle{size: s.MiniBatch.Size}}
	if o.layout, err = binrow.NewLayout(types); err != nil {
		return nil, op.Unsupportedf("%w", err)
	}
	projector, err := binrow.NewProjector(types, s.Grouping)
	if err != nil {
		return nil, op.Unsupportedf("grouping: %w", err)
	}
	if o.fromInput, err = newSources(p.calls, q.accumulators, types, len(s.Grouping)); err != nil {
		return nil, err
	}
	if o.fromPartial, err = newSources(p.calls, q.accumulators, q.types, 0); err != nil {
		return nil, err
	}
	for i, t := range types[len(s.Grouping):] {
		if phys, err := physicalOf(t); err == nil && (phys.kind == kindBytes || phys.room() > 0) {
			o.needed = append(o.needed, len(s.Grouping)+i)
		}
	}
	o.keyed = keyed{name: s.Name, projector: projector, budget: budget}
	o.open(p, s.StateTTLMillis, s.GenerateUpdateBefore)
	o.identify(s.AggCalls, s.AggCallNeedRetractions, s.Grouping, original.Types(), r, groups)
	o.dictionary = newDictionary(q, projector.Width(), budget)
	return o, nil
}

// Push merges rows into the bundle, and ends it as often as it is full. Room is made first for all of that.
func (o *Global) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
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
	n, d := in.Len(), o.dictionary
	if err := o.reserve(n, int64(len(o.keys.Data)), int64(len(in.Data))); err != nil {
		return err
	}
	for from := 0; from < n; {
		rows, full := o.bundle.split(n - from)
		keys := part(&o.keys, from, from+rows)
		for i, ref := range d.find(&keys) {
			d.groups.merge(o.fromInput, d.table.Value(ref), in.Row(from+i))
		}
		if d.groups.err != nil {
			return fmt.Errorf("%s: %w", o.name, d.groups.err)
		}
		o.bundle.elements += int64(rows)
		from += rows
		if full {
			if err := o.finish(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// reserve makes room for rows in the bundle, and for the bundle in the state.
func (o *Global) reserve(rows int, keyBytes, rowBytes int64) error {
	d := o.dictionary
	if err := d.reserve(rows, keyBytes, rowBytes); err != nil {
		return err
	}
	held := len(d.touched.refs)
	o.bundle.bytes += keyBytes + rowBytes
	if err := o.table.Reserve(rows+held, o.bundle.bytes); err != nil {
		return err
	}
	return o.groups.reserve(rows+held, o.bundle.bytes)
}

// finish ends the bundle: its accumulators are merged with the state, key by key in stock's order.
func (o *Global) finish(out *changelog.Builder) error {
	o.bundle.elements, o.bundle.bytes = 0, 0
	d := o.dictionary
	if len(d.touched.refs) == 0 {
		return nil
	}
	o.sweep(len(d.touched.refs))
	walk := d.touched.inOrder()
	for len(walk) > 0 {
		some := walk[:min(finishAtOnce, len(walk))]
		walk = walk[len(some):]
		o.batch.Reset(o.projector.Width())
		for _, i := range some {
			o.batch.Append(d.table.Key(d.touched.refs[i]))
		}
		o.find(&o.batch)
		for n, i := range some {
			o.absorb(o.refs[n], o.batch.Row(n), d.table.Value(d.touched.refs[i]), out)
			if o.groups.err != nil {
				return fmt.Errorf("%s: %w", o.name, o.groups.err)
			}
		}
	}
	d.clear()
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
	o.merging = d.groups.appendRow(o.merging[:0], partial)
	g.merge(o.fromPartial, value, o.merging)
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
		putInt64(value[p.stampAt:], g.clock.now)
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

// ProcessingTime sets the clock that TTL goes by, until the next batch brings its own.
func (o *Global) ProcessingTime(ts int64, _ *changelog.Builder) error {
	o.tick(ts)
	o.sweep(0)
	return nil
}

// Flush ends the bundle.
func (o *Global) Flush(out *changelog.Builder) error { return o.finish(out) }

// Snapshot is the state's. Rows in a bundle are no state: the host ends the bundle first.
func (o *Global) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	if err := o.bundle.isEmpty(o.name); err != nil {
		return nil, err
	}
	return o.keyed.Snapshot(groups)
}

// isEmpty refuses a snapshot in the middle of a bundle.
func (b *bundle) isEmpty(name string) error {
	if b.elements > 0 {
		return op.Invalidf("%s: snapshot with %d rows in the mini-batch bundle; flush comes first", name, b.elements)
	}
	return nil
}

// Stats has Flink's metrics of a bundle, then what the state takes.
func (o *Global) Stats(dst []op.Stat) []op.Stat {
	return o.keyed.Stats(o.bundle.stats(dst, len(o.dictionary.touched.refs)))
}

func (b *bundle) stats(dst []op.Stat, keys int) []op.Stat {
	return append(dst, op.Stat{Name: "bundleSize", Value: b.elements}, op.Stat{Name: "bundleKeys", Value: int64(keys)})
}

// Close frees all memory.
func (o *Global) Close() {
	if !o.closed {
		o.closed = true
		o.close()
		o.dictionary.close()
	}
}
