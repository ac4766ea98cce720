package topn

import (
	"drey/native/changelog"
	"drey/rowstate"
)

// perRow is the part of a strategy that treats a batch as nothing but its rows.
type perRow struct{}

func (perRow) begin(*changelog.Batch) error { return nil }
func (perRow) end()                         {}

// The items of snapshots that a strategy doesn't write are errors to it.

func (perRow) decodeRow(*partition, element, []byte) error       { return errMisplaced }
func (perRow) decodeNumber(*partition, int64) error              { return errMisplaced }
func (perRow) decodeGroup(*partition, byte, []byte, int64) error { return errMisplaced }
func (perRow) carriers(*partition, func(element))                {}

// first is AppendOnlyFirstNFunction. A partition's value is the number of rows that came.
type first struct {
	perRow
	o   *Operator
	row []byte // with kind +I, for going out beside a rank
}

func (s *first) valueSize() int           { return 8 }
func (s *first) insertOnly() bool         { return true }
func (s *first) ownStamp() bool           { return true }
func (s *first) reserve(int, int64) error { return nil }

func (s *first) meets([]byte, []byte) *rowstate.OrderedSet { return nil }

func (s *first) apply(p *partition, _ changelog.RowKind, row []byte, source int, out *changelog.Builder) {
	rank := rowstate.Int64(p.value) + 1
	if rank > p.end {
		return
	}
	rowstate.PutInt64(p.value, rank)
	if s.o.clock.TTL > 0 {
		p.setStamp(s.o.clock.Now)
	}
	u := &s.o.out
	switch {
	case !u.withNumber:
		out.Append(changelog.Insert, row, source)
	case rank >= u.start:
		s.row = append(s.row[:0], row...)
		s.row[0] = 0
		u.emit(out, changelog.Insert, &changelog.Payload{Bytes: s.row}, rank, p.end, source)
	}
}

func (s *first) empty(p *partition) bool { return rowstate.Int64(p.value) == 0 }

func (s *first) age(p *partition) error {
	if s.o.clock.Expired(p.stamp()) {
		rowstate.PutInt64(p.value, 0)
		p.setStamp(never)
	}
	return nil
}

func (s *first) encode(p *partition, w *writer) { w.count(rowstate.Int64(p.value)) }

func (s *first) decodeNumber(p *partition, n int64) error {
	rowstate.PutInt64(p.value, n)
	return nil
}

func (s *first) close() {}

// topOne is FastTop1Function. A partition's value is its row, and the edge.
type topOne struct {
	perRow
	o *Operator
}

func (s *topOne) valueSize() int   { return 8 + edgeBytes }
func (s *topOne) insertOnly() bool { return false }
func (s *topOne) ownStamp() bool   { return true }

// meets: most rows that are no better cost no look at the row held.
func (s *topOne) meets([]byte, []byte) *rowstate.OrderedSet { return nil }

func (s *topOne) reserve(rows int, bytes int64) error { return s.o.held.reserve(rows, bytes) }

func (s *topOne) apply(p *partition, _ changelog.RowKind, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	if beyond(p.value[8:], o.sortKey) {
		return
	}
	old := s.held(p)
	if old != 0 && h.compare(o.sortKey, old) >= 0 {
		return
	}
	setEdge(p.value[8:], o.sortKey)
	e := h.add(o.sortKey, row)
	rowstate.PutInt64(p.value, int64(e))
	if o.clock.TTL > 0 {
		p.setStamp(o.clock.Now)
	}
	added := h.payload(e)
	if old == 0 {
		o.out.emit(out, changelog.Insert, &added, 1, 1, source)
		return
	}
	gone := h.payload(old)
	o.out.emit(out, changelog.UpdateBefore, &gone, 1, 1, source)
	o.out.emit(out, changelog.UpdateAfter, &added, 1, 1, source)
	h.free(old)
}

func (s *topOne) held(p *partition) element { return element(rowstate.Int64(p.value)) }

func (s *topOne) empty(p *partition) bool { return s.held(p) == 0 }

func (s *topOne) age(p *partition) error {
	if old := s.held(p); s.o.clock.Expired(p.stamp()) {
		if old != 0 {
			s.o.held.free(old)
		}
		clear(p.value)
		p.setStamp(never)
	}
	return nil
}

func (s *topOne) encode(p *partition, w *writer) {
	if e := s.held(p); e != 0 {
		w.element(e)
	}
}

func (s *topOne) decodeRow(p *partition, e element, _ []byte) error {
	if s.held(p) != 0 {
		return errTwice
	}
	rowstate.PutInt64(p.value, int64(e))
	setEdge(p.value[8:], s.o.sortKey)
	return nil
}

func (s *topOne) close() {}

