package simd

import (
	"math/bits"
	"unsafe"
)

// chunk is one cache line of a table: rowstate's documentation has the picture.
type chunk struct {
	tags     [12]byte
	overflow byte
	_        byte
	passed   uint16 // 0 if overflow is
	refs     [ChunkSlots]uint32
}

// past is Unsure if an entry with the tag may have gone past the chunk, else Absent.
func (c *chunk) past(tag uint64) uint32 { return uint32(c.passed >> (tag & 15) & 1) }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// zeroBytes marks bytes that are zero with their high bit. A byte above a zero byte may be marked wrongly; the lowest mark
// is always right.
func zeroBytes(x uint64) uint64 { return (x - ones) &^ x & highs }

// probePortable is the specification of a probe. For each hash: if a slot of the home chunk has its tag, the candidate is
// the ref of the first such slot; else Absent or Unsure. The caller compares the entry with the key.
func probePortable(t *ProbeTable, hashes []uint64, cand []uint32) {
	cand = cand[:len(hashes)]
	for i, h := range hashes {
		segment := *(*uint32)(unsafe.Add(t.Dir, (h>>DirShift&t.DirMask)*4))
		c := (*chunk)(unsafe.Add(t.Segments, uint64(segment)<<12|h>>ChunkShift&63<<6))
		tag := max(h>>TagShift, 1) * ones
		if m := zeroBytes(*(*uint64)(unsafe.Pointer(&c.tags[0])) ^ tag); m != 0 {
			cand[i] = c.refs[bits.TrailingZeros64(m)>>3&7]
			continue
		}
		tail := *(*uint64)(unsafe.Pointer(&c.tags[8]))
		if m := zeroBytes(tail^tag) & (highs >> 32); m != 0 {
			cand[i] = c.refs[8+bits.TrailingZeros64(m)>>3&3]
			continue
		}
		cand[i] = c.past(tag)
	}
}
