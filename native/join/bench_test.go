package join_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"drey/native"
	"drey/native/changelog"
	"drey/native/expr"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
)

const (
	bidFields = `[{"name":"auction","type":"BIGINT"},{"name":"bidder","type":"BIGINT"},{"name":"price","type":"BIGINT"},` +
		`{"name":"channel","type":"STRING"},{"name":"dateTime","type":"TIMESTAMP(3)"}]`
	auctionFields = `[{"name":"id","type":"BIGINT"},{"name":"itemName","type":"STRING"},{"name":"dateTime","type":"TIMESTAMP(3)"},` +
		`{"name":"expires","type":"TIMESTAMP(3)"},{"name":"seller","type":"BIGINT"},{"name":"category","type":"BIGINT"}]`
)

// nexmark is bids and auctions on their way into a join: for three auctions that open there are 46 bids, on one of the last
// auctions each.
type nexmark struct {
	f        *optest.Fixture
	rng      *rand.Rand
	bids     *changelog.Batch
	auctions *changelog.Batch
	next     uint64
	open     uint64
}

func newNexmark(b testing.TB, s spec.Join, open uint64, host op.Host) *nexmark {
	f := optest.NewFixture(b, native.Open, spec.Encode(s), 0, bidFields, auctionFields)
	n := &nexmark{f: f, rng: rand.New(rand.NewPCG(1, 1)), open: open, next: 1}
	var bids, auctions []string
	for range 1024 {
		bids = append(bids, `+I 1 2 3 "channel-1234" 1700000000000`)
	}
	for range 1024 * 3 / 46 {
		auctions = append(auctions, `+I 1 "an item of an auction" 1600000000000 1800000000000 5 10`)
	}
	n.bids, n.auctions = f.BatchOf(0, bids...), f.BatchOf(1, auctions...)
	return n
}

// round makes the next rows, which step pushes.
func (n *nexmark) round() {
	for i := range n.auctions.Kinds {
		row := n.auctions.Row(i)
		binary.LittleEndian.PutUint64(row[8:], n.next)
		binary.LittleEndian.PutUint64(row[40:], n.rng.Uint64N(1<<20))
		n.next++
	}
	for i := range n.bids.Kinds {
		row := n.bids.Row(i)
		binary.LittleEndian.PutUint64(row[8:], n.next-1-n.rng.Uint64N(min(n.open, n.next-1)))
		binary.LittleEndian.PutUint64(row[16:], n.rng.Uint64N(1<<20))
		binary.LittleEndian.PutUint64(row[24:], n.rng.Uint64N(1<<40))
	}
}

func (n *nexmark) step() (emitted int) {
	for input, batch := range []*changelog.Batch{1: n.auctions, 0: n.bids} {
		if err := n.f.Op.Push(input, batch, n.f.Out); err != nil {
			n.f.T.Fatal(err)
		}
		emitted += drop(n.f)
	}
	return emitted
}

// mixed is the next auctions and as many bids, in turn.
func (n *nexmark) mixed() *changelog.Batch {
	b := &changelog.Batch{Offsets: []int32{0}}
	for i := range n.auctions.Kinds {
		for input, from := range []*changelog.Batch{n.bids, n.auctions} {
			b.Kinds, b.Inputs = append(b.Kinds, changelog.Insert), append(b.Inputs, uint8(input))
			b.Data = append(b.Data, from.Row(i)...)
			b.Offsets = append(b.Offsets, int32(len(b.Data)))
		}
	}
	return b
}

func (n *nexmark) pushMixed(b *changelog.Batch, runs bool) {
	if !runs {
		if err := n.f.Op.(op.Mixed).PushMixed(b, n.f.Out); err != nil {
			n.f.T.Fatal(err)
		}
		drop(n.f)
		return
	}
	for from := 0; from < b.Len(); {
		end := b.Run(from)
		run := b.Slice(from, end)
		if err := n.f.Op.Push(int(b.Inputs[from]), &run, n.f.Out); err != nil {
			n.f.T.Fatal(err)
		}
		drop(n.f)
		from = end
	}
}

// drop takes everything that comes out, and lets the operator go on until it is done.
func drop(f *optest.Fixture) (emitted int) {
	r := f.Op.(op.Resumer)
	for {
		for {
			c, ok := f.Out.Next()
			if !ok {
				break
			}
			emitted += c.Len()
		}
		f.Out.Recycle()
		if !r.Unfinished() {
			return emitted
		}
		if err := r.Resume(f.Out); err != nil {
			f.T.Fatal(err)
		}
	}
}

func bidJoin(joinType string, unique bool, condition *spec.Condition) spec.Join {
	s := spec.Join{
		Name: "join", Version: 1, JoinType: joinType, FilterNulls: []bool{true}, Left: spec.JoinSide{Keys: []int{0}},
		Right: spec.JoinSide{Keys: []int{0}}, Condition: condition,
	}
	if unique {
		s.Right.UniqueKey = &[]int{0}
	}
	return s
}

func bundled(s spec.Join) spec.Join {
	s.MiniBatch = &spec.JoinMiniBatch{Size: 5000}
	return s
}

