package topn

import (
	"encoding/binary"

	"drey/native/changelog"
	"drey/rowstate"
)

// perRow is the part of a strategy that treats a batch as nothing but its rows.
type perRow struct{}

func (perRow) begin(*changelog.Batch) error { return nil }
func (perRow) end()                         {}

// The items of snapshots that a strategy doesn't write are errors to it.

func (perRow) decodeRow(partition, element, []byte) error { return errMisplaced }
func (perRow) decodeNumber(partition, int64) error        { return errMisplaced }
func (perRow) decodeSkew(partition, []byte, int64) error  { return errMisplaced }

// first is AppendOnlyFirstNFunction. A partition's value is the number of rows that came.
type first struct {
	perRow
	o   *Operator
	row []byte
}

func (s *first) valueSize() int           { return 8 }
func (s *first) insertOnly() bool         { return true }
func (s *first) reserve(int, int64) error { return nil }

func (s *first) apply(p partition, _ changelog.RowKind, row []byte, source int, out *changelog.Builder) {
	rank := int64(binary.LittleEndian.Uint64(p.value)) + 1
	if rank > p.end {
		return
	}
	binary.LittleEndian.PutUint64(p.value, uint64(rank))
	if !s.o.out.withNumber {
		out.Append(changelog.Insert, row, source)
		return
	}
	s.row = append(s.row[:0], make([]byte, s.o.out.size(len(row)))...)
	s.o.out.write(s.row, row)
	s.o.out.emit(out, changelog.Insert, s.row, rank, p.end, source)
}

func (s *first) encode(p partition, w *writer) { w.count(int64(binary.LittleEndian.Uint64(p.value))) }

func (s *first) decodeNumber(p partition, n int64) error {
	binary.LittleEndian.PutUint64(p.value, uint64(n))
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

func (s *topOne) reserve(rows int, bytes int64) error { return s.o.held.reserve(rows, bytes) }

func (s *topOne) apply(p partition, _ changelog.RowKind, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	o.sortKey = o.sortKeys.Append(o.sortKey[:0], row)
	if beyond(p.value[8:], o.sortKey) {
		return
	}
	old := element(binary.LittleEndian.Uint64(p.value))
	if old != 0 && h.compare(o.sortKey, old) >= 0 {
		return
	}
	setEdge(p.value[8:], o.sortKey)
	e := h.add(o.sortKey, row)
	binary.LittleEndian.PutUint64(p.value, uint64(e))
	if old == 0 {
		o.out.emit(out, changelog.Insert, h.row(e), 1, 1, source)
		return
	}
	o.out.emit(out, changelog.UpdateBefore, h.row(old), 1, 1, source)
	o.out.emit(out, changelog.UpdateAfter, h.row(e), 1, 1, source)
	h.free(old)
}

func (s *topOne) encode(p partition, w *writer) {
	w.element(element(binary.LittleEndian.Uint64(p.value)))
}

func (s *topOne) decodeRow(p partition, e element, _ []byte) error {
	if binary.LittleEndian.Uint64(p.value) != 0 {
		return errTwice
	}
	binary.LittleEndian.PutUint64(p.value, uint64(e))
	setEdge(p.value[8:], s.o.sortKey)
	return nil
}

func (s *topOne) close() {}

// appendOnly is AppendOnlyTopNFunction. A partition's value is the set of its rows, and the edge. Unlike stock, which keeps all rows of a
// group of equal sort keys that has some within the rank range, it keeps no row beyond the range: such a row can never
// come back.
type appendOnly struct {
	perRow
	o *Operator
}

func (s *appendOnly) valueSize() int   { return rowstate.SetSize + edgeBytes }
func (s *appendOnly) insertOnly() bool { return true }

func (s *appendOnly) reserve(rows int, bytes int64) error { return s.o.held.reserve(rows, bytes) }

func (s *appendOnly) apply(p partition, _ changelog.RowKind, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	set := rowstate.SetIn(p.value)
	o.sortKey = o.sortKeys.Append(o.sortKey[:0], row)
	edge := p.value[rowstate.SetSize:]
	if !h.accepts(set, edge, o.sortKey, o.topN()) {
		return
	}
	e := h.add(o.sortKey, row)
	rank := h.insert(set, e)
	switch {
	case rank > p.end: // of a variable range
		h.free(h.removeAt(set, rank))
		return
	case o.out.withNumber:
		h.cascade(set, e, rank, p.end, source, out)
		if int64(set.Len()) > p.end {
			h.free(h.removeAt(set, int64(set.Len())))
		}
	default:
		if int64(set.Len()) > p.end {
			evicted := h.removeAt(set, int64(set.Len()))
			out.Append(changelog.Delete, h.row(evicted), source)
			h.free(evicted)
		}
		out.Append(changelog.Insert, h.row(e), source)
	}
	h.sharpen(set, edge, o.topN())
}

func (s *appendOnly) encode(p partition, w *writer) { w.set(rowstate.SetIn(p.value)) }

func (s *appendOnly) decodeRow(p partition, e element, _ []byte) error {
	set := rowstate.SetIn(p.value)
	s.o.held.insert(set, e)
	s.o.held.sharpen(set, p.value[rowstate.SetSize:], s.o.topN())
	return nil
}

func (s *appendOnly) close() {}
