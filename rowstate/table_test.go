package rowstate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"drey/simd"
)

// hashes that the table must survive, besides its own
var degenerate = map[string]func([]byte) uint64{
	"own":  nil,
	"zero": func([]byte) uint64 { return 0 },
	"ones": func([]byte) uint64 { return ^uint64(0) },
	"same chunk": func(k []byte) uint64 {
		return fnv(k) &^ (63 << simd.ChunkShift)
	},
	"same tag":    func(k []byte) uint64 { return fnv(k) &^ (0xFF << simd.TagShift) },
	"low entropy": func(k []byte) uint64 { return fnv(k) & 0x0300_0000_0707_0000 },
}

func fnv(k []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range k {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h ^ h>>29*0x9E3779B97F4A7C15
}

// model runs batches of operations on a table and on a builtin map, and compares.
type model struct {
	t      *testing.T
	table  *Table
	want   map[string]uint64
	keys   Rows
	hashes []uint64
	refs   []Ref
	fresh  []bool
	name   string
}

func newModel(t *testing.T, name string, opts TableOptions) *model {
	opts.ValueSize, opts.Purpose = 8, "test"
	m := &model{t: t, table: NewTable(NewBudget(0), opts), want: map[string]uint64{}, name: name}
	t.Cleanup(m.table.Close)
	return m
}

func (m *model) batch(keys [][]byte) {
	m.keys.Reset(int(m.table.width))
	for _, k := range keys {
		m.keys.Append(k)
	}
	n := len(keys)
	m.hashes, m.refs, m.fresh = make([]uint64, n), make([]Ref, n), make([]bool, n)
	m.table.Hash(&m.keys, m.hashes)
}

func (m *model) find(keys [][]byte) {
	m.t.Helper()
	m.batch(keys)
	m.table.Find(&m.keys, m.hashes, m.refs)
	for i, r := range m.refs {
		want, ok := m.want[string(keys[i])]
		if ok != (r != 0) {
			m.t.Fatalf("%s: key %x: ref %d, present %t", m.name, keys[i], r, ok)
		}
		if ok && (binary.LittleEndian.Uint64(m.table.Value(r)) != want || !bytes.Equal(m.table.Key(r), keys[i])) {
			m.t.Fatalf("%s: key %x: entry %x = %x, want %x", m.name, keys[i], m.table.Key(r), m.table.Value(r), want)
		}
	}
}

func (m *model) add(keys [][]byte) {
	m.t.Helper()
	m.batch(keys)
	m.table.FindOrInsert(&m.keys, m.hashes, m.refs, m.fresh)
	for i, r := range m.refs {
		want, ok := m.want[string(keys[i])]
		v := m.table.Value(r)
		if ok == m.fresh[i] || binary.LittleEndian.Uint64(v) != want {
			m.t.Fatalf("%s: row %d key %x: entry %x fresh %t value %x, want present %t value %x", m.name, i, keys[i], m.table.Key(r), m.fresh[i], v, ok, want)
		}
		binary.LittleEndian.PutUint64(v, want+uint64(i)+1)
		m.want[string(keys[i])] = want + uint64(i) + 1
	}
	m.size()
}

func (m *model) remove(keys [][]byte) {
	m.t.Helper()
	for _, k := range keys {
		m.batch([][]byte{k})
		m.table.Find(&m.keys, m.hashes, m.refs)
		if _, ok := m.want[string(k)]; ok {
			m.table.Delete(m.refs[0])
			delete(m.want, string(k))
		}
		m.find([][]byte{k})
	}
	m.size()
}

func (m *model) size() {
	m.t.Helper()
	if m.table.Len() != len(m.want) {
		m.t.Fatalf("%s: %d entries, want %d", m.name, m.table.Len(), len(m.want))
	}
}

// all checks that iteration visits every entry once.
func (m *model) all() {
	m.t.Helper()
	seen := map[string]bool{}
	for r := range m.table.All() {
		k := string(m.table.Key(r))
		want, ok := m.want[k]
		if !ok || seen[k] || binary.LittleEndian.Uint64(m.table.Value(r)) != want {
			m.t.Fatalf("%s: visited %x (present %t, before %t)", m.name, k, ok, seen[k])
		}
		seen[k] = true
	}
	if len(seen) != len(m.want) {
		m.t.Fatalf("%s: visited %d of %d", m.name, len(seen), len(m.want))
	}
	m.table.verify()
}

// someKeys draws keys of a width, or of several lengths if it is 0, from a set of about the given size.
func someKeys(rng *rand.Rand, n, width, set int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		x := rng.Uint64N(uint64(set))
		w := width
		if w == 0 {
			w = int(x * 7 % 90)
		}
		k := make([]byte, w)
		for j := range k {
			k[j] = byte(x >> (8 * (uint(j) % 8)))
		}
		keys[i] = k
	}
	return keys
}

