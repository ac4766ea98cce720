package topn

import (
	"encoding/binary"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/rowstate"
)

// update is UpdatableTopNFunction. A partition's value is the set of its rows, and the edge. A second table finds a row by partition key
// and row key; a row's block knows its entry there.
//
// Which rows are held, beyond the rank range too, is visible in what becomes of their updates. So rows are dropped as
// stock drops them: with number, whole groups of equal sort keys behind the group that reaches the end of the range.
//
// Stock writes with a row its place in its group, and writes it again when one before it goes to another group: then its
// life begins anew.
type update struct {
	o       *Operator
	rowKeys *binrow.Projector
	table   *rowstate.Table // value: element uint32, listed uint32
	keys    rowstate.Rows   // row keys of the batch
	both    rowstate.Rows   // partition key and row key
	hashes  []uint64
	refs    []rowstate.Ref
	fresh   []bool
	idle    []rowstate.Ref // entries that may have no row when the batch is done
}

// ownerBytes is the trailer of a row's block: its entry in the table of row keys.
const ownerBytes = 8

func newUpdate(o *Operator, rowKeys *binrow.Projector) *update {
	width := 0
	if rowKeys.Width() > 0 && o.projector.Width() > 0 {
		width = rowKeys.Width() + o.projector.Width()
	}
	s := &update{o: o, rowKeys: rowKeys}
	s.table = rowstate.NewTable(o.budget, rowstate.TableOptions{KeyWidth: width, ValueSize: 8, Purpose: purposeRowKeys})
	s.both.Reset(width)
	return s
}

func (s *update) valueSize() int   { return rowstate.SetSize + edgeBytes }
func (s *update) insertOnly() bool { return false }
func (s *update) ownStamp() bool   { return false }

func (s *update) meets(value, sortKey []byte) *rowstate.OrderedSet { return withinEdge(value, sortKey) }

func (s *update) reserve(rows int, bytes int64) error { return s.o.held.reserve(rows, bytes) }

// begin finds or makes the entries of the batch's row keys.
func (s *update) begin(in *changelog.Batch) error {
	if err := s.rowKeys.Project(in, &s.keys); err != nil {
		return err // Check has seen all fields
	}
	s.both.Reset(s.both.Width)
	for i := range in.Len() {
		partition, row := s.o.keys.Row(i), s.keys.Row(i)
		key := s.both.Extend(len(partition) + len(row))
		copy(key[copy(key, partition):], row)
	}
	if err := s.table.Reserve(in.Len(), int64(len(s.both.Data))); err != nil {
		return err
	}
	n := in.Len()
	if cap(s.refs) < n {
		s.hashes, s.refs, s.fresh = make([]uint64, n), make([]rowstate.Ref, n), make([]bool, n)
	}
	s.hashes, s.refs, s.fresh = s.hashes[:n], s.refs[:n], s.fresh[:n]
	s.table.Hash(&s.both, s.hashes)
	s.table.FindOrInsert(&s.both, s.hashes, s.refs, s.fresh)
	return nil
}

// end deletes the entries that have no row.
func (s *update) end() {
	for _, ref := range s.idle {
		value := s.table.Value(ref)
		binary.LittleEndian.PutUint32(value[4:], 0)
		if binary.LittleEndian.Uint32(value) == 0 {
			s.table.Delete(ref)
		}
	}
	s.idle = s.idle[:0]
}

// own makes a row the one of an entry; element 0 is none.
func (s *update) own(owner rowstate.Ref, e element) {
	value := s.table.Value(owner)
	binary.LittleEndian.PutUint32(value, e)
	if e != 0 {
		binary.LittleEndian.PutUint64(s.o.held.ownerOf(e), uint64(owner))
	} else if binary.LittleEndian.Uint32(value[4:]) == 0 {
		binary.LittleEndian.PutUint32(value[4:], 1)
		s.idle = append(s.idle, owner)
	}
}

