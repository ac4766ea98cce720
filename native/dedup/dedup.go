package dedup

import (
	"math"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/snapshot"
	"drey/native/spec"
	"drey/rowstate"
)

// Operator deduplicates; see the package comment.
type Operator struct {
	// What a batch needs, in the order it needs it.
	layout    *binrow.Layout
	projector *binrow.Projector
	keys      rowstate.Rows
	hashes    []uint64
	refs      []rowstate.Ref
	fresh     []bool
	table     *rowstate.Table // nil if there is no state
	rule      rule            // nil if there is no state
	expiry    *expiry         // nil without TTL
	bundle    *bundle         // nil without mini-batch

	clock     rowstate.Clock
	watermark int64

	spec   *spec.Deduplicate
	state  snapshot.State
	budget *rowstate.Budget
	closed bool
}

// rule is what one of the variants does with its state. The operator has found the key's entry.
type rule interface {
	// reserve makes room for a number of rows and their bytes, so that apply can't fail.
	reserve(rows int, bytes int64) error
	// apply applies the rule to a row of a key; fresh tells that the key's entry is new.
	apply(ref rowstate.Ref, fresh bool, row []byte, source int, out *changelog.Builder)
	// applyBatch does so for every row of a batch, without a dynamic call per row.
	applyBatch(refs []rowstate.Ref, fresh []bool, in *changelog.Batch, out *changelog.Builder)
	// due emits what waited for the watermark.
	due(watermark int64, out *changelog.Builder)
	// stamp gives the time the key's value was last written; set writes it.
	stamp(ref rowstate.Ref) int64
	setStamp(ref rowstate.Ref, stamp int64)
	// drop frees what the key's value holds, because it has expired; false if there is something else in it that has not.
	drop(ref rowstate.Ref) bool
	// encode says what a snapshot has to keep of the key's value, false if it has expired.
	encode(ref rowstate.Ref, e *entry) bool
	// decode puts that back into a fresh entry, and tells whether such a value has a time stamp.
	decode(ref rowstate.Ref, e *entry) (stamped bool, err error)
	stats(dst []op.Stat) []op.Stat
	close()
}

// New makes the operator. The specification has been validated against the input.
func New(s *spec.Deduplicate, input logical.Row, groups op.KeyGroups, budget *rowstate.Budget) (*Operator, error) {
	types := input.Types()
	layout, err := binrow.NewLayout(types)
	if err != nil {
		return nil, op.Unsupportedf("deduplicate: %w", err)
	}
	projector, err := binrow.NewProjector(types, s.UniqueKeys)
	if err != nil {
		return nil, op.Unsupportedf("deduplicate: uniqueKeys: %w", err)
	}
	o := &Operator{
		layout: layout, projector: projector, spec: s, budget: budget, watermark: math.MinInt64,
		clock: rowstate.Clock{TTL: s.StateTTLMillis}, state: snapshot.State{Operator: s.Name, Identity: identify(s, types), Groups: groups},
	}
	if s.MiniBatch != nil {
		o.bundle = newBundle(o, budget)
	}
	if s.KeepLastRow && !s.IsRowtime && !s.GenerateInsert && !s.GenerateUpdateBefore {
		return o, nil // nothing to remember
	}
	value := 0
	switch {
	case !s.IsRowtime && !s.KeepLastRow:
		r := newFlagRule(o)
		o.rule, value = r, r.size
	case s.IsRowtime && s.OutputInsertOnly:
		r := newWaitRule(o, budget)
		o.rule, value = r, r.size
	default:
		r := newRowRule(o, budget)
		o.rule, value = r, r.size
	}
	o.table = rowstate.NewTable(budget, rowstate.TableOptions{
		KeyWidth: projector.Width(), ValueSize: value, Purpose: purposeKeys,
	})
	if o.clock.TTL > 0 {
		o.expiry = newExpiry(budget, o.clock.TTL)
	}
	return o, nil
}

// What memory is used for, in the words of a budget's error.
const (
	purposeKeys   = "deduplicate keys"
	purposeRows   = "deduplicate rows"
	purposeTimers = "deduplicate timers"
	purposeExpiry = "deduplicate expiry queue"
	purposeBundle = "deduplicate mini-batch"
)

