package join

import (
	"drey/rowstate/invariants"
)

const (
	// fetchAtOnce is how many rows' state is fetched together, and fetchFrom is how much memory all rows take before that
	// pays: while they stay in the cache it costs 5 ns a row.
	fetchAtOnce = 16
	fetchFrom   = 4 << 20
	// fetchMost is how many records of a chain are fetched: who joins with more has the processor's own prefetching.
	fetchMost = 8

	line = 64
)

// fetch reads from every cache line of state that the next rows will look at, so that the misses of many rows overlap; one
// after the other, each row would wait for its own, and for those of a node and of its records one by one. It makes an inner
// join of 2 M bids take half the time (BenchmarkPush).
func (w *work) fetch() {
	from := w.fetched
	to := min(from+fetchAtOnce, len(w.refs))
	w.fetched = to
	if invariants.Enabled || w.own.arena.Stats().Held+w.other.arena.Stats().Held < fetchFrom {
		return
	}
	table := w.o.table
	sum := byte(0)
	for _, ref := range w.refs[from:to] {
		if ref == 0 {
			continue
		}
		v := table.Value(ref)
		for _, s := range w.o.sides {
			if r := handleRef(v[handleSize*s.number:]); r != 0 {
				sum += s.arena.Bytes(r, 8)[0]
			}
		}
	}
	x := w.o.index
	x.begin()
	for i, ref := range w.refs[from:to] {
		if ref == 0 {
			continue
		}
		v := table.Value(ref)
		for _, s := range w.o.sides {
			handle := v[handleSize*s.number:]
			switch r, n := handleRef(handle), handleLen(handle); {
			case r == 0:
			case n == 1:
				sum += s.touch(s.row(r))
			case n > mostNode && s == w.roleOf(from+i).own:
				x.want(s, ref, w.hashes[from+i])
				sum += s.arena.Bytes(s.node(r).last(), 8)[0]
			default:
				sum += s.touch(s.node(r))
			}
		}
	}
	x.fetch()
	for pass := range 2 {
		for i, ref := range w.refs[from:to] {
			if ref != 0 {
				other := w.roleOf(from + i).other
				sum += other.fetchRecords(other.handle(table, ref), pass)
			}
		}
	}
	w.o.touched += sum
}

// touch reads from every cache line of bytes.
func (s *side) touch(b []byte) (sum byte) {
	for i := 0; i < len(b); i += line {
		sum += b[i]
	}
	return sum + b[len(b)-1]
}

// fetchRecords fetches the first records of a chain's first node: where they begin, then the rest.
func (s *side) fetchRecords(handle []byte, pass int) (sum byte) {
	r := handleRef(handle)
	if r == 0 || handleLen(handle) == 1 {
		return 0
	}
	n := s.node(r)
	for i := range min(n.used(), fetchMost) {
		if record := n.record(i); pass == 0 {
			sum += s.arena.Bytes(record, 8)[0]
		} else {
			sum += s.touch(s.row(record))
		}
	}
	return sum
}
