package simd

import (
	"math/bits"
	"unsafe"
)

// MaxFindWidth is the widest key that Find and Compare take; it is the first thing in its entry. They may read that many bytes from the start of a key, of the
// batch or of an entry.
const MaxFindWidth = 64

// findArgs is what Find and Compare work on; assembly knows the offsets.
type findArgs struct {
	table  *ProbeTable
	hashes *uint64
	n      int
	keys   unsafe.Pointer
	width  int
	refs   *uint32
	slow   *uint32
}

// findPortable is the specification of Find: keys are compared with the entries of all slots of the home chunk that have
// the tag and, if entries went past that, of the next chunk on their way. Rows that these two do not decide are put on the
// slow list, and how many is returned.
func findPortable(t *ProbeTable, hashes []uint64, keys unsafe.Pointer, width int, refs, slow []uint32) (n int) {
	refs = refs[:len(hashes)]
	for i, h := range hashes {
		segment := *(*uint32)(unsafe.Add(t.Dir, (h>>DirShift&t.DirMask)*4))
		tag := max(h>>TagShift, 1)
		found, at := uint32(Unsure), h>>ChunkShift
		for hop := 0; hop < 2 && found == Unsure; hop++ {
			c := (*chunk)(unsafe.Add(t.Segments, uint64(segment)<<12|at&63<<6))
			found = t.findIn(c, tag*ones, unsafe.Add(keys, i*width), uintptr(width))
			at += 2*tag + 1
		}
		if found == Unsure {
			slow[n] = uint32(i)
			n++
		}
		refs[i] = found
	}
	return n
}

// findIn looks up a key in one chunk.
func (t *ProbeTable) findIn(c *chunk, tags uint64, k unsafe.Pointer, width uintptr) uint32 {
	low := onlyZeroBytes(*(*uint64)(unsafe.Pointer(&c.tags[0])) ^ tags)
	high := onlyZeroBytes(*(*uint64)(unsafe.Pointer(&c.tags[8])) ^ tags)
	for ; low != 0; low &= low - 1 {
		if r := c.refs[bits.TrailingZeros64(low)>>3]; t.same(r, k, width) != Absent {
			return r
		}
	}
	for high &= highs >> 32; high != 0; high &= high - 1 {
		if r := c.refs[8+bits.TrailingZeros64(high)>>3]; t.same(r, k, width) != Absent {
			return r
		}
	}
	return c.past(tags)
}

// comparePortable is the specification of Compare: a candidate whose key differs, or an Unsure one, goes to the slow list.
func comparePortable(t *ProbeTable, keys unsafe.Pointer, width int, refs, slow []uint32) (n int) {
	for i, r := range refs {
		if r == Unsure || r > Unsure && t.same(r, keys, uintptr(width)) == Absent {
			slow[n] = uint32(i)
			n++
		}
		keys = unsafe.Add(keys, width)
	}
	return n
}

// same returns r if the key of its entry is the one at k, else Absent.
func (t *ProbeTable) same(r uint32, k unsafe.Pointer, width uintptr) uint32 {
	e := unsafe.Add(t.Entries, uintptr(r)*8)
	var at uintptr
	for ; at+8 <= width; at += 8 {
		if load64(e, at) != load64(k, at) {
			return Absent
		}
	}
	if at < width && (load64(e, at)^load64(k, at))<<(64-8*(width-at)) != 0 {
		return Absent
	}
	return r
}

// onlyZeroBytes marks the bytes that are zero, and no others.
func onlyZeroBytes(x uint64) uint64 { return ^((x&^highs + (highs - ones)) | x | (highs - ones)) }
