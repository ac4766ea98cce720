package agg

import (
	"drey/native/binrow"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// plan says where everything is in a group's value:
//
//	row     what is emitted, as BinaryRowData: results, or accumulators if they go to another phase
//	bits    one for each field behind, set if it is null; the first says that the group is alive
//	fields  8 bytes for each accumulator that is no column of the row, 16 for a decimal sum
//	handles of ordered sets and chains, 16 bytes each
//	views   the first entry of each distinct view, 4 bytes each
//	stamp   when the group was last written, with TTL
//	epoch   8 bytes, with one-phase mini-batches
//
// Strings of a row that do not fit their slot are in the arena: the slot then is their length, above their ref.
type plan struct {
	calls     []*call
	plain     []*call // those without DISTINCT
	derived   []*call // those whose result is to be derived
	views     []*view
	maps      int // views whose values are columns of the row, its last ones
	rowSize   int
	size      int    // of a value
	empty     []byte // a value without rows
	texts     []cell // columns of the row that are strings
	arguments []cell // columns of the input that are strings, and looked at
	lists     []listColumn
	nested    []nestedColumn
	floats    []cell // columns of the row that are compared as numbers
	types     []logical.Type

	accumulators [][]logical.Type // of each call

	aliveAt  int32
	countAt  int32 // COUNT(*), or -1
	viewsAt  int32
	stampAt  int32 // or -1
	epochAt  int32 // of the one-phase mini-batch: the bundle that has marked the group, 4 bytes, and the mark, 4 bytes
	hasArena bool  // something of a group is in the arena
	sets     int   // calls with an ordered set
	chains   int   // calls with a chain
	strings  int   // calls that keep a string
}

// listColumn is a column of the row that is the concatenation of a chain.
type listColumn struct {
	out  cell
	call *call
}

const aliveMask = 1

func (p *plan) alive(value []byte) bool { return value[p.aliveAt]&aliveMask != 0 }

// newPlan plans the values of groups.
func newPlan(r request) (*plan, error) {
	columns := r.columns.Types()
	layout, err := layoutOf(columns)
	if err != nil {
		return nil, err
	}
	p := &plan{countAt: -1, stampAt: -1}
	for i, c := range r.calls {
		if r.needs && !r.retract[i] {
			switch c.Function {
			case spec.Sum, spec.FirstValue, spec.LastValue, spec.ListAgg:
				return nil, op.Unsupportedf("aggCalls[%d]: %s can't retract", i, c.Function)
			}
		}
		result, fields, err := typesOf(c, r.retract[i], columns)
		if err != nil {
			return nil, op.Unsupportedf("aggCalls[%d]: %w", i, err)
		}
		declared, err := logical.Parse(c.Type)
		if err != nil {
			return nil, op.Invalidf("aggCalls[%d].type: %w", i, err)
		}
		if !sameStorage(declared, result) {
			return nil, op.Unsupportedf("aggCalls[%d]: %s gives %s, not %s", i, c.Function, result, declared)
		}
		k, err := newCall(i, c, r.retract[i], layout, columns)
		if err != nil {
			return nil, op.Unsupportedf("aggCalls[%d]: %w", i, err)
		}
		k.partial = r.partial
		k.textAt, k.delimiterAt = -1, -1
		if len(c.ArgList) > 0 {
			k.textAt = p.textColumn(&k.arg)
		}
		if k.delimited {
			k.delimiterAt = p.textColumn(&k.delimiter)
		}
		k.crosses = r.crosses
		if r.partial && !k.merges() {
			return nil, op.Unsupportedf("aggCalls[%d]: the accumulator of %s crosses phases", i, c.Function)
		}
		p.calls = append(p.calls, k)
		if k.isNested() {
			fields = []logical.Type{nestedType}
		}
		p.accumulators = append(p.accumulators, fields)
		switch {
		case r.partial:
			p.types = append(p.types, fields...)
		case !(r.inserted && i == r.countStar):
			p.types = append(p.types, result)
		}
	}
	if err := p.findViews(r, columns); err != nil {
		return nil, err
	}
	if r.maps {
		p.maps = len(p.views)
		for range p.views {
			p.types = append(p.types, logical.Type{Kind: logical.Raw})
		}
	}
	if err := p.place(r); err != nil {
		return nil, err
	}
	return p, nil
}

// merges tells whether the function's accumulators can be merged: Flink plans no second phase for others.
func (k *call) merges() bool {
	switch k.op {
	case opFirst, opLast, opFirstRetract, opLastRetract:
		return false
	}
	return true
}

// sameStorage tells whether two types are stored alike. Nullability and lengths don't matter.
func sameStorage(a, b logical.Type) bool {
	if a.Kind == logical.Structured {
		return b.Kind == logical.Structured
	}
	p, err := physicalOf(a)
	if err != nil {
		return false
	}
	q, err := physicalOf(b)
	return err == nil && p == q && a.Scale == b.Scale
}

// placer hands out places in a value.
type placer struct {
	row   *binrow.Layout
	types []logical.Type
	rooms []int32
	next  int   // column of the row
	at    int32 // first byte behind what has been placed
	bitAt int32 // of the bits of fields
	bits  int32 // used so far
}

// layoutOf is the layout of rows of these types.
func layoutOf(types []logical.Type) (*binrow.Layout, error) {
	layout, err := binrow.NewLayout(types)
	if err != nil {
		return nil, op.Unsupportedf("%w", err)
	}
	return layout, nil
}

func newPlacer(types []logical.Type) (*placer, error) {
	layout, err := binrow.NewLayout(types)
	if err != nil {
		return nil, err
	}
	l := &placer{row: layout, types: types, at: int32(layout.FixedSize())}
	for _, t := range types {
		phys, err := physicalOf(t)
		if err != nil && t.Kind != logical.Raw && t.Kind != logical.Structured {
			return nil, err
		}
		l.rooms = append(l.rooms, l.at)
		l.at += int32(phys.room())
	}
	return l, nil
}

// column is the next column of the row.
func (l *placer) column() cell {
	c, _ := columnOf(l.row, l.types[l.next], l.next)
	c.room = l.rooms[l.next]
	l.next++
	return c
}

// field is a field behind the row.
func (l *placer) field(p physical) cell {
	c := cell{slot: l.bytes(8), nullAt: l.bitAt + l.bits>>3, nullMask: 1 << (l.bits & 7), physical: p}
	l.bits++
	return c
}

// roomyField is a field of any type.
func (l *placer) roomyField(p physical) cell {
	c := l.field(p)
	if n := p.room(); n > 0 {
		c.room = l.bytes(int32(n))
	}
	return c
}

func (l *placer) bytes(n int32) int32 {
	at := l.at
	l.at += n
	return at
}

// place gives every call its fields.
func (p *plan) place(r request) error {
	l, err := newPlacer(p.types)
	if err != nil {
		return op.Unsupportedf("%w", err)
	}
	p.rowSize = int(l.at)
	l.bitAt, l.bits = l.at, 1
	p.aliveAt = l.bitAt
	l.bytes(int32(1+2*len(p.calls)+63) / 64 * 8)
	for i, k := range p.calls {
		emitted := r.partial || !(r.inserted && i == r.countStar)
		if r.partial {
			p.placePartial(l, k)
		} else {
			p.placeResult(l, k, emitted)
		}
		if k.result {
			p.derived = append(p.derived, k)
		}
		if i == r.countStar {
			p.countAt = k.count.slot
			if k.op == opSumInt {
				p.countAt = k.value.slot
			}
		}
		p.tally(k)
	}
	p.viewsAt = l.bytes(int32(len(p.views)+1) / 2 * 8)
	if r.stampedTTL {
		p.stampAt = l.bytes(8)
	}
	if r.epochs {
		p.epochAt = l.bytes(8)
	}
	p.size = int(l.at)
	p.hasArena = p.sets+p.chains+p.strings > 0
	p.empty = p.emptyValue()
	for i, v := range p.views[:p.maps] {
		v.out, _ = columnOf(l.row, logical.Type{Kind: logical.Raw}, len(p.types)-p.maps+i)
	}
	for i, t := range p.types[:len(p.types)-p.maps] {
		c, _ := columnOf(l.row, t, i)
		c.room = l.rooms[i]
		switch c.kind {
		case kindFloat32, kindFloat64:
			p.floats = append(p.floats, c)
		case kindBytes:
			if !p.isList(c) {
				p.texts = append(p.texts, c)
			}
		}
	}
	return nil
}

func (p *plan) isList(c cell) bool {
	for _, l := range p.lists {
		if l.out.slot == c.slot {
			return true
		}
	}
	return false
}

// tally counts what a call keeps in the arena.
func (p *plan) tally(k *call) {
	switch k.op {
	case opMinRetract, opMaxRetract:
		p.sets++
	case opFirstRetract, opLastRetract, opListAgg:
		p.chains++
	case opListAggRetract:
		p.chains++
		p.strings++
	}
	if k.value.kind == kindBytes {
		p.strings++
	}
}

// placeResult places a call whose result is emitted.
func (p *plan) placeResult(l *placer, k *call, emitted bool) {
	column := func() cell {
		if emitted {
			return l.column()
		}
		return l.field(intOf(8))
	}
	count := func() { k.count = l.field(intOf(8)) }
	switch k.op {
	case opCountStar, opCount:
		k.count = column()
	case opSumInt, opSumFloat32, opSumFloat64:
		if k.value = column(); k.retracts {
			k.out, k.result = k.value, true
			k.value = l.field(k.out.physical)
			count()
		}
	case opSumDecimal, opSum0Decimal:
		k.out, k.result = column(), true
		k.value = l.field(intOf(8))
		k.wide = l.bytes(16)
		if k.retracts {
			count()
		}
	case opAvgInt, opAvgFloat, opAvgDecimal:
		k.out, k.result = column(), true
		switch k.op {
		case opAvgFloat:
			k.value = l.field(physical{kind: kindFloat64})
		default:
			k.value = l.field(intOf(8))
		}
		if k.op == opAvgDecimal {
			k.wide = l.bytes(16)
		}
		count()
	case opMin, opMax, opFirst, opLast:
		k.value = column()
	case opMinRetract, opMaxRetract:
		k.value = column()
		count()
		k.set = l.bytes(int32(rowstate.SetSize))
	case opFirstRetract, opLastRetract:
		k.value = column()
		k.chain = l.bytes(int32(rowstate.ChainSize))
	case opSingle:
		k.value = column()
		k.count = l.field(intOf(4))
	case opListAgg, opListAggRetract:
		k.out = column()
		p.lists = append(p.lists, listColumn{k.out, k})
		k.chain = l.bytes(int32(rowstate.ChainSize))
		if k.op == opListAggRetract {
			p.placeTexts(l, k)
		}
	}
}

// placeTexts places what retracting LISTAGG has besides its list.
func (p *plan) placeTexts(l *placer, k *call) {
	k.value = l.field(physical{kind: kindBytes})
	if k.crosses { // nobody asks for it otherwise
		k.extra = l.bytes(int32(rowstate.ChainSize))
	}
}

// placePartial places a call whose accumulators are emitted: they are columns, but for decimal sums and lists.
func (p *plan) placePartial(l *placer, k *call) {
	switch k.op {
	case opCountStar, opCount:
		k.count = l.column()
	case opSumInt, opSumFloat32, opSumFloat64, opMin, opMax, opAvgInt, opAvgFloat:
		k.value = l.column()
		if k.retracts && k.op < opMin || k.op == opAvgInt || k.op == opAvgFloat {
			k.count = l.column()
		}
	case opSumDecimal, opSum0Decimal, opAvgDecimal:
		k.out, k.result = l.column(), true
		k.value = l.field(intOf(8))
		k.wide = l.bytes(16)
		if k.retracts || k.op == opAvgDecimal {
			k.count = l.column()
		}
	case opSingle:
		k.value, k.count = l.column(), l.column()
	case opListAgg:
		k.value = l.column() // the delimiter of the last row
		k.out = l.column()
		p.lists = append(p.lists, listColumn{k.out, k})
		k.chain = l.bytes(int32(rowstate.ChainSize))
	case opMinRetract, opMaxRetract:
		k.out = l.column()
		p.nested = append(p.nested, nestedColumn{k.out, k})
		k.value, k.count = l.roomyField(k.arg.physical), l.field(intOf(8))
		k.set = l.bytes(int32(rowstate.SetSize))
	case opListAggRetract:
		k.out = l.column()
		p.nested = append(p.nested, nestedColumn{k.out, k})
		k.chain = l.bytes(int32(rowstate.ChainSize))
		p.placeTexts(l, k)
	}
}

// emptyValue is createAccumulators.
func (p *plan) emptyValue() []byte {
	v := make([]byte, p.size)
	for _, k := range p.calls {
		null := func(c *cell) { v[c.nullAt] |= c.nullMask }
		switch k.op {
		case opSumInt, opSumFloat32, opSumFloat64, opSumDecimal:
			if !k.zero {
				null(&k.value)
			}
		case opMin, opMax, opMinRetract, opMaxRetract, opFirst, opLast, opFirstRetract, opLastRetract, opSingle:
			null(&k.value)
		case opListAgg, opListAggRetract:
			if !k.partial || !k.isNested() {
				null(&k.out)
			}
			if k.value.kind == kindBytes && k.value.slot > 0 { // the delimiter
				v[k.value.slot], v[k.value.slot+7] = ',', 0x81
			}
		}
	}
	for _, k := range p.derived {
		k.derive(v)
	}
	return v
}
