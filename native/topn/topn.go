package topn

import (
	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/snapshot"
	"drey/native/spec"
	"drey/rowstate"
)

// Operator ranks; see the package comment.
type Operator struct {
	layout    *binrow.Layout
	projector *binrow.Projector // of the partition key
	sortKeys  *binrow.SortKeys
	keys      rowstate.Rows
	hashes    []uint64
	refs      []rowstate.Ref
	fresh     []bool
	table     *rowstate.Table
	strategy  strategy
	held      held
	out       output
	header    int       // how much of a partition's value is not the strategy's
	p         partition // of the row at work
	sortKey   []byte    // of the row at work
	ahead     ahead

	clock    rowstate.Clock
	restored []rowstate.Ref // partitions whose lists are still to be made

	constantEnd bool
	end         int64 // of the rank range, if it is constant
	endAt       int   // slot that says so otherwise
	endType     logical.Kind
	counts      counts

	spec   *spec.Rank
	state  snapshot.State
	budget *rowstate.Budget
	closed bool
}

// counts is of what should not happen. Flink counts the first and logs the others, row by row.
type counts struct {
	invalidTopSize       int64 // rows that want another end than their partition has
	unmatchedRetractions int64 // retractions of rows that are not there
	expiredGroups        int64 // groups that were counted when their rows had expired
	worsenedRows         int64 // updates that made a row's rank worse
}

// strategy is one of the functions that stock has for ranks. A partition's value in the table starts with the end of its
// rank range; what follows is the strategy's.
type strategy interface {
	valueSize() int
	// insertOnly is whether stock fails on other rows than insertions.
	insertOnly() bool
	// meets is the set that a row with that sort key has to do with, by a partition's value; nil if it is none.
	meets(value, sortKey []byte) *rowstate.OrderedSet
	// reserve makes room for rows of as many bytes, so that apply can't fail.
	reserve(rows int, bytes int64) error
	apply(p *partition, kind changelog.RowKind, row []byte, source int, out *changelog.Builder)
	// begin comes before the rows of a batch, end behind them.
	begin(in *changelog.Batch) error
	end()
	// age frees what has expired of a partition, ownStamp tells whether a partition's value has a stamp of its own, empty
	// whether there is nothing left, and carriers visits the rows that carry a stamp.
	age(p *partition) error
	ownStamp() bool
	empty(p *partition) bool
	carriers(p *partition, visit func(element))
	// encode writes what a snapshot has to keep of a partition; the others put it back, item by item, in the same order.
	encode(p *partition, w *writer)
	decodeRow(p *partition, e element, row []byte) error
	decodeNumber(p *partition, n int64) error
	decodeGroup(p *partition, item byte, sortKey []byte, n int64) error
	close()
}

// partition is a partition's entry in the table.
type partition struct {
	ref    rowstate.Ref
	header []byte // see life.go
	value  []byte // what belongs to the strategy
	end    int64  // of its rank range
}

// Without an end of its own, a partition of a variable range accepts rows that are not better than its worst while it
// has fewer than this (AbstractTopNFunction.DEFAULT_TOPN_SIZE), whatever its range.
const defaultTopN = 100

// What memory is used for, in the words of a budget's error.
const (
	purposeKeys    = "rank partitions"
	purposeRows    = "rank rows"
	purposeOrder   = "rank order"
	purposeRowKeys = "rank row keys"
)

