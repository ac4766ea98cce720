package changelog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

type joined struct {
	kind        RowKind
	left, right string
	source      int
}

func drainJoined(b *Builder) (rows []joined, data []int) {
	for {
		c, ok := b.Next()
		if !ok {
			return rows, data
		}
		data = append(data, len(c.Data))
		for i := range c.Kinds {
			rows = append(rows, joined{c.Kinds[i], string(c.LeftRow(i)), string(c.RightRow(i)), int(c.Source[i])})
		}
	}
}

func TestAppendJoinedWritesAPayloadOncePerChunk(t *testing.T) {
	b := NewBuilder(BuilderOptions{Rows: 3, Bytes: 1000})
	left := Payload{Bytes: bytes.Repeat([]byte{1}, 100)}
	for i := range 7 {
		b.AppendJoined(Insert, &left, &Payload{Bytes: bytes.Repeat([]byte{2}, 16)}, i)
	}
	rows, data := drainJoined(b)
	if want := []int{100 + 3*16, 100 + 3*16, 100 + 16}; fmt.Sprint(data) != fmt.Sprint(want) {
		t.Errorf("chunks of %v bytes, want %v", data, want)
	}
	for i, r := range rows {
		if want := (joined{Insert, string(left.Bytes), string(bytes.Repeat([]byte{2}, 16)), i}); r != want {
			t.Errorf("row %d is %v", i, r)
		}
	}
}

// A row before and after is what two joined rows are, in chunks of any size.
func TestAppendUpdateIsTwoJoinedRows(t *testing.T) {
	const seed = 0x0dda7e
	rng := rand.New(rand.NewPCG(seed, 1))
	options := BuilderOptions{Rows: 5, Bytes: 300}
	got, want := NewBuilder(options), NewBuilder(options)
	row := func() []byte {
		row := make([]byte, 8+8*rng.IntN(6))
		for i := range row {
			row[i] = byte(rng.Uint32())
		}
		return row
	}
	for i := range 1000 {
		source := i%7 - 1
		key := Payload{Bytes: row()}
		if i%3 == 0 { // an odd row
			next := Payload{Bytes: row()}
			got.AppendJoined(Insert, &Payload{Bytes: key.Bytes}, &next, source)
			want.AppendJoined(Insert, &key, &Payload{Bytes: next.Bytes}, source)
		}
		before, after := row(), row()
		got.AppendUpdate(key.Bytes, before, after, source)
		want.AppendJoined(UpdateBefore, &key, &Payload{Bytes: before}, source)
		want.AppendJoined(UpdateAfter, &key, &Payload{Bytes: after}, source)
		if got.Pending() != want.Pending() {
			t.Fatalf("seed %#x, row %d: %d rows pending, want %d", seed, i, got.Pending(), want.Pending())
		}
	}
	g, _ := drainJoined(got)
	w, _ := drainJoined(want)
	if len(g) != len(w) {
		t.Fatalf("seed %#x: %d rows, want %d", seed, len(g), len(w))
	}
	for i := range w {
		if g[i] != w[i] {
			t.Fatalf("seed %#x: row %d is %v, want %v", seed, i, g[i], w[i])
		}
	}
}

