package rowstate

import (
	"math/bits"
	"unsafe"

	"drey/rowstate/invariants"
	"drey/simd"
)

// This file knows the layout of entries, which the package documentation shows: a table of keys of one width has the key
// and the value and nothing else in an entry, one of keys of several lengths has a header before them.

const (
	header   = 8
	longKey  = 0xFFFF // as the length in a header: 8 bytes with the length follow
	hashMask = ^uint64(0xFFFF)
	noTag    = 1 << simd.TagShift // what a tag of 0 becomes
)

func pad8(n uintptr) uintptr { return (n + 7) &^ 7 }

func load(p unsafe.Pointer, at uintptr) uint64 { return *(*uint64)(unsafe.Add(p, at)) }

func store(p unsafe.Pointer, at uintptr, v uint64) { *(*uint64)(unsafe.Add(p, at)) = v }

// normal gives hashes the tag 1 in place of 0.
func normal(h uint64) uint64 {
	if h>>simd.TagShift == 0 {
		return h | noTag
	}
	return h
}

func headerOf(h uint64, n uintptr) uint64 { return h&hashMask | uint64(min(n, longKey)) }

func (t *Table) entry(r Ref) unsafe.Pointer { return unsafe.Add(t.entries, uintptr(r)*refUnit) }

// keyAt is the offset of a key of n bytes in its entry.
func (t *Table) keyAt(n uintptr) uintptr {
	switch {
	case t.width > 0:
		return 0
	case n < longKey:
		return header
	}
	return header + 8
}

// keyOf gives the offset and the length of the key in an entry.
func (t *Table) keyOf(e unsafe.Pointer) (at, n uintptr) {
	if t.width > 0 {
		return 0, t.width
	}
	if n = uintptr(load(e, 0) &^ hashMask); n == longKey {
		return header + 8, uintptr(load(e, header))
	}
	return header, n
}

// sizeOf is the size of the entry, as it was asked for.
func (t *Table) sizeOf(e unsafe.Pointer) int {
	at, n := t.keyOf(e)
	return int(at+pad8(n)) + t.valSize
}

// hashOf is the normal hash of an entry, with its lowest 16 bits missing where it comes from the header.
func (t *Table) hashOf(r Ref) uint64 {
	if t.width == 0 {
		return load(t.entry(r), 0)
	}
	work := workspaces.Get().(*workspace)
	defer workspaces.Put(work)
	work.refs[0] = uint32(r)
	t.hashes(work.refs[:1], work.hashes[:1], &work.keys)
	return work.hashes[0]
}

// hashes gives the normal hashes of entries: from their headers, or by hashing their keys again. The loads of different
// entries do not depend on each other, so their misses overlap.
func (t *Table) hashes(refs []uint32, hashes []uint64, keys *gathered) {
	hashes = hashes[:len(refs)]
	w := int(t.width)
	switch {
	case w == 0:
		for i, r := range refs {
			hashes[i] = load(t.entry(Ref(r)), 0)
		}
		return
	case t.hash != nil:
		for i, r := range refs {
			hashes[i] = normal(t.hash(unsafe.Slice((*byte)(t.entry(Ref(r))), w)))
		}
		return
	case w > simd.MaxFindWidth:
		for i, r := range refs {
			t.kernels.HashFixed(&process.seed, hashes[i:i+1], t.entry(Ref(r)), w)
		}
	default:
		t.gather(refs, hashes, keys)
	}
	for i, h := range hashes {
		hashes[i] = normal(h)
	}
}

// gathered has room for the keys of some entries and a kernel's padding.
type gathered [(gatherRows + 1) * simd.MaxFindWidth]byte

const (
	// gatherRows is how many entries are fetched for at a time: about as many misses as a core has under way. It drops what is
	// asked for beyond that; with 64, reading the keys took three times as long.
	gatherRows = 16
	cacheLine  = 64
)

// fetchKeys fetches the first and, if it may be another, the last cache line of the keys of entries.
func (t *Table) fetchKeys(refs []uint32) {
	simd.Prefetch(t.entries, refs)
	if cacheLine%t.stride != 0 {
		simd.Prefetch(unsafe.Add(t.entries, t.width-1), refs)
	}
}

