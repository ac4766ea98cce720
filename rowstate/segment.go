package rowstate

import (
	"math/bits"
	"unsafe"

	"drey/simd"
)

const (
	chunksPerSegment = 64
	segmentSize      = chunksPerSegment * 64
	segmentSlots     = chunksPerSegment * simd.ChunkSlots
	// segmentLimit is the number of entries at which a segment splits: 5/6 of its slots.
	segmentLimit = 640
	stuck        = 255 // an overflow count that went so far stays there
)

// chunk is one cache line of the index: the tags and refs of up to 12 entries, 0 for an empty slot.
type chunk struct {
	tags     [simd.ChunkSlots]byte
	overflow byte // number of entries that went past this chunk because it was full
	_        [3]byte
	refs     [simd.ChunkSlots]uint32
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// match has bit i set for every slot i with the tag. Unlike the cheaper test of simd's probe it is exact.
func (c *chunk) match(tag uint64) uint32 {
	low := zeroBytes(*(*uint64)(unsafe.Pointer(&c.tags[0])) ^ tag*ones)
	high := zeroBytes(*(*uint64)(unsafe.Pointer(&c.tags[8])) ^ tag*ones)
	// The multiplication gathers the eight high bits in the top byte.
	const gather = 0x0002040810204081
	return uint32(low*gather>>56) | uint32(high*gather>>56&0xF)<<8
}

// zeroBytes has the high bit of every byte set that is zero, and no others.
func zeroBytes(x uint64) uint64 { return ^((x&^highs + (ones * 0x7F)) | x | ones*0x7F) }

// step is the distance between the chunks an entry may be in: odd, so all 64 are visited.
func step(tag uint64) uint64 { return 2*tag + 1 }

// segmentMeta is what is known of a segment besides its chunks.
type segmentMeta struct {
	count uint16 // entries
	depth uint8  // directory bits that its entries share
	_     uint8
	next  uint32 // number of the segment that takes more entries of the same directory slots, or 0
	_     [2]uint32
}

// segments is the index of a table: an extendible hash directory of segments, each a small swiss table of 64 chunks.
// A full segment is split in two, which costs the same however large the table is.
type segments struct {
	base    unsafe.Pointer // of the segments
	dir     unsafe.Pointer
	dirMask uint64
	metas   unsafe.Pointer
	used    uint32
	splits  int

	segs, dirs, meters *region
	hashes             [segmentSlots]uint64 // scratch of a split
	refs               [segmentSlots]uint32
}

func newSegments(b *Budget, purpose string) segments {
	s := segments{segs: newRegion(b, purpose, maxRegion), dirs: newRegion(b, purpose, maxRegion/64), meters: newRegion(b, purpose, maxRegion/64)}
	s.base, s.dir, s.metas = s.segs.base, s.dirs.base, s.meters.base
	s.used = 1
	for _, g := range []struct {
		r *region
		n int64
	}{{s.segs, segmentSize}, {s.dirs, 4}, {s.meters, int64(unsafe.Sizeof(segmentMeta{}))}} {
		if err := g.r.grow(g.n); err != nil {
			s.close()
			panic(err)
		}
	}
	return s
}

func (s *segments) meta(n uint32) *segmentMeta {
	return (*segmentMeta)(unsafe.Add(s.metas, uintptr(n)*unsafe.Sizeof(segmentMeta{})))
}

// chunk is chunk at, modulo 64, of segment n.
func (s *segments) chunk(n uint32, at uint64) *chunk {
	return (*chunk)(unsafe.Add(s.base, uint64(n)*segmentSize+at%chunksPerSegment*64))
}

// of is the first segment that may hold the hash.
func (s *segments) of(h uint64) uint32 {
	return *s.slot(h >> simd.DirShift & s.dirMask)
}

func (s *segments) slot(i uint64) *uint32 { return (*uint32)(unsafe.Add(s.dir, i*4)) }

// next is the segment behind n that may hold the same hashes.
func (s *segments) next(n uint32) (uint32, bool) {
	next := s.meta(n).next
	return next, next != 0
}

// room finds the segment that takes one more entry with the hash, splitting a full one.
func (s *segments) room(h uint64, entries unsafe.Pointer) uint32 {
	n := s.of(h)
	for s.meta(n).count >= segmentLimit && s.meta(n).next == 0 {
		if !s.split(n, h, entries) {
			break
		}
		n = s.of(h)
	}
	for s.meta(n).count >= segmentLimit {
		next, ok := s.next(n)
		if !ok {
			next = s.chain(n)
		}
		n = next
	}
	return n
}

// place puts an entry into the first free slot on its way through the segment, which has one.
func (s *segments) place(n uint32, h uint64, r Ref) {
	tag := h >> simd.TagShift
	for at := h >> simd.ChunkShift; ; at += step(tag) {
		c := s.chunk(n, at)
		if empty := c.match(0); empty != 0 {
			slot := bits.TrailingZeros32(empty)
			c.tags[slot], c.refs[slot] = byte(tag), uint32(r)
			return
		}
		if c.overflow != stuck {
			c.overflow++
		}
	}
}

// remove takes an entry out and gives back the overflow counts on the way to it.
func (s *segments) remove(h uint64, r Ref) {
	tag := h >> simd.TagShift
	for n, ok := s.of(h), true; ok; n, ok = s.next(n) {
		at := h >> simd.ChunkShift
		for range chunksPerSegment {
			c := s.chunk(n, at)
			for m := c.match(tag); m != 0; m &= m - 1 {
				slot := bits.TrailingZeros32(m)
				if c.refs[slot] != uint32(r) {
					continue
				}
				c.tags[slot], c.refs[slot] = 0, 0
				for back := h >> simd.ChunkShift; (back-at)%chunksPerSegment != 0; back += step(tag) {
					if passed := s.chunk(n, back); passed.overflow != stuck {
						passed.overflow--
					}
				}
				s.meta(n).count--
				return
			}
			if c.overflow == 0 {
				break
			}
			at += step(tag)
		}
	}
	panic("rowstate: an entry is not in the index of its table")
}

// maxDir bounds the directory to a few slots per segment. Honest hashes stay far below; equal hashes, which no split can
// tell apart, go to chained segments instead of doubling the directory for ever.
func (s *segments) maxDir() uint64 { return 64 + 8*uint64(s.used) }

// split moves the entries of segment n whose next hash bit is set to a new segment. It does nothing and returns false if
// that would make the directory larger than allowed.
func (s *segments) split(n uint32, h uint64, entries unsafe.Pointer) bool {
	depth := s.meta(n).depth
	double := uint64(1)<<depth > s.dirMask
	if double && 2*(s.dirMask+1) > s.maxDir() {
		return false
	}
	fresh, err := s.add()
	if err == nil && double {
		err = s.dirs.grow(int64(s.dirMask+1) * 8)
	}
	if err != nil {
		panic(err)
	}
	if double {
		size := int64(s.dirMask+1) * 4
		copy(s.dirs.bytes(size, 2*size), s.dirs.bytes(0, size))
		s.dirMask = s.dirMask<<1 | 1
	}
	s.used++
	s.splits++
	s.meta(n).depth, s.meta(fresh).depth = depth+1, depth+1
	s.divide(n, fresh, depth, entries)

	// All directory slots of n agree in their low depth bits; those with the next bit set go to the new segment.
	bit := uint64(1) << depth
	for i := h>>simd.DirShift&(bit-1) | bit; i <= s.dirMask; i += 2 * bit {
		*s.slot(i) = fresh
	}
	return true
}

// divide shares the entries of segment n with an empty one by hash bit depth of the directory's bits.
func (s *segments) divide(n, fresh uint32, depth uint8, entries unsafe.Pointer) {
	count := 0
	for at := range uint64(chunksPerSegment) {
		c := s.chunk(n, at)
		for slot, tag := range c.tags {
			if tag != 0 {
				s.refs[count] = c.refs[slot]
				count++
			}
		}
	}
	// The loads of this loop do not depend on each other: their misses overlap.
	for i, r := range s.refs[:count] {
		s.hashes[i] = load(entries, uintptr(r)*refUnit)
	}
	clear(s.segs.bytes(int64(n)*segmentSize, int64(n+1)*segmentSize))
	moved := 0
	for i, h := range s.hashes[:count] {
		to := n
		if h>>(simd.DirShift+depth)&1 != 0 {
			to = fresh
			moved++
		}
		s.place(to, h, Ref(s.refs[i]))
	}
	s.meta(n).count, s.meta(fresh).count = uint16(count-moved), uint16(moved)
}

// add makes one more segment usable; the caller counts it.
func (s *segments) add() (uint32, error) {
	if err := s.segs.grow(int64(s.used+1) * segmentSize); err != nil {
		return 0, err
	}
	if err := s.meters.grow(int64(s.used+1) * int64(unsafe.Sizeof(segmentMeta{}))); err != nil {
		return 0, err
	}
	return s.used, nil
}

// chain adds a segment behind n for entries that a split cannot separate.
func (s *segments) chain(n uint32) uint32 {
	next, err := s.add()
	if err != nil {
		panic(err)
	}
	s.used++
	s.meta(n).next = next
	s.meta(next).depth = s.meta(n).depth
	// Lookups go on to the next segment only past chunks that overflowed.
	for at := range uint64(chunksPerSegment) {
		s.chunk(n, at).overflow = stuck
	}
	return next
}

// reserve makes room for the segments that rows more entries can need at most: one per full segment they may hit.
func (s *segments) reserve(rows int) error {
	most := s.used + uint32(min(rows, int(s.used)+rows/(segmentLimit/2)+1)) + 1
	if err := s.segs.grow(int64(most) * segmentSize); err != nil {
		return err
	}
	if err := s.meters.grow(int64(most) * int64(unsafe.Sizeof(segmentMeta{}))); err != nil {
		return err
	}
	return s.dirs.grow(int64(64+8*uint64(most)) * 4)
}

func (s *segments) bytes() int64 { return s.segs.usable + s.dirs.usable + s.meters.usable }

func (s *segments) close() {
	s.segs.close()
	s.dirs.close()
	s.meters.close()
}
