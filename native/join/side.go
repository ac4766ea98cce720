package join

import (
	"bytes"
	"fmt"
	"slices"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// shape is what a side's state looks like, as Flink chooses by JoinInputSideSpec.
type shape uint8

const (
	oneRow  shape = iota // JoinKeyContainsUniqueKey: a join key has one row at most
	byKey                // InputSideHasUniqueKey: rows by unique key
	counted              // InputSideHasNoUniqueKey: rows with counts
)

// side is one input and its state: a record per row,
//
//	length (4) | count (4), only if counted | associations (4), only on an outer side | last write (8), only with TTL | row
//
// the head padded to whole words. The row's header byte is 0.
type side struct {
	arena   *rowstate.Arena
	clock   rowstate.Clock // with the TTL of this side
	head    int
	countAt int // 0: none
	assocAt int
	stampAt int
	shape   shape
	outer   bool // records have associations
	number  int  // 0: left, 1: right

	layout    *binrow.Layout
	projector *binrow.Projector // of the join key
	unique    *binrow.Projector // of the unique key; nil but for byKey
	null      changelog.Payload // all nulls
	checked   []int             // columns that will be read, and may point anywhere
	records   int64
	unstamped bool  // records were restored from state without TTL
	filter    []int // columns of the join key that must not be null to match
	index     *index
	hasher    *rowstate.Table // whose hash function is used
	one       rowstate.Rows   // scratch: one row, or its unique key
	oneHash   [1]uint64
}

func newSide(number int, s *spec.JoinSide, outer bool, filterNulls []bool, input logical.Row) (*side, error) {
	name := [...]string{"left", "right"}[number]
	types := input.Types()
	layout, err := binrow.NewLayout(types)
	if err != nil {
		return nil, op.Unsupportedf("join: %s: %w", name, err)
	}
	projector, err := binrow.NewProjector(types, s.Keys)
	if err != nil {
		return nil, op.Unsupportedf("join: %s.keys: %w", name, err)
	}
	d := &side{number: number, layout: layout, projector: projector, outer: outer, clock: rowstate.Clock{TTL: s.StateTTLMillis}, head: 4}
	switch {
	case s.UniqueKey == nil:
		d.shape, d.countAt = counted, d.head
		d.head += 4
	case s.KeysContainUniqueKey():
		d.shape = oneRow
	default:
		d.shape = byKey
		if d.unique, err = binrow.NewProjector(types, *s.UniqueKey); err != nil {
			return nil, op.Unsupportedf("join: %s.uniqueKey: %w", name, err)
		}
	}
	if outer {
		d.assocAt = d.head
		d.head += 4
	}
	if d.clock.TTL > 0 {
		d.stampAt = (d.head + 7) &^ 7
		d.head = d.stampAt + 8
	}
	d.head = (d.head + 7) &^ 7
	for i, filter := range filterNulls {
		if filter {
			d.filter = append(d.filter, i)
		}
	}
	w := binrow.NewWriter(layout)
	for i := range types {
		w.SetPlainNull(i)
	}
	d.null = changelog.Payload{Bytes: w.Row()}
	d.mustRead(s.Keys...)
	if d.unique != nil {
		d.mustRead(*s.UniqueKey...)
	}
	return d, nil
}

// open makes the state.
func (s *side) open(budget *rowstate.Budget, table *rowstate.Table, index *index) {
	s.arena = rowstate.NewArena(budget, [...]string{purposeLeft, purposeRight}[s.number])
	s.hasher, s.index = table, index
}

// handle is the chain of a key.
func (s *side) handle(table *rowstate.Table, ref rowstate.Ref) []byte {
	return table.Value(ref)[handleSize*s.number:][:handleSize]
}

// check refuses a batch of which something can't be read that will be: keys, and what the condition looks at.
func (s *side) check(in *changelog.Batch) error {
	if err := s.layout.CheckBatch(in); err != nil {
		return err
	}
	if err := checkKinds(in); err != nil {
		return err
	}
	if len(s.checked) > 0 {
		for i := range in.Len() {
			if err := s.checkFields(in, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkKinds(in *changelog.Batch) error {
	for i, kind := range in.Kinds {
		if kind > changelog.Delete {
			return fmt.Errorf("row %d: row kind %d", i, kind)
		}
	}
	return nil
}

// checkFields looks at one row.
func (s *side) checkFields(in *changelog.Batch, i int) error {
	for _, c := range s.checked {
		if err := s.layout.CheckField(in.Row(i), c); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// mustRead adds columns to those that are checked in each row. What stands in its slot alone can always be read.
func (s *side) mustRead(columns ...int) {
	for _, c := range columns {
		if !s.layout.InSlot(c) && !slices.Contains(s.checked, c) {
			s.checked = append(s.checked, c)
		}
	}
}

// hasNull tells whether a join key has a null that keeps it from matching.
func (s *side) hasNull(key []byte) bool {
	for _, c := range s.filter {
		if s.projector.Layout().IsNull(key, c) {
			return true
		}
	}
	return false
}

func (s *side) header(r rowstate.Ref) []byte { return s.arena.Bytes(r, s.head) }

func (s *side) row(r rowstate.Ref) []byte {
	n := s.head + int(getUint32(s.arena.Bytes(r, 4)))
	return s.arena.Bytes(r, n)[s.head:n:n]
}

// times is how often a record's row is there.
func (s *side) times(header []byte) int {
	if s.countAt == 0 {
		return 1
	}
	return int(getUint32(header[s.countAt:]))
}

func (s *side) associations(header []byte) int32 { return int32(getUint32(header[s.assocAt:])) }

// associate writes a record's number of associations, which in Flink is a write of the whole record.
func (s *side) associate(header []byte, n int32) {
	putUint32(header[s.assocAt:], uint32(n))
	s.stamp(header)
}

func (s *side) stamp(header []byte) {
	if s.clock.TTL > 0 {
		putUint64(header[s.stampAt:], uint64(s.clock.Now))
	}
}

// expired tells whether a record is to be treated as absent. There is a TTL.
func (s *side) expired(header []byte) bool {
	return rowstate.Expired(int64(getUint64(header[s.stampAt:])), s.clock.TTL, s.clock.Now)
}

// newRecord makes a record of a row that is there once.
func (s *side) newRecord(row []byte, n int32) rowstate.Ref {
	r := s.arena.Alloc(s.head + len(row))
	s.records++
	s.fill(r, row, n)
	return r
}

func (s *side) fill(r rowstate.Ref, row []byte, n int32) {
	b := s.arena.Bytes(r, s.head+len(row))
	copy(b[s.head:], row)
	b[s.head] = 0
	putUint32(b, uint32(len(row)))
	if s.countAt > 0 {
		putUint32(b[s.countAt:], 1)
	}
	if s.outer {
		putUint32(b[s.assocAt:], uint32(n))
	}
	s.stamp(b)
}

func (s *side) freeRecord(r rowstate.Ref) {
	s.records--
	s.arena.Free(r, s.head+len(s.row(r)))
}

// same tells whether a record's row has this identity: its unique key, or its bytes.
func (s *side) same(r rowstate.Ref, id []byte) bool {
	if s.unique == nil {
		return bytes.Equal(s.row(r), id)
	}
	return bytes.Equal(s.identity(s.row(r)), id)
}

// identity is what rows of this side are told apart by, valid until the next call.
func (s *side) identity(row []byte) []byte {
	if s.unique == nil {
		return row
	}
	s.one.Reset(s.unique.Width())
	s.unique.Append(row, &s.one)
	return s.one.Row(0)
}

// rehash is the hash of a record's identity.
func (s *side) rehash(r rowstate.Ref) uint64 { return s.hashOf(s.row(r)) }

func (s *side) hashOf(row []byte) uint64 {
	if s.unique == nil {
		s.one.Reset(0)
		s.one.Append(row)
	} else {
		s.identity(row)
	}
	s.hasher.Hash(&s.one, s.oneHash[:])
	return s.oneHash[0]
}

// add is addRecord of Flink's state views. id and hash are of the row's identity, which oneRow has no use for; n is the
// number of associations of a row of an outer side.
func (s *side) add(handle []byte, entry rowstate.Ref, row, id []byte, hash uint64, n int32) {
	if s.shape == oneRow {
		if old := handleRef(handle); old != 0 {
			s.overwrite(handle, 0, place{record: old}, row, 0, n)
			return
		}
		setHandle(handle, s.newRecord(row, n), 1)
		return
	}
	p, found := s.find(handle, entry, id, hash)
	if found && s.clock.TTL > 0 && s.expired(s.header(p.record)) {
		s.unlink(handle, entry, p)
		found = false
	}
	switch {
	case !found:
		s.link(handle, entry, s.newRecord(row, n), hash)
	case s.shape == byKey:
		s.overwrite(handle, entry, p, row, hash, n)
	default:
		h := s.header(p.record)
		putUint32(h[s.countAt:], getUint32(h[s.countAt:])+1)
		if s.outer {
			putUint32(h[s.assocAt:], uint32(n))
		}
		s.stamp(h)
	}
}

// overwrite puts a row in the place of the one with its unique key. Its memory is used again where the new row fits: most
// rows of an input are of few sizes.
func (s *side) overwrite(handle []byte, entry rowstate.Ref, p place, row []byte, hash uint64, n int32) {
	if old := len(s.row(p.record)); rowstate.BlockSize(s.head+old) == rowstate.BlockSize(s.head+len(row)) && old >= len(row) {
		s.fill(p.record, row, n)
		return
	}
	fresh := s.newRecord(row, n)
	s.replace(handle, entry, p, fresh, hash)
	s.freeRecord(p.record)
}

// retract is retractRecord of Flink's state views: by join key, by unique key, or by content, whatever is there.
func (s *side) retract(handle []byte, entry rowstate.Ref, id []byte, hash uint64) {
	if s.shape == oneRow {
		if old := handleRef(handle); old != 0 {
			s.freeRecord(old)
			setHandle(handle, 0, 0)
		}
		return
	}
	p, found := s.find(handle, entry, id, hash)
	if !found {
		return
	}
	if h := s.header(p.record); s.times(h) > 1 && (s.clock.TTL == 0 || !s.expired(h)) {
		putUint32(h[s.countAt:], getUint32(h[s.countAt:])-1)
		s.stamp(h)
		return
	}
	s.unlink(handle, entry, p)
}
