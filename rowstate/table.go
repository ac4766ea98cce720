package rowstate

import (
	crand "crypto/rand"
	"math/bits"
	"unsafe"

	"drey/rowstate/invariants"
	"drey/simd"
)

// TableOptions says what a table holds.
type TableOptions struct {
	// KeyWidth is the length of every key, or 0 if lengths vary.
	KeyWidth int
	// ValueSize is the length of every value; values start at multiples of 8 bytes.
	ValueSize int
	// Purpose names the table to the budget; its index counts as "<Purpose> index".
	Purpose string

	kernels *simd.Kernels           // tests choose
	hash    func(key []byte) uint64 // tests degrade
}

// Table maps keys, as bytes, to values of a fixed size, mutable in place. Lookups and insertions come in batches with the
// hashes of their keys. It lives outside the Go heap; see the package documentation for its layout.
type Table struct {
	probe    simd.ProbeTable
	entries  unsafe.Pointer // base of the entries' arena
	values   unsafe.Pointer // base of the values, if the width is fixed and need not be checked
	width    uintptr        // of keys; 0 if it varies
	valueAt  uintptr        // offset of the value in an entry, if the width is fixed
	stride   int64          // size of an entry's block, if the width is fixed
	class    int            // its class in the arena
	valSize  int            // of values, rounded up to multiples of 8
	valLen   int            // of values
	len      int
	arena    *Arena
	segments segments
	kernels  *simd.Kernels
	hash     func(key []byte) uint64
	closed   bool
	checks   int // invariants builds: operations so far

	slow [subBatch]uint32 // rows of a sub-batch that its sweeps did not decide
}

const (
	// subBatch is the number of rows that go through the probe's two sweeps together: enough to hide the misses, few
	// enough that what was fetched is still in the first-level cache when it is compared.
	subBatch = 256
	// cacheSize is the size up to which a table is taken to be in the second-level cache.
	cacheSize = 512 << 10
	// header is what comes before the key in an entry: bits 16..63 of its hash, and its length, or longKey if 8 bytes
	// with the length follow.
	header   = 8
	longKey  = 0xFFFF
	hashMask = ^uint64(0xFFFF)
	noTag    = 1 << simd.TagShift // what a tag of 0 becomes
)

// process is the choice of kernels and the seed of all tables of this process.
var process = func() (p struct {
	kernels simd.Kernels
	seed    simd.Seed
}) {
	p.kernels = simd.Best()
	if _, err := crand.Read(p.seed[:]); err != nil {
		panic(err) // never returned by crypto/rand
	}
	return p
}()

// NewTable returns an empty table.
func NewTable(b *Budget, opts TableOptions) *Table {
	t := &Table{
		width: uintptr(opts.KeyWidth), valLen: opts.ValueSize, valSize: int(pad8(uintptr(opts.ValueSize))), hash: opts.hash, kernels: opts.kernels,
		arena: NewArena(b, opts.Purpose), segments: newSegments(b, opts.Purpose+" index"),
	}
	if t.kernels == nil {
		t.kernels = &process.kernels
	}
	if t.width > 0 {
		keyAt := t.keyAt(t.width)
		t.valueAt = keyAt + pad8(t.width)
		t.class, t.stride = classOf(int(t.valueAt) + t.valSize)
	}
	t.entries = t.arena.base
	if t.width > 0 && !invariants.Enabled {
		t.values = unsafe.Add(t.entries, t.valueAt)
	}
	t.sync()
	return t
}

// sync tells the probe where things are now.
func (t *Table) sync() {
	t.probe = simd.ProbeTable{
		Segments: t.segments.base, Dir: t.segments.dir, DirMask: t.segments.dirMask, Entries: t.entries,
		Span: uint64(max(t.stride-8, 32)),
	}
}

func pad8(n uintptr) uintptr { return (n + 7) &^ 7 }

func load(p unsafe.Pointer, at uintptr) uint64 { return *(*uint64)(unsafe.Add(p, at)) }

func (t *Table) entry(r Ref) unsafe.Pointer { return unsafe.Add(t.entries, uintptr(r)*refUnit) }

// keyAt is the offset of a key of n bytes in its entry.
func (t *Table) keyAt(n uintptr) uintptr {
	if n < longKey {
		return header
	}
	return header + 8
}

// keyOf gives the offset and the length of the key in an entry.
func (t *Table) keyOf(e unsafe.Pointer) (at, n uintptr) {
	if n = uintptr(load(e, 0) &^ hashMask); n == longKey {
		return header + 8, uintptr(load(e, header))
	}
	return header, n
}