// Push applies the rule to every row, or adds the rows to the bundle.
func (o *Operator) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
	if input != 0 {
		return op.Invalidf("deduplicate: input %d, there is only input 0", input)
	}
	if err := o.check(in); err != nil {
		return err
	}
	if o.table == nil && o.bundle == nil {
		o.state.Begun = true
		for i := range in.Len() {
			out.Append(changelog.UpdateAfter, in.Row(i), i)
		}
		return nil
	}
	if err := o.projector.Project(in, &o.keys); err != nil {
		return op.Corruptf("deduplicate: %w", err)
	}
	o.state.Begun = true
	o.tick(in.Now)
	if o.bundle != nil {
		return o.bundle.push(in, out)
	}
	o.clean()
	n := in.Len()
	if err := o.reserve(n, int64(len(o.keys.Data)), int64(len(in.Data))); err != nil {
		return err
	}
	o.find(&o.keys)
	o.rule.applyBatch(o.refs, o.fresh, in, out)
	return nil
}

// check refuses a batch before anything has happened.
func (o *Operator) check(in *changelog.Batch) error {
	if err := o.layout.CheckBatch(in); err != nil {
		return op.Corruptf("deduplicate: %w", err)
	}
	for i, kind := range in.Kinds {
		if kind != changelog.Insert {
			// DeduplicateFunctionHelper.checkInsertOnly
			return op.Corruptf("deduplicate: row %d has row kind %d, takes +I (0) only", i, kind)
		}
	}
	return nil
}

// reserve makes room for as many new keys and rows, or changes nothing.
func (o *Operator) reserve(rows int, keyBytes, rowBytes int64) error {
	if err := o.table.Reserve(rows, keyBytes); err != nil {
		return err
	}
	if err := o.rule.reserve(rows, rowBytes); err != nil {
		return err
	}
	if o.expiry == nil {
		return nil
	}
	return o.expiry.reserve(o.table.Len() + rows)
}

// find finds or makes the entries of keys: refs and fresh say which. Room was reserved.
func (o *Operator) find(keys *rowstate.Rows) {
	n := keys.Len()
	if cap(o.refs) < n {
		o.hashes, o.refs, o.fresh = make([]uint64, n), make([]rowstate.Ref, n), make([]bool, n)
	}
	o.hashes, o.refs, o.fresh = o.hashes[:n], o.refs[:n], o.fresh[:n]
	o.table.Hash(keys, o.hashes)
	o.table.FindOrInsert(keys, o.hashes, o.refs, o.fresh)
}

// tick sets the clock.
func (o *Operator) tick(now int64) {
	if o.clock.Tick(now) && o.expiry != nil {
		o.stampRestored()
	}
}

// Watermark ends the bundle, and emits the rows that waited for the watermark.
func (o *Operator) Watermark(ts int64, out *changelog.Builder) error {
	if err := o.Flush(out); err != nil {
		return err
	}
	o.watermark = max(o.watermark, ts)
	if o.rule != nil {
		o.rule.due(o.watermark, out)
	}
	return nil
}

// ProcessingTime sets the clock that TTL goes by, until the next batch brings its own, and frees keys that have expired.
func (o *Operator) ProcessingTime(ts int64, _ *changelog.Builder) error {
	o.tick(ts)
	o.clean()
	return nil
}

// Flush ends the bundle.
func (o *Operator) Flush(out *changelog.Builder) error {
	if o.bundle != nil {
		o.bundle.finish(out)
	}
	return nil
}

// Stats has Flink's metrics of the variant at work, then what the state takes.
func (o *Operator) Stats(dst []op.Stat) []op.Stat {
	if o.bundle != nil {
		dst = append(dst,
			op.Stat{Name: "bundleSize", Value: o.bundle.elements},
			op.Stat{Name: "bundleKeys", Value: int64(len(o.bundle.keys.entries))})
	}
	if o.table == nil {
		return dst
	}
	dst = o.rule.stats(dst)
	dst = append(dst, op.Stat{Name: "state.keys", Value: int64(o.table.Len())},
		op.Stat{Name: "state.bytes", Value: o.budget.Used()})
	return dst
}

// Close frees all memory.
func (o *Operator) Close() {
	if o.closed {
		return
	}
	o.closed = true
	if o.table != nil {
		o.table.Close()
		o.rule.close()
	}
	if o.expiry != nil {
		o.expiry.close()
	}
	if o.bundle != nil {
		o.bundle.close()
	}
}
