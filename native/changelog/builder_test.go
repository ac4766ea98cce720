package changelog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// countingMemory is a Memory that knows what is out and spoils what comes back.
type countingMemory struct {
	live   map[*Buffers]bool
	allocs int
}

func (m *countingMemory) Alloc(form Form, rows, bytes int) *Buffers {
	b := heap{}.Alloc(form, rows, bytes)
	for i := range b.Offsets {
		b.Offsets[i] = -99
	}
	m.live[b] = true
	m.allocs++
	return b
}

func (m *countingMemory) Free(b *Buffers) {
	if !m.live[b] {
		panic("freed twice, or never allocated")
	}
	delete(m.live, b)
	for i := range b.Data {
		b.Data[i] = 0xcc
	}
}

type emitted struct {
	kind   RowKind
	row    string
	source int
}

func drain(b *Builder) (rows []emitted, sizes []int) {
	for {
		c, ok := b.Next()
		if !ok {
			return rows, sizes
		}
		sizes = append(sizes, c.Len())
		for i := range c.Kinds {
			rows = append(rows, emitted{c.Kinds[i], string(c.Row(i)), int(c.Source[i])})
		}
	}
}

func TestBuilderCutsByRowsAndBytes(t *testing.T) {
	row := func(n int) []byte { return bytes.Repeat([]byte{9}, n) }
	for _, test := range []struct {
		name        string
		rows, bytes int
		sizes       []int
		want        []int
	}{
		{"nothing", 3, 100, nil, nil},
		{"under both", 3, 100, []int{16, 16}, []int{2}},
		{"rows", 3, 1000, []int{16, 16, 16, 16, 16, 16, 16}, []int{3, 3, 1}},
		{"bytes", 10, 40, []int{16, 16, 16, 8, 16}, []int{2, 3}},
		{"a huge row stands alone", 10, 40, []int{16, 800, 16, 16}, []int{1, 1, 2}},
		{"a huge row first", 10, 40, []int{800, 16}, []int{1, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := NewBuilder(BuilderOptions{Rows: test.rows, Bytes: test.bytes})
			for i, n := range test.sizes {
				b.Append(UpdateAfter, row(n), i)
			}
			if got := b.Pending(); got != int64(len(test.sizes)) {
				t.Errorf("pending %d, want %d", got, len(test.sizes))
			}
			rows, sizes := drain(b)
			if fmt.Sprint(sizes) != fmt.Sprint(test.want) {
				t.Errorf("chunks of %v rows, want %v", sizes, test.want)
			}
			for i, r := range rows {
				want := append([]byte{2}, row(test.sizes[i])[1:]...)
				if r.kind != UpdateAfter || r.row != string(want) || r.source != i {
					t.Errorf("row %d is %v", i, r)
				}
			}
			if b.Pending() != 0 {
				t.Errorf("%d rows pending after the last chunk", b.Pending())
			}
		})
	}
}

func TestBuilderAgainstSlice(t *testing.T) {
	const seed = 0x5eed
	rng := rand.New(rand.NewPCG(seed, 1))
	memory := &countingMemory{live: map[*Buffers]bool{}}
	b := NewBuilder(BuilderOptions{Rows: 100, Bytes: 5000, Memory: memory})
	for round := range 200 {
		var want []emitted
		for range rng.IntN(400) {
			row := make([]byte, 8*(1+rng.IntN(20)))
			if rng.IntN(200) == 0 {
				row = make([]byte, 9000)
			}
			for i := range row {
				row[i] = byte(rng.Uint32())
			}
			kind := RowKind(rng.IntN(4))
			source := rng.IntN(500) - 1
			b.Append(kind, row, source)
			row[0] = byte(kind)
			want = append(want, emitted{kind, string(row), source})
		}
		got, _ := drain(b)
		if len(got) != len(want) {
			t.Fatalf("seed %#x round %d: %d rows, want %d", seed, round, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("seed %#x round %d row %d: %v, want %v", seed, round, i, got[i], want[i])
			}
		}
		b.Recycle()
	}
	b.Close()
	if len(memory.live) != 0 || b.Memory() != 0 {
		t.Errorf("%d buffers, %d bytes alive after Close", len(memory.live), b.Memory())
	}
}

func TestBuilderChunksStayUntilRecycle(t *testing.T) {
	memory := &countingMemory{live: map[*Buffers]bool{}}
	b := NewBuilder(BuilderOptions{Rows: 2, Bytes: 1000, Memory: memory})
	for i := range 5 {
		b.Append(Insert, []byte{0, byte(i)}, i)
	}
	first, _ := b.Next()
	second, _ := b.Next()
	if first.Row(1)[1] != 1 || second.Row(0)[1] != 2 {
		t.Fatal("a polled chunk has changed before Recycle")
	}
	b.Recycle() // the fifth row is pending still
	b.Append(Insert, []byte{0, 5}, 5)
	rows, _ := drain(b)
	if len(rows) != 2 || rows[0].source != 4 || rows[1].source != 5 {
		t.Fatalf("rows after Recycle: %v", rows)
	}
	b.Close()
}

func TestBuilderSteadyStateAllocatesNothing(t *testing.T) {
	b := NewBuilder(BuilderOptions{Rows: 64, Bytes: 4096})
	row := make([]byte, 120)
	cycle := func() {
		for i := range 500 {
			b.Append(Insert, row, i)
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

func BenchmarkBuilderAppend(b *testing.B) {
	builder := NewBuilder(BuilderOptions{})
	row := make([]byte, 120)
	b.SetBytes(120)
	b.ReportAllocs()
	for i := 0; i < b.N; {
		for range 1024 {
			builder.Append(Insert, row, i)
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