func TestTableAgainstMap(t *testing.T) {
	for _, kernels := range simd.All() {
		for name, hash := range degenerate {
			for _, width := range []int{0, 1, 3, 7, 8, 9, 15, 16, 18, 24, 25, 31, 32, 33, 40, 100} {
				set, rounds := 10000, 15
				if hash != nil {
					set, rounds = 1500, 6
				}
				if invariantsOn || testing.Short() {
					set, rounds = set/5, 3
				}
				rng := rand.New(rand.NewPCG(uint64(width), 7))
				m := newModel(t, fmt.Sprintf("%s hash %s width %d", kernels.Name, name, width), TableOptions{KeyWidth: width, kernels: &kernels, hash: hash})
				for range rounds {
					n := rng.IntN(1000)
					m.find(someKeys(rng, n, width, set))
					m.add(someKeys(rng, n, width, set))
					m.remove(someKeys(rng, rng.IntN(200), width, set))
				}
				m.all()
			}
		}
	}
}

func TestTableGrowsAndShrinks(t *testing.T) {
	m := newModel(t, "grow", TableOptions{KeyWidth: 18})
	rng := rand.New(rand.NewPCG(1, 1))
	rounds := 200
	if invariantsOn {
		rounds = 10
	}
	for range rounds {
		m.add(someKeys(rng, 1000, 18, 1<<40))
	}
	m.all()
	var keys [][]byte
	for r := range m.table.All() {
		keys = append(keys, bytes.Clone(m.table.Key(r)))
	}
	m.remove(keys[:len(keys)/2])
	m.find(keys[:2000])
	m.all()
	before := m.table.Stats()
	if before.Splits == 0 {
		t.Fatal("all these entries did not split a segment")
	}
	// As many new keys as were deleted take no memory.
	m.add(someKeys(rng, len(keys)/2, 18, 1<<40))
	if after := m.table.Stats(); after.Entries.Unused != before.Entries.Unused {
		t.Fatalf("freed entries were not used again: %+v, then %+v", before.Entries, after.Entries)
	}
	m.all()
}

func TestTableLongAndEmptyKeys(t *testing.T) {
	m := newModel(t, "long", TableOptions{})
	var keys [][]byte
	for _, n := range []int{0, 1, 65533, 65534, 65535, 65536, 65537, 200000} {
		keys = append(keys, bytes.Repeat([]byte{byte(n)}, n))
	}
	m.add(keys)
	m.add(keys[3:])
	m.find(keys)
	m.all()
	m.remove(keys[2:6])
	m.all()
	m.add(keys)
	m.all()
}

// TestTableIterationIsDeterministic: the order of iteration is that of the operations, whatever the process's seed is.
// TestSlicesOfABatch looks a batch up slice by slice, with the hashes of the whole.
func TestSlicesOfABatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, width := range []int{0, 18} {
		m := newModel(t, fmt.Sprint("slices ", width), TableOptions{KeyWidth: width})
		m.add(someKeys(rng, 2000, width, 1500))
		keys := someKeys(rng, 1000, width, 3000)
		m.batch(keys)
		m.table.Find(&m.keys, m.hashes, m.refs)
		for from, to := 0, 0; from < len(keys); from = to {
			to = min(len(keys), from+rng.IntN(300))
			part, refs := m.keys.Slice(from, to), make([]Ref, to-from)
			if part.Len() != to-from {
				t.Fatalf("slice %d:%d of width %d has %d rows", from, to, width, part.Len())
			}
			m.table.Find(&part, m.hashes[from:to], refs)
			for i, r := range refs {
				if r != m.refs[from+i] || !bytes.Equal(part.Row(i), keys[from+i]) {
					t.Fatalf("width %d row %d: found at %d in a slice, at %d in the batch", width, from+i, r, m.refs[from+i])
				}
			}
		}
	}
}

func TestTableIterationIsDeterministic(t *testing.T) {
	run := func(hash func([]byte) uint64) []string {
		m := newModel(t, "order", TableOptions{hash: hash})
		rng := rand.New(rand.NewPCG(5, 5))
		for range 20 {
			m.add(someKeys(rng, 300, 0, 2000))
			m.remove(someKeys(rng, 100, 0, 2000))
		}
		var order []string
		for r := range m.table.All() {
			order = append(order, string(m.table.Key(r)))
		}
		return order
	}
	a, b := run(nil), run(fnv)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Fatal("two hashes give two orders")
	}
	m := newModel(t, "insertion order", TableOptions{KeyWidth: 8})
	var keys [][]byte
	for i := range 5000 {
		keys = append(keys, binary.BigEndian.AppendUint64(nil, uint64(i)))
	}
	m.add(keys)
	i := 0
	for r := range m.table.All() {
		if !bytes.Equal(m.table.Key(r), keys[i]) {
			t.Fatalf("visit %d is key %x", i, m.table.Key(r))
		}
		i++
	}
}

