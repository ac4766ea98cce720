package topn

import (
	"encoding/binary"
	"fmt"
	"math"

	"drey/native/changelog"
	"drey/rowstate"
)

// Stock keeps per group of equal sort keys a list of rows, and of all groups together a sorted map of counts. They are not
// always of one mind, and what comes out then must be stock's all the same: ranks go by the counts, rows come from the
// lists.
//
// The list has more rows than the count says. Retracting a row that was never there, of a group that is, lowers the count
// but finds nothing to take from the list. Such input breaks the changelog's promises. The rows behind the first so many are
// hidden: they are in a set of their own. A group with count 0 has hidden rows only, and is not in stock's map.
//
// The count is higher than the list is long. The list has expired, the map has not. A ghost stands for the missing rows, at
// the end of the group, and weighs as many. Stock takes a count out of the map when it comes by, behind the row at work or
// at its own group, and finds no list.
//
// No group has both. A partition's ghosts are in a set of their own as well, to be found from one to the next.

// isGhost tells that an element is no row.
func (h *held) isGhost(e element) bool {
	return binary.LittleEndian.Uint32(h.rows.Bytes(rowstate.Ref(e), blockHeader)[4:]) == 0
}

// weight is how many rows an element stands for.
func (h *held) weight(e element) int {
	if !h.isGhost(e) {
		return 1
	}
	block, _, _ := h.block(e)
	return int(rowstate.Int64(block[len(block)-ghostBytes:]))
}

// ghostArrival ends the key of a ghost, behind those of all rows of its group.
const ghostArrival = "\xff\xff\xff\xff\xff\xff\xff\xff"

// endOf is the key of a group's ghost, whether it has one or not. It is valid until the next call.
func (s *retract) endOf(sortKey []byte) []byte {
	s.key = append(append(s.key[:0], sortKey...), ghostArrival...)
	return s.key
}

// ghostOf is a group's ghost, or 0, and how many rows it stands for.
func (s *retract) ghostOf(p *partition, sortKey []byte) (element, int64) {
	if ghostsOf(p).Len() == 0 {
		return 0, 0
	}
	g := s.o.held.order.Find(ghostsOf(p), s.endOf(sortKey))
	if g == 0 {
		return 0, 0
	}
	return g, int64(s.o.held.weight(g))
}

// haunt makes a group's ghost stand for so many rows more, or less.
func (s *retract) haunt(p *partition, sortKey []byte, delta int64) {
	h := &s.o.held
	g, n := s.ghostOf(p, sortKey)
	if g != 0 {
		h.remove(mainOf(p), g)
		h.remove(ghostsOf(p), g)
	}
	if n += delta; n == 0 {
		h.free(g)
		return
	}
	if g == 0 {
		keyBytes := len(sortKey) + arrivalBytes
		size := h.blockBytes(keyBytes, 0)
		g = element(h.rows.Alloc(size))
		block := h.rows.Bytes(rowstate.Ref(g), size)
		binary.LittleEndian.PutUint32(block, uint32(keyBytes))
		binary.LittleEndian.PutUint32(block[4:], 0)
		copy(block[blockHeader:], s.endOf(sortKey))
	}
	block, _, _ := h.block(g)
	rowstate.PutInt64(block[len(block)-ghostBytes:], n)
	h.insert(mainOf(p), g)
	h.insert(ghostsOf(p), g)
}

// hide lowers the count of the group at work, which is in the map, and leaves its list alone.
func (s *retract) hide(p *partition) {
	h := &s.o.held
	if g, _ := s.ghostOf(p, s.o.sortKey); g != 0 {
		s.haunt(p, s.o.sortKey, -1)
		return
	}
	rank, _ := h.order.Rank(mainOf(p), s.endOf(s.o.sortKey))
	h.insert(hiddenOf(p), h.removeAt(mainOf(p), int64(rank)))
}