// Arrow's binary views keep up to 12 bytes in the view: a BinaryRowData without fields has 8.
func TestViewsAreArrows(t *testing.T) {
	b := NewBuilder(BuilderOptions{})
	row := func(n int) []byte {
		row := make([]byte, n)
		for i := range row {
			row[i] = byte(i + 1)
		}
		return row
	}
	for _, n := range []int{8, 12, 13, 16} {
		b.AppendJoined(Delete, &Payload{Bytes: row(n)}, &Payload{Bytes: row(16)}, 0)
	}
	c, _ := b.Next()
	for i, want := range []View{
		{8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8},
		{12, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
		{13, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 32, 0, 0, 0},
		{16, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 61, 0, 0, 0},
	} {
		if c.Left[i] != want {
			t.Errorf("view %d is %v, want %v", i, c.Left[i], want)
		}
	}
	if len(c.Data) != 4*16+13+16 {
		t.Errorf("%d bytes of data", len(c.Data))
	}
}

func TestAppendJoinedAgainstSlice(t *testing.T) {
	const seed = 0x101ed
	rng := rand.New(rand.NewPCG(seed, 1))
	memory := &countingMemory{live: map[*Buffers]bool{}}
	b := NewBuilder(BuilderOptions{Rows: 100, Bytes: 5000, Memory: memory})
	payloads := make([]Payload, 20)
	renew := func(i int) {
		n := 8 * (1 + rng.IntN(20))
		if rng.IntN(100) == 0 {
			n = 9000
		}
		payloads[i] = Payload{Bytes: make([]byte, n)}
		for j := range n {
			payloads[i].Bytes[j] = byte(rng.Uint32())
		}
	}
	for i := range payloads {
		renew(i)
	}
	for round := range 200 {
		var want []joined
		for range rng.IntN(400) {
			if rng.IntN(5) == 0 {
				renew(rng.IntN(len(payloads)))
			}
			left, right := &payloads[rng.IntN(len(payloads))], &payloads[rng.IntN(len(payloads))]
			kind, source := RowKind(rng.IntN(4)), rng.IntN(500)-1
			b.AppendJoined(kind, left, right, source)
			want = append(want, joined{kind, string(left.Bytes), string(right.Bytes), source})
		}
		if got := b.Pending(); got != int64(len(want)) {
			t.Fatalf("seed %#x round %d: pending %d, want %d", seed, round, got, len(want))
		}
		got, _ := drainJoined(b)
		if len(got) != len(want) {
			t.Fatalf("seed %#x round %d: %d rows, want %d", seed, round, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("seed %#x round %d row %d: %v, want %v", seed, round, i, got[i], want[i])
			}
		}
		if round%3 == 0 {
			b.Close()
		} else {
			b.Recycle()
		}
	}
	b.Close()
	if len(memory.live) != 0 || b.Memory() != 0 {
		t.Errorf("%d buffers, %d bytes alive after Close", len(memory.live), b.Memory())
	}
}

// A huge row that many small ones join is copied for each chunk, not for each row.
func TestAppendJoinedToAHugeRow(t *testing.T) {
	b := NewBuilder(BuilderOptions{Rows: 4096, Bytes: 10000})
	huge, small := Payload{Bytes: make([]byte, 50000)}, make([]byte, 100)
	b.AppendJoined(Insert, &Payload{Bytes: small}, &Payload{Bytes: small}, 0)
	for i := range 1000 {
		b.AppendJoined(Insert, &huge, &Payload{Bytes: small}, i)
	}
	_, data := drainJoined(b)
	if len(data) != 3 {
		t.Errorf("chunks of %v bytes, want one, and two with the huge row", data)
	}
	b.Recycle()
	if n := b.Memory(); n > 300000 {
		t.Errorf("%d bytes are kept", n)
	}
}

func TestFull(t *testing.T) {
	b := NewBuilder(BuilderOptions{Rows: 2, Bytes: 1000})
	row := make([]byte, 16)
	appended := func(n int) bool {
		for range n {
			b.Append(Insert, row, 0)
		}
		return b.Full()
	}
	if appended(4) {
		t.Error("full with one chunk and the current one")
	}
	if !appended(1) {
		t.Error("not full with two chunks")
	}
	b.Next()
	if b.Full() {
		t.Error("full with one chunk left")
	}
	b.Next()
	b.Next()
	b.Recycle()
	if b.Full() {
		t.Error("full when empty")
	}
}

func TestFormsDoNotMix(t *testing.T) {
	row := Payload{Bytes: make([]byte, 16)}
	panics := func(name string, f func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", name)
			}
		}()
		f()
	}
	b := NewBuilder(BuilderOptions{})
	b.Append(Insert, row.Bytes, 0)
	panics("joined after row", func() { b.AppendJoined(Insert, &row, &row, 0) })
	b.Close()
	b.AppendJoined(Insert, &row, &row, 0)
	panics("row after joined", func() { b.Append(Insert, row.Bytes, 0) })
	panics("empty", func() { b.AppendJoined(Insert, &row, &Payload{}, 0) })
}

func TestAppendJoinedSteadyStateAllocatesNothing(t *testing.T) {
	b := NewBuilder(BuilderOptions{Rows: 64, Bytes: 4096})
	left, right := make([]byte, 120), make([]byte, 80)
	var l, r Payload
	cycle := func() {
		for i := range 500 {
			if i%8 == 0 {
				l = Payload{Bytes: left}
			}
			r = Payload{Bytes: right}
			b.AppendJoined(Insert, &l, &r, i)
		}
		for {
			if _, ok := b.Next(); !ok {
				break
			}
		}
		b.Recycle()
	}
	cycle()
	if n := testing.AllocsPerRun(20, cycle); n != 0 {
		t.Errorf("%v allocations per cycle of 500 rows", n)
	}
}

func BenchmarkBuilderAppendJoined(b *testing.B) {
	builder := NewBuilder(BuilderOptions{})
	left, right := make([]byte, 120), make([]byte, 80)
	b.ReportAllocs()
	var l, r Payload
	for i := 0; i < b.N; {
		for range 1024 {
			if i%8 == 0 {
				l = Payload{Bytes: left}
			}
			r = Payload{Bytes: right}
			builder.AppendJoined(Insert, &l, &r, i)
			i++
		}
		for {
			if _, ok := builder.Next(); !ok {
				break
			}
		}
		builder.Recycle()
	}
}