func (s *update) apply(p *partition, _ changelog.RowKind, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	set, edge := rowstate.SetIn(p.value), p.value[rowstate.SetSize:]
	owner := s.refs[source]
	old := element(binary.LittleEndian.Uint32(s.table.Value(owner)))
	switch {
	case old != 0 && o.out.withNumber:
		s.changeNumbered(p, set, owner, old, row, source, out)
	case old != 0:
		s.change(p, set, owner, old, row, source, out)
	case !h.accepts(set, edge, o.sortKey, o.topN()):
		s.own(owner, 0)
		return
	default:
		s.insert(p, set, owner, row, source, out)
	}
	h.sharpen(set, edge, o.topN())
}

// insert adds a row whose key is not held.
func (s *update) insert(p *partition, set *rowstate.OrderedSet, owner rowstate.Ref, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	e := h.add(o.sortKey, row)
	s.own(owner, e)
	o.renew(p, e)
	rank := h.insert(set, e)
	if o.out.withNumber {
		h.cascade(&o.out, set, e, rank, p.end, source, out)
		s.prune(p, set)
		return
	}
	if int64(set.Len()) <= p.end {
		out.Append(changelog.Insert, h.row(e), source)
		return
	}
	// The new row may be the one that goes, if it is beyond a variable range; stock tells of both all the same.
	evicted := h.removeAt(set, int64(set.Len()))
	out.Append(changelog.Delete, h.row(evicted), source)
	out.Append(changelog.Insert, h.row(e), source)
	s.drop(p, evicted)
}

// drop frees a row that is in no set any more.
func (s *update) drop(p *partition, e element) {
	h := &s.o.held
	s.own(rowstate.Ref(binary.LittleEndian.Uint64(h.ownerOf(e))), 0)
	if s.o.clock.TTL > 0 {
		h.unlink(p, e)
	}
	h.free(e)
}

func (s *update) prune(p *partition, set *rowstate.OrderedSet) {
	s.o.held.dropGroups(set, p.end+1, func(last element) { s.drop(p, last) })
}

// replace puts a row in the place of a held one, with another arrival number if it goes to the end of its group, and gives
// its rank. The old row is in no set any more, and the caller's to free.
func (s *update) replace(p *partition, set *rowstate.OrderedSet, owner rowstate.Ref, old element, row []byte, moves bool) (element, int64) {
	o, h := s.o, &s.o.held
	position, _ := h.order.Delete(set, h.key(old))
	if o.clock.TTL > 0 {
		h.unlink(p, old)
		for _, other := range h.from(set, int64(position)+1) {
			if !moves || !h.sameGroup(other, old) {
				break
			}
			o.renew(p, other)
		}
	}
	var e element
	if moves {
		e = h.add(o.sortKey, row)
	} else {
		e = h.put(o.sortKey, h.arrivalOf(old), row)
	}
	s.own(owner, e)
	o.renew(p, e)
	return e, h.insert(set, e)
}

// change replaces a held row, without number.
func (s *update) change(p *partition, set *rowstate.OrderedSet, owner rowstate.Ref, old element, row []byte, source int, out *changelog.Builder) {
	h := &s.o.held
	e, _ := s.replace(p, set, owner, old, row, h.compare(s.o.sortKey, old) != 0)
	s.o.out.plain(out, changelog.UpdateBefore, h.row(old), source)
	s.o.out.plain(out, changelog.UpdateAfter, h.row(e), source)
	h.free(old)
}

