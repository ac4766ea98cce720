package agg

import (
	"fmt"
	"io"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// bundle counts the rows of a mini-batch.
type bundle struct {
	size, elements int64
	bytes          int64 // of keys and rows
}

// split says how many of the next n rows the bundle still takes, and whether it is full then.
func (b *bundle) split(n int) (rows int, full bool) {
	if left := b.size - b.elements; int64(n) >= left {
		return int(left), true
	}
	return n, false
}

// Local is MiniBatchLocalGroupAggFunction: it emits the accumulators of each bundle and remembers nothing.
type Local struct {
	name       string
	layout     *binrow.Layout
	projector  *binrow.Projector
	needed     []int
	keys       rowstate.Rows
	dictionary *dictionary
	bundle     bundle
	emit       emitter
	budget     *rowstate.Budget
	closed     bool
}

// NewLocal makes the operator of a local aggregate. The specification has been validated against the input.
func NewLocal(s *spec.LocalGroupAggregate, input logical.Row, _ op.KeyGroups, budget *rowstate.Budget) (op.Operator, error) {
	o, err := newLocal(s, input, budget)
	if err != nil {
		return nil, fmt.Errorf("localGroupAggregate: %w", err)
	}
	return o, nil
}

func newLocal(s *spec.LocalGroupAggregate, input logical.Row, budget *rowstate.Budget) (*Local, error) {
	r := request{
		calls: s.AggCalls, retract: s.AggCallNeedRetractions, countStar: -1, inserted: s.CountStarInserted, needs: s.NeedRetraction,
		columns: input, partial: true, maps: true, crosses: true,
	}
	if s.IndexOfCountStar != nil {
		r.countStar = *s.IndexOfCountStar
	}
	p, err := newPlan(r)
	if err != nil {
		return nil, err
	}
	types := input.Types()
	o := &Local{name: s.Name, needed: neededColumns(s.AggCalls, types), bundle: bundle{size: s.MiniBatch.Size}, budget: budget}
	if o.layout, err = binrow.NewLayout(types); err != nil {
		return nil, op.Unsupportedf("%w", err)
	}
	if o.projector, err = binrow.NewProjector(types, s.Grouping); err != nil {
		return nil, op.Unsupportedf("grouping: %w", err)
	}
	o.dictionary = newDictionary(p, o.projector.Width(), budget)
	return o, nil
}

// Push adds rows to the bundle, and ends it as often as it is full.
func (o *Local) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
	if input != 0 {
		return op.Invalidf("%s: input %d, there is only input 0", o.name, input)
	}
	if err := check(o.layout, o.needed, in); err != nil {
		return op.Corruptf("%s: %w", o.name, err)
	}
	if err := o.projector.Project(in, &o.keys); err != nil {
		return op.Corruptf("%s: %w", o.name, err)
	}
	n := in.Len()
	if err := o.dictionary.reserve(int64(len(o.keys.Data)), o.dictionary.groups.measure(in)); err != nil {
		return err
	}
	insertOnly := isInsertOnly(in)
	for from := 0; from < n; {
		rows, full := o.bundle.split(n - from)
		keys := part(&o.keys, from, from+rows)
		refs := o.dictionary.find(&keys)
		o.dictionary.groups.applyColumns(o.dictionary.table, refs, in, from, insertOnly)
		o.dictionary.groups.applyViews(o.dictionary.table, refs, in, from)
		if err := o.dictionary.groups.err; err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		o.bundle.elements += int64(rows)
		from += rows
		if full {
			o.finish(out)
		}
	}
	return nil
}

// isInsertOnly tells whether a batch has accumulate messages only.
func isInsertOnly(in *changelog.Batch) bool {
	for _, kind := range in.Kinds {
		if !kind.IsAccumulate() {
			return false
		}
	}
	return true
}

// finish emits the bundle.
func (o *Local) finish(out *changelog.Builder) {
	o.bundle.elements = 0
	d := o.dictionary
	for _, i := range d.touched.inOrder() {
		ref := d.touched.refs[i]
		value := d.table.Value(ref)
		d.groups.plan.derive(value)
		o.emit.insert(d.table.Key(ref), o.emit.after(d.groups, value), changelog.NoSource, out)
	}
	d.clear()
}

// Watermark ends the bundle.
func (o *Local) Watermark(_ int64, out *changelog.Builder) error { return o.Flush(out) }

// ProcessingTime does nothing.
func (o *Local) ProcessingTime(int64, *changelog.Builder) error { return nil }

// Flush ends the bundle.
func (o *Local) Flush(out *changelog.Builder) error {
	o.finish(out)
	return nil
}

// Snapshot has nothing to keep: the host ends the bundle first.
func (o *Local) Snapshot(op.KeyGroups) (op.Snapshot, error) {
	return nothing{}, o.bundle.isEmpty(o.name)
}

// nothing is the snapshot of an operator without state.
type nothing struct{}

func (nothing) Write(int, io.Writer) error { return nil }
func (nothing) Close()                     {}

// Restore takes a key group without state.
func (o *Local) Restore(group int, r io.Reader) error {
	var b [1]byte
	if n, err := io.ReadFull(r, b[:]); n > 0 || err != io.EOF {
		return op.Corruptf("%s: key group %d has state, the operator has none", o.name, group)
	}
	return nil
}

// Stats has Flink's metrics of a bundle.
func (o *Local) Stats(dst []op.Stat) []op.Stat {
	return append(o.bundle.stats(dst, len(o.dictionary.touched.refs)), op.Stat{Name: "state.bytes", Value: o.budget.Used()})
}

// Close frees all memory.
func (o *Local) Close() {
	if !o.closed {
		o.closed = true
		o.dictionary.close()
	}
}
