package rowstate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestChainsAgainstSlices keeps the same rows in slices, over many chains at once.
func TestChainsAgainstSlices(t *testing.T) {
	arena := NewArena(NewBudget(0), "rows")
	defer arena.Close()
	k := NewChains(arena)
	rng := rand.New(rand.NewPCG(6, 6))
	chains := make([]RowChain, 20)
	want := make([][]string, len(chains))
	for step := range 30000 {
		i := rng.IntN(len(chains))
		// Chains grow to about a length of their own, up to 300, and shrink to nothing from time to time.
		most := 1 + i*i*3/4
		c := &chains[i]
		switch {
		case step%5000 == 4999:
			k.Clear(c)
			want[i] = nil
		case rng.IntN(2*most) >= len(want[i]):
			row := fmt.Sprint("row ", rng.IntN(most), bytes.Repeat([]byte{'x'}, rng.IntN(40)))
			r := k.Append(c, []byte(row))
			if *k.Mark(r) != 0 {
				t.Fatal("a new row has a mark")
			}
			*k.Mark(r) = uint32(len(row))
			want[i] = append(want[i], row)
		default:
			at := rng.IntN(len(want[i]))
			row := want[i][at]
			at = slices.Index(want[i], row)
			r := k.Find(c, []byte(row))
			if r == 0 || !k.Remove(c, r) {
				t.Fatalf("chain %d: row %d of %d not found", i, at, len(want[i]))
			}
			want[i] = slices.Delete(want[i], at, at+1)
			if k.Remove(c, 1<<30) || k.Find(c, []byte("absent")) != 0 {
				t.Fatal("an absent row was found")
			}
		}
		var got []string
		for r := range k.All(c) {
			got = append(got, string(k.Row(r)))
			if *k.Mark(r) != uint32(len(k.Row(r))) {
				t.Fatal("a mark was lost")
			}
		}
		if !slices.Equal(got, want[i]) || c.Len() != len(want[i]) {
			t.Fatalf("step %d chain %d: %d rows, want %d", step, i, len(got), len(want[i]))
		}
	}
	for i := range chains {
		k.Clear(&chains[i])
	}
	if s := arena.Stats(); s.Held != 0 {
		t.Fatalf("empty chains hold %d bytes", s.Held)
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
