package rowstate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"drey/rowstate/invariants"
)

const invariantsOn = invariants.Enabled

func TestSizeClasses(t *testing.T) {
	last := 0
	for n := 1; n <= 1<<20; n++ {
		class, size := classOf(n)
		if size < int64(n) || size%8 != 0 || class < last || class > last+1 || class >= classCount || classSize(class) != size {
			t.Fatalf("%d bytes: class %d after %d, size %d, class size %d", n, class, last, size, classSize(class))
		}
		if n > 64 && size > int64(n)+int64(n)/8+8 {
			t.Fatalf("%d bytes take %d", n, size)
		}
		last = class
	}
	if class, size := classOf(1 << 34); class >= classCount || size != 1<<34 {
		t.Fatal(class, size)
	}
}

// TestArenaAgainstModel allocates and frees at random and checks that blocks never overlap and keep their bytes.
func TestArenaAgainstModel(t *testing.T) {
	budget := NewBudget(0)
	a := NewArena(budget, "rows")
	defer a.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	type block struct {
		ref  Ref
		n    int
		fill byte
	}
	var blocks []block
	live := int64(0)
	fill := func(b block) {
		for i := range a.Bytes(b.ref, b.n) {
			a.Bytes(b.ref, b.n)[i] = b.fill
		}
	}
	for range 20000 {
		if len(blocks) > 0 && rng.IntN(100) < 45 {
			i := rng.IntN(len(blocks))
			b := blocks[i]
			for _, x := range a.Bytes(b.ref, b.n) {
				if x != b.fill {
					t.Fatalf("block of %d bytes at %d has %#x, want %#x", b.n, b.ref, x, b.fill)
				}
			}
			if rng.IntN(4) == 0 {
				n := max(1, b.n+rng.IntN(33)-16)
				old := b
				b.ref, b.n = a.Refit(old.ref, old.n, n), n
				if BlockSize(n) == BlockSize(old.n) && b.ref != old.ref {
					t.Fatalf("a block of %d bytes has moved to become one of %d", old.n, n)
				}
				live += BlockSize(n) - BlockSize(old.n)
				fill(b)
				blocks[i] = b
				continue
			}
			a.Free(b.ref, b.n)
			live -= BlockSize(b.n)
			blocks[i] = blocks[len(blocks)-1]
			blocks = blocks[:len(blocks)-1]
			continue
		}
		b := block{n: 1 + rng.IntN(1+rng.IntN(2000)), fill: byte(rng.Uint32())}
		b.ref = a.Alloc(b.n)
		fill(b)
		live += BlockSize(b.n)
		blocks = append(blocks, b)
	}
	s := a.Stats()
	if s.Held != live || s.Held+s.Idle+s.Unused+firstRef*refUnit != budget.Used() {
		t.Fatalf("stats %+v, live %d, budget %d", s, live, budget.Used())
	}
	a.Close()
	a.Close()
	if budget.Used() != 0 || budget.ByPurpose()["rows"] != 0 {
		t.Fatal("memory left after Close")
	}
}

func TestArenaReserve(t *testing.T) {
	budget := NewBudget(1 << 20)
	a := NewArena(budget, "rows")
	defer a.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for {
		var sizes []int
		total := int64(0)
		for range 50 {
			n := 8 * (1 + rng.IntN(60))
			sizes = append(sizes, n)
			total += int64(n)
		}
		if err := a.Reserve(total); err != nil {
			var over *BudgetError
			if !errors.As(err, &over) || over.Purpose != "rows" {
				t.Fatal(err)
			}
			break
		}
		used := budget.Used()
		for _, n := range sizes {
			a.Alloc(n)
		}
		if budget.Used() != used {
			t.Fatal("an allocation after Reserve took more memory")
		}
	}
	if budget.Used() < 900<<10 || budget.Used() > budget.Limit() {
		t.Fatalf("%d bytes used", budget.Used())
	}
	if err := a.Reserve(64); err == nil {
		for range 100 {
			a.Alloc(8)
		}
	}
	defer func() {
		if _, ok := recover().(*BudgetError); !ok {
			t.Fatal("no budget error")
		}
	}()
	for {
		a.Alloc(4096)
	}
}