func headerOf(h uint64, n uintptr) uint64 { return h&hashMask | uint64(min(n, longKey)) }

// normal gives hashes the tag 1 in place of 0.
func normal(h uint64) uint64 {
	if h>>simd.TagShift == 0 {
		return h | noTag
	}
	return h
}

// Len is the number of entries.
func (t *Table) Len() int { return t.len }

// Key is the entry's key, not to be written.
func (t *Table) Key(r Ref) []byte {
	e := t.live(r)
	at, n := t.keyOf(e)
	return unsafe.Slice((*byte)(unsafe.Add(e, at)), n)
}

// Value is the entry's value, to be read and written until the entry is deleted. It starts at a multiple of 8 bytes.
func (t *Table) Value(r Ref) []byte {
	if t.values == nil {
		return t.value(r)
	}
	return unsafe.Slice((*byte)(unsafe.Add(t.values, uintptr(r)*refUnit)), t.valLen)
}

// value is Value where the width of keys varies; it is apart so that Value is inlined.
func (t *Table) value(r Ref) []byte {
	e := t.live(r)
	k, n := t.keyOf(e)
	return unsafe.Slice((*byte)(unsafe.Add(e, k+pad8(n))), t.valLen)
}

// live is the entry at r, which invariants builds check to be one.
func (t *Table) live(r Ref) unsafe.Pointer {
	e := t.entry(r)
	if invariants.Enabled {
		if _, ok := t.arena.blocks[r]; !ok {
			invariants.Failf("%s: ref %d is used, but no entry is live there", t.arena.reg.purpose, r)
		}
	}
	return e
}

// Hash writes the hash of every key to dst, which is at least as long as the batch.
func (t *Table) Hash(keys *Rows, dst []uint64) {
	n := keys.Len()
	if n == 0 {
		return
	}
	keys.pad()
	dst = dst[:n]
	p := unsafe.Pointer(unsafe.SliceData(keys.Data))
	switch {
	case t.hash != nil:
		for i := range dst {
			dst[i] = t.hash(keys.Row(i))
		}
	case keys.Width > 0:
		t.kernels.HashFixed(&process.seed, dst, p, keys.Width)
	default:
		t.kernels.HashOffsets(&process.seed, dst, p, keys.Offsets)
	}
}

// Find looks up every key; refs[i] is 0 if key i is absent. hashes are what Hash gave for the batch.
func (t *Table) Find(keys *Rows, hashes []uint64, refs []Ref) {
	n := keys.Len()
	if n == 0 {
		return
	}
	keys.pad()
	t.checkWidth(keys)
	for from := 0; from < n; from += subBatch {
		to := min(n, from+subBatch)
		t.find(keys, from, hashes[from:to:to], refs[from:to:to])
	}
}

// FindOrInsert looks up every key and inserts those that are absent, in row order: a key that is new in row 3 is found by
// row 5. fresh[i] tells whether row i inserted its key; the value of a fresh entry is zero. It panics with a *BudgetError
// if the budget does not allow to grow, which it cannot after a successful Reserve.
func (t *Table) FindOrInsert(keys *Rows, hashes []uint64, refs []Ref, fresh []bool) {
	n := keys.Len()
	if n == 0 {
		return
	}
	keys.pad()
	t.checkWidth(keys)
	for from := 0; from < n; from += subBatch {
		to := min(n, from+subBatch)
		t.find(keys, from, hashes[from:to:to], refs[from:to:to])
		for i := from; i < to; i++ {
			fresh[i] = refs[i] == 0
			if fresh[i] {
				refs[i], fresh[i] = t.insert(hashes[i], keys.Row(i))
			}
		}
	}
	if invariants.Enabled {
		t.checkInvariants()
	}
}

func (t *Table) checkWidth(keys *Rows) {
	if t.width > 0 && uintptr(keys.Width) != t.width {
		panic("rowstate: width of the keys differs from the table's")
	}
}

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

