package agg

import (
	"bytes"

	"drey/rowstate"
)

// Retracting LISTAGG keeps its texts in Flink's ListViews, whose elements expire one by one: with TTL a text is preceded by the time
// at which it was written. Taking one out writes all others anew (StateListView.remove), so what has expired is always in
// front.
const textStamp = 8

func (g *groups) stampsTexts() bool { return g.clock.TTL > 0 }

func (g *groups) textIn(r rowstate.Ref) []byte {
	if g.stampsTexts() {
		return g.chains.Row(r)[textStamp:]
	}
	return g.chains.Row(r)
}

func (g *groups) textExpired(r rowstate.Ref) bool {
	return g.stampsTexts() && g.clock.Expired(rowstate.Int64(g.chains.Row(r)))
}

// appendText adds a text that is, or seems to be, written at a time.
func (g *groups) appendText(chain *rowstate.RowChain, text []byte, stamp int64) {
	if !g.stampsTexts() {
		g.chains.Append(chain, text)
		return
	}
	g.piece = append(append(g.piece[:0], make([]byte, textStamp)...), text...)
	rowstate.PutInt64(g.piece, stamp)
	g.chains.Append(chain, g.piece)
}

// removeText takes the first equal text out, if there is one.
func (g *groups) removeText(chain *rowstate.RowChain, text []byte) bool {
	found := rowstate.Ref(0)
	if !g.stampsTexts() {
		found = g.chains.Find(chain, text)
	} else {
		for r := range g.chains.All(chain) {
			if !g.textExpired(r) && bytes.Equal(g.textIn(r), text) {
				found = r
				break
			}
		}
	}
	return found != 0 && g.chains.Remove(chain, found)
}

// retractText is retract of ListAgg- and ListAggWsWithRetractAggFunction.
func (g *groups) retractText(k *call, value, text []byte) {
	chain := k.chainIn(value)
	switch {
	case g.removeText(chain, text):
		g.dropExpired(chain)
		g.restamp(chain)
	case k.extra > 0:
		g.appendText(k.extraIn(value), text, g.clock.Now)
	}
}

// dropExpired forgets the texts that have expired.
func (g *groups) dropExpired(chain *rowstate.RowChain) {
	for chain.Len() > 0 {
		first := g.chains.First(chain)
		if !g.textExpired(first) {
			return
		}
		g.chains.Remove(chain, first)
	}
}

// restamp marks texts as written now.
func (g *groups) restamp(chain *rowstate.RowChain) {
	if !g.stampsTexts() {
		return
	}
	for r := range g.chains.All(chain) {
		rowstate.PutInt64(g.chains.Row(r), g.clock.Now)
	}
}