// New makes the operator. The specification has been validated against the input.
func New(s *spec.Rank, input logical.Row, groups op.KeyGroups, budget *rowstate.Budget) (*Operator, error) {
	types := input.Types()
	layout, err := binrow.NewLayout(types)
	if err != nil {
		return nil, op.Unsupportedf("rank: %w", err)
	}
	projector, err := binrow.NewProjector(types, s.Partition)
	if err != nil {
		return nil, op.Unsupportedf("rank: partition: %w", err)
	}
	var fields []binrow.SortField
	for _, f := range s.OrderBy {
		fields = append(fields, binrow.SortField{
			Column: f.Index, Order: rowstate.SortOrder{Descending: !f.IsAscending, NullsLast: f.NullIsLast},
		})
	}
	sortKeys, err := binrow.NewSortKeys(layout, types, fields)
	if err != nil {
		return nil, op.Unsupportedf("rank: orderBy: %w", err)
	}
	o := &Operator{
		layout: layout, projector: projector, sortKeys: sortKeys, spec: s, budget: budget,
		state: snapshot.State{Operator: s.Name, Identity: identify(s, types), Groups: groups},
		clock: rowstate.Clock{TTL: s.StateTTLMillis}, header: endSize, out: newOutput(s),
	}
	if o.clock.TTL > 0 {
		o.header = ttlHeader
	}
	if g := s.RankRange; g.Type == "Constant" {
		o.constantEnd, o.end = true, *g.End
	} else {
		o.endAt, o.endType = layout.Slot(*g.EndIndex), types[*g.EndIndex].Kind
	}
	if o.strategy, err = newStrategy(o, types); err != nil {
		return nil, err
	}
	o.table = rowstate.NewTable(budget, rowstate.TableOptions{
		KeyWidth: projector.Width(), ValueSize: o.header + o.strategy.valueSize(), Purpose: purposeKeys,
	})
	return o, nil
}

func newStrategy(o *Operator, types []logical.Type) (strategy, error) {
	switch o.spec.Function {
	case spec.AppendOnlyFirstN:
		return &first{o: o}, nil
	case spec.FastTop1:
		o.held = newHeld(o, 0)
		return &topOne{o: o}, nil
	case spec.AppendOnlyTopN:
		o.held = newHeld(o, 0)
		return &appendOnly{o: o}, nil
	case spec.RetractableTopN:
		o.held = newHeld(o, 0)
		return newRetract(o), nil
	case spec.UpdatableTopN:
		rowKeys, err := binrow.NewProjector(types, o.spec.PrimaryKeys)
		if err != nil {
			return nil, op.Unsupportedf("rank: primaryKeys: %w", err)
		}
		o.held = newHeld(o, ownerBytes)
		return newUpdate(o, rowKeys), nil
	}
	return nil, op.Unsupportedf("rank: function %q", o.spec.Function)
}

// Push applies the strategy to every row.
func (o *Operator) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
	if input != 0 {
		return op.Invalidf("rank: input %d, there is only input 0", input)
	}
	if err := o.check(in); err != nil {
		return err
	}
	if err := o.projector.Project(in, &o.keys); err != nil {
		return op.Corruptf("rank: %w", err)
	}
	o.state.Begun = true
	o.tick(in.Now)
	if err := o.reserve(in.Len(), int64(len(o.keys.Data)), int64(len(in.Data))); err != nil {
		return err
	}
	ttl := o.clock.TTL > 0
	if ttl {
		if err := o.ageBatch(); err != nil {
			return err
		}
	}
	if err := o.strategy.begin(in); err != nil {
		return err
	}
	o.find()
	p, made := &o.p, 0
	for i, ref := range o.refs {
		if i%aheadRows == 0 {
			o.lookAhead(in, i)
		}
		row := in.Row(i)
		o.open(p, ref, o.fresh[i], row)
		o.sortKey = o.ahead.key(i % aheadRows)
		o.strategy.apply(p, in.Kinds[i], row, i, out)
		if ttl {
			o.schedule(p)
			if o.fresh[i] {
				made++
			}
		}
	}
	o.strategy.end()
	o.sweep(sweepAtLeast + 2*made + in.Len()/2)
	return nil
}

// check refuses a batch before anything has happened.
func (o *Operator) check(in *changelog.Batch) error {
	if err := o.layout.CheckBatch(in); err != nil {
		return op.Corruptf("rank: %w", err)
	}
	insertOnly := o.strategy.insertOnly()
	for i, kind := range in.Kinds {
		if kind < changelog.Insert || kind > changelog.Delete || insertOnly && kind != changelog.Insert {
			return op.Corruptf("rank: row %d has row kind %d", i, kind)
		}
	}
	// The order reads the fields of the sort key.
	for i := range in.Len() {
		if err := o.layout.Check(in.Row(i)); err != nil {
			return op.Corruptf("rank: row %d: %w", i, err)
		}
	}
	return nil
}