// gather copies the keys of entries behind each other and hashes them together.
func (t *Table) gather(refs []uint32, hashes []uint64, keys *gathered) {
	p := unsafe.Pointer(keys)
	t.fetchKeys(refs[:min(gatherRows, len(refs))])
	for len(refs) > 0 {
		n := min(gatherRows, len(refs))
		t.fetchKeys(refs[n:min(n+gatherRows, len(refs))])
		for i, r := range refs[:n] {
			e, to := t.entry(Ref(r)), unsafe.Add(p, uintptr(i)*t.width)
			for at := uintptr(0); at < t.width; at += 8 {
				store(to, at, load(e, at)) // what it writes past the key is overwritten by the next
			}
		}
		t.kernels.HashFixed(&process.seed, hashes[:n], p, int(t.width))
		refs, hashes = refs[n:], hashes[n:]
	}
}

// matches tells whether the entry has the key of w bytes at k, behind which padding is readable, and, if it has a header,
// the normal hash.
func (t *Table) matches(e unsafe.Pointer, h uint64, k unsafe.Pointer, w uintptr) bool {
	if t.width == 0 {
		if load(e, 0) != headerOf(h, w) {
			return false
		}
		e = unsafe.Add(e, header)
		if w >= longKey {
			if load(e, 0) != uint64(w) {
				return false
			}
			e = unsafe.Add(e, 8)
		}
	}
	var at uintptr
	for ; at+8 <= w; at += 8 {
		if load(e, at) != load(k, at) {
			return false
		}
	}
	// An entry's key is padded with zeros.
	return at == w || load(e, at) == load(k, at)&(1<<(8*(w-at))-1)
}

// newEntry writes an entry with a zero value.
func (t *Table) newEntry(h uint64, k unsafe.Pointer, w uintptr) Ref {
	keyAt, class, size := uintptr(0), t.class, t.stride
	if t.width == 0 {
		keyAt = t.keyAt(w)
		class, size = classOf(int(keyAt+pad8(w)) + t.valSize)
	}
	if t.arena.next+size > t.arena.end {
		if err := t.reserve(size); err != nil {
			t.placeLate()
			panic(err)
		}
	}
	r := t.arena.alloc(class, size)
	if invariants.Enabled {
		t.arena.blocks[r] = int(keyAt+pad8(w)) + t.valSize
	}
	e := t.arena.block(r, size)
	if t.width > 0 {
		t.mark(r)
	} else {
		store(e, 0, headerOf(h, w))
		if w >= longKey {
			store(e, header, uint64(w))
		}
		e = unsafe.Add(e, keyAt)
	}
	var at uintptr
	for ; at+8 <= w; at += 8 {
		store(e, at, load(k, at))
	}
	if at < w {
		store(e, at, load(k, at)&(1<<(8*(w-at))-1))
		at += 8
	}
	for end := at + uintptr(t.valSize); at < end; at += 8 {
		store(e, at, 0)
	}
	return r
}

// Entries without a header have one bit each that tells whether they are live.

// slotOf is the number of an entry, counted by its place in the arena. It divides by the stride with a multiplication.
func (t *Table) slotOf(r Ref) uint64 {
	slot, _ := bits.Mul64(uint64(r-firstRef)<<1, t.perSlot)
	return slot
}

func (t *Table) mark(r Ref) {
	slot := t.slotOf(r)
	*(*uint64)(unsafe.Add(t.liveBits.base, slot>>6<<3)) |= 1 << (slot & 63)
}

func (t *Table) unmark(r Ref) {
	slot := t.slotOf(r)
	*(*uint64)(unsafe.Add(t.liveBits.base, slot>>6<<3)) &^= 1 << (slot & 63)
}

// isLive tells whether there is an entry at r, which must have been one since the last insertion.
func (t *Table) isLive(r Ref) bool {
	if t.width == 0 {
		return load(t.entry(r), 0)>>simd.TagShift != 0
	}
	slot := t.slotOf(r)
	return load(t.liveBits.base, uintptr(slot>>6<<3))>>(slot&63)&1 != 0
}

// reserve makes room for n more bytes of entries, and for what is known of them.
func (t *Table) reserve(n int64) error {
	end := t.arena.end
	if err := t.arena.reserve(t.arena.next + n); err != nil {
		return err
	}
	if t.width == 0 {
		return nil
	}
	slots := t.arena.end/t.stride + 1
	err := t.liveBits.grow(slots/64*8 + 8)
	if err != nil {
		t.arena.end = end // entries beyond have no bits
	}
	return err
}
