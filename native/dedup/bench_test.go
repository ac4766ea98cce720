package dedup_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"drey/native"
	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
	"drey/rowstate/invariants"
)

const bidFields = `[{"name":"auction","type":"BIGINT"},{"name":"bidder","type":"BIGINT"},{"name":"price","type":"BIGINT"},` +
	`{"name":"channel","type":"STRING"},{"name":"url","type":"STRING"},{"name":"dateTime","type":"TIMESTAMP(3)"},{"name":"extra","type":"STRING"}]`

// bids is an operator on rows like Nexmark's bids, and batches of them: n rows each, of as many keys in all.
func bids(t testing.TB, s spec.Deduplicate, keys, batches, n int) (op.Operator, *rowstate.Budget, []*changelog.Batch) {
	t.Helper()
	input, err := logical.ParseFields([]byte(bidFields))
	if err != nil {
		t.Fatal(err)
	}
	layout, err := binrow.NewLayout(input.Types())
	if err != nil {
		t.Fatal(err)
	}
	s.Name, s.Version, s.UniqueKeys = "deduplicate", 1, []int{1, 0}
	if s.IsRowtime {
		index := 5
		s.RowtimeIndex = &index
	}
	budget := rowstate.NewBudget(0)
	o, err := native.Open(spec.Encode(&s), []logical.Row{input}, optest.Groups, budget, op.Host{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	w := binrow.NewWriter(layout)
	time := int64(0)
	list := make([]*changelog.Batch, batches)
	for i := range list {
		b := &changelog.Batch{Offsets: []int32{0}, Now: 1}
		for range n {
			key := rng.IntN(keys)
			time++
			w.Reset()
			w.SetInt(0, int64(key%1000))
			w.SetInt(1, int64(key))
			w.SetInt(2, int64(rng.IntN(10000)))
			w.SetBytes(3, []byte("channel-1234"))
			w.SetBytes(4, []byte("https://www.nexmark.com/item.htm?q"))
			w.SetInt(5, time)
			w.SetBytes(6, []byte("extra"))
			b.Kinds = append(b.Kinds, changelog.Insert)
			b.Data = append(b.Data, w.Row()...)
			b.Offsets = append(b.Offsets, int32(len(b.Data)))
		}
		list[i] = b
	}
	return o, budget, list
}

func pushAndDrop(t testing.TB, o op.Operator, b *changelog.Batch, out *changelog.Builder) {
	if err := o.Push(0, b, out); err != nil {
		t.Fatal(err)
	}
	for {
		if _, ok := out.Next(); !ok {
			out.Recycle()
			return
		}
	}
}

var benchmarked = []struct {
	name string
	spec spec.Deduplicate
}{
	{"rowtime-last", spec.Deduplicate{KeepLastRow: true, IsRowtime: true, GenerateInsert: true}},
	{"rowtime-last-retract", spec.Deduplicate{KeepLastRow: true, IsRowtime: true, GenerateInsert: true, GenerateUpdateBefore: true}},
	{"rowtime-last-ttl", spec.Deduplicate{KeepLastRow: true, IsRowtime: true, GenerateInsert: true, StateTTLMillis: 1000}},
	{"rowtime-first", spec.Deduplicate{IsRowtime: true, OutputInsertOnly: true}},
	{"proctime-last", spec.Deduplicate{KeepLastRow: true, GenerateInsert: true, GenerateUpdateBefore: true}},
	{"proctime-first", spec.Deduplicate{OutputInsertOnly: true}},
	{"proctime-first-ttl", spec.Deduplicate{OutputInsertOnly: true, StateTTLMillis: 1000}},
	{"stateless", spec.Deduplicate{KeepLastRow: true}},
	{"bundle", spec.Deduplicate{KeepLastRow: true, IsRowtime: true, GenerateInsert: true, MiniBatch: &spec.MiniBatch{Size: 5000}}},
	{"bundle-compact", spec.Deduplicate{KeepLastRow: true, IsRowtime: true, GenerateInsert: true, MiniBatch: &spec.MiniBatch{Size: 5000, CompactChanges: true}}},
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if invariants.Enabled || optest.Race {
		t.Skip("checks allocate")
	}
	for _, test := range benchmarked {
		t.Run(test.name, func(t *testing.T) {
			o, budget, batches := bids(t, test.spec, 3000, 40, 256)
			defer optest.CloseAndCheck(t, o, budget)
			out := changelog.NewBuilder(changelog.BuilderOptions{})
			time := uint64(0)
			round := func() {
				for _, b := range batches {
					// Newer in every round, or nothing would be kept any more.
					b.Now++
					for i := range b.Kinds {
						time++
						binary.LittleEndian.PutUint64(b.Row(i)[8+8*5:], time)
					}
					pushAndDrop(t, o, b, out)
				}
				if err := o.Watermark(int64(time), out); err != nil {
					t.Fatal(err)
				}
				for {
					if _, ok := out.Next(); !ok {
						break
					}
				}
				out.Recycle()
			}
			for range 5 {
				round()
			}
			if n := testing.AllocsPerRun(5, round); n != 0 {
				t.Errorf("%v allocations for %d rows", n, 40*256)
			}
		})
	}
}

func BenchmarkPush(b *testing.B) {
	for _, test := range benchmarked {
		for _, keys := range []int{1 << 10, 1 << 17, 1 << 21} {
			b.Run(fmt.Sprintf("op=%s/keys=%d/batch=1024", test.name, keys), func(b *testing.B) {
				// One batch, written anew each time: the host has just written a batch when it comes, so it is in the cache.
				o, budget, batches := bids(b, test.spec, keys, 1, 1024)
				defer optest.CloseAndCheck(b, o, budget)
				out := changelog.NewBuilder(changelog.BuilderOptions{})
				batch, stamp, rng := batches[0], uint64(1<<40), rand.New(rand.NewPCG(2, 2))
				rewrite := func() {
					for i := range batch.Kinds {
						stamp++
						row := batch.Row(i)
						key := rng.Uint64N(uint64(keys))
						binary.LittleEndian.PutUint64(row[8:], key%1000)
						binary.LittleEndian.PutUint64(row[16:], key)
						binary.LittleEndian.PutUint64(row[8+8*5:], stamp)
					}
				}
				for range 3 * keys / 1024 {
					rewrite()
					pushAndDrop(b, o, batch, out)
				}
				b.ReportAllocs()
				b.ResetTimer()
				var times []time.Duration
				for b.Loop() {
					b.StopTimer()
					rewrite()
					b.StartTimer()
					start := time.Now()
					pushAndDrop(b, o, batch, out)
					times = append(times, time.Since(start))
				}
				optest.ReportTimes(b, times, 1024)
				if n := stat(o, "state.keys"); n > 0 {
					b.ReportMetric(float64(budget.Used())/float64(n), "stateB/key")
				}
			})
		}
	}
}

func stat(o op.Operator, name string) int64 {
	for _, s := range o.Stats(nil) {
		if s.Name == name {
			return s.Value
		}
	}
	return 0
}
