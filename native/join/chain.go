package join

import (
	"encoding/binary"

	"drey/rowstate"
)

// A chain is the rows of one side with one join key, in the order they came. Its handle is 8 bytes of the key's value:
//
//	ref (4) | rows (4)      ref 0: no row; one row: its record; else the first node
//
//	node:  next (4) | previous (4) | used (2) | capacity and flags (2) | last node (4), in the first one only |
//	       per row: its record (4) | 32 bits of its hash (4)
//
// Most join keys have one row, which needs no node. A chain's first node grows, to 4, 8, 16, 32 and 60 rows; then others
// follow, of 60. The bits of the hash beside each record tell which record to look at: a search touches the nodes and what
// it finds. Above indexFrom rows it goes through the operator's index instead, so that no number of rows makes it slow.
const (
	handleSize = 8
	nodeHead   = 16
	element    = 8
	leastNode  = 4
	mostNode   = 60

	indexFrom  = mostNode // a chain of more rows is put into the index; none of its nodes grows any more
	indexUntil = 24       // and taken out again when it has fewer

	flagIndexed = 1 << 15 // the chain is in the index
	flagPartial = 1 << 14 // but not all of it: two rows share a hash, or the budget was exhausted
	flags       = flagIndexed | flagPartial
)

func getUint32(b []byte) uint32    { return binary.LittleEndian.Uint32(b) }
func putUint32(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }
func getUint64(b []byte) uint64    { return binary.LittleEndian.Uint64(b) }
func putUint64(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

func handleRef(handle []byte) rowstate.Ref { return rowstate.Ref(getUint32(handle)) }
func handleLen(handle []byte) int          { return int(getUint32(handle[4:])) }

func setHandle(handle []byte, ref rowstate.Ref, n int) {
	putUint64(handle, uint64(ref)|uint64(n)<<32)
}

// node is a node's bytes.
type node []byte

func (n node) next() rowstate.Ref         { return rowstate.Ref(getUint32(n)) }
func (n node) setNext(r rowstate.Ref)     { putUint32(n, uint32(r)) }
func (n node) previous() rowstate.Ref     { return rowstate.Ref(getUint32(n[4:])) }
func (n node) setPrevious(r rowstate.Ref) { putUint32(n[4:], uint32(r)) }
func (n node) used() int                  { return int(binary.LittleEndian.Uint16(n[8:])) }
func (n node) setUsed(v int)              { binary.LittleEndian.PutUint16(n[8:], uint16(v)) }
func (n node) capacity() int              { return int(binary.LittleEndian.Uint16(n[10:]) &^ flags) }
func (n node) has(flag uint16) bool       { return binary.LittleEndian.Uint16(n[10:])&flag != 0 }
func (n node) flags() uint16              { return binary.LittleEndian.Uint16(n[10:]) & flags }
func (n node) last() rowstate.Ref         { return rowstate.Ref(getUint32(n[12:])) }
func (n node) setLast(r rowstate.Ref)     { putUint32(n[12:], uint32(r)) }
func (n node) record(i int) rowstate.Ref  { return rowstate.Ref(getUint32(n[nodeHead+element*i:])) }
func (n node) hash(i int) uint32          { return getUint32(n[nodeHead+element*i+4:]) }
func (n node) set(i int, r rowstate.Ref, hash uint32) {
	putUint64(n[nodeHead+element*i:], uint64(r)|uint64(hash)<<32)
}

func (n node) setFlags(f uint16) {
	binary.LittleEndian.PutUint16(n[10:], uint16(n.capacity())|f)
}

// node is the node at r, with all its elements.
func (s *side) node(r rowstate.Ref) node {
	return s.arena.Bytes(r, nodeHead+element*node(s.arena.Bytes(r, nodeHead)).capacity())
}

func (s *side) newNode(capacity int, previous rowstate.Ref) (rowstate.Ref, node) {
	r := s.arena.Alloc(nodeHead + element*capacity)
	n := node(s.arena.Bytes(r, nodeHead+element*capacity))
	putUint64(n, uint64(previous)<<32)
	putUint64(n[8:], uint64(capacity)<<16)
	return r, n
}

// walk goes through the records of a chain. The chain's rows must not come or go meanwhile.
type walk struct {
	nodes node
	next  rowstate.Ref // a single record, or the next node
	at    int
	used  int
	one   bool
}

// start begins at a chain's first record.
func (w *walk) start(handle []byte) {
	*w = walk{next: handleRef(handle), one: handleLen(handle) == 1}
}

// step is the next record that has not expired, or 0.
func (s *side) step(w *walk) rowstate.Ref {
	for {
		if w.at < w.used {
			r := w.nodes.record(w.at)
			w.at++
			if s.clock.TTL > 0 && s.expired(s.header(r)) {
				continue
			}
			return r
		}
		r := w.next
		if r == 0 {
			return 0
		}
		if w.one {
			w.next = 0
			if s.clock.TTL > 0 && s.expired(s.header(r)) {
				return 0
			}
			return r
		}
		w.nodes = s.node(r)
		w.next, w.at, w.used = w.nodes.next(), 0, w.nodes.used()
	}
}

// place is where a chain has a record: in its handle if node is 0.
type place struct {
	record rowstate.Ref
	node   rowstate.Ref
	slot   int
}

// find looks for the record of a row, that is one with an equal unique key, or with equal bytes where there is none.
func (s *side) find(handle []byte, entry rowstate.Ref, id []byte, hash uint64) (place, bool) {
	r := handleRef(handle)
	switch {
	case r == 0:
		return place{}, false
	case handleLen(handle) == 1:
		return place{record: r}, s.same(r, id)
	}
	head := s.node(r)
	if head.has(flagIndexed) {
		if p, ok := s.findIndexed(entry, id, hash); ok || !head.has(flagPartial) {
			return p, ok
		}
	}
	for r != 0 {
		n := s.node(r)
		for i := range n.used() {
			if n.hash(i) == uint32(hash) && s.same(n.record(i), id) {
				return place{n.record(i), r, i}, true
			}
		}
		r = n.next()
	}
	return place{}, false
}

// link puts a record at the end of a chain.
func (s *side) link(handle []byte, entry, record rowstate.Ref, hash uint64) {
	first, n := handleRef(handle), handleLen(handle)
	if first == 0 {
		setHandle(handle, record, 1)
		return
	}
	var head, last node
	if n == 1 {
		r, fresh := s.newNode(leastNode, 0)
		fresh.set(0, first, uint32(s.rehash(first)))
		fresh.setUsed(1)
		fresh.setLast(r)
		first, head, last = r, fresh, fresh
	} else {
		head = s.node(first)
		last = head
		if head.next() != 0 {
			last = s.node(head.last())
		}
	}
	switch used := last.used(); {
	case used < last.capacity():
	case head.next() == 0 && used < mostNode:
		r, fresh := s.newNode(min(2*used, mostNode), 0)
		copy(fresh[nodeHead:], head[nodeHead:])
		fresh.setUsed(used)
		fresh.setLast(r)
		fresh.setFlags(head.flags())
		s.arena.Free(first, len(head))
		first, head, last = r, fresh, fresh
	default:
		r, fresh := s.newNode(mostNode, head.last())
		last.setNext(r)
		head.setLast(r)
		last = fresh
	}
	used := last.used()
	last.set(used, record, uint32(hash))
	last.setUsed(used + 1)
	setHandle(handle, first, n+1)
	switch {
	case head.has(flagIndexed):
		s.enterIndex(head, entry, record, head.last(), hash)
	case n+1 > indexFrom:
		s.indexChain(head, first, entry, n+1)
	}
}

// unlink takes a record out of a chain and frees it.
func (s *side) unlink(handle []byte, entry rowstate.Ref, p place) {
	if p.node == 0 {
		s.freeRecord(p.record)
		setHandle(handle, 0, 0)
		return
	}
	first, rows := handleRef(handle), handleLen(handle)-1
	head := s.node(first)
	if head.has(flagIndexed) {
		s.leaveIndex(entry, p.record)
	}
	s.freeRecord(p.record)
	n := s.node(p.node)
	used := n.used() - 1
	copy(n[nodeHead+element*p.slot:nodeHead+element*used], n[nodeHead+element*(p.slot+1):])
	n.setUsed(used)
	if used == 0 {
		first = s.dropNode(first, p.node, n)
		head = s.node(first)
	}
	if rows == 1 {
		only := head.record(0)
		s.arena.Free(first, nodeHead+element*head.capacity())
		setHandle(handle, only, 1)
		return
	}
	setHandle(handle, first, rows)
	if rows < indexUntil && head.has(flagIndexed) {
		s.unindexChain(head, first, entry)
	}
}

// dropNode takes an empty node out of a chain that has others, and returns the chain's first.
func (s *side) dropNode(first, r rowstate.Ref, n node) rowstate.Ref {
	next, previous := n.next(), n.previous()
	switch {
	case r == first:
		head := s.node(next)
		head.setPrevious(0)
		head.setLast(n.last())
		head.setFlags(n.flags())
		first = next
	case next == 0:
		s.node(previous).setNext(0)
		s.node(first).setLast(previous)
	default:
		s.node(previous).setNext(next)
		s.node(next).setPrevious(previous)
	}
	s.arena.Free(r, nodeHead+element*n.capacity())
	return first
}

// replace puts another record in the place of one.
func (s *side) replace(handle []byte, entry rowstate.Ref, p place, record rowstate.Ref, hash uint64) {
	if p.node == 0 {
		setHandle(handle, record, 1)
		return
	}
	s.node(p.node).set(p.slot, record, uint32(hash))
	if s.node(handleRef(handle)).has(flagIndexed) {
		s.moveInIndex(entry, p.record, record, hash)
	}
}
