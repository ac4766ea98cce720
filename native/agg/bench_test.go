package agg_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"drey/native"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
)

const bidFields = `[{"name":"auction","type":"BIGINT"},{"name":"bidder","type":"BIGINT"},{"name":"price","type":"BIGINT"},` +
	`{"name":"low","type":"BOOLEAN"},{"name":"middle","type":"BOOLEAN"},{"name":"high","type":"BOOLEAN"},{"name":"day","type":"STRING"},{"name":"channel","type":"STRING"}]`

// bids are batches of rows: auctions and bidders of as many keys, prices with a filter each for three ranges.
func bids(b *testing.B, batches, rows, keys int) []*changelog.Batch {
	b.Helper()
	input, err := logical.ParseFields([]byte(bidFields))
	if err != nil {
		b.Fatal(err)
	}
	codec := codecOf(b, input)
	_, row, err := codec.Parse(`+I 0 0 0 false false false "2026-11-30" "Google"`)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var all []*changelog.Batch
	for range batches {
		batch := &changelog.Batch{Offsets: []int32{0}}
		for range rows {
			at := len(batch.Data)
			batch.Data = append(batch.Data, row...)
			r := batch.Data[at:]
			price := rng.IntN(1_000_000)
			binary.LittleEndian.PutUint64(r[8:], uint64(rng.IntN(keys)))
			binary.LittleEndian.PutUint64(r[16:], uint64(rng.IntN(keys*4)))
			binary.LittleEndian.PutUint64(r[24:], uint64(price))
			r[32+8*min(2, price/100_000)] = 1
			batch.Kinds = append(batch.Kinds, changelog.Insert)
			batch.Offsets = append(batch.Offsets, int32(len(batch.Data)))
		}
		all = append(all, batch)
	}
	return all
}

func call(function, result string, args ...int) spec.AggregateCall {
	if args == nil {
		args = []int{}
	}
	return spec.AggregateCall{Function: function, ArgList: args, FilterArg: -1, Type: result}
}

func countDistinct(arg, filter int) spec.AggregateCall {
	return spec.AggregateCall{Function: spec.Count, ArgList: []int{arg}, FilterArg: filter, Distinct: true, Type: "BIGINT NOT NULL"}
}

