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

// applyColumn has loops for calls without filter over rows that are all there and all inserted, or returns false.
func (g *groups) applyColumn(k *call, table *rowstate.Table, refs []rowstate.Ref, in *changelog.Batch, from int) bool {
	offsets := in.Offsets[from : from+len(refs)]
	switch k.op {
	case opCountStar:
		for _, ref := range refs {
			k.addCount(table.Value(ref), 1)
		}
	case opCount:
		for i, ref := range refs {
			if row := in.Data[offsets[i]:]; !k.optional || !k.arg.isNull(row) {
				k.addCount(table.Value(ref), 1)
			}
		}
	case opSumInt, opAvgInt:
		for i, ref := range refs {
			row := in.Data[offsets[i]:]
			if k.optional && k.arg.isNull(row) {
				continue
			}
			value := table.Value(ref)
			k.value.clearNull(value) // the slot of a null sum is 0
			k.value.setInt(value, k.value.int(value)+k.arg.int(row))
			if k.op == opAvgInt {
				k.addCount(value, 1)
			}
		}
	case opMin, opMax:
		if k.arg.kind != kindInt {
			return false
		}
		for i, ref := range refs {
			row := in.Data[offsets[i]:]
			if k.optional && k.arg.isNull(row) {
				continue
			}
			value := table.Value(ref)
			if v, kept := k.arg.int(row), k.value.int(value); k.value.isNull(value) || k.op == opMin && v < kept || k.op == opMax && v > kept {
				k.value.clearNull(value)
				k.value.setInt(value, v)
			}
		}
	default:
		return false
	}
	return true
}
