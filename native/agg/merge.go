package agg

import (
	"drey/native/binrow"
	"drey/native/logical"
	"drey/native/op"
	"drey/rowstate"
)

// source is where a row has the accumulators of a call: the columns of what another phase has emitted.
type source struct {
	value cell // the delimiter of LISTAGG; an accumulator that is a row
	count cell
	list  cell // LISTAGG's text

	read []nested      // accumulators that are rows, of each row that was read
	keys rowstate.Rows // of the values in them
}

// newSources finds the accumulators of calls in rows of these types, from column at on.
func newSources(calls []*call, accumulators [][]logical.Type, types []logical.Type, at int) ([]source, error) {
	layout, err := binrow.NewLayout(types)
	if err != nil {
		return nil, op.Unsupportedf("%w", err)
	}
	sources := make([]source, len(calls))
	next := func(want logical.Type) (cell, error) {
		if at >= len(types) {
			return cell{}, op.Invalidf("column %d: the input has %d columns, an accumulator is missing", at, len(types))
		}
		if !sameStorage(want, types[at]) {
			return cell{}, op.Unsupportedf("column %d: an accumulator of %s, not %s", at, types[at], want)
		}
		c, err := columnOf(layout, types[at], at)
		if want.Kind == logical.Structured {
			err = nil
		}
		at++
		return c, err
	}
	for i, k := range calls {
		s := &sources[i]
		places := []*cell{&s.value, &s.count}
		switch k.op {
		case opCountStar, opCount:
			places = []*cell{&s.count}
		case opListAgg:
			places = []*cell{&s.value, &s.list}
		}
		for j, t := range accumulators[i] {
			if *places[j], err = next(t); err != nil {
				return nil, err
			}
		}
	}
	return sources, nil
}

// merge adds the accumulators of row i of those that were read to a group's. Distinct calls are not among them: their values are
// merged instead.
func (g *groups) merge(sources []source, i int, value, row []byte) {
	for _, k := range g.plan.plain {
		g.mergeCall(k, &sources[k.index], i, value, row)
	}
}

// mergePartial is merge of accumulators that another plan of the operator has written.
func (g *groups) mergePartial(sources []source, value, row []byte) {
	for _, k := range g.plan.plain {
		if k.isNested() {
			s := &sources[k.index]
			s.begin()
			if _, err := s.add(k, row); err != nil {
				g.err = err
				return
			}
		}
	}
	g.merge(sources, 0, value, row)
}

func (g *groups) mergeCall(k *call, s *source, i int, value, row []byte) {
	switch k.op {
	case opCountStar, opCount:
		k.addCount(value, getUint64(row, s.count.slot))
	case opSumInt, opSumFloat32, opSumFloat64, opAvgInt, opAvgFloat:
		if !s.value.isNull(row) {
			from := call{arg: s.value, value: k.value}
			from.sum(value, row)
		}
		if k.hasCount() {
			k.addCount(value, getUint64(row, s.count.slot))
		}
	case opSumDecimal, opSum0Decimal, opAvgDecimal:
		if !s.value.isNull(row) {
			k.sumDecimal(value, s.value.decimal(row), false)
		} else if k.op != opSumDecimal {
			k.value.setNull(value) // null + x
			k.setWide(value, int128{})
		}
		if k.hasCount() {
			k.addCount(value, getUint64(row, s.count.slot))
		}
	case opMin, opMax:
		if s.value.isNull(row) {
			return
		}
		from := call{op: k.op, arg: s.value, value: k.value}
		g.add(&from, value, row)
	case opMinRetract, opMaxRetract, opListAggRetract:
		g.mergeNested(k, s, i, value)
	case opSingle:
		g.mergeSingle(k, s, value, row)
	case opListAgg:
		g.mergeList(k, s, value, row)
	}
}

// mergeSingle is merge of SingleValueAggFunction.
func (g *groups) mergeSingle(k *call, s *source, value, row []byte) {
	this, other := k.count.int(value), s.count.int(row)
	sum := int64(int32(this + other))
	switch {
	case sum > 1:
		g.err = errSingleValue
		return
	case sum == 0 && this != 0 && other <= 0, s.value.isNull(row):
		g.forget(k, value)
	default:
		from := call{arg: s.value, value: k.value}
		g.keep(&from, value, row)
	}
	k.count.setInt(value, sum)
}

// mergeList is merge of ListAggFunction.
func (g *groups) mergeList(k *call, s *source, value, row []byte) {
	if k.partial {
		if s.value.isNull(row) {
			g.freeText(&k.value, value)
		} else {
			g.setText(&k.value, value, s.value.bytes(row))
		}
	}
	if s.list.isNull(row) {
		return
	}
	chain := k.chainIn(value)
	switch {
	case chain.Len() == 0:
		g.chains.Append(chain, s.list.bytes(row))
	case s.value.isNull(row):
		g.chains.Clear(chain)
	default:
		g.piece = append(append(g.piece[:0], s.value.bytes(row)...), s.list.bytes(row)...)
		g.chains.Append(chain, g.piece)
	}
}
