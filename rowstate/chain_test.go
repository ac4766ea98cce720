package rowstate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestChainsAgainstSlices keeps the same rows in slices, over many chains at once: with no index, with one of whole rows, of
// a key within them, and where all rows have one hash.
func TestChainsAgainstSlices(t *testing.T) {
	whole := func(row []byte) []byte { return row }
	number := func(row []byte) []byte { return row[:bytes.IndexByte(row, '[')] }
	for _, variant := range []struct {
		name     string
		index    bool
		constant bool
		key, of  func(row []byte) []byte
	}{
		{"none", false, false, nil, whole},
		{"rows", true, false, nil, whole},
		{"keys", true, false, number, number},
		{"one hash", true, true, nil, whole},
	} {
		t.Run(variant.name, func(t *testing.T) {
			budget := NewBudget(0)
			arena := NewArena(budget, "rows")
			k := NewChains(arena)
			if variant.index {
				k.Index(budget, "index", variant.key)
			}
			if variant.constant {
				k.index.table.hash = func([]byte) uint64 { return 0 }
			}
			compareChains(t, k, variant.of)
			if s := arena.Stats(); s.Held != 0 {
				t.Fatalf("empty chains hold %d bytes", s.Held)
			}
			if variant.index && (k.index.Len() != 0 || k.index.more.Stats().Held != 0) {
				t.Fatalf("the index of empty chains has %d entries and %d bytes", k.index.Len(), k.index.more.Stats().Held)
			}
			k.Close()
			arena.Close()
			if budget.Used() != 0 {
				t.Fatal("memory left")
			}
		})
	}
}

func compareChains(t *testing.T, k *Chains, keyOf func(row []byte) []byte) {
	rng := rand.New(rand.NewPCG(6, 6))
	chains := make([]RowChain, 20)
	want := make([][]string, len(chains))
	indexed, steps := 0, 15000
	if testing.Short() {
		steps = 5000
	}
	for step := range steps {
		i := rng.IntN(len(chains))
		// Chains grow to about a length of their own, up to 300, and shrink to nothing from time to time.
		most := 1 + i*i*3/4
		c := &chains[i]
		fresh := []byte(fmt.Sprint("row ", rng.IntN(most), bytes.Repeat([]byte{'x'}, rng.IntN(40))))
		first := func(row string) (at int) {
			return slices.IndexFunc(want[i], func(other string) bool { return bytes.Equal(keyOf([]byte(other)), keyOf([]byte(row))) })
		}
		switch {
		case step%4000 == 3999:
			k.Clear(c)
			want[i] = nil
		case rng.IntN(2*most) >= len(want[i]):
			k.Append(c, fresh)
			want[i] = append(want[i], string(fresh))
		default:
			row := want[i][rng.IntN(len(want[i]))]
			r, at := k.Find(c, []byte(row)), slices.Index(want[i], row)
			if rng.IntN(2) == 0 {
				r, at = k.FindKey(c, bytes.Clone(keyOf([]byte(row)))), first(row)
			}
			if r == 0 || string(k.Row(r)) != want[i][at] {
				t.Fatalf("chain %d: row %d of %d not found", i, at, len(want[i]))
			}
			if rng.IntN(3) == 0 {
				k.Replace(c, r, fresh)
				want[i][at] = string(fresh)
				break
			}
			if other := &chains[(i+1)%len(chains)]; other.Len() > 0 && k.Remove(other, r) {
				t.Fatal("a row was removed from another chain")
			}
			if !k.Remove(c, r) {
				t.Fatalf("chain %d: row %d of %d not removed", i, at, len(want[i]))
			}
			want[i] = slices.Delete(want[i], at, at+1)
			if k.Find(c, []byte("absent[")) != 0 || k.FindKey(c, []byte("absent")) != 0 {
				t.Fatal("an absent row was found")
			}
		}
		if c.group != 0 {
			indexed++
		}
		var got []string
		for r := range k.All(c) {
			got = append(got, string(k.Row(r)))
		}
		if first, last := k.First(c), k.Last(c); len(got) == 0 && (first|last) != 0 ||
			len(got) > 0 && (string(k.Row(first)) != got[0] || string(k.Row(last)) != got[len(got)-1]) {
			t.Fatalf("step %d chain %d: first is %d, last is %d", step, i, first, last)
		}
		if !slices.Equal(got, want[i]) || c.Len() != len(want[i]) {
			t.Fatalf("step %d chain %d: %d rows, want %d", step, i, len(got), len(want[i]))
		}
	}
	if (indexed > 300) != (k.index != nil) {
		t.Fatalf("%d steps were on indexed chains", indexed)
	}
	for i := range chains {
		k.Clear(&chains[i])
	}
}

// TestChainsWithoutRoomForAnIndex has a budget that ends in the middle: chains are complete all the same.
func TestChainsWithoutRoomForAnIndex(t *testing.T) {
	with, without := 0, 0
	for limit := int64(16 << 10); limit < 512<<10; limit += 24 << 10 {
		budget := NewBudget(0)
		arena := NewArena(budget, "rows")
		k := NewChains(arena)
		small := NewBudget(limit)
		func() {
			defer func() { _ = recover() }() // not even an empty index fits
			k.Index(small, "index", nil)
		}()
		if k.index == nil {
			arena.Close()
			continue
		}
		var c RowChain
		for i := range 3000 {
			k.Append(&c, fmt.Append(nil, i%2500))
		}
		if c.group != 0 {
			with++
		} else {
			without++
		}
		for i := range 3000 {
			row := fmt.Append(nil, (i*7)%2500)
			if r := k.Find(&c, row); r != 0 != (i < 2500 || (i*7)%2500 < 500) || r != 0 && !k.Remove(&c, r) {
				t.Fatalf("budget %d: row %s is at %d", limit, row, r)
			}
		}
		k.Clear(&c)
		k.Close()
		arena.Close()
		if small.Used() != 0 {
			t.Fatal("memory left")
		}
	}
	if with < 5 || without < 5 {
		t.Fatalf("%d chains were indexed, %d were not", with, without)
	}
}

func TestChainBytes(t *testing.T) {
	budget := NewBudget(1 << 20)
	arena := NewArena(budget, "rows")
	defer arena.Close()
	k := NewChains(arena)
	var chains [50]RowChain
	rng := rand.New(rand.NewPCG(6, 7))
	for arena.Reserve(ChainBytes(10, 10*64)) == nil {
		used := budget.Used()
		for range 10 {
			k.Append(&chains[rng.IntN(len(chains))], make([]byte, 64))
		}
		if budget.Used() != used {
			t.Fatal("appending took more than ChainBytes")
		}
	}
}

// BenchmarkChainsFind finds, removes and appends rows of one long chain.
func BenchmarkChainsFind(b *testing.B) {
	for _, rows := range []int{16, 64, 1000, 100_000} {
		b.Run(fmt.Sprint("rows=", rows), func(b *testing.B) {
			budget := NewBudget(0)
			arena := NewArena(budget, "rows")
			defer arena.Close()
			k := NewChains(arena)
			k.Index(budget, "index", nil)
			defer k.Close()
			var c RowChain
			row := make([]byte, 48)
			for i := range rows {
				binary.LittleEndian.PutUint64(row[16:], uint64(i))
				k.Append(&c, row)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				binary.LittleEndian.PutUint64(row[16:], rng.Uint64N(uint64(rows)))
				if !k.Remove(&c, k.Find(&c, row)) {
					b.Fatal("not there")
				}
				k.Append(&c, row)
			}
		})
	}
}