// lastRow is the last row of a group's list, or 0.
func (s *retract) lastRow(p *partition, sortKey []byte) element {
	h := &s.o.held
	for _, set := range []*rowstate.OrderedSet{hiddenOf(p), mainOf(p)} {
		if set.Len() == 0 {
			continue
		}
		rank, _ := h.order.Rank(set, s.endOf(sortKey))
		if e := h.at(set, int64(rank)); e != 0 && h.compare(sortKey, e) == 0 {
			return e
		}
	}
	return 0
}

// group is stock's view of the group at work.
type group struct {
	start  int64 // counts of the groups before
	rows   int64 // of the list, the hidden ones left out
	ghosts int64
	hidden int64
	first  int64 // position of the first hidden one
}

func (g *group) count() int64 { return g.rows + g.ghosts }
func (g *group) list() int64  { return g.rows + g.hidden }

func (s *retract) groupOf(p *partition, sortKey []byte) (g group) {
	order := s.o.held.order
	span := func(set *rowstate.OrderedSet) (int64, int64) {
		first, _ := order.Rank(set, sortKey)
		end, _ := order.Rank(set, s.endOf(sortKey))
		return int64(first), int64(end - first)
	}
	g.start, g.rows = span(mainOf(p))
	g.first, g.hidden = span(hiddenOf(p))
	_, g.ghosts = s.ghostOf(p, sortKey)
	return g
}

// addToGroups is emitRecordsWithRowNumber and emitRecordsWithoutRowNumber, and what comes around them.
func (s *retract) addToGroups(p *partition, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	g := s.groupOf(p, o.sortKey)
	e := s.enter(p, row)
	if g.hidden > 0 {
		h.insert(hiddenOf(p), e)
		h.insert(mainOf(p), h.removeAt(hiddenOf(p), g.first+1))
	} else {
		h.insert(mainOf(p), e)
	}
	rank := g.start + g.count() + 1
	switch {
	case g.start > p.end: // stock's walk doesn't come that far
	case o.out.withNumber:
		c := cascade{u: &o.out, out: out, source: source, end: p.end, rank: rank, carry: h.payload(e)}
		s.walk(p, rank, hiddenOf(p).Len(), &c, c.pushed)
		c.last(changelog.Insert)
	case rank <= p.end:
		s.exorcise(p, rank)
		if pushed := h.at(mainOf(p), p.end+1); pushed != 0 && !h.isGhost(pushed) {
			out.Append(changelog.Delete, h.row(pushed), source)
		}
		out.Append(changelog.Insert, h.row(e), source)
	}
}

// walk visits the rows of the lists from a position on while there are ranks, those hidden in its group from another one on.
// Groups without a list that it comes by are taken out of the map.
func (s *retract) walk(p *partition, position int64, hidden int, c *cascade, visit func(row []byte)) {
	h := &s.o.held
	s.stale = s.stale[:0]
	current, rows := s.o.sortKey, true // the group, and whether its list has any
	ofHidden := func() {
		for _, e := range h.from(hiddenOf(p), int64(hidden)+1) {
			if c.over() || h.compare(current, e) != 0 {
				return
			}
			visit(h.row(e))
		}
	}
	for _, e := range h.from(mainOf(p), position+1) {
		if h.compare(current, e) != 0 {
			ofHidden()
			current, rows = h.sortKey(e), false
			hidden, _ = h.order.Rank(hiddenOf(p), current)
		}
		if c.over() {
			break
		}
		switch {
		case !h.isGhost(e):
			visit(h.row(e))
			rows = true
		case !rows:
			s.stale = append(s.stale, e)
		}
	}
	ofHidden()
	for _, e := range s.stale {
		s.lay(p, e)
	}
}

