package agg

import (
	"bytes"
	"math"

	"drey/rowstate"
)

// groups keeps what a group's value can't hold itself. It applies rows to values.
type groups struct {
	plan    *plan
	arena   *rowstate.Arena // strings, elements of sets and chains
	nodes   *rowstate.Arena // of sets
	ordered *rowstate.Ordered
	chains  *rowstate.Chains
	clock   rowstate.Clock

	err   error   // what a call throws
	sums  []int64 // of text columns
	piece []byte  // of a list, on its way into the chain
	key   []byte  // of the value at work
	kept  []byte  // of the one that is kept
}

// What memory is used for, in the words of a budget's error.
const (
	purposeGroups   = "aggregate groups"
	purposeValues   = "aggregate values"
	purposeOrder    = "aggregate order"
	purposeDistinct = "aggregate distinct values"
	purposeBundle   = "aggregate mini-batch"
)

func newGroups(p *plan, ttl int64, budget *rowstate.Budget) *groups {
	g := &groups{plan: p, clock: rowstate.Clock{TTL: ttl}}
	if p.hasArena {
		g.arena = rowstate.NewArena(budget, purposeValues)
		g.chains = rowstate.NewChains(g.arena)
	}
	if p.chains > 0 && ttl == 0 { // texts with a stamp can't be looked up
		g.chains.Index(budget, purposeValues, nil)
	}
	if p.sets > 0 {
		g.nodes = rowstate.NewArena(budget, purposeOrder)
		g.ordered = rowstate.NewOrdered(g.nodes, g.elementKey)
	}
	for _, v := range p.views {
		v.open(budget, ttl)
	}
	return g
}

func (g *groups) close() {
	if g.arena != nil {
		g.chains.Close()
		g.arena.Close()
	}
	if g.nodes != nil {
		g.nodes.Close()
	}
	for _, v := range g.plan.views {
		v.table.Close()
	}
}

// accumulate applies a row to a group: accumulate of the generated AggsHandleFunction. Distinct calls are not among them.
func (g *groups) accumulate(value, row []byte) {
	for _, k := range g.plan.plain {
		if !k.filtered || k.filter.isTrue(row) {
			g.add(k, value, row)
		}
	}
}

// retract takes a row back.
func (g *groups) retract(value, row []byte) {
	for _, k := range g.plan.plain {
		if !k.filtered || k.filter.isTrue(row) {
			g.remove(k, value, row)
		}
	}
}

// derive brings the results up to date that are not accumulators themselves.
func (p *plan) derive(value []byte) {
	for _, k := range p.derived {
		k.derive(value)
	}
}

func (k *call) addCount(value []byte, n uint64) {
	putUint64(value, k.count.slot, getUint64(value, k.count.slot)+n)
}

// add applies a call to a row's argument.
func (g *groups) add(k *call, value, row []byte) {
	if k.op == opCountStar {
		k.addCount(value, 1)
		return
	}
	if k.optional && k.arg.isNull(row) {
		g.addNull(k, value, row)
		return
	}
	switch k.op {
	case opCount:
		k.addCount(value, 1)
	case opSumInt, opSumFloat32, opSumFloat64:
		k.sum(value, row)
		if k.retracts {
			k.addCount(value, 1)
		}
	case opAvgInt, opAvgFloat:
		k.sum(value, row)
		k.addCount(value, 1)
	case opSumDecimal, opSum0Decimal, opAvgDecimal:
		k.sumDecimal(value, k.arg.decimal(row), false)
		if k.retracts || k.op == opAvgDecimal {
			k.addCount(value, 1)
		}
	case opMin, opMax:
		if k.value.isNull(value) {
			g.keep(k, value, row)
		} else if c := g.compare(k, value, row); k.op == opMin && c < 0 || k.op == opMax && c > 0 {
			g.keep(k, value, row)
		}
	case opMinRetract, opMaxRetract:
		g.addToSet(k, value, row)
	case opFirst:
		if k.value.isNull(value) {
			g.keep(k, value, row)
		}
	case opLast:
		g.keep(k, value, row)
	case opFirstRetract, opLastRetract:
		g.addToSequence(k, value, row)
	case opSingle:
		g.single(k, value, row, false)
	case opListAgg:
		g.addToList(k, value, row)
	case opListAggRetract:
		g.setDelimiter(k, value, row)
		g.appendText(k.chainIn(value), k.arg.bytes(row), g.clock.Now)
	}
}

