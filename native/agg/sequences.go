package agg

import (
	"bytes"

	"drey/native/op"
	"drey/rowstate"
)

func (k *call) chainIn(value []byte) *rowstate.RowChain { return rowstate.ChainIn(value[k.chain:]) }

func (k *call) extraIn(value []byte) *rowstate.RowChain { return rowstate.ChainIn(value[k.extra:]) }

// addToSequence is accumulate of First- and LastValueWithRetractAggFunction. Flink notes the time at which each value came
// and looks values up by it; as its clock does not go back, that is the order of arrival.
func (g *groups) addToSequence(k *call, value, row []byte) {
	chain := k.chainIn(value)
	g.key = k.arg.appendKey(g.key[:0], row)
	g.chains.Append(chain, g.key)
	if k.op == opLastRetract || chain.Len() == 1 {
		g.keep(k, value, row)
	}
}

// removeFromSequence takes the oldest equal value out, if there is one.
func (g *groups) removeFromSequence(k *call, value, row []byte) {
	chain := k.chainIn(value)
	g.key = k.arg.appendKey(g.key[:0], row)
	r := g.chains.Find(chain, g.key)
	if r == 0 {
		return
	}
	g.chains.Remove(chain, r)
	if !bytes.Equal(g.key, g.keptKey(k, value)) {
		return
	}
	if chain.Len() == 0 {
		g.forget(k, value)
		return
	}
	end := g.chains.Last(chain)
	if k.op == opFirstRetract {
		end = g.chains.First(chain)
	}
	g.keepKey(k, value, g.chains.Row(end))
}

// errSingleValue ends the job, as what SingleValueAggFunction throws does. It begins with Flink's sentence.
var errSingleValue = op.Queryf("SingleValueAggFunction received more than one element. SQL allows one row at most for SINGLE_VALUE, " +
	"or for a subquery in the place of a value: choose one with an aggregate like MAX, or with LIMIT 1")

// single is accumulate of SingleValueAggFunction.
func (g *groups) single(k *call, value, row []byte, null bool) {
	switch {
	case k.count.int(value) > 0:
		g.err = errSingleValue
		return
	case null:
		g.forget(k, value)
	default:
		g.keep(k, value, row)
	}
	k.count.setInt(value, k.count.int(value)+1)
}

// unsingle is retract of the same.
func (g *groups) unsingle(k *call, value []byte) {
	n := k.count.int(value)
	if n != 0 && n != 1 {
		g.err = errSingleValue
		return
	}
	g.forget(k, value)
	k.count.setInt(value, n-1)
}

// addToList is accumulate of ListAggFunction: the list grows by the row's delimiter and its text. A null between makes all
// null, as for CONCAT.
func (g *groups) addToList(k *call, value, row []byte) {
	if k.partial {
		g.setDelimiter(k, value, row)
	}
	chain := k.chainIn(value)
	switch {
	case chain.Len() == 0:
		g.chains.Append(chain, k.arg.bytes(row))
	case k.delimited && k.delimiter.isNull(row):
		g.chains.Clear(chain)
	default:
		g.piece = g.piece[:0]
		if k.delimited {
			g.piece = append(g.piece, k.delimiter.bytes(row)...)
		} else {
			g.piece = append(g.piece, ',')
		}
		g.piece = append(g.piece, k.arg.bytes(row)...)
		g.chains.Append(chain, g.piece)
	}
}

// setDelimiter remembers the delimiter of a row.
func (g *groups) setDelimiter(k *call, value, row []byte) {
	switch {
	case !k.delimited:
	case k.delimiter.isNull(row):
		g.freeText(&k.value, value)
	default:
		g.setText(&k.value, value, k.delimiter.bytes(row))
	}
}

// appendList appends the text of a list, or says that it is null.
func (g *groups) appendList(k *call, dst, value []byte) ([]byte, bool) {
	chain, there := k.chainIn(value), false
	if k.op == opListAgg {
		for r := range g.chains.All(chain) {
			dst, there = append(dst, g.chains.Row(r)...), true
		}
		return dst, there
	}
	null := k.value.isNull(value) // CONCAT_WS with a null between
	for r := range g.chains.All(chain) {
		switch {
		case g.textExpired(r):
			continue
		case null:
			return dst, false
		case there:
			dst = append(dst, g.text(&k.value, value)...)
		}
		dst, there = append(dst, g.textIn(r)...), true
	}
	return dst, there
}

// free gives back all that a group has in the arenas; its distinct values are the views' to free.
func (g *groups) free(value []byte) {
	if !g.plan.hasArena {
		return
	}
	for _, k := range g.plan.calls {
		switch k.op {
		case opMinRetract, opMaxRetract:
			g.freeSet(k, value)
		case opListAggRetract:
			if k.extra > 0 {
				g.chains.Clear(k.extraIn(value))
			}
			fallthrough
		case opFirstRetract, opLastRetract, opListAgg:
			g.chains.Clear(k.chainIn(value))
		}
		if k.value.kind == kindBytes {
			g.freeText(&k.value, value)
		}
	}
}
