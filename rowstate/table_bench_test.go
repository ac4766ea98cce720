package rowstate

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkTable looks up, misses, updates and inserts batches of 512 keys of 18 bytes. bench/state compares with other maps.
func BenchmarkTable(b *testing.B) {
	const batch, width = 512, 18
	for _, entries := range []int{1_000, 100_000, 1_000_000} {
		if testing.Short() && entries > 100_000 {
			continue
		}
		keys := func(first uint64) Rows {
			data := make([]byte, batch*width, batch*width+64)
			for i := range batch {
				binary.LittleEndian.PutUint64(data[i*width:], first+uint64(i))
			}
			return Rows{Data: data, Width: width}
		}
		hashes, refs, fresh := make([]uint64, batch), make([]Ref, batch), make([]bool, batch)
		full := func() *Table {
			t := NewTable(NewBudget(0), TableOptions{KeyWidth: width, ValueSize: 8, Purpose: "bench"})
			for first := 0; first < entries; first += batch {
				insert(b, t, keys(uint64(first)), hashes, refs, fresh)
			}
			return t
		}
		// Batches from all over the table, made ahead.
		rng := rand.New(rand.NewPCG(1, uint64(entries)))
		var there, absent [64]Rows
		for i := range there {
			there[i] = keys(0)
			for row := range batch {
				binary.LittleEndian.PutUint64(there[i].Data[row*width:], rng.Uint64N(uint64(entries)))
			}
			absent[i] = keys(1<<40 + uint64(i*batch))
		}
		run := func(what string, batches [64]Rows, each func(t *Table, rows Rows)) {
			b.Run(fmt.Sprintf("op=%s/entries=%d", what, entries), func(b *testing.B) {
				t := full()
				defer t.Close()
				i := 0
				for b.Loop() {
					each(t, batches[i%len(batches)])
					i++
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/row")
			})
		}
		find := func(t *Table, rows Rows) {
			t.Hash(&rows, hashes)
			t.Find(&rows, hashes, refs)
		}
		run("hit", there, find)
		run("miss", absent, find)
		run("update", there, func(t *Table, rows Rows) {
			insert(b, t, rows, hashes, refs, fresh)
			for _, ref := range refs {
				t.Value(ref)[0]++
			}
		})
		next := uint64(1 << 41)
		run("insert", there, func(t *Table, rows Rows) {
			for row := range batch {
				binary.LittleEndian.PutUint64(rows.Data[row*width:], next)
				next++
			}
			insert(b, t, rows, hashes, refs, fresh)
		})
	}
}

func insert(b *testing.B, t *Table, rows Rows, hashes []uint64, refs []Ref, fresh []bool) {
	if err := t.Reserve(rows.Len(), int64(len(rows.Data))); err != nil {
		b.Fatal(err)
	}
	t.Hash(&rows, hashes)
	t.FindOrInsert(&rows, hashes, refs, fresh)
}
