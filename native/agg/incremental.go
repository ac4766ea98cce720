package agg

import (
	"fmt"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/javamap"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// Incremental is MiniBatchIncrementalGroupAggFunction: between a local aggregate by a bucket of the distinct values besides the
// grouping columns, and the global one without the bucket. Distinct values are its state, by the partial key; accumulators are
// not, they are made anew of each bundle, per final key, and emitted without the values.
type Incremental struct {
	mergingState
	fromPartial []source
	finals      *binrow.Projector // the final key, of a partial one
	results     *dictionary       // accumulators by final key
	finalKeys   rowstate.Rows
	finalWalk   []int32
	walk        []int32
	finalOf     map[rowstate.Ref]int32 // final keys by their ref
	lists       []partList             // of each final key
	next        []int32                // partial key of the same final key, -1 for none
	parts       []int32                // partial keys of a final key
	codes       []int32
	inner       []int32
	starts      []int // per view and partial key, its first entry among those found
	owners      []rowstate.Ref
}

// partList is the partial keys of a final one.
type partList struct{ head, tail int32 }

// NewIncremental makes the operator of an incremental aggregate. The specification has been validated against the input.
func NewIncremental(s *spec.IncrementalGroupAggregate, input logical.Row, groups op.KeyGroups, budget *rowstate.Budget) (op.Operator, error) {
	o, err := newIncremental(s, input, groups, budget)
	if err != nil {
		return nil, fmt.Errorf("incrementalGroupAggregate: %w", err)
	}
	return o, nil
}

func newIncremental(s *spec.IncrementalGroupAggregate, input logical.Row, groups op.KeyGroups, budget *rowstate.Budget) (*Incremental, error) {
	original, err := spec.ParseRow(s.PartialLocalAggInputRowType)
	if err != nil {
		return nil, op.Invalidf("partialLocalAggInputRowType: %w", err)
	}
	r := request{
		calls: s.PartialOriginalAggCalls, retract: s.PartialAggCallNeedRetractions, countStar: -1, inserted: s.CountStarInserted,
		needs: s.PartialAggNeedRetraction, columns: original, partial: true, crosses: true,
	}
	if s.IndexOfCountStar != nil {
		r.countStar = *s.IndexOfCountStar
	}
	state := r
	state.stampedTTL = s.StateTTLMillis > 0
	p, err := newPlan(state)
	if err != nil {
		return nil, err
	}
	results, err := newPlan(r)
	if err != nil {
		return nil, err
	}
	results.views = nil // they are the state's
	partial := r
	partial.maps = true
	o := &Incremental{finalOf: map[rowstate.Ref]int32{}}
	if o.merger, err = newMerger(s.Name, partial, s.PartialAggGrouping, input, s.MiniBatch.Size, budget); err != nil {
		return nil, err
	}
	q := o.dictionary.groups.plan
	if o.fromPartial, err = newSources(p.calls, q.accumulators, q.types, 0); err != nil {
		o.dictionary.close()
		return nil, err
	}
	types := make([]logical.Type, len(s.PartialAggGrouping))
	for i, c := range s.PartialAggGrouping {
		types[i] = input.Fields[c].Type
	}
	if o.finals, err = binrow.NewProjector(types, s.FinalAggGrouping); err != nil {
		o.dictionary.close()
		return nil, op.Unsupportedf("finalAggGrouping: %w", err)
	}
	o.results = newDictionary(results, o.finals.Width(), budget)
	o.keyed = keyed{name: s.Name, projector: o.merger.projector, budget: budget}
	o.open(p, s.StateTTLMillis, false)
	o.identify(s.PartialOriginalAggCalls, s.PartialAggCallNeedRetractions, s.PartialAggGrouping, original.Types(), r, groups)
	return o, nil
}

// Push merges rows into the bundle, and ends it as often as it is full. Room is made first for all of that.
func (o *Incremental) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
	if err := o.read(input, in); err != nil {
		return err
	}
	o.state.Begun = true
	o.tick(in.Now)
	if err := o.reserve(in, &o.keyed); err != nil {
		return err
	}
	whole := o.whole(in)
	whole.bytes += o.heldBytes
	if err := o.results.reserve(o.bundle.bytes, whole); err != nil {
		return err
	}
	return o.take(in, func() error { return o.finish(out) })
}