// changeNumbered replaces a held row, with number.
func (s *update) changeNumbered(p *partition, set *rowstate.OrderedSet, owner rowstate.Ref, old element, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	compared := h.compare(o.sortKey, old)
	oldRank := h.rankOf(set, old)
	e, rank := s.replace(p, set, owner, old, row, compared != 0)
	gone, added := h.payload(old), h.payload(e)
	emit := func(kind changelog.RowKind, row *changelog.Payload, rank int64) {
		o.out.emit(out, kind, row, rank, p.end, source)
	}
	switch {
	case compared == 0:
		emit(changelog.UpdateBefore, &gone, rank)
		emit(changelog.UpdateAfter, &added, rank)
	case compared < 0:
		s.rise(p, set, e, &gone, rank, oldRank, source, out)
	default:
		// Upstream promised that this doesn't happen; its state may have expired.
		o.counts.worsenedRows++
		emit(changelog.UpdateBefore, &gone, oldRank)
		for at, other := range h.from(set, oldRank) {
			if at == rank {
				break
			}
			moved := h.payload(other)
			emit(changelog.UpdateBefore, &moved, at+1)
			emit(changelog.UpdateAfter, &moved, at)
		}
		emit(changelog.UpdateAfter, &added, rank)
	}
	h.free(old)
}

// rise tells that a row went from a rank to a better one. The old row's -U comes right behind that of the first row which
// it pushes down.
func (s *update) rise(p *partition, set *rowstate.OrderedSet, e element, gone *changelog.Payload, rank, oldRank int64, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	retracted := false
	retract := func() {
		if !retracted {
			o.out.emit(out, changelog.UpdateBefore, gone, oldRank, p.end, source)
			retracted = true
		}
	}
	carry := h.payload(e)
	for _, other := range h.from(set, rank+1) {
		if rank >= oldRank || rank > p.end {
			break
		}
		next := h.payload(other)
		o.out.emit(out, changelog.UpdateBefore, &next, rank, p.end, source)
		retract()
		o.out.emit(out, changelog.UpdateAfter, &carry, rank, p.end, source)
		carry = next
		rank++
	}
	if rank > p.end {
		s.prune(p, set)
		return
	}
	retract()
	o.out.emit(out, changelog.UpdateAfter, &carry, rank, p.end, source)
}

func (s *update) empty(p *partition) bool { return rowstate.SetIn(p.value).Len() == 0 }

func (s *update) age(p *partition) error {
	h := &s.o.held
	for e := p.front(); e != 0 && s.o.clock.Expired(h.stampOf(e)); e = p.front() {
		h.remove(rowstate.SetIn(p.value), e)
		s.drop(p, e)
		clear(p.value[rowstate.SetSize:])
	}
	return nil
}

func (s *update) encode(p *partition, w *writer) { w.set(rowstate.SetIn(p.value)) }

func (s *update) decodeNumber(*partition, int64) error              { return errMisplaced }
func (s *update) decodeGroup(*partition, byte, []byte, int64) error { return errMisplaced }

func (s *update) carriers(p *partition, visit func(element)) {
	for _, e := range s.o.held.from(rowstate.SetIn(p.value), 1) {
		visit(e)
	}
}

func (s *update) decodeRow(p *partition, e element, row []byte) error {
	s.keys.Reset(s.rowKeys.Width())
	s.rowKeys.Append(row, &s.keys)
	partition := s.o.table.Key(p.ref)
	s.both.Reset(s.both.Width)
	key := s.both.Extend(len(partition) + len(s.keys.Row(0)))
	copy(key[copy(key, partition):], s.keys.Row(0))
	if err := s.table.Reserve(1, int64(len(key))); err != nil {
		return err
	}
	var hash [1]uint64
	var ref [1]rowstate.Ref
	var fresh [1]bool
	s.table.Hash(&s.both, hash[:])
	s.table.FindOrInsert(&s.both, hash[:], ref[:], fresh[:])
	if !fresh[0] {
		return errTwice
	}
	s.own(ref[0], e)
	set := rowstate.SetIn(p.value)
	s.o.held.insert(set, e)
	s.o.held.sharpen(set, p.value[rowstate.SetSize:], s.o.topN())
	return nil
}

func (s *update) close() { s.table.Close() }
