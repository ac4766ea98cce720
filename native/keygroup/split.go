package keygroup

import (
	"fmt"

	"drey/rowstate"
)

// Sorted is a table's entries by key group, as snapshots write them.
type Sorted struct {
	first  int
	refs   []rowstate.Ref
	starts []uint32 // of each key group in refs, and the end
}

// Sort sorts the entries that keep accepts, all if it is nil, into key groups first..last of max. Within a group they have the order in which
// the table visits them. A key of another group is an error: it should not have come here.
func Sort(table *rowstate.Table, first, last, max int, keep func(rowstate.Ref) bool) (*Sorted, error) {
	s := &Sorted{first: first, starts: make([]uint32, last-first+2)}
	if table == nil {
		return s, nil
	}
	refs, of := make([]rowstate.Ref, 0, table.Len()), make([]uint16, 0, table.Len())
	for ref := range table.All() {
		if keep != nil && !keep(ref) {
			continue
		}
		group := Of(table.Key(ref), max)
		if group < first || group > last {
			return nil, fmt.Errorf("a key of key group %d has come to the subtask of %d to %d", group, first, last)
		}
		refs, of = append(refs, ref), append(of, uint16(group-first))
		s.starts[group-first+1]++
	}
	for i := 1; i < len(s.starts); i++ {
		s.starts[i] += s.starts[i-1]
	}
	s.refs = make([]rowstate.Ref, len(refs))
	next := append([]uint32(nil), s.starts...)
	for i, ref := range refs {
		s.refs[next[of[i]]] = ref
		next[of[i]]++
	}
	return s, nil
}

// Group is the entries of a key group, or false if it is not one of those that were sorted.
func (s *Sorted) Group(group int) ([]rowstate.Ref, bool) {
	i := group - s.first
	if i < 0 || i+1 >= len(s.starts) {
		return nil, false
	}
	return s.refs[s.starts[i]:s.starts[i+1]], true
}
