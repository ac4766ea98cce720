package rowstate

import (
	"math/bits"
	"sync"
	"unsafe"

	"drey/simd"
)

const (
	chunksPerSegment = 64
	segmentSize      = chunksPerSegment * 64
	segmentSlots     = chunksPerSegment * simd.ChunkSlots
	// segmentLimit is the number of entries at which a segment splits: 7/8 of its slots.
	segmentLimit = 672
	// earlyLimit is the same for a table of few segments. There it is cheap, and in the cache a lookup's time is that of the
	// branches that go wrong where an entry overflowed, or where another has the same tag.
	earlyLimit    = 448
	earlySegments = 16
	stuck         = 255 // an overflow count that went so far stays there
)

// chunk is one cache line of the index: the tags and refs of up to 12 entries, 0 for an empty slot.
type chunk struct {
	tags     [simd.ChunkSlots]byte
	overflow byte // number of entries that went past this chunk because it was full
	_        byte
	passed   uint16 // bit i: an entry whose tag is i, modulo 16, may be among them
	refs     [simd.ChunkSlots]uint32
}

// pass notes that an entry with the tag goes past the chunk.
func (c *chunk) pass(tag uint64) {
	c.passed |= 1 << (tag & 15)
	if c.overflow != stuck {
		c.overflow++
	}
}

// unpass notes that one that went past is gone. The bits of tags stay until none is left: others may share them.
func (c *chunk) unpass() {
	if c.overflow == stuck {
		return
	}
	if c.overflow--; c.overflow == 0 {
		c.passed = 0
	}
}

// past tells whether an entry with the tag may have gone past the chunk.
func (c *chunk) past(tag uint64) bool { return c.passed>>(tag&15)&1 != 0 }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// anyZero has the lowest zero byte of x marked with its high bit, and maybe others above it; it is 0 if there is none.
func anyZero(x uint64) uint64 { return (x - ones) &^ x & highs }

func (c *chunk) words() (low, high uint64) {
	return *(*uint64)(unsafe.Pointer(&c.tags[0])), *(*uint64)(unsafe.Pointer(&c.tags[8]))
}

// empty is the first empty slot, or -1.
func (c *chunk) empty() int {
	low, high := c.words()
	if m := anyZero(low); m != 0 {
		return bits.TrailingZeros64(m) >> 3
	}
	if m := anyZero(high) & (highs >> 32); m != 0 {
		return 8 + bits.TrailingZeros64(m)>>3
	}
	return -1
}

// match has bit i set for every slot i with the tag. Unlike anyZero it is exact.
func (c *chunk) match(tag uint64) uint32 {
	low, high := c.words()
	low, high = zeroBytes(low^tag*ones), zeroBytes(high^tag*ones)
	// The multiplication gathers the eight high bits in the top byte.
	const gather = 0x0002040810204081
	return uint32(low*gather>>56) | uint32(high*gather>>56&0xF)<<8
}

// zeroBytes has the high bit of every byte set that is zero, and no others.
func zeroBytes(x uint64) uint64 { return ^((x&^highs + (ones * 0x7F)) | x | ones*0x7F) }

// step is the distance between the chunks an entry may be in: odd, so all 64 are visited.
func step(tag uint64) uint64 { return 2*tag + 1 }

// segmentMeta is what is known of a segment besides its chunks and the number of its entries.
type segmentMeta struct {
	next  uint32 // number of the segment that takes more entries of the same directory slots, or 0
	depth uint8  // directory bits that its entries share
	_     [3]uint8
}

// metaBlock is what is known of 64 segments. Counts, which every insertion needs, are apart from the rest, so that those of
// a large table stay in the cache.
type metaBlock struct {
	counts [64]uint16
	metas  [64]segmentMeta
}

const metaBlockSize = int64(unsafe.Sizeof(metaBlock{}))

// metaBytes is the size of what is known of n segments.
func metaBytes(n uint32) int64 { return (int64(n) + 63) / 64 * metaBlockSize }

// segments is the index of a table: an extendible hash directory of segments, each a small swiss table of 64 chunks.
// A full segment is split in two, which costs the same however large the table is.
type segments struct {
	base    unsafe.Pointer // of the segments
	dir     unsafe.Pointer
	dirMask uint64
	metas   unsafe.Pointer
	used    uint32
	limit   uint16 // number of entries at which a segment splits
	splits  int

	segs, dirs, meters *region
	table              *Table // tells the hashes of entries
}

func newSegments(b *Budget, purpose string) segments {
	s := segments{segs: newRegion(b, purpose, maxRegion), dirs: newRegion(b, purpose, maxRegion/64), meters: newRegion(b, purpose, maxRegion/64)}
	s.segs.slow = true
	s.base, s.dir, s.metas = s.segs.base, s.dirs.base, s.meters.base
	s.used, s.limit = 1, earlyLimit
	for _, g := range []struct {
		r *region
		n int64
	}{{s.segs, segmentSize}, {s.dirs, 4}, {s.meters, metaBytes(1)}} {
		if err := g.r.grow(g.n); err != nil {
			s.close()
			panic(err)
		}
	}
	return s
}