func (o *Operator) reserve(rows int, keyBytes, rowBytes int64) error {
	if err := o.table.Reserve(rows, keyBytes); err != nil {
		return err
	}
	return o.strategy.reserve(rows, rowBytes)
}

// find finds or makes the partitions of the keys.
func (o *Operator) find() {
	o.prepare()
	o.table.FindOrInsert(&o.keys, o.hashes, o.refs, o.fresh)
}

func (o *Operator) prepare() {
	n := o.keys.Len()
	if cap(o.refs) < n {
		o.hashes, o.refs, o.fresh = make([]uint64, n), make([]rowstate.Ref, n), make([]bool, n)
	}
	o.hashes, o.refs, o.fresh = o.hashes[:n], o.refs[:n], o.fresh[:n]
	o.table.Hash(&o.keys, o.hashes)
}

// at is the entry at ref, for other purposes than a row.
func (o *Operator) at(ref rowstate.Ref) partition {
	value := o.table.Value(ref)
	return partition{ref: ref, header: value[:o.header], value: value[o.header:], end: rowstate.Int64(value)}
}

// open makes p the entry at ref, for a row. The end of a variable range is what the partition's first row says, for as long
// as that lives; other rows that say something else are counted (AbstractSyncStateTopNFunction.initRankEnd).
func (o *Operator) open(p *partition, ref rowstate.Ref, fresh bool, row []byte) {
	value := o.table.Value(ref)
	*p = partition{ref: ref, header: value[:o.header], value: value[o.header:], end: o.end}
	if o.constantEnd {
		return
	}
	// A null reads as what its slot has, 0.
	end := rowstate.Int64(row[o.endAt:])
	switch o.endType {
	case logical.Integer:
		end = int64(int32(end))
	case logical.SmallInt:
		end = int64(int16(end))
	}
	if fresh || o.clock.TTL > 0 && o.clock.Expired(rowstate.Int64(value[endStampAt:])) {
		rowstate.PutInt64(value, end)
		if o.clock.TTL > 0 {
			rowstate.PutInt64(value[endStampAt:], o.clock.Now)
		}
	}
	if p.end = rowstate.Int64(value); p.end != end {
		o.counts.invalidTopSize++
	}
}

// topN is how many rows a partition takes without comparing.
func (o *Operator) topN() int64 {
	if o.constantEnd {
		return o.end
	}
	return defaultTopN
}

// Watermark does nothing: ranks don't depend on event time.
func (o *Operator) Watermark(int64, *changelog.Builder) error { return nil }

// ProcessingTime sets the clock that TTL goes by, until the next batch brings its own, and frees some of what has expired.
func (o *Operator) ProcessingTime(ts int64, _ *changelog.Builder) error {
	o.tick(ts)
	o.sweep(sweepIdle)
	return nil
}

// Flush does nothing: rows are never held back.
func (o *Operator) Flush(*changelog.Builder) error { return nil }

// Stats has Flink's counter, those of what Flink logs, and what the state takes.
func (o *Operator) Stats(dst []op.Stat) []op.Stat {
	dst = append(dst, op.Stat{Name: "topn.invalidTopSize", Value: o.counts.invalidTopSize})
	switch o.spec.Function {
	case spec.RetractableTopN:
		dst = append(dst, op.Stat{Name: "topn.unmatchedRetractions", Value: o.counts.unmatchedRetractions},
			op.Stat{Name: "topn.expiredGroups", Value: o.counts.expiredGroups})
	case spec.UpdatableTopN:
		dst = append(dst, op.Stat{Name: "topn.worsenedRows", Value: o.counts.worsenedRows})
	}
	return append(dst, op.Stat{Name: "state.keys", Value: int64(o.table.Len())},
		op.Stat{Name: "state.bytes", Value: o.budget.Used()})
}

// Close frees all memory.
func (o *Operator) Close() {
	if o.closed {
		return
	}
	o.closed = true
	o.table.Close()
	o.strategy.close()
	o.held.close()
}
