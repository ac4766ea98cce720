package topn

import (
	"encoding/binary"
	"math"

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
	sortKey   []byte // of the row at work

	constantEnd bool
	end         int64 // of the rank range, if it is constant
	endAt       int   // slot that says so otherwise
	endType     logical.Kind
	invalidTopN int64 // rows that want another end than their partition has

	spec   *spec.Rank
	state  snapshot.State
	budget *rowstate.Budget
	closed bool
}

// strategy is one of the functions that stock has for ranks. A partition's value in the table starts with the end of its
// rank range; what follows is the strategy's.
type strategy interface {
	valueSize() int
	insertOnly() bool
	// reserve makes room for rows of as many bytes, so that apply can't fail.
	reserve(rows int, bytes int64) error
	apply(p partition, kind changelog.RowKind, row []byte, source int, out *changelog.Builder)
	// begin comes before the rows of a batch, end behind them.
	begin(in *changelog.Batch) error
	end()
	// encode writes what a snapshot has to keep of a partition; the others put it back, item by item, in the same order.
	encode(p partition, w *writer)
	decodeRow(p partition, e element, row []byte) error
	decodeNumber(p partition, n int64) error
	decodeSkew(p partition, sortKey []byte, left int64) error
	close()
}

// partition is a partition's entry in the table.
type partition struct {
	ref   rowstate.Ref
	value []byte // what belongs to the strategy
	end   int64  // of its rank range
}

// valueHeader is the part of a value that holds the end of the rank range.
const valueHeader = 8

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
	if s.StateTTLMillis > 0 {
		return nil, op.Unsupportedf("rank: stateTtlMillis: state that expires")
	}
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
	}
	o.out = newOutput(s, layout)
	if g := s.RankRange; g.Type == "Constant" {
		o.constantEnd, o.end = true, *g.End
	} else {
		o.endAt, o.endType = layout.Slot(*g.EndIndex), types[*g.EndIndex].Kind
	}
	if o.strategy, err = newStrategy(o, types); err != nil {
		return nil, err
	}
	o.table = rowstate.NewTable(budget, rowstate.TableOptions{
		KeyWidth: projector.Width(), ValueSize: valueHeader + o.strategy.valueSize(), Purpose: purposeKeys,
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
		return &retract{o: o}, nil
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
	if err := o.reserve(in.Len(), int64(len(o.keys.Data)), int64(len(in.Data))); err != nil {
		return err
	}
	if err := o.strategy.begin(in); err != nil {
		return err
	}
	o.find()
	for i, ref := range o.refs {
		row := in.Row(i)
		o.strategy.apply(o.partition(ref, o.fresh[i], row), in.Kinds[i], row, i, out)
	}
	o.strategy.end()
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
	// Rows are taken apart: the rank column moves their variable part, the order reads the fields of the sort key.
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
	n := o.keys.Len()
	if cap(o.refs) < n {
		o.hashes, o.refs, o.fresh = make([]uint64, n), make([]rowstate.Ref, n), make([]bool, n)
	}
	o.hashes, o.refs, o.fresh = o.hashes[:n], o.refs[:n], o.fresh[:n]
	o.table.Hash(&o.keys, o.hashes)
	o.table.FindOrInsert(&o.keys, o.hashes, o.refs, o.fresh)
}

// partition is the entry at ref. The end of a variable range is what the partition's first row says; other rows that say
// something else are counted (AbstractSyncStateTopNFunction.initRankEnd).
func (o *Operator) partition(ref rowstate.Ref, fresh bool, row []byte) partition {
	value := o.table.Value(ref)
	p := partition{ref: ref, value: value[valueHeader:], end: o.end}
	if o.constantEnd {
		return p
	}
	// A null reads as what its slot has, 0.
	end := int64(binary.LittleEndian.Uint64(row[o.endAt:]))
	switch o.endType {
	case logical.Integer:
		end = int64(int32(end))
	case logical.SmallInt:
		end = int64(int16(end))
	}
	if fresh {
		binary.LittleEndian.PutUint64(value, uint64(end))
	}
	p.end = int64(binary.LittleEndian.Uint64(value))
	if p.end != end {
		o.invalidTopN++
	}
	return p
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

// ProcessingTime does nothing.
func (o *Operator) ProcessingTime(int64, *changelog.Builder) error { return nil }

// Flush does nothing: rows are never held back.
func (o *Operator) Flush(*changelog.Builder) error { return nil }

// Stats has Flink's counter, then what the state takes.
func (o *Operator) Stats(dst []op.Stat) []op.Stat {
	return append(dst, op.Stat{Name: "topn.invalidTopSize", Value: o.invalidTopN},
		op.Stat{Name: "state.keys", Value: int64(o.table.Len())}, op.Stat{Name: "state.bytes", Value: o.budget.Used()})
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

// output emits rows, within the rank range.
type output struct {
	numbered     bool // the rank is a column
	withNumber   bool // the rank matters
	updateBefore bool
	start        int64
	extender     *binrow.Extender
	rankAt       int // slot of the rank column
}

func newOutput(s *spec.Rank, layout *binrow.Layout) output {
	u := output{numbered: s.OutputRowNumber, updateBefore: s.GenerateUpdateBefore, start: math.MinInt64}
	if s.RankRange.Type == "Constant" {
		u.start = *s.RankRange.Start
	}
	u.withNumber = u.numbered || u.start > 1
	if u.numbered {
		u.extender = binrow.NewExtender(layout)
		u.rankAt = u.extender.Slot()
	}
	return u
}

// size is the length of a row as it goes out.
func (u *output) size(n int) int {
	if u.numbered {
		return u.extender.Size(n)
	}
	return n
}

// write writes a row as it goes out, which has any rank and the kind +I.
func (u *output) write(dst, row []byte) {
	if u.numbered {
		u.extender.Extend(dst, row)
	} else {
		copy(dst, row)
	}
	dst[0] = 0
}

// emit emits a row, in the form it goes out, at a rank.
func (u *output) emit(out *changelog.Builder, kind changelog.RowKind, row []byte, rank, end int64, source int) {
	if rank < u.start || rank > end || kind == changelog.UpdateBefore && !u.updateBefore {
		return
	}
	if u.numbered {
		out.AppendInt64(kind, row, source, u.rankAt, rank)
	} else {
		out.Append(kind, row, source)
	}
}

// plain emits a row without regard to ranks.
func (u *output) plain(out *changelog.Builder, kind changelog.RowKind, row []byte, source int) {
	if kind != changelog.UpdateBefore || u.updateBefore {
		out.Append(kind, row, source)
	}
}
