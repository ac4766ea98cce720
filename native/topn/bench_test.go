package topn_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"drey/native/changelog"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate/invariants"
)

// rows like Nexmark's bids, written anew for every push.
func rewrite(rng *rand.Rand, b *changelog.Batch, partitions, prices uint64) {
	for i := range b.Kinds {
		row := b.Row(i)
		binary.LittleEndian.PutUint32(row[8+8*columnP:], uint32(rng.Uint64N(partitions)))
		binary.LittleEndian.PutUint64(row[8+8*columnS:], rng.Uint64N(prices))
	}
}

func bids(f *optest.Fixture, n int) *changelog.Batch {
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf(`+I 1 "%d" 1 "https://www.nexmark.com/item.htm" 7 "channel-1234"`, i%7))
	}
	return f.Batch(rows...)
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if invariants.Enabled || optest.Race {
		t.Skip("checks allocate")
	}
	for name, s := range strategies {
		f := open(t, s, 0)
		b := bids(f, 256)
		rng := rand.New(rand.NewPCG(3, 3))
		retract := s.Function == spec.RetractableTopN
		round := func() {
			for range 40 {
				rewrite(rng, b, 500, 1000)
				f.PushAndDrop(b)
				if retract {
					for i := range b.Kinds {
						b.Kinds[i] = changelog.Delete
					}
					f.PushAndDrop(b)
					for i := range b.Kinds {
						b.Kinds[i] = changelog.Insert
					}
				}
			}
		}
		for range 10 {
			round()
		}
		if n := testing.AllocsPerRun(5, round); n > 1 {
			t.Errorf("%s: %v allocations for %d rows", name, n, 40*256)
		}
		f.Close()
	}
}

// With 12 rows of each partition seen, nearly every row enters and moves five others; with 100, one of ten does.
func BenchmarkPush(b *testing.B) {
	for _, test := range []struct {
		name       string
		spec       spec.Rank
		partitions uint64
		seen       uint64 // rows of each partition that come before the measured ones
	}{
		{"op=append/top=10/number=true/partitions=100K/seen=12", top(spec.AppendOnlyTopN, 1, 10, true), 100_000, 12},
		{"op=append/top=10/number=false/partitions=100K/seen=12", top(spec.AppendOnlyTopN, 1, 10, false), 100_000, 12},
		{"op=append/top=10/number=true/partitions=100K/seen=100", top(spec.AppendOnlyTopN, 1, 10, true), 100_000, 100},
		{"op=append/top=10/number=false/partitions=100K/seen=100", top(spec.AppendOnlyTopN, 1, 10, false), 100_000, 100},
		{"op=top1/partitions=100K/seen=12", top(spec.FastTop1, 1, 1, false), 100_000, 12},
		{"op=update/top=10/number=true/partitions=10K/seen=12", top(spec.UpdatableTopN, 1, 10, true), 10_000, 12},
	} {
		b.Run(test.name, func(b *testing.B) {
			f := open(b, test.spec, 0)
			defer f.Close()
			batch, rng := bids(f, 1024), rand.New(rand.NewPCG(1, 1))
			for range test.seen * test.partitions / 1024 {
				rewrite(rng, batch, test.partitions, 1<<40)
				f.PushAndDrop(batch)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var times []time.Duration
			for b.Loop() {
				b.StopTimer()
				rewrite(rng, batch, test.partitions, 1<<40)
				b.StartTimer()
				start := time.Now()
				f.PushAndDrop(batch)
				times = append(times, time.Since(start))
			}
			optest.ReportTimes(b, times, 1024)
		})
	}
	// One partition, in which half of the rows of a batch come and half of those that are there go; with few prices they tie by the
	// hundred thousand, and never is a retraction of a row that was not there.
	for _, test := range []struct {
		rows   int
		prices uint64
		number bool
		never  bool
	}{
		{10_000, 1 << 40, false, false}, {10_000, 1 << 40, true, false}, {1_000_000, 1 << 40, false, false},
		{1_000_000, 1 << 40, true, false}, {1_000_000, 10, false, false}, {1_000_000, 10, true, false}, {1_000_000, 10, false, true},
	} {
		b.Run(fmt.Sprintf("op=retract/top=10/number=%v/partitions=1/rows=%d/prices=%d/never=%v", test.number, test.rows, test.prices, test.never), func(b *testing.B) {
			f := open(b, top(spec.RetractableTopN, 1, 10, test.number), 0)
			defer f.Close()
			batch, rng := bids(f, 1024), rand.New(rand.NewPCG(1, 1))
			there := make([]uint64, 0, test.rows+512)
			set := func(i int, kind changelog.RowKind, id uint64) {
				batch.Kinds[i] = kind
				row := batch.Row(i)
				binary.LittleEndian.PutUint32(row[8+8*columnP:], 1)
				binary.LittleEndian.PutUint64(row[8+8*columnS:], id%test.prices)
				binary.LittleEndian.PutUint64(row[8+8*columnK:], id|0x87<<56) // a string of 7 bytes
			}
			fill := func(i int) {
				there = append(there, rng.Uint64N(1<<55))
				set(i, changelog.Insert, there[len(there)-1])
			}
			for len(there) < test.rows {
				for i := range 1024 {
					fill(i)
				}
				f.PushAndDrop(batch)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var times []time.Duration
			for b.Loop() {
				b.StopTimer()
				for i := 0; i < 1024; i += 2 {
					at := rng.IntN(len(there))
					set(i, changelog.Delete, there[at])
					there[at] = there[len(there)-1]
					there = there[:len(there)-1]
					fill(i + 1)
				}
				if test.never {
					set(0, changelog.Delete, 1<<55|rng.Uint64N(1<<55))
				}
				b.StartTimer()
				start := time.Now()
				f.PushAndDrop(batch)
				times = append(times, time.Since(start))
			}
			optest.ReportTimes(b, times, 1024)
		})
	}
}