// addNull is add for a null: functions skip it, but for two.
func (g *groups) addNull(k *call, value, row []byte) {
	switch k.op {
	case opSingle:
		g.single(k, value, row, true)
	case opListAgg:
		if k.partial {
			g.setDelimiter(k, value, row)
		}
	}
}

// remove takes back what add did for an equal argument.
func (g *groups) remove(k *call, value, row []byte) {
	if k.op == opCountStar {
		k.addCount(value, ^uint64(0))
		return
	}
	if k.op == opSingle {
		g.unsingle(k, value)
		return
	}
	if k.optional && k.arg.isNull(row) {
		return
	}
	switch k.op {
	case opCount:
		k.addCount(value, ^uint64(0))
	case opSumInt, opSumFloat32, opSumFloat64:
		k.subtract(value, row)
		if k.retracts {
			k.addCount(value, ^uint64(0))
		}
	case opAvgInt, opAvgFloat:
		k.subtract(value, row)
		k.addCount(value, ^uint64(0))
	case opSumDecimal, opSum0Decimal, opAvgDecimal:
		k.sumDecimal(value, k.arg.decimal(row), true)
		if k.retracts || k.op == opAvgDecimal {
			k.addCount(value, ^uint64(0))
		}
	case opMinRetract, opMaxRetract:
		g.removeFromSet(k, value, row)
	case opFirstRetract, opLastRetract:
		g.removeFromSequence(k, value, row)
	case opListAggRetract:
		g.setDelimiter(k, value, row)
		g.retractText(k, value, k.arg.bytes(row))
	}
	// MIN and MAX that need no retraction (monotonic inputs) ignore it.
}

// sum adds a number in the width of the sum: integers wrap, and floats are added in the order they come.
func (k *call) sum(value, row []byte) {
	if k.value.isNull(value) {
		k.value.clearNull(value)
		// The argument is the sum: 0 + -0.0 would be another.
		putUint64(value, k.value.slot, k.number(row))
		return
	}
	switch k.value.kind {
	case kindInt:
		k.value.setInt(value, k.value.int(value)+k.arg.int(row))
	case kindFloat32:
		k.value.setFloat32(value, k.value.float32(value)+k.arg.float32(row))
	default:
		k.value.setFloat64(value, k.value.float64(value)+k.float(row))
	}
}

// subtract is sum with minus; from nothing it subtracts as from 0.
func (k *call) subtract(value, row []byte) {
	if k.value.isNull(value) {
		k.value.clearNull(value)
		putUint64(value, k.value.slot, 0)
	}
	switch k.value.kind {
	case kindInt:
		k.value.setInt(value, k.value.int(value)-k.arg.int(row))
	case kindFloat32:
		k.value.setFloat32(value, k.value.float32(value)-k.arg.float32(row))
	default:
		k.value.setFloat64(value, k.value.float64(value)-k.float(row))
	}
}

// number is the slot of a sum of nothing but the row's argument, whose type is the sum's.
func (k *call) number(row []byte) uint64 {
	if k.arg.kind == kindFloat32 {
		return getUint64(row, k.arg.slot) & math.MaxUint32
	}
	return getUint64(row, k.arg.slot) << k.arg.shift >> k.arg.shift
}

// float is a FLOAT or DOUBLE argument.
func (k *call) float(row []byte) float64 {
	if k.arg.kind == kindFloat32 {
		return float64(k.arg.float32(row))
	}
	return k.arg.float64(row)
}

func (k *call) wideIn(value []byte) int128 {
	return int128{int64(getUint64(value, k.wide)), getUint64(value, k.wide+8)}
}

func (k *call) setWide(value []byte, v int128) {
	putUint64(value, k.wide, uint64(v.hi))
	putUint64(value, k.wide+8, v.lo)
}

// sumDecimal adds or subtracts. A sum of more than 38 digits is null; SUM then begins anew, others stay null.
func (k *call) sumDecimal(value []byte, v int128, minus bool) {
	ok := true
	switch {
	case !k.value.isNull(value):
		sum := k.wideIn(value)
		if minus {
			v, ok = sum.sub38(v)
		} else {
			v, ok = sum.add38(v)
		}
	case k.op != opSumDecimal:
		return
	case minus:
		v = v.neg()
	}
	if !ok {
		v = int128{}
		k.value.setNull(value)
	} else {
		k.value.clearNull(value)
	}
	k.setWide(value, v)
}

