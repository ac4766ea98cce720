package rowstate

import (
	crand "crypto/rand"
	"iter"
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
	liveBits *region // a bit per entry, if the width is fixed
	perSlot  uint64  // 2^63 / stride in units of refs, rounded up
	kernels  *simd.Kernels
	hash     func(key []byte) uint64
	closed   bool
	checks   int   // invariants builds: operations so far
	swept    int64 // where the next Sweep begins

	slow  [subBatch]uint32 // rows of a sub-batch that its sweeps did not decide
	lates lateEntries
}

const (
	// subBatch is the number of rows that go through the probe's two sweeps together: enough to hide the misses, few
	// enough that what was fetched is still in the first-level cache when it is compared.
	subBatch = 256
	// cacheSize is the size up to which a table is taken to be in the second-level cache.
	cacheSize = 512 << 10
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
	t.arena.reg.rows = false // entries are looked up in any order, a line at a time
	if t.kernels == nil {
		t.kernels = &process.kernels
	}
	if t.width > 0 {
		t.valueAt = pad8(t.width)
		t.class, t.stride = classOf(int(t.valueAt) + t.valSize)
		t.perSlot = (1<<63-1)/uint64(t.stride/refUnit) + 1
		t.liveBits = newRegion(b, opts.Purpose+" index", maxRegion/64)
	}
	t.segments.table = t
	t.entries = t.arena.base
	t.setValues()
	t.sync()
	return t
}

// sync tells the probe where things are now.
func (t *Table) sync() {
	t.probe = simd.ProbeTable{
		Segments: t.segments.base, Dir: t.segments.dir, DirMask: t.segments.dirMask, Entries: t.entries,
		Span: uint64(max(t.stride-8, 32)), // a guess, if the width varies
	}
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

// setValues lets Value go the short way, if it may.
func (t *Table) setValues() {
	if t.width > 0 && !invariants.Enabled {
		t.values = unsafe.Add(t.entries, t.valueAt)
	}
}

// value is Value where the width of keys varies, or a view must be told; it is apart so that Value is inlined.
func (t *Table) value(r Ref) []byte {
	e := t.live(r)
	k, n := t.keyOf(e)
	at := k + pad8(n)
	if t.arena.view != nil {
		t.arena.view.touch(int64(r)*refUnit+int64(at), int64(t.valSize))
	}
	return unsafe.Slice((*byte)(unsafe.Add(e, at)), t.valLen)
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
		t.insertAbsent(keys, from, hashes[from:to:to], refs[from:to:to], fresh[from:to:to])
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

// Delete removes an entry; its ref, key and value must not be used any more.
func (t *Table) Delete(r Ref) {
	e := t.live(r)
	t.segments.remove(t.hashOf(r), r)
	if t.width > 0 {
		t.unmark(r)
	}
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
	if err := t.reserve(need); err != nil {
		return err
	}
	defer t.sync()
	return t.segments.reserve(rows)
}

// All visits the entries in the order of their memory: that of insertion, but for entries that took the place of deleted
// ones. The order depends on nothing but the sequence of operations. An entry may be deleted when it is visited; entries
// inserted meanwhile may or may not be visited.
func (t *Table) All() iter.Seq[Ref] {
	return func(yield func(Ref) bool) { t.from(0, yield) }
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
	return TableStats{Entries: t.arena.Stats(), Index: t.segments.bytes() + t.markBytes(), Segments: int(t.segments.used), Splits: t.segments.splits}
}

func (t *Table) markBytes() int64 {
	if t.liveBits == nil {
		return 0
	}
	return t.liveBits.taken
}

// Close gives all memory back. It is idempotent.
func (t *Table) Close() {
	if t.closed {
		return
	}
	t.closed, t.len = true, 0
	t.arena.Close()
	t.segments.close()
	if t.liveBits != nil {
		t.liveBits.close()
	}
	t.entries, t.values, t.probe = nil, nil, simd.ProbeTable{}
}
