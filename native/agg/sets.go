package agg

import (
	"bytes"
	"encoding/binary"

	"drey/rowstate"
)

// An element of a retracting MIN's or MAX's set is a value and how often it is there, which may be less than never:
//
//	0   count
//	8   length of the key
//	16  when it was written, with TTL
//	    key: bytes whose order is that of the values in Java's compareTo
const elementHead = 24

func (g *groups) elementBytes() int {
	if g.clock.TTL > 0 {
		return elementHead
	}
	return elementHead - 8
}

func (g *groups) elementKey(element uint32) []byte {
	head := g.elementBytes()
	n := int(binary.LittleEndian.Uint32(g.arena.Bytes(rowstate.Ref(element), head)[8:]))
	return g.arena.Bytes(rowstate.Ref(element), head+n)[head:]
}

func (g *groups) element(e uint32) []byte { return g.arena.Bytes(rowstate.Ref(e), g.elementBytes()) }

func (g *groups) newElement(key []byte, count int64) uint32 {
	head := g.elementBytes()
	ref := g.arena.Alloc(head + len(key))
	b := g.arena.Bytes(ref, head+len(key))
	binary.LittleEndian.PutUint64(b[8:], uint64(len(key)))
	copy(b[head:], key)
	g.setCount(uint32(ref), count)
	return uint32(ref)
}

func (g *groups) setCount(e uint32, count int64) {
	b := g.element(e)
	putUint64(b, 0, uint64(count))
	if g.clock.TTL > 0 {
		rowstate.PutInt64(b[16:], g.clock.Now)
	}
}

// countOf is how often an element is there; one that has expired is not.
func (g *groups) countOf(e uint32) int64 {
	if e == 0 || g.elementExpired(e) {
		return 0
	}
	return int64(getUint64(g.element(e), 0))
}

func (g *groups) elementExpired(e uint32) bool {
	return g.clock.TTL > 0 && g.clock.Expired(rowstate.Int64(g.element(e)[16:]))
}

func (g *groups) freeElement(e uint32) {
	g.arena.Free(rowstate.Ref(e), g.elementBytes()+len(g.elementKey(e)))
}

func (k *call) setIn(value []byte) *rowstate.OrderedSet { return rowstate.SetIn(value[k.set:]) }

// better tells whether a value would be the new minimum or maximum, from compareTo of it and the present one.
func (k *call) better(c int) bool {
	return k.op == opMinRetract && c < 0 || k.op == opMaxRetract && c > 0
}

// addToSet is accumulate of Min- and MaxWithRetractAggFunction. Flink's map of counts is the set, mapSize the call's count:
// the number of values that became positive less those that went to 0. The result is kept where mapSize is not 0.
func (g *groups) addToSet(k *call, value, row []byte) {
	g.key = k.arg.appendKey(g.key[:0], row)
	set, size := k.setIn(value), k.count.int(value)
	keeps := size == 0 || k.value.isNull(value) || k.better(bytes.Compare(g.key, g.keptKey(k, value)))
	e := g.ordered.Find(set, g.key)
	switch n := g.countOf(e) + 1; {
	case n == 0:
		g.dropElement(set, e)
	default:
		if e == 0 {
			e = g.newElement(g.key, n)
			g.ordered.Insert(set, e)
		} else {
			g.setCount(e, n)
		}
		if n == 1 {
			size++
			k.count.setInt(value, size)
		}
	}
	if keeps && size > 0 {
		g.keep(k, value, row)
	}
}

// removeFromSet is retract of the same.
func (g *groups) removeFromSet(k *call, value, row []byte) {
	g.key = k.arg.appendKey(g.key[:0], row)
	set, size := k.setIn(value), k.count.int(value)
	e := g.ordered.Find(set, g.key)
	n := g.countOf(e) - 1
	switch {
	case n != 0 && e == 0:
		g.ordered.Insert(set, g.newElement(g.key, n))
		return
	case n != 0:
		g.setCount(e, n)
		return
	}
	wasBest := !k.value.isNull(value) && bytes.Equal(g.key, g.keptKey(k, value))
	g.dropElement(set, e)
	size--
	if size != 0 && wasBest {
		size = g.findBest(k, value, set, size)
	}
	if size == 0 {
		g.forget(k, value)
	}
	k.count.setInt(value, size)
}

// findBest makes the first or last value of the set the result, whatever its count is, and returns mapSize.
func (g *groups) findBest(k *call, value []byte, set *rowstate.OrderedSet, size int64) int64 {
	for set.Len() > 0 {
		at := 0
		if k.op == opMaxRetract {
			at = set.Len() - 1
		}
		e := g.ordered.At(set, at)
		if g.elementExpired(e) {
			g.ordered.DeleteAt(set, at)
			g.freeElement(e)
			continue
		}
		g.keepKey(k, value, g.elementKey(e))
		return size
	}
	return 0
}

func (g *groups) dropElement(set *rowstate.OrderedSet, e uint32) {
	g.ordered.Delete(set, g.elementKey(e))
	g.freeElement(e)
}

func (g *groups) freeSet(k *call, value []byte) {
	set := k.setIn(value)
	for _, e := range g.ordered.From(set, 0) {
		g.freeElement(e)
	}
	g.ordered.Clear(set)
}

// forget makes the kept value null.
func (g *groups) forget(k *call, value []byte) {
	if k.value.kind == kindBytes {
		g.freeText(&k.value, value)
	} else {
		k.value.setNull(value)
	}
}

// keptKey is the key of the value that is kept.
func (g *groups) keptKey(k *call, value []byte) []byte {
	if k.value.kind == kindBytes {
		return g.text(&k.value, value)
	}
	g.kept = k.value.appendKey(g.kept[:0], value)
	return g.kept
}

// keepKey keeps the value that a key is of.
func (g *groups) keepKey(k *call, value, key []byte) {
	c := &k.value
	if c.kind == kindBytes {
		g.setText(c, value, key)
		return
	}
	c.clearNull(value)
	switch c.kind {
	case kindWide:
		c.setDecimal(value, decimalOfKey(key))
	case kindTime:
		millis, nanos := timeOfKey(key)
		c.setTime(value, millis, nanos)
	default:
		c.zero(value)
		c.putKey(value[c.slot:], key)
	}
}
