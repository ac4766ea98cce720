package agg

import (
	"drey/native/changelog"
	"drey/rowstate"
)

// applyColumns applies rows from on, as many as there are refs, to the values of a table: call by call, which is possible where
// nobody looks at results in between. All rows of a call that is frequent go through a loop of its own
// (BenchmarkLocalAggregation). Rows whose ref is 0 are left out.
func (g *groups) applyColumns(table *rowstate.Table, refs []rowstate.Ref, in *changelog.Batch, from int, insertOnly bool) {
	for _, k := range g.plan.plain {
		if !insertOnly || k.filtered || k.retracts || !g.applyColumn(k, table, refs, in, from) {
			g.applyRows(k, table, refs, in, from)
		}
	}
}

// applyRows is the loop for all calls.
func (g *groups) applyRows(k *call, table *rowstate.Table, refs []rowstate.Ref, in *changelog.Batch, from int) {
	for i, ref := range refs {
		if ref == 0 {
			continue
		}
		row := in.Row(from + i)
		switch value := table.Value(ref); {
		case k.filtered && !k.filter.isTrue(row):
		case in.Kinds[from+i].IsAccumulate():
			g.add(k, value, row)
		default:
			g.remove(k, value, row)
		}
	}
}

// applyColumn has loops for calls without filter over rows that are all there and all inserted, or returns false. They work on
// copies of the call's cells: through the call they would be read again after every write to a value.
func (g *groups) applyColumn(k *call, table *rowstate.Table, refs []rowstate.Ref, in *changelog.Batch, from int) bool {
	offsets, data := in.Offsets[from:from+len(refs)], in.Data
	arg, kept, count := k.arg, k.value, k.count.slot
	if !k.optional {
		arg.nullMask = 0
	}
	switch k.op {
	case opCountStar:
		for _, ref := range refs {
			value := table.Value(ref)
			putUint64(value, count, getUint64(value, count)+1)
		}
	case opCount:
		for i, ref := range refs {
			if !arg.isNull(data[offsets[i]:]) {
				value := table.Value(ref)
				putUint64(value, count, getUint64(value, count)+1)
			}
		}
	case opSumInt, opAvgInt:
		average := k.op == opAvgInt
		for i, ref := range refs {
			row := data[offsets[i]:]
			if arg.isNull(row) {
				continue
			}
			value := table.Value(ref)
			kept.clearNull(value) // the slot of a null sum is 0
			kept.setInt(value, kept.int(value)+arg.int(row))
			if average {
				putUint64(value, count, getUint64(value, count)+1)
			}
		}
	case opMin, opMax:
		if arg.kind != kindInt {
			return false
		}
		flip := int64(0) // the complement's order is the reverse
		if k.op == opMax {
			flip = -1
		}
		for i, ref := range refs {
			row := data[offsets[i]:]
			if arg.isNull(row) {
				continue
			}
			value := table.Value(ref)
			if v := arg.int(row); kept.isNull(value) || v^flip < kept.int(value)^flip {
				kept.clearNull(value)
				kept.setInt(value, v)
			}
		}
	default:
		return false
	}
	return true
}

// applyViews applies the same rows to the distinct calls.
func (g *groups) applyViews(table *rowstate.Table, refs []rowstate.Ref, in *changelog.Batch, from int) {
	for _, v := range g.plan.views {
		v.prepare(in, from, g, table, refs)
		for i, ref := range refs {
			if ref == 0 {
				continue
			}
			value, row := table.Value(ref), in.Row(from+i)
			if in.Kinds[from+i].IsAccumulate() {
				v.accumulate(g, i, value, row)
			} else {
				v.retract(g, i, value, row)
			}
		}
		v.settle(g.plan, table)
	}
}
