package agg

import (
	"slices"

	"drey/native/changelog"
	"drey/rowstate"
)

// amount is what rows bring that may have to be kept.
type amount struct {
	rows     int
	elements int     // values of sets and lists in them
	bytes    int64   // of all of it
	texts    []int64 // of each text column of the plan; nil: any call may keep all bytes
}

// plus is the amount of both, for one and the same plan.
func (a amount) plus(b amount) amount {
	a.rows, a.elements, a.bytes = a.rows+b.rows, a.elements+b.elements, a.bytes+b.bytes
	a.texts = slices.Clone(a.texts)
	for i, n := range b.texts {
		a.texts[i] += n
	}
	return a
}

// of is how many bytes there are in a text column.
func (a *amount) of(column int) int64 {
	switch {
	case a.texts == nil:
		return a.bytes
	case column < 0:
		return 0
	}
	return a.texts[column]
}

// textColumn is the number of an argument among those that are texts, or -1 for another.
func (p *plan) textColumn(c *cell) int {
	if c.kind != kindBytes {
		return -1
	}
	for i := range p.arguments {
		if p.arguments[i].slot == c.slot {
			return i
		}
	}
	p.arguments = append(p.arguments, *c)
	return len(p.arguments) - 1
}

// measure tells what a batch of the calls' input brings. It is valid until the next call.
func (g *groups) measure(in *changelog.Batch) amount {
	p, n := g.plan, in.Len()
	if g.sums == nil {
		g.sums = make([]int64, len(p.arguments))
	}
	for i := range p.arguments {
		c, sum := &p.arguments[i], int64(0)
		for r := range n {
			if row := in.Row(r); !c.isNull(row) {
				sum += int64(len(c.bytes(row)))
			}
		}
		g.sums[i] = sum
	}
	return amount{rows: n, elements: n, bytes: int64(len(in.Data)), texts: g.sums}
}

// What elements that are added to sets may need of the order: where they meet a full leaf, it is split or made larger, and a new
// root may be needed; of many more for one set each has its share of new leaves. Splits all the way up, of which there is
// one at most among many, are apart.
const (
	nodeReserve    = 1200 // per set
	elementReserve = 120
)

// reserve makes room for rows, so that applying them can't fail.
func (g *groups) reserve(a amount) error {
	p := g.plan
	if p.hasArena {
		need := int64(0)
		for _, k := range p.calls {
			text := a.of(k.textAt)
			if k.delimited {
				text += a.of(k.delimiterAt)
			}
			if k.value.kind == kindBytes {
				need += text + int64(a.rows)*16
			}
			switch k.op {
			case opMinRetract, opMaxRetract:
				need += text + int64(a.elements)*(elementHead+32)
			case opFirstRetract, opLastRetract:
				need += rowstate.ChainBytes(a.rows, text+int64(a.rows*k.arg.keyBytes()))
			case opListAgg:
				need += rowstate.ChainBytes(a.rows, text+int64(a.rows))
			case opListAggRetract:
				need += rowstate.ChainBytes(a.elements, text+int64(a.elements*textStamp))
			}
		}
		if err := g.arena.Reserve(need); err != nil {
			return err
		}
	}
	if p.sets > 0 {
		need := int64(a.rows)*nodeReserve + int64(a.elements)*elementReserve + rowstate.InsertBytes
		if err := g.nodes.Reserve(int64(p.sets) * need); err != nil {
			return err
		}
	}
	for _, v := range p.views {
		bytes := a.of(v.textAt)
		if v.projector != nil {
			bytes = a.bytes
		}
		if err := v.table.Reserve(a.rows, bytes+20*int64(a.rows)); err != nil {
			return err
		}
	}
	return nil
}