func TestDeleteWhileVisiting(t *testing.T) {
	m := newModel(t, "visit", TableOptions{KeyWidth: 18})
	rng := rand.New(rand.NewPCG(9, 9))
	m.add(someKeys(rng, 5000, 18, 1<<30))
	for r := range m.table.All() {
		if m.table.Key(r)[0]&1 == 0 {
			delete(m.want, string(m.table.Key(r)))
			m.table.Delete(r)
		}
	}
	m.size()
	m.all()
}

// TestTableReserve: after a successful Reserve an insertion cannot fail; a failed one changes nothing.
func TestTableReserve(t *testing.T) {
	for _, width := range []int{0, 18} {
		budget := NewBudget(1 << 20)
		table := NewTable(budget, TableOptions{KeyWidth: width, ValueSize: 8, Purpose: "rows"})
		rng := rand.New(rand.NewPCG(3, 3))
		var keys Rows
		hashes, refs, fresh := make([]uint64, 500), make([]Ref, 500), make([]bool, 500)
		for {
			keys.Reset(width)
			for _, k := range someKeys(rng, 500, width, 1<<40) {
				keys.Append(k)
			}
			used, entries := budget.Used(), table.Len()
			if err := table.Reserve(500, int64(len(keys.Data))); err != nil {
				var over *BudgetError
				if !errors.As(err, &over) || over.Limit != 1<<20 || over.Requested <= 0 {
					t.Fatalf("error %v", err)
				}
				if table.Len() != entries || budget.Used() < used || budget.Used() > 1<<20 {
					t.Fatalf("a failed Reserve changed the table: %d entries, %d bytes", table.Len(), budget.Used())
				}
				break
			}
			used = budget.Used()
			table.Hash(&keys, hashes)
			table.FindOrInsert(&keys, hashes, refs, fresh)
			if budget.Used() != used {
				t.Fatal("an insertion after Reserve took more memory")
			}
		}
		if table.Len() < 5000 {
			t.Fatalf("only %d entries fit in 1 MiB", table.Len())
		}
		table.verify()
		table.Close()
		table.Close()
		for purpose, n := range budget.ByPurpose() {
			if n != 0 {
				t.Fatalf("%s still has %d bytes", purpose, n)
			}
		}
	}
}

func TestInsertWithoutReservePanics(t *testing.T) {
	table := NewTable(NewBudget(64<<10), TableOptions{KeyWidth: 18, ValueSize: 8, Purpose: "rows"})
	defer table.Close()
	defer func() {
		if _, ok := recover().(*BudgetError); !ok {
			t.Fatal("no budget error")
		}
		table.verify()
	}()
	rng := rand.New(rand.NewPCG(3, 3))
	var keys Rows
	keys.Reset(18)
	for _, k := range someKeys(rng, 5000, 18, 1<<40) {
		keys.Append(k)
	}
	hashes := make([]uint64, 5000)
	table.Hash(&keys, hashes)
	table.FindOrInsert(&keys, hashes, make([]Ref, 5000), make([]bool, 5000))
}

func TestTableDoesNotAllocate(t *testing.T) {
	table := NewTable(NewBudget(0), TableOptions{KeyWidth: 18, ValueSize: 8, Purpose: "rows"})
	defer table.Close()
	rng := rand.New(rand.NewPCG(3, 3))
	var keys Rows
	hashes, refs, fresh := make([]uint64, 500), make([]Ref, 500), make([]bool, 500)
	if n := testing.AllocsPerRun(20, func() {
		keys.Reset(18)
		for range 500 {
			binary.LittleEndian.PutUint64(keys.Extend(18), rng.Uint64())
		}
		table.Hash(&keys, hashes)
		table.FindOrInsert(&keys, hashes, refs, fresh)
		table.Find(&keys, hashes, refs)
	}); n > 0 && !invariantsOn {
		t.Fatalf("%v allocations per batch", n)
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5}, uint8(0))
	f.Add(bytes.Repeat([]byte{1, 7, 200, 3}, 50), uint8(18))
	f.Add(bytes.Repeat([]byte{2, 1, 0, 0, 1, 2}, 80), uint8(3))
	// Every 3 bytes are one operation on a batch of one or several keys out of a small set.
	f.Fuzz(func(t *testing.T, ops []byte, width uint8) {
		m := newModel(t, "fuzz", TableOptions{KeyWidth: int(width), hash: degenerate["low entropy"]})
		for ops = ops[:min(len(ops), 150)]; len(ops) >= 3; ops = ops[3:] {
			rng := rand.New(rand.NewPCG(uint64(ops[1]), 0))
			keys := someKeys(rng, 1+int(ops[2])%40, int(width), 300)
			switch ops[0] % 4 {
			case 0:
				m.find(keys)
			case 1, 2:
				m.add(keys)
			case 3:
				m.remove(keys)
			}
		}
		m.all()
	})
}