// finish ends the bundle: per final key, in the order of Flink's map of them, its partial accumulators are merged, in the order
// of Flink's map of those, and their distinct values with the state; what comes of it goes out.
func (o *Incremental) finish(out *changelog.Builder) error {
	d := o.dictionary
	if len(d.touched.refs) == 0 {
		o.bundle.elements = 0
		return nil
	}
	o.sweep(len(d.touched.refs))
	o.lookUp()
	g, results := o.groups, o.results
	results.groups.clock = g.clock // for the distinct values, which are the state's
	lastNew := o.lists[len(o.lists)-1].head
	o.finalWalk = javamap.WalkComputed(results.touched.codes, o.walk[len(o.walk)-1] != lastNew, o.finalWalk)
	for _, final := range o.finalWalk {
		ref := results.touched.refs[final]
		o.partsOf(final)
		for _, i := range o.parts {
			value := results.table.Value(ref)
			partial := d.table.Value(d.touched.refs[i])
			d.groups.plan.derive(partial)
			o.merging = d.groups.appendFields(o.merging[:0], partial)
			results.groups.mergePartial(o.fromPartial, value, o.merging)
			for n, v := range g.plan.views {
				v.mergeView(results.groups, d.groups.plan.views[n], d.groups.plan, partial, value, o.starts[n*len(d.touched.refs)+int(i)])
			}
		}
		if results.groups.err != nil {
			return fmt.Errorf("%s: %w", o.keyed.name, results.groups.err)
		}
		value := results.table.Value(ref)
		results.groups.plan.derive(value)
		o.emit.insert(results.table.Key(ref), results.groups.appendRow(o.emit.rows[1][:0], value), changelog.NoSource, out)
	}
	o.keepState()
	results.clear()
	o.clear()
	return nil
}

// lookUp finds the final keys and the state of the bundle's partial keys, and the state's entries of their distinct values.
func (o *Incremental) lookUp() {
	d := o.dictionary
	n := len(d.touched.refs)
	o.walk = append(o.walk[:0], d.touched.inOrder()...)
	o.finalKeys.Reset(o.finals.Width())
	partials := rowstate.Rows{}
	partials.Reset(o.keyed.projector.Width())
	for _, i := range o.walk {
		o.finals.Append(d.table.Key(d.touched.refs[i]), &o.finalKeys)
	}
	for i := range n {
		partials.Append(d.table.Key(d.touched.refs[i]))
	}
	o.results.find(&o.finalKeys)
	o.find(&partials)
	o.link()
	o.starts = append(o.starts[:0], make([]int, n*len(o.groups.plan.views))...)
	p, q := o.groups.plan, d.groups.plan
	for i, v := range p.views {
		v.keys.Reset(v.width)
		owners := o.owners[:0]
		for key := range n {
			o.starts[i*n+key] = v.keys.Len()
			v.collect(q.views[i], q, d.table.Value(d.touched.refs[key]), o.refs[key])
			for len(owners) < v.keys.Len() {
				owners = append(owners, o.refs[key])
			}
		}
		o.owners = owners
		v.find(p, func(i int) []byte { return o.table.Value(owners[i]) })
	}
}

// link lists the partial keys of each final key, in the order of the bundle's walk.
func (o *Incremental) link() {
	clear(o.finalOf)
	o.lists = o.lists[:0]
	for i, ref := range o.results.touched.refs {
		o.finalOf[ref] = int32(i)
		o.lists = append(o.lists, partList{-1, -1})
	}
	o.next = append(o.next[:0], make([]int32, len(o.walk))...)
	for n, i := range o.walk {
		list := &o.lists[o.finalOf[o.results.refs[n]]]
		o.next[i] = -1
		if list.head < 0 {
			list.head = i
		} else {
			o.next[list.tail] = i
		}
		list.tail = i
	}
}

// partsOf lists the partial keys of a final key, in the order of a new HashMap into which they were put in the order of the
// bundle's.
func (o *Incremental) partsOf(final int32) {
	o.inner, o.codes = o.inner[:0], o.codes[:0]
	for i := o.lists[final].head; i >= 0; i = o.next[i] {
		o.inner, o.codes = append(o.inner, i), append(o.codes, o.dictionary.touched.codes[i])
	}
	var order javamap.Order
	o.parts = order.Walk(o.codes, o.parts)
	for n, at := range o.parts {
		o.parts[n] = o.inner[at]
	}
}

// keepState ends the bundle for the state: partial keys stay as long as they have distinct values.
func (o *Incremental) keepState() {
	p := o.groups.plan
	for _, v := range p.views {
		v.settle(p, o.table)
	}
	for _, ref := range o.refs {
		value, has := o.table.Value(ref), false
		for _, v := range p.views {
			has = has || getRef(value, v.headAt(p)) != 0
		}
		if !has {
			o.table.Delete(ref)
			continue
		}
		if !p.alive(value) {
			o.begin(value)
		}
		if p.stampAt >= 0 {
			rowstate.PutInt64(value[p.stampAt:], o.groups.clock.Now)
		}
	}
}

// Watermark ends the bundle.
func (o *Incremental) Watermark(_ int64, out *changelog.Builder) error { return o.finish(out) }

// Flush ends the bundle.
func (o *Incremental) Flush(out *changelog.Builder) error { return o.finish(out) }

// Close frees all memory.
func (o *Incremental) Close() {
	if !o.closed {
		o.mergingState.Close()
		o.results.close()
	}
}
