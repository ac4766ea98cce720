package topn

import (
	"bytes"
	"encoding/binary"
	"math"

	"drey/native/changelog"
	"drey/rowstate"
)

// retract is RetractableTopNFunction. A partition's value is the set of all its rows, and what groups.go and peers.go need.
type retract struct {
	o     *Operator
	row   []byte // the row at work, as it is kept
	key   []byte // scratch for bounds of groups
	gone  []byte // sort key of a group that expires
	stale []element
	peers *rowstate.RowIndex
	idle  []rowstate.Ref
}

// Offsets in a partition's value.
const (
	ghostsAt  = rowstate.SetSize
	hiddenAt  = 2 * rowstate.SetSize
	listedAt  = 3 * rowstate.SetSize     // uint32, the partition is in idle
	indexedAt = 3*rowstate.SetSize + 4   // uint32, its rows are in peers
	valueSize = 3*rowstate.SetSize + 2*4 // in all
)

func newRetract(o *Operator) *retract {
	s := &retract{o: o}
	h := &o.held
	h.order.Weigh(h.weight)
	s.peers = rowstate.NewRowIndex(o.budget, purposePeers, func(r rowstate.Ref) []byte { return h.row(element(r)) })
	return s
}

func (s *retract) valueSize() int               { return valueSize }
func (s *retract) insertOnly() bool             { return false }
func (s *retract) ownStamp() bool               { return true }
func (s *retract) begin(*changelog.Batch) error { return nil }

func mainOf(p *partition) *rowstate.OrderedSet   { return rowstate.SetIn(p.value) }
func ghostsOf(p *partition) *rowstate.OrderedSet { return rowstate.SetIn(p.value[ghostsAt:]) }
func hiddenOf(p *partition) *rowstate.OrderedSet { return rowstate.SetIn(p.value[hiddenAt:]) }

func (s *retract) empty(p *partition) bool { return mainOf(p).Len() == 0 && hiddenOf(p).Len() == 0 }

// plain tells that all groups have as many rows as their counts say.
func plain(p *partition) bool { return ghostsOf(p).Len() == 0 && hiddenOf(p).Len() == 0 }

func (s *retract) meets(value, _ []byte) *rowstate.OrderedSet { return rowstate.SetIn(value) }

// reserve makes room for the rows, and for what moving a row between the sets may take.
func (s *retract) reserve(rows int, bytes int64) error {
	if err := s.o.held.reserve(rows, bytes); err != nil || rows == 0 {
		return err
	}
	return s.o.held.nodes.Reserve(int64(rows)*2*nodeReserve + 3*rowstate.InsertBytes)
}

// end deletes partitions that have no rows. With a variable range they stay: their end was said by their first row.
func (s *retract) end() {
	for _, ref := range s.idle {
		p := s.o.at(ref)
		binary.LittleEndian.PutUint32(p.value[listedAt:], 0)
		if s.empty(&p) {
			s.o.table.Delete(ref)
		}
	}
	s.idle = s.idle[:0]
}

func (s *retract) apply(p *partition, kind changelog.RowKind, row []byte, source int, out *changelog.Builder) {
	o := s.o
	if o.clock.TTL > 0 {
		p.setStamp(o.clock.Now)
	}
	if kind.IsAccumulate() {
		if plain(p) {
			s.add(p, row, source, out)
		} else {
			s.addToGroups(p, row, source, out)
		}
		return
	}
	s.row = append(s.row[:0], row...)
	s.row[0] = 0
	if plain(p) {
		s.remove(p, source, out)
	} else {
		s.removeFromGroups(p, source, out)
	}
	if o.constantEnd && s.empty(p) && binary.LittleEndian.Uint32(p.value[listedAt:]) == 0 {
		binary.LittleEndian.PutUint32(p.value[listedAt:], 1)
		s.idle = append(s.idle, p.ref)
	}
}

// enter makes the row at work one of the partition's, which is in no set yet.
func (s *retract) enter(p *partition, row []byte) element {
	o, h := s.o, &s.o.held
	e := h.add(o.sortKey, row)
	if o.clock.TTL > 0 {
		if last := s.lastRow(p, o.sortKey); last != 0 {
			h.unlink(p, last)
		}
		h.link(p, e, o.clock.Now)
	}
	if indexed(p) {
		s.index(p, e)
	}
	return e
}

