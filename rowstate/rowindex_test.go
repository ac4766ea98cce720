package rowstate

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRowIndexAgainstSlices has few different rows in few groups, so that most are there several times.
func TestRowIndexAgainstSlices(t *testing.T) {
	for _, constant := range []bool{false, true} {
		budget := NewBudget(0)
		arena := NewArena(budget, "rows")
		x := NewRowIndex(budget, "index", func(r Ref) []byte { return arena.Bytes(r, 8) })
		if constant {
			x.table.hash = func([]byte) uint64 { return 0 }
		}
		type row struct {
			ref  Ref
			note uint32
		}
		want := map[[2]uint64][]row{}
		rng := rand.New(rand.NewPCG(8, 8))
		bytes := make([]byte, 8)
		for step := range uint32(20000) {
			group, number := rng.Uint64N(4), rng.Uint64N(10)
			binary.LittleEndian.PutUint64(bytes, number)
			rows := want[[2]uint64{group, number}]
			r, note := x.First(group, bytes)
			if len(rows) == 0 != (r == 0) || len(rows) > 0 && rows[0] != (row{r, note}) {
				t.Fatalf("step %d: found %d with %d, want the first of %v", step, r, note, rows)
			}
			if rng.IntN(40) >= len(rows)*2 {
				r := arena.Alloc(8)
				copy(arena.Bytes(r, 8), bytes)
				if !x.Add(group, r, step) {
					t.Fatal("no room without a limit")
				}
				want[[2]uint64{group, number}] = append(rows, row{r, step})
				continue
			}
			at := rng.IntN(len(rows))
			if note, ok := x.Note(group, rows[at].ref); !ok || note != rows[at].note {
				t.Fatalf("step %d: number %d, want %d", step, note, rows[at].note)
			}
			if _, ok := x.Remove(group+4, rows[at].ref); ok {
				t.Fatal("a row was removed from another group")
			}
			if note, ok := x.Remove(group, rows[at].ref); !ok || note != rows[at].note {
				t.Fatalf("step %d: removed with %d, want %d", step, note, rows[at].note)
			}
			arena.Free(rows[at].ref, 8)
			want[[2]uint64{group, number}] = slices.Delete(rows, at, at+1)
		}
		x.Close()
		arena.Close()
		if budget.Used() != 0 {
			t.Fatal("memory left")
		}
	}
}
