package rowstate

import (
	"math/bits"
	"unsafe"

	"drey/simd"
)

// chunkUnits is the size of a chunk in units of a ref.
const chunkUnits = uint32(unsafe.Sizeof(chunk{}) / refUnit)

// find is one sub-batch of Find, from row first. A small table is searched in one sweep. For a larger one a first sweep
// names a candidate per row and has its entry fetched, and a second one compares the candidates' keys. What these do not
// decide comes last.
func (t *Table) find(keys *Rows, first int, hashes []uint64, refs []Ref) {
	found := unsafe.Slice((*uint32)(unsafe.SliceData(refs)), len(refs)) // a Ref is a uint32
	inCache := t.arena.next+int64(t.segments.used)*segmentSize <= cacheSize
	slow := 0
	switch {
	case keys.Width == 0 || keys.Width > simd.MaxFindWidth:
		t.kernels.Probe(&t.probe, hashes, found)
		slow = t.compare(keys, first, hashes, refs)
	case inCache:
		slow = t.kernels.Find(&t.probe, hashes, unsafe.Pointer(&keys.Data[first*keys.Width]), keys.Width, found, t.slow[:])
	default:
		t.kernels.Probe(&t.probe, hashes, found)
		slow = t.kernels.Compare(&t.probe, unsafe.Pointer(&keys.Data[first*keys.Width]), keys.Width, found, t.slow[:])
	}
	if slow > 1 && !inCache {
		t.fetchSlow(hashes, t.slow[:slow])
	}
	for _, i := range t.slow[:slow] {
		key := keys.Row(first + int(i))
		refs[i] = t.findSlow(hashes[i], unsafe.Pointer(unsafe.SliceData(key)), uintptr(len(key)))
	}
}

// compare is the second sweep over keys that no kernel compares. It lists the rows whose candidate is none, or not theirs.
func (t *Table) compare(keys *Rows, first int, hashes []uint64, refs []Ref) (slow int) {
	for i, r := range refs {
		if r == simd.Absent {
			continue
		}
		key := keys.Row(first + i)
		if r == simd.Unsure || !t.matches(t.entry(r), normal(hashes[i]), unsafe.Pointer(unsafe.SliceData(key)), uintptr(len(key))) {
			t.slow[slow] = uint32(i)
			slow++
		}
	}
	return slow
}

// fetchSlow has everything fetched that findSlow will most likely look at: the other entries of a home chunk with the tag,
// the chunk where entries go from there, and its entries with the tag. One row in twenty needs that, or, of absent keys, in
// ten; if each of them waited for its misses alone, they would take as long as all the others together.
func (t *Table) fetchSlow(hashes []uint64, slow []uint32) {
	var entries, chunks [subBatch]uint32 // chunks in units of a ref, too
	var tags [subBatch]uint8
	n, past := 0, 0
	for _, i := range slow {
		h := normal(hashes[i])
		tag, at := h>>simd.TagShift, h>>simd.ChunkShift
		s := t.segments.of(h)
		c := t.segments.chunk(s, at)
		if m := c.match(tag); m&(m-1) != 0 {
			entries[n] = c.refs[bits.TrailingZeros32(m&(m-1))]
			n++
		}
		if c.past(tag) {
			chunks[past] = (s*chunksPerSegment + uint32((at+step(tag))%chunksPerSegment)) * chunkUnits
			tags[past] = uint8(tag)
			past++
		}
	}
	simd.Prefetch(t.segments.base, chunks[:past])
	t.fetchEntries(entries[:n])
	n = 0
	for i, at := range chunks[:past] {
		c := (*chunk)(unsafe.Add(t.segments.base, uintptr(at)*refUnit))
		if m := c.match(uint64(tags[i])); m != 0 {
			entries[n] = c.refs[bits.TrailingZeros32(m)]
			n++
		}
	}
	t.fetchEntries(entries[:n])
}

// fetchEntries fetches the first and the last cache line of entries.
func (t *Table) fetchEntries(refs []uint32) {
	simd.Prefetch(t.entries, refs)
	simd.Prefetch(unsafe.Add(t.entries, t.probe.Span), refs)
}

// findSlow looks up one key without help of a probe.
//
//go:noinline
func (t *Table) findSlow(h uint64, k unsafe.Pointer, w uintptr) Ref {
	h = normal(h)
	tag := h >> simd.TagShift
	for s, ok := t.segments.of(h), true; ok; s, ok = t.segments.next(s) {
		at := h >> simd.ChunkShift
		for range chunksPerSegment {
			c := t.segments.chunk(s, at)
			for m := c.match(tag); m != 0; m &= m - 1 {
				r := Ref(c.refs[bits.TrailingZeros32(m)])
				if t.matches(t.entry(r), h, k, w) {
					return r
				}
			}
			if !c.past(tag) {
				return 0
			}
			at += step(tag)
		}
	}
	return 0
}

// insertAbsent inserts the keys of a sub-batch that were not found, in row order. A key may be among them twice: keys that
// were inserted leave a bit, and only one whose bit is set is looked up again.
func (t *Table) insertAbsent(keys *Rows, first int, hashes []uint64, refs []Ref, fresh []bool) {
	var seen [64]uint64
	for i, r := range refs {
		if fresh[i] = r == 0; r != 0 {
			continue
		}
		h := normal(hashes[i])
		key := keys.Row(first + i)
		k, w := unsafe.Pointer(unsafe.SliceData(key)), uintptr(len(key))
		word, bit := &seen[h>>simd.ChunkShift&63], uint64(1)<<(h>>simd.DirShift&63)
		if *word&bit != 0 {
			t.placeLate()
			if refs[i] = t.findSlow(h, k, w); refs[i] != 0 {
				fresh[i] = false
				continue
			}
		}
		*word |= bit
		refs[i] = t.insert(h, k, w)
	}
	t.placeLate()
}

// insert adds an entry whose key is not there. The caller ends with placeLate.
func (t *Table) insert(h uint64, k unsafe.Pointer, w uintptr) Ref {
	s := t.segments.of(h)
	if *t.segments.count(s) >= t.segments.limit {
		t.placeLate()
		s = t.segments.room(h)
		t.sync()
	}
	r := t.newEntry(h, k, w)
	c := t.segments.chunk(s, h>>simd.ChunkShift)
	if slot := c.empty(); slot >= 0 {
		c.tags[slot], c.refs[slot] = byte(h>>simd.TagShift), uint32(r)
	} else {
		t.late(s, h, r)
	}
	*t.segments.count(s)++
	t.len++
	return r
}

// lateEntries are entries that are in memory but not in the index yet, as their home chunks are full: their next chunks are
// being fetched. Insertion into them would wait for each alone. They are placed before anything looks for them.
type lateEntries struct {
	n        int
	hashes   [32]uint64
	refs     [32]Ref
	segments [32]uint32
}

func (t *Table) late(s uint32, h uint64, r Ref) {
	l := &t.lates
	if l.n == len(l.refs) {
		t.placeLate()
	}
	l.hashes[l.n], l.refs[l.n], l.segments[l.n] = h, r, s
	l.n++
	next := [1]uint32{(s*chunksPerSegment + uint32((h>>simd.ChunkShift+step(h>>simd.TagShift))%chunksPerSegment)) * chunkUnits}
	simd.Prefetch(t.segments.base, next[:])
}

func (t *Table) placeLate() {
	l := &t.lates
	for i := range l.n {
		t.segments.place(l.segments[i], l.hashes[i], l.refs[i])
	}
	l.n = 0
}