// leave frees a row that is in no set any more.
func (s *retract) leave(p *partition, e element) {
	if indexed(p) {
		s.peers.Remove(uint64(p.ref), rowstate.Ref(e))
	}
	if s.o.clock.TTL > 0 {
		s.o.held.unlink(p, e)
	}
	s.o.held.free(e)
}

// written tells that the group at work was written, after a row left it.
func (s *retract) written(p *partition) {
	if s.o.clock.TTL > 0 {
		if last := s.lastRow(p, s.o.sortKey); last != 0 {
			s.o.renew(p, last)
		}
	}
}

func (s *retract) add(p *partition, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	e := s.enter(p, row)
	rank := h.insert(mainOf(p), e)
	s.watch(p, e, rank)
	switch {
	case rank > p.end:
	case o.out.withNumber:
		h.cascade(&o.out, mainOf(p), e, rank, p.end, source, out)
	default:
		if pushed := h.at(mainOf(p), p.end+1); pushed != 0 {
			out.Append(changelog.Delete, h.row(pushed), source)
		}
		out.Append(changelog.Insert, h.row(e), source)
	}
}

func (s *retract) remove(p *partition, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	position, e := h.order.Seek(mainOf(p), o.sortKey)
	rank := int64(position) + 1
	// Mostly the first of the group is the row itself.
	sought := e != 0 && bytes.Equal(h.row(e), s.row)
	if !sought {
		e, rank = s.find(p, int64(position))
	}
	if e == 0 {
		o.counts.unmatchedRetractions++
		// Stock's count goes down all the same, if it has one.
		if first := h.at(mainOf(p), int64(position)+1); first != 0 && h.compare(o.sortKey, first) == 0 {
			s.hide(p)
			s.written(p)
		}
		return
	}
	switch {
	case rank > p.end:
	case o.out.withNumber:
		c := cascade{u: &o.out, out: out, source: source, end: p.end, rank: rank, carry: h.payload(e)}
		for _, other := range h.from(mainOf(p), rank+1) {
			if c.over() {
				break
			}
			c.risen(h.row(other))
		}
		c.last(changelog.Delete)
	default:
		out.Append(changelog.Delete, h.row(e), source)
		if risen := h.at(mainOf(p), p.end+1); risen != 0 {
			out.Append(changelog.Insert, h.row(risen), source)
		}
	}
	if sought {
		h.order.DeleteSought(mainOf(p))
	} else {
		h.removeAt(mainOf(p), rank)
	}
	s.leave(p, e)
	s.written(p)
}

// scanAtMost is how many rows of a group are looked at one by one, for the first that equals the row at work.
const scanAtMost = 32

// find is the first row of the group at work that equals the row at work, and its rank; 0 if it is hidden. The group begins
// at a position.
func (s *retract) find(p *partition, position int64) (e element, rank int64) {
	if !indexed(p) {
		e, rank, ok := s.search(p, position, scanAtMost)
		if !ok && !s.indexAll(p) {
			e, rank, ok = s.search(p, position, math.MaxInt)
		}
		if ok {
			return e, rank
		}
	}
	r, _ := s.peers.First(uint64(p.ref), s.row)
	if r == 0 {
		return 0, 0
	}
	if at, found := s.o.held.order.Rank(mainOf(p), s.o.held.key(element(r))); found {
		return element(r), int64(at) + 1
	}
	return element(r), 0
}

// search looks for the row at work in its group's list; ok is false if more than so many rows would have to be looked at.
func (s *retract) search(p *partition, position int64, most int) (e element, rank int64, ok bool) {
	e, rank, ok = s.scan(mainOf(p), position, most)
	if ok && e == 0 && hiddenOf(p).Len() > 0 {
		first, _ := s.o.held.order.Rank(hiddenOf(p), s.o.sortKey)
		e, _, ok = s.scan(hiddenOf(p), int64(first), most)
	}
	return e, rank, ok
}

func (s *retract) scan(set *rowstate.OrderedSet, position int64, most int) (e element, rank int64, ok bool) {
	h := &s.o.held
	for at, other := range h.from(set, position+1) {
		if h.compare(s.o.sortKey, other) != 0 || h.isGhost(other) {
			break
		}
		if bytes.Equal(h.row(other), s.row) {
			return other, at, true
		}
		if most--; most == 0 {
			return 0, 0, false
		}
	}
	return 0, 0, true
}

func (s *retract) close() { s.peers.Close() }