func TestUseAfterFreeIsCaught(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("needs -tags invariants")
	}
	caught := func(name string, f func(a *Arena, r Ref)) {
		a := NewArena(NewBudget(0), "rows")
		defer a.Close()
		r := a.Alloc(64)
		bytes := a.Bytes(r, 64)
		a.Free(r, 64)
		defer func() {
			if recover() == nil {
				t.Errorf("%s was not caught", name)
			}
		}()
		if name == "write" {
			bytes[40] = 1
		}
		f(a, r)
	}
	caught("read", func(a *Arena, r Ref) { a.Bytes(r, 64) })
	caught("double free", func(a *Arena, r Ref) { a.Free(r, 64) })
	caught("write", func(a *Arena, r Ref) { a.Alloc(64) })
}

// TestLargeRegionsAskForHugePages looks at what the kernel knows of a region's mapping.
func TestLargeRegionsAskForHugePages(t *testing.T) {
	control, err := unix.Mmap(-1, 0, 2*hugeSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(control)
	if unix.Madvise(control, unix.MADV_HUGEPAGE) != nil || !asksForHugePages(t, unsafe.Pointer(&control[0])) {
		t.Skip("the kernel has no huge pages, or doesn't tell of them")
	}
	small, large := newRegion(NewBudget(0), "small", 64<<20), newRegion(NewBudget(0), "large", 64<<20)
	defer small.close()
	defer large.close()
	for r, bytes := range map[*region]int64{small: hugeSize / 2, large: 16 * hugeSize} {
		if err := r.grow(bytes); err != nil {
			t.Fatal(err)
		}
		r.settle()
		if got := asksForHugePages(t, r.base); got != (r == large) {
			t.Errorf("a region of %d bytes asks for huge pages: %t", bytes, got)
		}
	}
}

// TestRowsDoWithoutDearHugePages: where huge pages are dear, rows are kept in small ones, and tables as ever.
func TestRowsDoWithoutDearHugePages(t *testing.T) {
	var h hugePageSupply
	h.cost(4<<20, 1.9e6)
	if !h.wanted(1) {
		t.Error("two huge pages in 1.9 ms are not dear")
	}
	h.cost(4<<20, 2.1e6)
	for mapped := int64(0); mapped < dearHugePages; mapped += 4 << 20 {
		if h.wanted(4 << 20) {
			t.Fatalf("tried again after %d bytes", mapped)
		}
	}
	if !h.wanted(4 << 20) {
		t.Error("never tried again")
	}

	defer hugePages.without.Store(0)
	hugePages.without.Store(1 << 40)
	rows, table := NewArena(NewBudget(0), "rows"), NewTable(NewBudget(0), TableOptions{KeyWidth: 8, Purpose: "table"})
	defer rows.Close()
	defer table.Close()
	for _, a := range []*Arena{rows, table.arena} {
		if err := a.Reserve(16 * hugeSize); err != nil {
			t.Fatal(err)
		}
		a.reg.settle()
	}
	if asksForHugePages(t, rows.base) {
		t.Error("rows ask for huge pages")
	}
	if !asksForHugePages(t, table.arena.base) {
		t.Skip("the kernel has no huge pages, or doesn't tell of them")
	}
}

// asksForHugePages tells whether the mapping at p has the flag that madvise(MADV_HUGEPAGE) sets.
func asksForHugePages(t *testing.T, p unsafe.Pointer) bool {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	inside := false
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= uintptr(p) && uintptr(p) < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return slices.Contains(strings.Fields(flags), "hg")
		}
	}
	return false
}
