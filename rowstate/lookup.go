package rowstate

import (
	"math/bits"
	"unsafe"

	"drey/simd"
)

// find is one sub-batch of Find, from row first. A small table is searched in one sweep. For a larger one a first sweep
// names a candidate per row and has its entry fetched, and a second one compares the candidates' keys.
func (t *Table) find(keys *Rows, first int, hashes []uint64, refs []Ref) {
	found := unsafe.Slice((*uint32)(unsafe.SliceData(refs)), len(refs)) // a Ref is a uint32
	inCache := t.arena.next+int64(t.segments.used)*segmentSize <= cacheSize
	if keys.Width == 0 || keys.Width > simd.MaxFindWidth {
		t.kernels.Probe(&t.probe, hashes, found)
		if keys.Width == 0 {
			t.compareOffsets(keys, first, hashes, refs)
		} else {
			t.compareFixed(keys, first, hashes, refs)
		}
		return
	}
	k := unsafe.Pointer(&keys.Data[first*keys.Width])
	slow := 0
	if inCache {
		slow = t.kernels.Find(&t.probe, hashes, k, keys.Width, found, t.slow[:])
	} else {
		t.kernels.Probe(&t.probe, hashes, found)
		slow = t.kernels.Compare(&t.probe, k, keys.Width, found, t.slow[:])
	}
	for _, i := range t.slow[:slow] {
		refs[i] = t.findSlow(hashes[i], unsafe.Add(k, int(i)*keys.Width), uintptr(keys.Width))
	}
}

func (t *Table) compareFixed(keys *Rows, first int, hashes []uint64, refs []Ref) {
	w := uintptr(keys.Width)
	k := unsafe.Pointer(&keys.Data[first*keys.Width])
	for i := range refs {
		r := uint32(refs[i])
		if r == simd.Unsure || r > simd.Unsure && !t.matches(t.entry(Ref(r)), normal(hashes[i]), k, w) {
			r = uint32(t.findSlow(hashes[i], k, w))
		}
		refs[i] = Ref(r)
		k = unsafe.Add(k, w)
	}
}

func (t *Table) compareOffsets(keys *Rows, first int, hashes []uint64, refs []Ref) {
	p := unsafe.Pointer(unsafe.SliceData(keys.Data))
	offsets := keys.Offsets[first : first+len(refs)+1]
	for i := range refs {
		k, w := unsafe.Add(p, offsets[i]), uintptr(offsets[i+1]-offsets[i])
		r := uint32(refs[i])
		if r == simd.Unsure || r > simd.Unsure && !t.matches(t.entry(Ref(r)), normal(hashes[i]), k, w) {
			r = uint32(t.findSlow(hashes[i], k, w))
		}
		refs[i] = Ref(r)
	}
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
			if c.overflow == 0 {
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
			if refs[i] = t.findSlow(h, k, w); refs[i] != 0 {
				fresh[i] = false
				continue
			}
		}
		*word |= bit
		refs[i] = t.insert(h, k, w)
	}
}

// insert adds an entry whose key is not there.
func (t *Table) insert(h uint64, k unsafe.Pointer, w uintptr) Ref {
	s := t.segments.of(h)
	if *t.segments.count(s) >= t.segments.limit {
		s = t.segments.room(h)
		t.sync()
	}
	r := t.newEntry(h, k, w)
	c := t.segments.chunk(s, h>>simd.ChunkShift)
	if slot := c.empty(); slot >= 0 {
		c.tags[slot], c.refs[slot] = byte(h>>simd.TagShift), uint32(r)
	} else {
		t.segments.place(s, h, r)
	}
	*t.segments.count(s)++
	t.len++
	return r
}
