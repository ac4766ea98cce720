package agg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"drey/native/changelog"
	"drey/native/logical"
	"drey/rowstate"
)

// The accumulators of retracting MIN, MAX and LISTAGG cross phases as Flink's structured types of the function, each one column
// that is a row:
//
//	MIN, MAX   value, mapSize, MapView of values to counts
//	LISTAGG    ListView of texts, ListView of texts that were retracted before they came[, delimiter]
//
// Views are RAW (see appendMap); a ListView is an ARRAY<STRING>. What the functions make of a map doesn't depend on its order.

// nestedColumn is a column of the row that is a call's accumulator.
type nestedColumn struct {
	out  cell
	call *call
}

// isNested tells whether a call's accumulator is one column that is a row.
func (k *call) isNested() bool {
	return k.op == opMinRetract || k.op == opMaxRetract || k.op == opListAggRetract
}

// nestedType stands for the accumulator's type: all that are structured are stored alike.
var nestedType = logical.Type{Kind: logical.Structured}

const (
	nestedSlots = 8 // of the row of up to 56 columns
	nestedNulls = 1
)

// beginNested appends a row of n columns that are 0.
func beginNested(dst []byte, n int) []byte { return append(dst, make([]byte, nestedSlots+8*n)...) }

// endColumn ends what column i of the row that begins at start points to, and which begins at at.
func endColumn(dst []byte, start, i, at int) []byte {
	binary.LittleEndian.PutUint64(dst[start+nestedSlots+8*i:], uint64(at-start)<<32|uint64(len(dst)-at))
	for (len(dst)-start)&7 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// appendNested appends the accumulator of a call as a row.
func (g *groups) appendNested(k *call, dst, value []byte) []byte {
	start := len(dst)
	if k.op == opListAggRetract {
		columns := 2
		if k.delimited {
			columns = 3
		}
		dst = beginNested(dst, columns)
		for i, chain := range []*rowstate.RowChain{k.chainIn(value), k.extraIn(value)} {
			at := len(dst)
			dst = endColumn(g.appendTexts(dst, chain), start, i, at)
		}
		switch {
		case !k.delimited:
		case k.value.isNull(value):
			dst[start+nestedNulls] = 1 << 2
		default:
			dst = k.value.appendValue(dst, start, start+nestedSlots+16, g.text(&k.value, value))
		}
		return dst
	}
	dst = beginNested(dst, 3)
	if k.value.isNull(value) {
		dst[start+nestedNulls] = 1
	} else {
		dst = k.value.appendValue(dst, start, start+nestedSlots, g.keptKey(k, value))
	}
	putUint64(dst[start:], nestedSlots+8, uint64(k.count.int(value)))
	at := len(dst)
	return endColumn(g.appendSet(k, dst, value), start, 2, at)
}

// appendSet appends the MapView of a set.
func (g *groups) appendSet(k *call, dst, value []byte) []byte {
	start, set := len(dst), k.setIn(value)
	n, size := set.Len(), k.value.elementSize()
	dst = append(beginRaw(dst), 0, 0, 0, 0)
	keys := len(dst)
	dst, at := beginArray(dst, n, size)
	for _, e := range g.ordered.From(set, 0) {
		dst = k.value.appendValue(dst, keys, at, g.elementKey(e))
		at += size
	}
	binary.LittleEndian.PutUint32(dst[keys-4:], uint32(len(dst)-keys))
	dst, at = beginArray(dst, n, 8)
	for _, e := range g.ordered.From(set, 0) {
		copy(dst[at:at+8], g.element(e))
		at += 8
	}
	return endRaw(dst, start)
}

// appendTexts appends the ListView of a chain.
func (g *groups) appendTexts(dst []byte, chain *rowstate.RowChain) []byte {
	start := len(dst)
	dst = beginRaw(dst)
	list := len(dst)
	dst, at := beginArray(dst, chain.Len(), 8)
	for r := range g.chains.All(chain) {
		dst = physical{kind: kindBytes}.appendValue(dst, list, at, g.textIn(r))
		at += 8
	}
	return endRaw(dst, start)
}

// nested is the accumulator of a call that has come from another phase.
type nested struct {
	// of MIN and MAX
	size         int64
	keys, counts array
	// of LISTAGG
	list, extra array
	// the value of MIN and MAX, the delimiter of LISTAGG: an array of one element, or of none for null
	value array
	// of the keys of value and keys, in this order, among those of the source
	first int
}

// readNested takes an accumulator out of its row.
func (k *call) readNested(b []byte) (nested, error) {
	var n nested
	columns := 3
	if k.op == opListAggRetract && !k.delimited {
		columns = 2
	}
	if len(b) < nestedSlots+8*columns {
		return n, errView
	}
	column := func(i int) []byte {
		c, err := columnAt(b, nestedSlots+8*i)
		if err != nil {
			return nil // is refused as RAW
		}
		return c
	}
	single := func(i int) array {
		a := array{bytes: b, first: nestedSlots + 8*i, size: k.value.elementSize()}
		if b[nestedNulls]>>i&1 == 0 {
			a.n = 1
		}
		return a
	}
	var err error
	if k.op == opListAggRetract {
		if n.list, err = parseTexts(column(0)); err != nil {
			return n, err
		}
		if n.extra, err = parseTexts(column(1)); err != nil {
			return n, err
		}
		if k.delimited {
			n.value = single(2)
		}
		return n, nil
	}
	n.size, n.value = int64(getUint64(b, nestedSlots+8)), single(0)
	n.keys, n.counts, err = parseMap(column(2), k.value.elementSize())
	return n, err
}

func parseTexts(b []byte) (array, error) {
	content, err := rawContent(b)
	if err != nil {
		return array{}, err
	}
	return parseArray(content, 8)
}

// begin forgets what was read.
func (s *source) begin() {
	s.read = s.read[:0]
	s.keys.Reset(0)
}

// add reads the accumulator in a row, all of it, and tells what it holds.
func (s *source) add(k *call, row []byte) (amount, error) {
	var held amount
	if s.value.isNull(row) {
		return held, errNoAccumulator
	}
	n, err := k.readNested(s.value.raw(row))
	if err != nil {
		return held, err
	}
	for _, a := range []array{n.list, n.extra} {
		for i := range a.n {
			text, err := a.text(i)
			if err != nil {
				return held, err
			}
			held.bytes += int64(len(text))
		}
	}
	n.first = s.keys.Len()
	before := len(s.keys.Data)
	for _, a := range []array{n.value, n.keys} {
		for i := range a.n {
			if err := k.value.readKey(&s.keys, a, i); err != nil {
				return held, err
			}
		}
	}
	held.elements = n.list.n + n.extra.n + n.keys.n + n.value.n
	held.bytes += int64(len(s.keys.Data) - before)
	s.read = append(s.read, n)
	return held, nil
}

var errNoAccumulator = errors.New("an accumulator that is null")

// readNested reads the accumulators of a batch, before anything has changed, and counts what they hold.
func (g *groups) readNested(sources []source, in *changelog.Batch) (amount, error) {
	var all amount
	for _, k := range g.plan.plain {
		if !k.isNested() {
			continue
		}
		s := &sources[k.index]
		s.begin()
		for i := range in.Len() {
			held, err := s.add(k, in.Row(i))
			if err != nil {
				return all, fmt.Errorf("row %d: call %d: %w", i, k.index, err)
			}
			all = all.plus(held)
		}
	}
	return all, nil
}

// mergeNested merges accumulator i of those that were read.
func (g *groups) mergeNested(k *call, s *source, i int, value []byte) {
	if n := &s.read[i]; k.op == opListAggRetract {
		g.mergeTexts(k, n, &s.keys, value)
	} else {
		g.mergeSet(k, n, &s.keys, value)
	}
}

// mergeSet is merge of Min- and MaxWithRetractAggFunction.
func (g *groups) mergeSet(k *call, n *nested, keys *rowstate.Rows, value []byte) {
	set, size := k.setIn(value), k.count.int(value)
	first := n.first + n.value.n // where the keys of the map begin
	switch {
	case size != 0 && (n.size <= 0 || n.value.n == 0):
	case n.value.n == 0:
		g.forget(k, value)
	case size == 0 || k.better(bytes.Compare(keys.Row(n.first), g.keptKey(k, value))):
		g.keepKey(k, value, keys.Row(n.first))
	}
	lost := false // the value may be gone
	for i := range n.keys.n {
		key := keys.Row(first + i)
		e := g.ordered.Find(set, key)
		before := g.countOf(e)
		count := before + rowstate.Int64(n.counts.element(i))
		switch {
		case count != 0 && e == 0:
			g.ordered.Insert(set, g.newElement(key, count))
		case count != 0:
			g.setCount(e, count)
		case e != 0:
			g.dropElement(set, e)
		}
		switch {
		case before > 0 && count <= 0:
			size--
			lost = lost || !k.value.isNull(value) && bytes.Equal(key, g.keptKey(k, value))
		case before <= 0 && count > 0:
			size++
		}
	}
	if lost {
		size = g.findBest(k, value, set, size)
	}
	if size == 0 {
		g.forget(k, value)
	}
	k.count.setInt(value, size)
}

// mergeTexts is merge of ListAggWithRetractAggFunction, and of ListAggWsWithRetractAggFunction, which passes an empty list over.
// Lists go together, and what was retracted before it came is taken out of what has come.
func (g *groups) mergeTexts(k *call, n *nested, keys *rowstate.Rows, value []byte) {
	if k.delimited {
		if n.list.n+n.extra.n == 0 {
			return
		}
		if n.value.n == 0 {
			g.freeText(&k.value, value)
		} else {
			g.setText(&k.value, value, keys.Row(n.first))
		}
	}
	chain, extra := k.chainIn(value), k.extraIn(value)
	g.dropExpired(chain)
	g.dropExpired(extra)
	for i := range n.list.n {
		text, _ := n.list.text(i) // has been read
		g.appendText(chain, text, g.clock.Now)
	}
	if extra.Len() > 0 {
		var waiting []rowstate.Ref
		for r := range g.chains.All(extra) {
			waiting = append(waiting, r)
		}
		for _, r := range waiting {
			if g.removeText(chain, g.textIn(r)) {
				g.chains.Remove(extra, r)
			}
		}
	}
	for i := range n.extra.n {
		if text, _ := n.extra.text(i); !g.removeText(chain, text) {
			g.appendText(extra, text, g.clock.Now)
		}
	}
	g.restamp(chain)
	g.restamp(extra)
}
