package agg

import (
	"encoding/binary"
	"slices"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// view is the distinct values that all DISTINCT calls of the same arguments share (DistinctAggCodeGen), of all groups. Its
// table's keys are a group's ref and a value; the value of an entry is
//
//	0  without retractions a bit per call that has seen the value, in words of 64; with them a count per call
//	-  next and previous entry of the group
//	-  when it was written, with TTL
//
// An entry without bits or counts is none. While a batch is at work no entry is removed, since refs to it may be about; those
// that are empty wait in a list until its end.
type view struct {
	index     int // of the view
	calls     []*call
	args      []int
	textAt    int  // among the plan's arguments, or -1
	arg       cell // the first argument, for whose nulls no call does anything
	optional  bool
	projector *binrow.Projector // of several arguments
	retracts  bool
	filtered  bool // all calls have a filter

	table   *rowstate.Table
	width   int // of keys, or 0
	linksAt int32
	stampAt int32 // or -1
	keys    rowstate.Rows
	hashes  []uint64
	refs    []rowstate.Ref
	fresh   []bool
	rows    []int32        // rows of the batch that keys are of
	entries []rowstate.Ref // by row of the batch; 0 for rows that no call looks at
	several rowstate.Rows
	content []byte
	empty   []rowstate.Ref

	rowSize int    // of an input row without what is behind its slots
	scratch []byte // an input row with the argument of a value that is merged
	other   []byte // bits or counts that are merged
	out     cell   // column of the row that the values go out in, between phases
}

// wordCalls is how many calls share a word of bits.
const wordCalls = 64

// findViews groups the DISTINCT calls.
func (p *plan) findViews(r request, columns []logical.Type) error {
	layout, err := binrow.NewLayout(columns)
	if err != nil {
		return err
	}
	for i, c := range r.calls {
		k := p.calls[i]
		if !c.Distinct || len(c.ArgList) == 0 || c.Function == spec.Min || c.Function == spec.Max {
			// Calcite takes no notice of DISTINCT in MIN and MAX.
			p.plain = append(p.plain, k)
			continue
		}
		if c.Function == spec.SingleValue {
			return op.Unsupportedf("aggCalls[%d]: SINGLE_VALUE of distinct values", i)
		}
		if r.crosses && !crosses(c, columns) {
			return op.Unsupportedf("aggCalls[%d]: distinct values of %s cross phases", i, c.Function)
		}
		at := slices.IndexFunc(p.views, func(v *view) bool { return slices.Equal(v.args, c.ArgList) })
		if at < 0 {
			at = len(p.views)
			v := &view{index: at, args: c.ArgList, retracts: r.needs, filtered: true, stampAt: -1, rowSize: layout.FixedSize()}
			v.scratch = make([]byte, v.rowSize)
			t := columns[c.ArgList[0]]
			v.optional = !t.NotNull
			if v.arg, err = columnOf(layout, t, c.ArgList[0]); err != nil {
				return op.Unsupportedf("aggCalls[%d]: distinct values of %w", i, err)
			}
			v.textAt = p.textColumn(&v.arg)
			if len(c.ArgList) > 1 {
				if v.projector, err = binrow.NewProjector(columns, c.ArgList); err != nil {
					return op.Unsupportedf("aggCalls[%d]: %w", i, err)
				}
			}
			p.views = append(p.views, v)
		}
		v := p.views[at]
		v.calls = append(v.calls, k)
		v.filtered = v.filtered && k.filtered
	}
	return nil
}

func (v *view) open(budget *rowstate.Budget, ttl int64) {
	size := 8
	switch {
	case v.retracts:
		size = 8 * len(v.calls)
	case len(v.calls) > wordCalls:
		size = 8 * (len(v.calls)/wordCalls + 1) // as Flink has it, one too many for 128
	}
	v.linksAt = int32(size)
	size += 8
	if ttl > 0 {
		v.stampAt = int32(size)
		size += 8
	}
	if v.width = v.arg.keyBytes(); v.projector != nil {
		v.width = v.projector.Width()
	}
	if v.width > 0 {
		v.width += 4
	}
	v.table = rowstate.NewTable(budget, rowstate.TableOptions{KeyWidth: v.width, ValueSize: size, Purpose: purposeDistinct})
}

// wants tells whether a call looks at the row.
func (v *view) wants(row []byte) bool {
	if v.optional && v.arg.isNull(row) {
		return false
	}
	if !v.filtered {
		return true
	}
	for _, k := range v.calls {
		if k.filter.isTrue(row) {
			return true
		}
	}
	return false
}

// appendKey adds the key of a group's value. Values that are equal in Java have equal bytes.
func (v *view) appendKey(group rowstate.Ref, row []byte) {
	switch {
	case v.projector != nil:
		v.several.Reset(v.projector.Width())
		v.projector.Append(row, &v.several)
		v.begin(group, v.several.Row(0))
	case v.arg.kind == kindBytes:
		v.begin(group, v.arg.bytes(row))
	case v.arg.kind == kindInt:
		key := v.keys.Extend(4 + 8)
		binary.LittleEndian.PutUint32(key, uint32(group))
		binary.BigEndian.PutUint64(key[4:], uint64(v.arg.int(row))^1<<63)
	default:
		v.content = v.arg.appendKey(v.content[:0], row)
		v.begin(group, v.content)
	}
}

func (v *view) begin(group rowstate.Ref, content []byte) {
	key := v.keys.Extend(4 + len(content))
	binary.LittleEndian.PutUint32(key, uint32(group))
	copy(key[4:], content)
}

// prepare finds or makes the entries of the values in a batch's rows from on, as many as there are refs of groups. Rows whose
// ref is 0 are left out.
func (v *view) prepare(in *changelog.Batch, from int, groups *groups, table *rowstate.Table, refs []rowstate.Ref) {
	n := len(refs)
	v.keys.Reset(v.width)
	v.rows = v.rows[:0]
	if cap(v.entries) < n {
		v.entries = make([]rowstate.Ref, n)
	}
	v.entries = v.entries[:n]
	for i := range n {
		row := in.Row(from + i)
		v.entries[i] = 0
		if refs[i] != 0 && v.wants(row) {
			v.appendKey(refs[i], row)
			v.rows = append(v.rows, int32(i))
		}
	}
	m := len(v.rows)
	if cap(v.refs) < m {
		v.hashes, v.refs, v.fresh = make([]uint64, m), make([]rowstate.Ref, m), make([]bool, m)
	}
	v.hashes, v.refs, v.fresh = v.hashes[:m], v.refs[:m], v.fresh[:m]
	v.table.Hash(&v.keys, v.hashes)
	v.table.FindOrInsert(&v.keys, v.hashes, v.refs, v.fresh)
	for j, i := range v.rows {
		ref := v.refs[j]
		v.entries[i] = ref
		if v.fresh[j] {
			v.link(groups.plan, table.Value(refs[i]), ref)
			if v.retracts {
				v.empty = append(v.empty, ref)
			}
		}
	}
}

func (v *view) headAt(p *plan) int32 { return p.viewsAt + 4*int32(v.index) }

func getRef(b []byte, at int32) rowstate.Ref {
	return rowstate.Ref(binary.LittleEndian.Uint32(b[at:]))
}

func putRef(b []byte, at int32, r rowstate.Ref) { binary.LittleEndian.PutUint32(b[at:], uint32(r)) }

// link puts an entry in front of its group's others.
func (v *view) link(p *plan, group []byte, ref rowstate.Ref) {
	head := getRef(group, v.headAt(p))
	putRef(v.table.Value(ref), v.linksAt, head)
	if head != 0 {
		putRef(v.table.Value(head), v.linksAt+4, ref)
	}
	putRef(group, v.headAt(p), ref)
}

// unlink takes it out.
func (v *view) unlink(p *plan, group []byte, ref rowstate.Ref) {
	e := v.table.Value(ref)
	next, previous := getRef(e, v.linksAt), getRef(e, v.linksAt+4)
	if next != 0 {
		putRef(v.table.Value(next), v.linksAt+4, previous)
	}
	if previous != 0 {
		putRef(v.table.Value(previous), v.linksAt, next)
	} else {
		putRef(group, v.headAt(p), next)
	}
}

func (v *view) isEmpty(e []byte) bool {
	for at := int32(0); at < v.linksAt; at += 8 {
		if getUint64(e, at) != 0 {
			return false
		}
	}
	return true
}

// entry is a row's entry with nothing in it that has expired, or nil.
func (v *view) entry(g *groups, i int) []byte {
	ref := v.entries[i]
	if ref == 0 {
		return nil
	}
	e := v.table.Value(ref)
	if v.stampAt >= 0 && g.clock.Expired(rowstate.Int64(e[v.stampAt:])) {
		clear(e[:v.linksAt])
	}
	return e
}

func (v *view) touch(g *groups, e []byte) {
	if v.stampAt >= 0 {
		rowstate.PutInt64(e[v.stampAt:], g.clock.Now)
	}
}

// accumulate applies row i of the batch to the calls that have not seen its value.
func (v *view) accumulate(g *groups, i int, value, row []byte) {
	e := v.entry(g, i)
	if e == nil {
		return
	}
	if !v.retracts {
		for from := 0; from < len(v.calls); from += wordCalls {
			at := int32(from / 8)
			seen := getUint64(e, at)
			before := seen
			for j, k := range v.calls[from:min(from+wordCalls, len(v.calls))] {
				if bit := uint64(1) << j; seen&bit == 0 && (!k.filtered || k.filter.isTrue(row)) {
					seen |= bit
					g.add(k, value, row)
				}
			}
			if seen != before {
				putUint64(e, at, seen)
				v.touch(g, e)
			}
		}
		return
	}
	for j, k := range v.calls {
		if !k.filtered || k.filter.isTrue(row) {
			n := getUint64(e, int32(8*j)) + 1
			putUint64(e, int32(8*j), n)
			if n == 1 {
				g.add(k, value, row)
			}
		}
	}
	v.written(g, i, e)
}

// retract takes row i back from the calls for which its value goes with it.
func (v *view) retract(g *groups, i int, value, row []byte) {
	e := v.entry(g, i)
	if e == nil {
		return
	}
	for j, k := range v.calls {
		if !k.filtered || k.filter.isTrue(row) {
			n := getUint64(e, int32(8*j)) - 1
			putUint64(e, int32(8*j), n)
			if n == 0 {
				g.remove(k, value, row)
			}
		}
	}
	v.written(g, i, e)
}

func (v *view) written(g *groups, i int, e []byte) {
	if v.isEmpty(e) {
		v.empty = append(v.empty, v.entries[i])
	} else {
		v.touch(g, e)
	}
}

// clear forgets a group's values. Its entries go at the end of the batch.
func (v *view) clear(p *plan, group []byte) {
	for ref := getRef(group, v.headAt(p)); ref != 0; {
		e := v.table.Value(ref)
		clear(e[:v.linksAt])
		v.empty = append(v.empty, ref)
		ref = getRef(e, v.linksAt)
	}
}

// settle removes the entries that are empty at the end of a batch.
func (v *view) settle(p *plan, table *rowstate.Table) {
	if len(v.empty) == 0 {
		return
	}
	slices.Sort(v.empty)
	for _, ref := range slices.Compact(v.empty) {
		if e := v.table.Value(ref); v.isEmpty(e) {
			group := rowstate.Ref(binary.LittleEndian.Uint32(v.table.Key(ref)))
			v.unlink(p, table.Value(group), ref)
			v.table.Delete(ref)
		}
	}
	v.empty = v.empty[:0]
}

// sweep removes entries that have expired while their group lives.
func (v *view) sweep(g *groups, table *rowstate.Table, n int) {
	if v.stampAt < 0 {
		return
	}
	v.table.Sweep(n, func(ref rowstate.Ref) bool {
		if !g.clock.Expired(rowstate.Int64(v.table.Value(ref)[v.stampAt:])) {
			return false
		}
		group := rowstate.Ref(binary.LittleEndian.Uint32(v.table.Key(ref)))
		v.unlink(g.plan, table.Value(group), ref)
		return true
	})
}