// within is "bid.dateTime BETWEEN auction.dateTime AND auction.expires", as in q4 and q9.
func within() *spec.Condition {
	ref := func(i int) expr.Expr { return expr.Expr{Op: "REF", Type: "TIMESTAMP(3)", Index: &i} }
	return &spec.Condition{Expr: &expr.Expr{Op: "AND", Type: "BOOLEAN", Args: []expr.Expr{
		{Op: ">=", Type: "BOOLEAN", Args: []expr.Expr{ref(4), ref(7)}}, {Op: "<=", Type: "BOOLEAN", Args: []expr.Expr{ref(4), ref(8)}},
	}}}
}

func BenchmarkPush(b *testing.B) {
	for _, test := range []struct {
		name string
		spec spec.Join
	}{
		{"type=inner/unique=none/condition=none", bidJoin(spec.InnerJoin, false, nil)},
		{"type=inner/unique=right/condition=none", bidJoin(spec.InnerJoin, true, nil)},
		{"type=inner/unique=none/condition=within", bidJoin(spec.InnerJoin, false, within())},
		{"type=left/unique=right/condition=none", bidJoin(spec.LeftJoin, true, nil)},
		{"type=right/unique=right/condition=within", bidJoin(spec.RightJoin, true, within())},
		{"type=semi/unique=right/condition=none", bidJoin(spec.SemiJoin, true, nil)},
		{"type=inner/unique=right/condition=none/miniBatch=5000", bundled(bidJoin(spec.InnerJoin, true, nil))},
	} {
		for _, rows := range []uint64{100_000, 2_000_000} {
			b.Run(fmt.Sprintf("%s/bids=%d", test.name, rows), func(b *testing.B) {
				n := newNexmark(b, test.spec, rows/16, op.Host{})
				defer n.f.Close()
				for range rows / 1024 {
					n.round()
					n.step()
				}
				b.ReportAllocs()
				b.ResetTimer()
				var times []time.Duration
				for b.Loop() {
					b.StopTimer()
					n.round()
					b.StartTimer()
					start := time.Now()
					n.step()
					times = append(times, time.Since(start))
				}
				optest.ReportTimes(b, times, len(n.bids.Kinds)+len(n.auctions.Kinds))
				b.ReportMetric(float64(n.f.Stat("state.bytes"))/float64(n.f.Stat("state.leftRows")+n.f.Stat("state.rightRows")), "state-B/row")
			})
		}
	}
	// Rows of both inputs in turn, as Flink's task reads them: in one batch, and in runs of one row.
	for _, runs := range []bool{false, true} {
		for _, condition := range []*spec.Condition{nil, within()} {
			b.Run(fmt.Sprintf("mixed/runs=%v/condition=%v", runs, condition != nil), func(b *testing.B) {
				n := newNexmark(b, bidJoin(spec.InnerJoin, true, condition), 125_000, op.Host{})
				defer n.f.Close()
				for range 2_000_000 / 1024 {
					n.round()
					n.step()
				}
				b.ResetTimer()
				var times []time.Duration
				rows := 0
				for b.Loop() {
					b.StopTimer()
					n.round()
					batch := n.mixed()
					rows = batch.Len()
					b.StartTimer()
					start := time.Now()
					n.pushMixed(batch, runs)
					times = append(times, time.Since(start))
				}
				optest.ReportTimes(b, times, rows)
			})
		}
	}
	// Bids of hot auctions alone, hundreds of each, whose equal is looked for through the index.
	b.Run("chains=200/bids=2000000", func(b *testing.B) {
		n := newNexmark(b, bidJoin(spec.InnerJoin, false, nil), 10_000, op.Host{})
		defer n.f.Close()
		push := func() {
			if err := n.f.Op.Push(0, n.bids, n.f.Out); err != nil {
				b.Fatal(err)
			}
			drop(n.f)
		}
		n.next = 10_000
		for range 2_000_000 / 1024 {
			n.round()
			n.next = 10_000
			push()
		}
		b.ResetTimer()
		var times []time.Duration
		for b.Loop() {
			b.StopTimer()
			n.round()
			n.next = 10_000
			b.StartTimer()
			start := time.Now()
			push()
			times = append(times, time.Since(start))
		}
		optest.ReportTimes(b, times, len(n.bids.Kinds))
		b.ReportMetric(float64(n.f.Stat("state.bytes"))/float64(n.f.Stat("state.leftRows")), "state-B/row")
	})
	// One row against a million.
	b.Run("fanout=1M", func(b *testing.B) {
		n := newNexmark(b, bidJoin(spec.InnerJoin, true, nil), 1, op.Host{})
		defer n.f.Close()
		for range 1_000_000 / 1024 {
			n.round()
			for i := range n.bids.Kinds {
				binary.LittleEndian.PutUint64(n.bids.Row(i)[8:], 7)
			}
			if err := n.f.Op.Push(0, n.bids, n.f.Out); err != nil {
				b.Fatal(err)
			}
		}
		one := n.f.BatchOf(1, `+I 7 "an item of an auction" 1600000000000 1800000000000 5 10`)
		b.ResetTimer()
		rows := 0
		for b.Loop() {
			if err := n.f.Op.Push(1, one, n.f.Out); err != nil {
				b.Fatal(err)
			}
			rows += drop(n.f)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/match")
		b.ReportMetric(float64(n.f.Out.Memory()), "output-B")
	})
}
