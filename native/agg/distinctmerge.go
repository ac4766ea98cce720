package agg

import (
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// orderlessPrecision is up to how many digits decimals are added in any order: 10^16 of them stay below the 38 digits at which a sum
// becomes null and the order tells.
const orderlessPrecision = 22

// crosses tells whether a distinct call can be merged in any order of its values, which is what their way between phases
// keeps of it.
func crosses(c spec.AggregateCall, columns []logical.Type) bool {
	if len(c.ArgList) != 1 {
		return false
	}
	switch c.Function {
	case spec.Count:
		return true
	case spec.Sum, spec.Sum0, spec.Avg:
		switch columns[c.ArgList[0]].Kind {
		case logical.TinyInt, logical.SmallInt, logical.Integer, logical.BigInt:
			return true
		case logical.Decimal:
			return columns[c.ArgList[0]].Precision <= orderlessPrecision
		}
	}
	return false
}

// argument is a row of the calls' input that has nothing but a value in the column of the view's argument.
func (v *view) argument(content []byte) []byte {
	v.scratch = v.arg.appendValue(v.scratch[:v.rowSize], 0, int(v.arg.slot), content)
	return v.scratch
}

// find finds or makes the entries of the keys that were collected. groupOf is the value of the group a key belongs to.
func (v *view) find(p *plan, groupOf func(i int) []byte) {
	m := v.keys.Len()
	if cap(v.refs) < m {
		v.hashes, v.refs, v.fresh = make([]uint64, m), make([]rowstate.Ref, m), make([]bool, m)
	}
	v.hashes, v.refs, v.fresh = v.hashes[:m], v.refs[:m], v.fresh[:m]
	v.table.Hash(&v.keys, v.hashes)
	v.table.FindOrInsert(&v.keys, v.hashes, v.refs, v.fresh)
	for i, ref := range v.refs {
		if v.fresh[i] {
			v.link(p, groupOf(i), ref)
			if v.retracts {
				v.empty = append(v.empty, ref)
			}
		}
	}
}

// merge adds bits or counts to an entry, and applies the value to the accumulators in value for the calls that see it for the
// first time, or no longer (DistinctAggCodeGen's merge).
func (v *view) merge(g *groups, ref rowstate.Ref, other, value, content []byte) {
	e := v.table.Value(ref)
	if v.stampAt >= 0 && g.clock.Expired(rowstate.Int64(e[v.stampAt:])) {
		clear(e[:v.linksAt])
	}
	row := v.argument(content)
	if !v.retracts {
		for from := 0; from < len(v.calls); from += wordCalls {
			at := int32(from / 8)
			seen := getUint64(e, at)
			fresh := getUint64(other, at) &^ seen
			if fresh == 0 {
				continue
			}
			for j, k := range v.calls[from:min(from+wordCalls, len(v.calls))] {
				if fresh>>j&1 != 0 {
					g.add(k, value, row)
				}
			}
			putUint64(e, at, seen|fresh)
			v.touch(g, e)
		}
		return
	}
	for j, k := range v.calls {
		this := int64(getUint64(e, int32(8*j)))
		merged := this + int64(getUint64(other, int32(8*j)))
		switch {
		case merged <= 0 && this > 0:
			g.remove(k, value, row)
		case merged > 0 && this <= 0:
			g.add(k, value, row)
		}
		putUint64(e, int32(8*j), uint64(merged))
	}
	if v.isEmpty(e) {
		v.empty = append(v.empty, ref)
	} else {
		v.touch(g, e)
	}
}

// mergeIncoming merges what came in for rows from to to of a batch, whose groups are refs, into the view. at is the first of
// the incoming values that belongs to them; the first behind them is returned.
func (v *view) mergeIncoming(g *groups, table *rowstate.Table, refs []rowstate.Ref, in *incoming, at, from, to int) int {
	v.keys.Reset(v.width)
	end := at
	for ; end < len(in.rows) && int(in.rows[end]) < to; end++ {
		content := in.contents.Row(end)
		v.begin(refs[int(in.rows[end])-from], content)
	}
	groupOf := func(i int) []byte { return table.Value(refs[int(in.rows[at+i])-from]) }
	v.find(g.plan, groupOf)
	words := v.words()
	v.other = append(v.other[:0], make([]byte, 8*words)...)
	for i, ref := range v.refs {
		for j := range words {
			putUint64(v.other, int32(8*j), in.counts[(at+i)*words+j])
		}
		v.merge(g, ref, v.other, groupOf(i), in.contents.Row(at+i))
	}
	v.settle(g.plan, table)
	return end
}

// collect adds the keys that a group's values, in another view, have in this one.
func (v *view) collect(from *view, p *plan, group []byte, ref rowstate.Ref) {
	for entry := getRef(group, from.headAt(p)); entry != 0; entry = getRef(from.table.Value(entry), from.linksAt) {
		v.begin(ref, from.table.Key(entry)[4:])
	}
}

// mergeView merges the values of a group in another view; at is where their entries begin among those that were found.
func (v *view) mergeView(g *groups, from *view, p *plan, group, value []byte, at int) int {
	for entry := getRef(group, from.headAt(p)); entry != 0; entry = getRef(from.table.Value(entry), from.linksAt) {
		v.merge(g, v.refs[at], from.table.Value(entry)[:from.linksAt], value, from.table.Key(entry)[4:])
		at++
	}
	return at
}

// deleteAtMost is how many values of a bundle are deleted one by one; of more the whole table is given up.
const deleteAtMost = 512

// forgetBundle removes all values; groups are those that have some.
func (v *view) forgetBundle(budget *rowstate.Budget, p *plan, table *rowstate.Table, groups []rowstate.Ref) {
	if v.table.Len() > deleteAtMost {
		v.table.Close()
		v.open(budget, 0)
		return
	}
	for _, group := range groups {
		for ref := getRef(table.Value(group), v.headAt(p)); ref != 0; {
			next := getRef(v.table.Value(ref), v.linksAt)
			v.table.Delete(ref)
			ref = next
		}
	}
}

// mapSources are the columns of maps behind the accumulators of rows of these types.
func mapSources(p *plan, types []logical.Type, at int) ([]cell, error) {
	var cells []cell
	layout, err := layoutOf(types)
	if err != nil {
		return nil, err
	}
	for i := range p.views {
		if at+i >= len(types) {
			return nil, op.Invalidf("column %d: the input has %d columns, distinct values are missing", at+i, len(types))
		}
		if t := types[at+i]; t.Kind != logical.Raw {
			return nil, op.Unsupportedf("column %d: distinct values in %s", at+i, t)
		}
		c, _ := columnOf(layout, types[at+i], at+i)
		cells = append(cells, c)
	}
	return cells, nil
}