func run(b *testing.B, s spec.Spec, fields string, batches []*changelog.Batch, flush bool) {
	b.Helper()
	input, err := logical.ParseFields([]byte(fields))
	if err != nil {
		b.Fatal(err)
	}
	budget := rowstate.NewBudget(0)
	o, err := native.Open(spec.Encode(s), []logical.Row{input}, optest.Groups, budget, op.Host{})
	if err != nil {
		b.Fatal(err)
	}
	defer o.Close()
	out := changelog.NewBuilder(changelog.BuilderOptions{})
	push := func(batch *changelog.Batch) {
		if err := o.Push(0, batch, out); err != nil {
			b.Fatal(err)
		}
		if flush {
			if err := o.Flush(out); err != nil {
				b.Fatal(err)
			}
		}
		for {
			if _, ok := out.Next(); !ok {
				break
			}
		}
		out.Recycle()
	}
	for _, batch := range batches {
		push(batch)
	}
	b.ReportAllocs()
	b.ResetTimer()
	rows := 0
	for i := 0; b.Loop(); i++ {
		batch := batches[i%len(batches)]
		push(batch)
		rows += batch.Len()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func flags(n int) []bool { return make([]bool, n) }

// BenchmarkLocalAggregation is the kernel of the local phase: COUNT(*) and SUM per key of a bundle, which comes as one batch or row
// by row.
func BenchmarkLocalAggregation(b *testing.B) {
	for _, bundle := range []int{4096, 50_000} {
		for _, keys := range []int{16, 1000, 20_000} {
			for _, rows := range []int{bundle, 1} {
				b.Run(fmt.Sprintf("bundle=%d/keys=%d/batch=%d", bundle, keys, rows), func(b *testing.B) {
					s := &spec.LocalGroupAggregate{
						Name: "localGroupAggregate", Version: 1, Grouping: []int{0}, MiniBatch: spec.Bundle{Size: int64(bundle)},
						AggCalls: []spec.AggregateCall{call(spec.Count, "BIGINT NOT NULL"), call(spec.Sum, "BIGINT", 2)}, AggCallNeedRetractions: flags(2),
					}
					run(b, s, bidFields, bids(b, 20*bundle/rows, rows, keys), false)
				})
			}
		}
	}
}

// BenchmarkLocalSum is the local phase as other engines measure theirs: rows of a key and a number, 64 keys by turns, SUM alone.
func BenchmarkLocalSum(b *testing.B) {
	const keys = 64
	fields := `[{"name":"key","type":"BIGINT NOT NULL"},{"name":"value","type":"BIGINT NOT NULL"}]`
	for _, bundle := range []int{4096, 50_000} {
		for _, rows := range []int{bundle, 1} {
			b.Run(fmt.Sprintf("bundle=%d/batch=%d", bundle, rows), func(b *testing.B) {
				s := &spec.LocalGroupAggregate{
					Name: "localGroupAggregate", Version: 1, Grouping: []int{0}, MiniBatch: spec.Bundle{Size: int64(bundle)},
					AggCalls: []spec.AggregateCall{call(spec.Sum, "BIGINT NOT NULL", 1)}, AggCallNeedRetractions: flags(1),
				}
				batches := make([]*changelog.Batch, max(1, keys/rows))
				for i := range batches {
					batch := &changelog.Batch{Offsets: []int32{0}, Kinds: make([]changelog.RowKind, rows)}
					for j := range rows {
						n := uint64(i*rows + j)
						batch.Data = binary.LittleEndian.AppendUint64(batch.Data, 0)
						batch.Data = binary.LittleEndian.AppendUint64(batch.Data, n%keys)
						batch.Data = binary.LittleEndian.AppendUint64(batch.Data, n)
						batch.Offsets = append(batch.Offsets, int32(len(batch.Data)))
					}
					batches[i] = batch
				}
				run(b, s, fields, batches, false)
			})
		}
	}
}

// BenchmarkPush has the group aggregates of Nexmark's queries, one batch or one row at a time.
func BenchmarkPush(b *testing.B) {
	q15 := []spec.AggregateCall{
		call(spec.Count, "BIGINT NOT NULL"), countDistinct(1, -1), countDistinct(1, 3), countDistinct(1, 4), countDistinct(1, 5),
		countDistinct(0, -1), countDistinct(0, 3), countDistinct(0, 4), countDistinct(0, 5),
	}
	q17 := []spec.AggregateCall{
		call(spec.Count, "BIGINT NOT NULL"), call(spec.Min, "BIGINT", 2), call(spec.Max, "BIGINT", 2), call(spec.Avg, "BIGINT", 2), call(spec.Sum, "BIGINT", 2),
	}
	for _, c := range []struct {
		name     string
		calls    []spec.AggregateCall
		grouping []int
	}{
		{"q15", q15, []int{6}}, {"q16", q15, []int{7, 6}}, {"q17", q17, []int{0, 6}}, {"count", q17[:1], []int{0}},
	} {
		for _, rows := range []int{1, 1024} {
			for _, bundled := range []bool{false, true} {
				b.Run(fmt.Sprintf("op=agg/query=%s/batch=%d/bundled=%v", c.name, rows, bundled), func(b *testing.B) {
					s := &spec.GroupAggregate{
						Name: "groupAggregate", Version: 1, Grouping: c.grouping, AggCalls: c.calls, AggCallNeedRetractions: flags(len(c.calls)),
						GenerateUpdateBefore: true,
					}
					if bundled {
						s.MiniBatch = &spec.Bundle{Size: 50_000}
					}
					run(b, s, bidFields, bids(b, max(20, 20_000/rows), rows, 10_000), bundled && rows > 1)
				})
			}
		}
	}
}