// appendOnly is AppendOnlyTopNFunction. A partition's value is the set of its rows, and the edge.
//
// With number, stock drops whole groups of equal sort keys behind the group that reaches the end of the range. What it has
// beyond the range comes back when better groups expire. Without a TTL such rows are never seen, and not kept here.
type appendOnly struct {
	perRow
	o *Operator
}

func (s *appendOnly) valueSize() int { return rowstate.SetSize + edgeBytes }
func (s *appendOnly) ownStamp() bool { return false }

// insertOnly is not so: stock never looks at the kind, and takes every row as an addition. The planner lets updates come where
// it believes that a Top-1 over insertions only inserts (FLINK-40368).
func (s *appendOnly) insertOnly() bool { return false }

func (s *appendOnly) meets(value, sortKey []byte) *rowstate.OrderedSet {
	return withinEdge(value, sortKey)
}

func (s *appendOnly) reserve(rows int, bytes int64) error { return s.o.held.reserve(rows, bytes) }

func (s *appendOnly) apply(p *partition, _ changelog.RowKind, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	set := rowstate.SetIn(p.value)
	edge := p.value[rowstate.SetSize:]
	if !h.accepts(set, edge, o.sortKey, o.topN()) {
		return
	}
	e := h.add(o.sortKey, row)
	rank := h.insert(set, e)
	if o.clock.TTL > 0 {
		if previous := h.at(set, rank-1); previous != 0 && h.sameGroup(previous, e) {
			h.unlink(p, previous)
		}
		h.link(p, e, o.clock.Now)
	}
	switch over := int64(set.Len()) > p.end; {
	case o.out.withNumber:
		h.cascade(&o.out, set, e, rank, p.end, source, out)
		if o.clock.TTL > 0 {
			h.dropGroups(set, p.end+1, func(last element) { s.drop(p, last) })
		} else if over {
			s.drop(p, h.removeAt(set, int64(set.Len())))
		}
	case over:
		evicted := h.removeAt(set, int64(set.Len()))
		if evicted != e { // else it is beyond a variable range
			out.Append(changelog.Delete, h.row(evicted), source)
			out.Append(changelog.Insert, h.row(e), source)
		}
		if o.clock.TTL > 0 {
			if last := h.at(set, int64(set.Len())); last != 0 && h.sameGroup(last, evicted) {
				o.renew(p, last)
			}
		}
		s.drop(p, evicted)
	default:
		out.Append(changelog.Insert, h.row(e), source)
	}
	h.sharpen(set, edge, o.topN())
}

// drop frees a row that is in no set any more.
func (s *appendOnly) drop(p *partition, e element) {
	if s.o.clock.TTL > 0 {
		s.o.held.unlink(p, e)
	}
	s.o.held.free(e)
}

// dropGroups takes the rows out whose groups lie behind that of a rank, from the last on: those that stock's walk through
// the groups does not reach, which goes on as long as the groups before have no more rows than the rank range. The row just
// added may be one of them.
func (h *held) dropGroups(set *rowstate.OrderedSet, rank int64, drop func(element)) {
	var reached element // none if the range ends before the first rank
	if rank > 0 {
		if reached = h.at(set, rank); reached == 0 {
			return
		}
	}
	for int64(set.Len()) > max(rank, 0) {
		if reached != 0 && h.sameGroup(h.at(set, int64(set.Len())), reached) {
			return
		}
		drop(h.removeAt(set, int64(set.Len())))
	}
}

func (s *appendOnly) empty(p *partition) bool { return rowstate.SetIn(p.value).Len() == 0 }

// age drops the groups that have expired, each from its last row on, which carries the stamp.
func (s *appendOnly) age(p *partition) error {
	o, h := s.o, &s.o.held
	set := rowstate.SetIn(p.value)
	for last := p.front(); last != 0 && o.clock.Expired(h.stampOf(last)); last = p.front() {
		for rank := h.rankOf(set, last); ; rank-- {
			next := h.at(set, rank-1)
			more := next != 0 && h.sameGroup(next, last)
			h.removeAt(set, rank)
			s.drop(p, last)
			if !more {
				break
			}
			last = next
		}
		clear(p.value[rowstate.SetSize:])
	}
	return nil
}

func (s *appendOnly) encode(p *partition, w *writer) { w.set(rowstate.SetIn(p.value)) }

func (s *appendOnly) decodeRow(p *partition, e element, _ []byte) error {
	set := rowstate.SetIn(p.value)
	s.o.held.insert(set, e)
	s.o.held.sharpen(set, p.value[rowstate.SetSize:], s.o.topN())
	return nil
}

func (s *appendOnly) carriers(p *partition, visit func(element)) {
	s.o.held.groupEnds(rowstate.SetIn(p.value), visit)
}

func (s *appendOnly) close() {}
