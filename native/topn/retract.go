package topn

import (
	"bytes"
	"encoding/binary"
	"errors"

	"drey/native/changelog"
	"drey/rowstate"
)

// retract is RetractableTopNFunction. A partition's value is the set of all its rows, and the number of its groups that are
// skewed.
//
// Stock keeps per group of equal sort keys a list of rows and a count. Retracting a row that was never there, of a group
// that is, lowers the count but finds nothing to take from the list: from then on the group is skewed, ranks go by the count
// and rows come from the list, and with a count of 0 the group is not seen at all until another row comes. Such input breaks
// the changelog's promises; what comes out must be stock's all the same (see skewed.go).
type retract struct {
	o     *Operator
	row   []byte // the row at work as it goes out
	idle  []rowstate.Ref
	skews skews
}

// Offsets in a partition's value, behind the set.
const (
	skewedAt = rowstate.SetSize     // uint32, groups that are skewed
	listedAt = rowstate.SetSize + 4 // uint32, the partition is in idle
)

func (s *retract) valueSize() int                  { return rowstate.SetSize + 8 }
func (s *retract) insertOnly() bool                { return false }
func (s *retract) begin(in *changelog.Batch) error { return s.skews.reserve(s.o, in) }

func (s *retract) reserve(rows int, bytes int64) error { return s.o.held.reserve(rows, bytes) }

// end deletes partitions that have no rows. With a variable range they stay: their end was said by their first row.
func (s *retract) end() {
	for _, ref := range s.idle {
		value := s.o.table.Value(ref)[valueHeader:]
		binary.LittleEndian.PutUint32(value[listedAt:], 0)
		if rowstate.SetIn(value).Len() == 0 {
			s.o.table.Delete(ref)
		}
	}
	s.idle = s.idle[:0]
}

func (s *retract) apply(p partition, kind changelog.RowKind, row []byte, source int, out *changelog.Builder) {
	o := s.o
	set := rowstate.SetIn(p.value)
	o.sortKey = o.sortKeys.Append(o.sortKey[:0], row)
	skewed := binary.LittleEndian.Uint32(p.value[skewedAt:]) > 0
	switch {
	case kind.IsAccumulate() && skewed:
		s.addSkewed(p, set, row, source, out)
	case kind.IsAccumulate():
		s.add(p, set, row, source, out)
	default:
		n := o.out.size(len(row))
		if cap(s.row) < n {
			s.row = make([]byte, 2*n)
		}
		s.row = s.row[:n]
		o.out.write(s.row, row)
		if skewed {
			s.removeSkewed(p, set, source, out)
		} else {
			s.remove(p, set, source, out)
		}
		if set.Len() == 0 && o.constantEnd && binary.LittleEndian.Uint32(p.value[listedAt:]) == 0 {
			binary.LittleEndian.PutUint32(p.value[listedAt:], 1)
			s.idle = append(s.idle, p.ref)
		}
	}
}

func (s *retract) add(p partition, set *rowstate.OrderedSet, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	e := h.add(o.sortKey, row)
	rank := h.insert(set, e)
	switch {
	case rank > p.end:
	case o.out.withNumber:
		h.cascade(set, e, rank, p.end, source, out)
	default:
		if pushed := h.at(set, p.end+1); pushed != 0 {
			out.Append(changelog.Delete, h.row(pushed), source)
		}
		out.Append(changelog.Insert, h.row(e), source)
	}
}

// find is the first row of the sort key at work that equals the row at work, and its rank; group tells whether there is any
// row of that sort key.
func (s *retract) find(set *rowstate.OrderedSet) (e element, rank int64, group bool) {
	h := &s.o.held
	// No key of a row is shorter than its sort key, so all rows of the group rank behind it.
	position, _ := h.order.Rank(set, s.o.sortKey)
	for at, other := range h.from(set, int64(position)+1) {
		if h.compare(s.o.sortKey, other) != 0 {
			break
		}
		group = true
		if bytes.Equal(h.row(other), s.row) {
			return other, at, true
		}
	}
	return 0, 0, group
}

func (s *retract) remove(p partition, set *rowstate.OrderedSet, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	e, rank, group := s.find(set)
	if e == 0 {
		if group {
			s.skews.add(o, p, o.sortKey, 1)
		}
		return
	}
	switch {
	case rank > p.end:
	case o.out.withNumber:
		previous := h.row(e)
		at := rank
		for _, other := range h.from(set, rank+1) {
			if at > p.end {
				break
			}
			row := h.row(other)
			o.out.emit(out, changelog.UpdateBefore, previous, at, p.end, source)
			o.out.emit(out, changelog.UpdateAfter, row, at, p.end, source)
			previous = row
			at++
		}
		o.out.emit(out, changelog.Delete, previous, at, p.end, source)
	default:
		out.Append(changelog.Delete, h.row(e), source)
		if risen := h.at(set, p.end+1); risen != 0 {
			out.Append(changelog.Insert, h.row(risen), source)
		}
	}
	h.removeAt(set, rank)
	h.free(e)
}

func (s *retract) encode(p partition, w *writer) {
	w.set(rowstate.SetIn(p.value))
	if binary.LittleEndian.Uint32(p.value[skewedAt:]) > 0 {
		for _, g := range s.groups(p, rowstate.SetIn(p.value)) {
			if left := int64(len(g.rows)) - g.count; left > 0 {
				w.skew(g.sortKey, left)
			}
		}
	}
}

func (s *retract) decodeRow(p partition, e element, _ []byte) error {
	s.o.held.insert(rowstate.SetIn(p.value), e)
	return nil
}

func (s *retract) decodeNumber(partition, int64) error { return errMisplaced }

func (s *retract) decodeSkew(p partition, sortKey []byte, left int64) error {
	if left <= 0 {
		return errors.New("a skew of nothing")
	}
	return s.skews.restore(s.o, p, sortKey, left)
}

func (s *retract) close() { s.skews.close() }