// exorcise takes the groups without a list out of the map that lie from a position on and begin within the range: those that
// stock's walk comes by.
func (s *retract) exorcise(p *partition, position int64) {
	h := &s.o.held
	next := h.at(mainOf(p), position+1)
	if next == 0 || ghostsOf(p).Len() == 0 {
		return
	}
	at, _ := h.order.Rank(ghostsOf(p), h.sortKey(next))
	for {
		ghost := h.at(ghostsOf(p), int64(at)+1)
		if ghost == 0 {
			return
		}
		start, _ := h.order.Rank(mainOf(p), h.sortKey(ghost))
		if int64(start) > p.end {
			return
		}
		if end, _ := h.order.Rank(mainOf(p), h.key(ghost)); end > start {
			at += h.weight(ghost) // it has a list
			continue
		}
		s.lay(p, ghost)
	}
}

// lay takes a ghost out.
func (s *retract) lay(p *partition, ghost element) {
	h := &s.o.held
	s.o.counts.expiredGroups++
	h.remove(mainOf(p), ghost)
	h.remove(ghostsOf(p), ghost)
	h.free(ghost)
}

// removeFromGroups is retractRecordWithRowNumber and retractRecordWithoutRowNumber, and what comes behind them.
func (s *retract) removeFromGroups(p *partition, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	g := s.groupOf(p, o.sortKey)
	gone, rank := s.find(p, g.start)
	index := rank - 1 - g.start // in the list
	if gone == 0 {
		o.counts.unmatchedRetractions++
	}
	if gone != 0 && rank == 0 {
		at, _ := h.order.Rank(hiddenOf(p), h.key(gone))
		index = g.rows + int64(at) - g.first
	}
	visited := g.count() > 0 && (g.start < p.end || o.out.withNumber && g.start == p.end)
	switch {
	case visited && g.list() == 0:
		// What stock finds is a group without a list.
		ghost, _ := s.ghostOf(p, o.sortKey)
		s.lay(p, ghost)
		return
	case visited && gone != 0 && o.out.withNumber:
		c := cascade{u: &o.out, out: out, source: source, end: p.end, rank: g.start + index + 1, carry: h.payload(gone)}
		if !c.over() {
			s.walk(p, g.start+min(index+1, g.count()), int(g.first+max(0, index+1-g.rows)), &c, c.risen)
			c.last(changelog.Delete)
		}
	case visited && gone != 0 && g.start+index+1 <= p.end:
		s.removePlain(p, &g, gone, source, out)
	}
	listed := g.list() > 0
	switch {
	case gone != 0 && rank > 0:
		h.remove(mainOf(p), gone)
		s.leave(p, gone)
	case gone != 0:
		h.remove(hiddenOf(p), gone)
		s.leave(p, gone)
		if g.count() > 0 {
			s.hide(p)
		}
	case g.count() > 0:
		s.hide(p)
	}
	if listed {
		s.written(p)
	}
}

// removePlain is retractRecordWithoutRowNumber for a row within the range.
func (s *retract) removePlain(p *partition, g *group, gone element, source int, out *changelog.Builder) {
	h := &s.o.held
	out.Append(changelog.Delete, h.row(gone), source)
	// The row of the group's list that has the last rank from now on, if it reaches that far.
	if next := p.end - g.start; next < g.list() {
		risen := element(0)
		if next < g.rows {
			risen = h.at(mainOf(p), g.start+next+1)
		} else {
			risen = h.at(hiddenOf(p), g.first+next-g.rows+1)
		}
		out.Append(changelog.Insert, h.row(risen), source)
		return
	}
	// Behind the list ranks go by the counts again. Of the groups there stock looks only for the list of the one that has
	// the last rank, and if there is none, for that of the next.
	rank := p.end - (g.list() - 1 - g.count())
	for {
		risen := h.at(mainOf(p), rank)
		switch {
		case risen == 0:
		case !h.isGhost(risen):
			out.Append(changelog.Insert, h.row(risen), source)
		case s.lastRow(p, h.sortKey(risen)) == 0:
			s.lay(p, risen)
			continue
		}
		return
	}
}

