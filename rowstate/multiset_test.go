package rowstate

import (
	"math/rand/v2"
	"testing"
)

func TestMultisetAgainstMap(t *testing.T) {
	for _, width := range []int{0, 8} {
		budget := NewBudget(0)
		m := NewMultiset(budget, width, "counts")
		want := map[string]int64{}
		rng := rand.New(rand.NewPCG(uint64(width), 2))
		var rows Rows
		for range 200 {
			keys := someKeys(rng, rng.IntN(300), width, 100)
			rows.Reset(width)
			deltas, counts := make([]int64, len(keys)), make([]int64, len(keys))
			for i, key := range keys {
				rows.Append(key)
				deltas[i] = int64(rng.IntN(5)) - 2
			}
			if err := m.Add(&rows, deltas, counts); err != nil {
				t.Fatal(err)
			}
			for i, key := range keys {
				want[string(key)] += deltas[i]
				if counts[i] != want[string(key)] {
					t.Fatalf("row %d: count %d, want %d", i, counts[i], want[string(key)])
				}
			}
			for row, n := range want {
				if n == 0 {
					delete(want, row)
				}
			}
			m.Counts(&rows, counts)
			for i, key := range keys {
				if counts[i] != want[string(key)] {
					t.Fatalf("row %d: count %d later, want %d", i, counts[i], want[string(key)])
				}
			}
			visited := 0
			for row, n := range m.All {
				visited++
				if want[string(row)] != n || n == 0 {
					t.Fatalf("%x has %d, want %d", row, n, want[string(row)])
				}
			}
			if visited != len(want) || m.Len() != len(want) {
				t.Fatalf("%d different rows, visited %d, want %d", m.Len(), visited, len(want))
			}
		}
		m.Close()
		if budget.Used() != 0 {
			t.Fatal("memory left")
		}
	}
}
