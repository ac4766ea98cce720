package join

import "drey/rowstate"

// index finds the records of long chains: its keys are the chain's entry in the table, the side and the 64-bit hash of a
// record, its values the record and its node. It is help, not truth. Two rows of one chain with one hash, or an exhausted
// budget, leave a record out of it; the chain is marked then, and searched from its start if the index has no answer.
type index struct {
	table *rowstate.Table
	keys  rowstate.Rows
	hash  [1]uint64
	ref   [1]rowstate.Ref
	fresh [1]bool
	room  int // insertions for which room was made

	// What fetch looks up.
	wanted rowstate.Rows
	hashes [fetchAtOnce]uint64
	found  [fetchAtOnce]rowstate.Ref
}

const (
	indexKey   = 16
	indexValue = 8
	indexStep  = 64 // insertions to make room for at once
)

func newIndex(budget *rowstate.Budget) *index {
	return &index{table: rowstate.NewTable(budget, rowstate.TableOptions{KeyWidth: indexKey, ValueSize: indexValue, Purpose: purposeIndex})}
}

// look finds the entry of a record's hash in a chain: 0 if there is none.
func (x *index) look(s *side, entry rowstate.Ref, hash uint64) rowstate.Ref {
	x.key(s, entry, hash)
	x.table.Find(&x.keys, x.hash[:], x.ref[:])
	return x.ref[0]
}

func (x *index) key(s *side, entry rowstate.Ref, hash uint64) {
	x.keys.Reset(indexKey)
	writeIndexKey(x.keys.Extend(indexKey), s, entry, hash)
	x.table.Hash(&x.keys, x.hash[:])
}

func writeIndexKey(key []byte, s *side, entry rowstate.Ref, hash uint64) {
	putUint64(key, uint64(entry)|uint64(s.number)<<32)
	putUint64(key[8:], hash)
}

// begin, want and fetch look up many records at once, only to have the lookups that follow find them in the cache.
func (x *index) begin() { x.wanted.Reset(indexKey) }

func (x *index) want(s *side, entry rowstate.Ref, hash uint64) {
	writeIndexKey(x.wanted.Extend(indexKey), s, entry, hash)
}

func (x *index) fetch() {
	x.table.Hash(&x.wanted, x.hashes[:])
	x.table.Find(&x.wanted, x.hashes[:], x.found[:])
}

func (s *side) findIndexed(entry rowstate.Ref, id []byte, hash uint64) (place, bool) {
	ref := s.index.look(s, entry, hash)
	if ref == 0 {
		return place{}, false
	}
	v := s.index.table.Value(ref)
	p := place{record: rowstate.Ref(getUint32(v)), node: rowstate.Ref(getUint32(v[4:]))}
	if !s.same(p.record, id) {
		return place{}, false
	}
	n := s.node(p.node)
	for n.record(p.slot) != p.record {
		p.slot++
	}
	return p, true
}

// enterIndex adds a record.
func (s *side) enterIndex(head node, entry, record, at rowstate.Ref, hash uint64) {
	x := s.index
	if x.room == 0 {
		if err := x.table.Reserve(indexStep, indexStep*indexKey); err != nil {
			head.setFlags(head.flags() | flagPartial)
			return
		}
		x.room = indexStep
	}
	x.key(s, entry, hash)
	x.table.FindOrInsert(&x.keys, x.hash[:], x.ref[:], x.fresh[:])
	if !x.fresh[0] {
		head.setFlags(head.flags() | flagPartial)
		return
	}
	x.room--
	putUint64(x.table.Value(x.ref[0]), uint64(record)|uint64(at)<<32)
}

// leaveIndex takes a record out, if it is in.
func (s *side) leaveIndex(entry, record rowstate.Ref) {
	ref := s.index.look(s, entry, s.rehash(record))
	if ref != 0 && getUint32(s.index.table.Value(ref)) == uint32(record) {
		s.index.table.Delete(ref)
	}
}

// moveInIndex tells that a record is another block now.
func (s *side) moveInIndex(entry, from, to rowstate.Ref, hash uint64) {
	ref := s.index.look(s, entry, hash)
	if ref != 0 && getUint32(s.index.table.Value(ref)) == uint32(from) {
		putUint32(s.index.table.Value(ref), uint32(to))
	}
}

// indexChain puts a chain that has become long into the index.
func (s *side) indexChain(head node, first, entry rowstate.Ref, rows int) {
	if s.index.table.Reserve(rows, int64(rows)*indexKey) != nil {
		return // next time
	}
	s.index.room = max(s.index.room, rows)
	head.setFlags(flagIndexed)
	for r := first; r != 0; {
		n := s.node(r)
		for i := range n.used() {
			s.enterIndex(head, entry, n.record(i), r, s.rehash(n.record(i)))
		}
		r = n.next()
	}
}

// unindexChain takes a chain that has become short out of the index.
func (s *side) unindexChain(head node, first, entry rowstate.Ref) {
	for r := first; r != 0; {
		n := s.node(r)
		for i := range n.used() {
			s.leaveIndex(entry, n.record(i))
		}
		r = n.next()
	}
	head.setFlags(0)
}
