package rowstate

import (
	"unsafe"

	"drey/rowstate/invariants"
	"drey/simd"
)

// checkLimit is the size up to which invariants builds check a table after every operation; beyond, every 256th.
const checkLimit = 100

// checkInvariants checks everything that must hold of a table between two operations.
func (t *Table) checkInvariants() {
	if t.checks++; t.len > checkLimit && t.checks%256 != 0 {
		return
	}
	t.verify()
}

func (t *Table) verify() {
	s := &t.segments
	indexed := 0
	chained := map[uint32]bool{}
	for n := range s.used {
		if next := s.meta(n).next; next != 0 {
			chained[next] = true
		}
	}
	for n := range s.used {
		count := 0
		var passed [chunksPerSegment]int
		var tags [chunksPerSegment]uint16
		for at := range uint64(chunksPerSegment) {
			c := s.chunk(n, at)
			for slot, tag := range c.tags {
				if tag == 0 {
					continue
				}
				count++
				h := t.hashOf(Ref(c.refs[slot]))
				if h>>simd.TagShift != uint64(tag) {
					invariants.Failf("segment %d chunk %d slot %d: tag %#x, entry has hash %#x", n, at, slot, tag, h)
				}
				if !chained[n] && s.of(h) != n {
					invariants.Failf("segment %d has an entry of segment %d", n, s.of(h))
				}
				for way := h >> simd.ChunkShift; (way-at)%chunksPerSegment != 0; way += step(uint64(tag)) {
					passed[way%chunksPerSegment]++
					tags[way%chunksPerSegment] |= 1 << (tag & 15)
				}
			}
		}
		for at, want := range passed {
			if got := int(s.chunk(n, uint64(at)).overflow); got != want && got != stuck {
				invariants.Failf("segment %d chunk %d: overflow %d, %d entries went past", n, at, got, want)
			}
			if got := s.chunk(n, uint64(at)).passed; got&tags[at] != tags[at] || want == 0 && got != 0 && !chained[n] && s.meta(n).next == 0 {
				invariants.Failf("segment %d chunk %d: tags %#x, entries with %#x went past", n, at, got, tags[at])
			}
		}
		if count != int(*s.count(n)) {
			invariants.Failf("segment %d: count %d, has %d entries", n, *s.count(n), count)
		}
		indexed += count
	}
	visited := 0
	for r := range t.All() {
		visited++
		at, w := t.keyOf(t.entry(r))
		key := append(append([]byte{}, t.Key(r)...), make([]byte, simd.Padding)...)
		if got := t.findSlow(t.hashOf(r), unsafe.Pointer(&key[0]), w); got != r {
			invariants.Failf("entry %d (key of %d bytes at %d) is found as %d", r, w, at, got)
		}
	}
	if visited != t.len || indexed != t.len {
		invariants.Failf("table of %d entries: %d in memory, %d in the index", t.len, visited, indexed)
	}
}
