package topn

import (
	"drey/native/changelog"
	"drey/rowstate"
)

// ahead prepares rows of a batch, group by group: their sort keys, and what they will meet of their partitions, which comes
// into the cache for all of a group at once. Without it every row waits for its set's nodes, and then for the rows held
// (op=append/number=true at 100 K partitions: a quarter of the time).
type ahead struct {
	keys     []byte // sort keys, one behind the other
	ends     [aheadRows]int
	ways     []rowstate.Way
	elements []element
}

// aheadRows is how many rows a group has: enough misses to fill what a core can have under way.
const aheadRows = 64

// fewElements is how many rows held are fetched for one that comes, if not all that its cascade will move.
const fewElements = 2

// lookAhead begins the group at a row of the batch.
func (o *Operator) lookAhead(in *changelog.Batch, from int) {
	h, a := &o.held, &o.ahead
	if h.rows == nil {
		return
	}
	a.keys, a.ways = a.keys[:0], a.ways[:0]
	n := min(aheadRows, in.Len()-from)
	for i := range n {
		a.keys = o.sortKeys.Append(a.keys, in.Row(from+i))
		a.ends[i] = len(a.keys)
	}
	for i := range n {
		key := a.key(i)
		if set := o.strategy.meets(o.table.Value(o.refs[from+i])[o.header:], key); set != nil && set.Len() > 0 {
			a.ways = append(a.ways, rowstate.Way{Set: set, Key: key})
		}
	}
	span := fewElements
	if o.out.withNumber {
		span = int(min(max(o.end, fewElements), maxSpan))
	}
	a.elements = h.order.Ahead(a.ways, span, a.elements[:0])
	h.rows.Prefetch(a.elements, rowLines)
}

const (
	maxSpan  = 16 // rows of a partition that are fetched at most; a longer cascade fetches the others itself
	rowLines = 2  // cache lines of a row that are: header, key, and the beginning of the row
)

// key is the sort key of a row of the group.
func (a *ahead) key(i int) []byte {
	from := 0
	if i > 0 {
		from = a.ends[i-1]
	}
	return a.keys[from:a.ends[i]:a.ends[i]]
}

// withinEdge is meets where a set is followed by its edge.
func withinEdge(value, sortKey []byte) *rowstate.OrderedSet {
	if beyond(value[rowstate.SetSize:], sortKey) {
		return nil
	}
	return rowstate.SetIn(value)
}