// matches tells whether the entry has the (normal) hash and the key of w bytes at k, behind which padding is readable.
func (t *Table) matches(e unsafe.Pointer, h uint64, k unsafe.Pointer, w uintptr) bool {
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
	var at uintptr
	for ; at+8 <= w; at += 8 {
		if load(e, at) != load(k, at) {
			return false
		}
	}
	// An entry's key is padded with zeros.
	return at == w || load(e, at) == load(k, at)&(1<<(8*(w-at))-1)
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

// insert adds a key that the probe did not find; it may have been inserted since, by a row before.
func (t *Table) insert(h uint64, key []byte) (r Ref, fresh bool) {
	h = normal(h)
	k, w := unsafe.Pointer(unsafe.SliceData(key)), uintptr(len(key))
	s := t.segments.of(h)
	c := t.segments.chunk(s, h>>simd.ChunkShift)
	tag := h >> simd.TagShift
	if count := t.segments.count(s); c.overflow == 0 && *count < segmentLimit && !c.has(tag) {
		if slot := c.empty(); slot >= 0 {
			r = t.newEntry(h, k, w)
			c.tags[slot], c.refs[slot] = byte(tag), uint32(r)
			*count++
			t.len++
			return r, true
		}
	}
	if r = t.findSlow(h, k, w); r != 0 {
		return r, false
	}
	s = t.segments.room(h, t.entries)
	t.sync()
	r = t.newEntry(h, k, w)
	t.segments.place(s, h, r)
	*t.segments.count(s)++
	t.len++
	return r, true
}

// newEntry writes an entry with a zero value.
func (t *Table) newEntry(h uint64, k unsafe.Pointer, w uintptr) Ref {
	keyAt, class, size := t.keyAt(w), t.class, t.stride
	if t.width == 0 {
		class, size = classOf(int(keyAt+pad8(w)) + t.valSize)
	}
	r := t.arena.alloc(class, size)
	if invariants.Enabled {
		t.arena.blocks[r] = int(keyAt+pad8(w)) + t.valSize
	}
	e := t.entry(r)
	*(*uint64)(e) = headerOf(h, w)
	if w >= longKey {
		*(*uint64)(unsafe.Add(e, header)) = uint64(w)
	}
	e = unsafe.Add(e, keyAt)
	var at uintptr
	for ; at+8 <= w; at += 8 {
		*(*uint64)(unsafe.Add(e, at)) = load(k, at)
	}
	if at < w {
		*(*uint64)(unsafe.Add(e, at)) = load(k, at) & (1<<(8*(w-at)) - 1)
		at += 8
	}
	for end := at + uintptr(t.valSize); at < end; at += 8 {
		*(*uint64)(unsafe.Add(e, at)) = 0
	}
	return r
}

// sizeOf is the size of the entry, as it was asked for.
func (t *Table) sizeOf(e unsafe.Pointer) int {
	at, n := t.keyOf(e)
	return int(at+pad8(n)) + t.valSize
}

// Delete removes an entry; its ref, key and value must not be used any more.
func (t *Table) Delete(r Ref) {
	e := t.live(r)
	t.segments.remove(load(e, 0), r)
	t.arena.Free(r, t.sizeOf(e))
	t.len--
	if invariants.Enabled {
		t.checkInvariants()
	}
}

// Reserve makes room for rows more entries whose keys have keyBytes bytes in all, so that inserting them cannot fail. On an
// error nothing has changed.
func (t *Table) Reserve(rows int, keyBytes int64) error {
	need := int64(rows) * t.stride
	if t.width == 0 {
		// header, length of a long key, padding of the key, value; then what size classes add
		need = int64(rows)*(header+7+int64(t.valSize)) + keyBytes + keyBytes/longKey*8
		need += need/8 + int64(rows)*refUnit
	}
	if err := t.arena.reserve(t.arena.next + need); err != nil {
		return err
	}
	defer t.sync()
	return t.segments.reserve(rows)
}

// All visits the entries in the order of their memory: that of insertion, but for entries that took the place of deleted
// ones. The order depends on nothing but the sequence of operations. An entry may be deleted when it is visited; entries
// inserted meanwhile may or may not be visited.
func (t *Table) All() func(yield func(Ref) bool) {
	return func(yield func(Ref) bool) {
		for at := int64(firstRef * refUnit); at < t.arena.next; {
			e := unsafe.Add(t.entries, at)
			word := load(e, 0)
			if word>>simd.TagShift == 0 { // a free block
				at += classSize(int(word >> 32))
				continue
			}
			size := BlockSize(t.sizeOf(e))
			if !yield(Ref(at / refUnit)) {
				return
			}
			at += size
		}
	}
}

// TableStats tells what a table's memory is used for.
type TableStats struct {
	Entries  ArenaStats
	Index    int64 // bytes of the index
	Segments int
	Splits   int
}

// Stats tells what the table's memory is used for.
func (t *Table) Stats() TableStats {
	return TableStats{Entries: t.arena.Stats(), Index: t.segments.bytes(), Segments: int(t.segments.used), Splits: t.segments.splits}
}

// Close gives all memory back. It is idempotent.
func (t *Table) Close() {
	if t.closed {
		return
	}
	t.closed, t.len = true, 0
	t.arena.Close()
	t.segments.close()
	t.entries, t.values, t.probe = nil, nil, simd.ProbeTable{}
}