// age turns groups whose lists have expired into ghosts; if the map has expired, so have all lists, and nothing is left.
func (s *retract) age(p *partition) error {
	o, h := s.o, &s.o.held
	if o.clock.Expired(p.stamp()) {
		for _, set := range []*rowstate.OrderedSet{mainOf(p), hiddenOf(p)} {
			s.stale = s.stale[:0]
			for _, e := range h.from(set, 1) {
				s.stale = append(s.stale, e)
			}
			h.order.Clear(set)
			for _, e := range s.stale {
				if h.isGhost(e) {
					h.free(e)
				} else {
					s.leave(p, e)
				}
			}
		}
		h.order.Clear(ghostsOf(p))
		setIndexed(p, false)
		p.setStamp(never)
		return nil
	}
	for last := p.front(); last != 0 && o.clock.Expired(h.stampOf(last)); last = p.front() {
		s.gone = append(s.gone[:0], h.sortKey(last)...)
		if err := h.rows.Reserve(rowstate.BlockSize(h.blockBytes(len(s.gone)+arrivalBytes, 0))); err != nil {
			return err
		}
		if err := h.nodes.Reserve(2 * rowstate.InsertBytes); err != nil {
			return err
		}
		g := s.groupOf(p, s.gone)
		for range g.rows {
			s.leave(p, h.removeAt(mainOf(p), g.start+1))
		}
		for range g.hidden {
			s.leave(p, h.removeAt(hiddenOf(p), g.first+1))
		}
		if g.rows > 0 {
			s.haunt(p, s.gone, g.rows)
		}
	}
	return nil
}

// carriers visits the last row of every list: the last hidden row of a group, or else its last one.
func (s *retract) carriers(p *partition, visit func(element)) {
	h := &s.o.held
	h.groupEnds(hiddenOf(p), visit)
	var last element
	check := func() {
		if last != 0 && s.lastRow(p, h.sortKey(last)) == last {
			visit(last)
		}
	}
	for _, e := range h.from(mainOf(p), 1) {
		if h.isGhost(e) {
			continue
		}
		if last != 0 && !h.sameGroup(last, e) {
			check()
		}
		last = e
	}
	check()
}

func (s *retract) encode(p *partition, w *writer) {
	h := &s.o.held
	for _, set := range []*rowstate.OrderedSet{mainOf(p), hiddenOf(p)} {
		for _, e := range h.from(set, 1) {
			if !h.isGhost(e) {
				w.element(e)
			}
		}
	}
	var last element
	n := int64(0)
	hidden := func() {
		if last != 0 {
			w.group('S', h.sortKey(last), n)
		}
	}
	for _, e := range h.from(hiddenOf(p), 1) {
		if last != 0 && !h.sameGroup(last, e) {
			hidden()
			n = 0
		}
		last = e
		n++
	}
	hidden()
	for _, e := range h.from(ghostsOf(p), 1) {
		w.group('G', h.sortKey(e), int64(h.weight(e)))
	}
}

func (s *retract) decodeRow(p *partition, e element, _ []byte) error {
	s.o.held.insert(mainOf(p), e)
	return nil
}

func (s *retract) decodeNumber(*partition, int64) error { return errMisplaced }

// decodeGroup hides the last n rows of a group, or makes its ghost.
func (s *retract) decodeGroup(p *partition, item byte, sortKey []byte, n int64) error {
	if err := s.reserve(1, int64(len(sortKey))); err != nil {
		return err
	}
	g := s.groupOf(p, sortKey)
	if n <= 0 || g.ghosts > 0 || g.hidden > 0 || item == 'S' && n > g.rows || n > math.MaxUint32-int64(mainOf(p).Len()) {
		return fmt.Errorf("a group of %d rows, %d ghosts, %d hidden gets %q %d", g.rows, g.ghosts, g.hidden, item, n)
	}
	if item == 'G' {
		s.haunt(p, sortKey, n)
		return nil
	}
	s.o.sortKey = append(s.o.sortKey[:0], sortKey...)
	for range n {
		if err := s.reserve(1, 0); err != nil {
			return err
		}
		s.hide(p)
	}
	return nil
}