// derive makes the result, or the emitted accumulator, from the fields.
func (k *call) derive(value []byte) {
	if !k.partial && (k.retracts || k.op >= opAvgInt && k.op <= opAvgDecimal) && k.count.int(value) == 0 || k.value.isNull(value) {
		k.out.setNull(value)
		return
	}
	k.out.clearNull(value)
	switch k.op {
	case opSumInt, opSumFloat32, opSumFloat64:
		putUint64(value, k.out.slot, getUint64(value, k.value.slot))
	case opSumDecimal, opSum0Decimal:
		k.out.setDecimal(value, k.wideIn(value))
	case opAvgInt:
		k.out.setInt(value, k.value.int(value)/k.count.int(value))
	case opAvgFloat:
		v := k.value.float64(value) / float64(k.count.int(value))
		if k.out.kind == kindFloat32 {
			k.out.setFloat32(value, float32(v))
		} else {
			k.out.setFloat64(value, v)
		}
	case opAvgDecimal:
		if k.partial {
			k.out.setDecimal(value, k.wideIn(value))
		} else if v, ok := average(k.wideIn(value), k.count.int(value), k.scale, k.upTo); ok {
			k.out.setDecimal(value, v)
		} else {
			k.out.setNull(value)
		}
	}
}

// compare compares a row's argument to the value that is kept, as the operators < and > of SQL do: 0 also if neither is
// true.
func (g *groups) compare(k *call, value, row []byte) int {
	switch k.arg.kind {
	case kindInt:
		return order(k.arg.int(row), k.value.int(value))
	case kindFloat32:
		return order(k.arg.float32(row), k.value.float32(value))
	case kindFloat64:
		return order(k.arg.float64(row), k.value.float64(value))
	case kindWide:
		return k.arg.decimal(row).cmp(k.value.decimal(value))
	case kindTime:
		millis, nanos := k.arg.time(row)
		thatMillis, thatNanos := k.value.time(value)
		if c := order(millis, thatMillis); c != 0 {
			return c
		}
		return order(nanos, thatNanos)
	}
	return bytes.Compare(k.arg.bytes(row), g.text(&k.value, value))
}

func order[T int32 | int64 | float32 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// keep makes a row's argument the value.
func (g *groups) keep(k *call, value, row []byte) {
	if k.value.kind == kindBytes {
		g.setText(&k.value, value, k.arg.bytes(row))
		return
	}
	k.value.clearNull(value)
	switch k.value.kind {
	case kindWide:
		k.value.setDecimal(value, k.arg.decimal(row))
	case kindTime:
		millis, nanos := k.arg.time(row)
		k.value.setTime(value, millis, nanos)
	default:
		putUint64(value, k.value.slot, k.number(row))
	}
}

// text is a string that is kept.
func (g *groups) text(c *cell, value []byte) []byte {
	v := getUint64(value, c.slot)
	if v>>63 != 0 {
		return value[c.slot : c.slot+int32(v>>56&0x7f)]
	}
	return g.arena.Bytes(rowstate.Ref(v), int(v>>32))
}

// setText keeps a string in the place of another, if there is one.
func (g *groups) setText(c *cell, value, text []byte) {
	v := getUint64(value, c.slot)
	had := !c.isNull(value) && v>>63 == 0
	c.clearNull(value)
	if len(text) <= 7 {
		if had {
			g.arena.Free(rowstate.Ref(v), int(v>>32))
		}
		var word [8]byte
		copy(word[:], text)
		word[7] = 0x80 | byte(len(text))
		copy(value[c.slot:], word[:])
		return
	}
	ref := rowstate.Ref(v)
	if had {
		ref = g.arena.Refit(ref, int(v>>32), len(text))
	} else {
		ref = g.arena.Alloc(len(text))
	}
	copy(g.arena.Bytes(ref, len(text)), text)
	putUint64(value, c.slot, uint64(len(text))<<32|uint64(ref))
}

// freeText forgets a string.
func (g *groups) freeText(c *cell, value []byte) {
	if v := getUint64(value, c.slot); !c.isNull(value) && v>>63 == 0 {
		g.arena.Free(rowstate.Ref(v), int(v>>32))
	}
	c.setNull(value)
}