func (s *segments) block(n uint32) *metaBlock {
	return (*metaBlock)(unsafe.Add(s.metas, uintptr(n/64)*uintptr(metaBlockSize)))
}

func (s *segments) meta(n uint32) *segmentMeta { return &s.block(n).metas[n%64] }

// count is the number of entries of segment n.
func (s *segments) count(n uint32) *uint16 { return &s.block(n).counts[n%64] }

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
func (s *segments) room(h uint64) uint32 {
	n := s.of(h)
	for *s.count(n) >= s.limit && s.meta(n).next == 0 {
		if !s.split(n, h) {
			break
		}
		n = s.of(h)
	}
	for *s.count(n) >= s.limit {
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
		if slot := c.empty(); slot >= 0 {
			c.tags[slot], c.refs[slot] = byte(tag), uint32(r)
			return
		}
		c.pass(tag)
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
					s.chunk(n, back).unpass()
				}
				*s.count(n)--
				return
			}
			if !c.past(tag) {
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
func (s *segments) split(n uint32, h uint64) bool {
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
	if s.used >= earlySegments {
		s.limit = segmentLimit
	}
	s.splits++
	s.meta(n).depth, s.meta(fresh).depth = depth+1, depth+1
	s.divide(n, fresh, depth)

	// All directory slots of n agree in their low depth bits; those with the next bit set go to the new segment.
	bit := uint64(1) << depth
	for i := h>>simd.DirShift&(bit-1) | bit; i <= s.dirMask; i += 2 * bit {
		*s.slot(i) = fresh
	}
	return true
}

// workspace is what a split needs room for.
type workspace struct {
	refs   [segmentSlots]uint32
	hashes [segmentSlots]uint64
	keys   gathered
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// divide shares the entries of segment n with an empty one by hash bit depth of the directory's bits.
func (s *segments) divide(n, fresh uint32, depth uint8) {
	work := workspaces.Get().(*workspace)
	defer workspaces.Put(work)
	refs, hashes := &work.refs, &work.hashes
	count := 0
	for at := range uint64(chunksPerSegment) {
		c := s.chunk(n, at)
		for slot, tag := range c.tags {
			if tag != 0 {
				refs[count] = c.refs[slot]
				count++
			}
		}
	}
	s.table.hashes(refs[:count], hashes[:count], &work.keys)
	clear(s.segs.bytes(int64(n)*segmentSize, int64(n+1)*segmentSize))

	// Home chunks fill from their first slot on. The number of entries of each is kept apart: reading it off the tags that
	// were just written would stall on every entry. Entries that find their home full are placed afterwards.
	var filled [2 * chunksPerSegment]uint8
	moved, over := 0, 0
	for i, h := range hashes[:count] {
		side := h >> (simd.DirShift + depth) & 1
		moved += int(side)
		home := h >> simd.ChunkShift % chunksPerSegment
		slot := filled[side*chunksPerSegment+home]
		if slot == simd.ChunkSlots {
			hashes[over], refs[over] = h, refs[i]
			over++
			continue
		}
		filled[side*chunksPerSegment+home] = slot + 1
		to := n
		if side != 0 {
			to = fresh
		}
		c := s.chunk(to, home)
		c.tags[slot], c.refs[slot] = byte(h>>simd.TagShift), refs[i]
	}
	for i, h := range hashes[:over] {
		to := n
		if h>>(simd.DirShift+depth)&1 != 0 {
			to = fresh
		}
		s.place(to, h, Ref(refs[i]))
	}
	*s.count(n), *s.count(fresh) = uint16(count-moved), uint16(moved)
}

// add makes one more segment usable; the caller counts it.
func (s *segments) add() (uint32, error) {
	if err := s.segs.grow(int64(s.used+1) * segmentSize); err != nil {
		return 0, err
	}
	if err := s.meters.grow(metaBytes(s.used + 1)); err != nil {
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
		c := s.chunk(n, at)
		c.overflow, c.passed = stuck, ^uint16(0)
	}
	return next
}

// reserve makes room for the segments that rows more entries can need, but for no more than they can fill. At the worst moment,
// when all segments fill up together, one row in sixty finds its segment full; for one in thirty-two there is room. Hashes without entropy, which split
// in vain, are chained after a few attempts.
func (s *segments) reserve(rows int) error {
	most := s.used + uint32(min(rows, rows/32+8, int(s.used)+rows/(earlyLimit/2)+1))
	most = min(most, max(s.used, s.most(s.table.len+rows)))
	if err := s.segs.grow(int64(most) * segmentSize); err != nil {
		return err
	}
	if err := s.meters.grow(metaBytes(most)); err != nil {
		return err
	}
	return s.dirs.grow(int64(64+8*uint64(most)) * 4)
}

// most is the number of segments that so many entries with honest hashes take: segments split when the fullest of them is
// full, and it has at most a quarter more entries than the average one.
func (s *segments) most(entries int) uint32 {
	n := uint32(1)
	for int(n)*int(s.limit) < entries+entries/4 {
		n *= 2
	}
	return n
}

func (s *segments) bytes() int64 { return s.segs.taken + s.dirs.taken + s.meters.taken }

func (s *segments) close() {
	s.segs.close()
	s.dirs.close()
	s.meters.close()
}
