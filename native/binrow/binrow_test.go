package binrow

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"drey/native/changelog"
	"drey/native/logical"
	"drey/rowstate"
)

func types(t testing.TB, texts ...string) []logical.Type {
	t.Helper()
	out := make([]logical.Type, len(texts))
	for i, text := range texts {
		typ, err := logical.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = typ
	}
	return out
}

func layout(t testing.TB, texts ...string) *Layout {
	t.Helper()
	l, err := NewLayout(types(t, texts...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// vectors are key rows and their bytes, computed by Flink 2.2.1.
var vectors = []struct {
	types string
	write func(w *Writer)
	bytes string
}{
	{"BIGINT", func(w *Writer) { w.SetInt(0, 1) }, "00000000000000000100000000000000"},
	{"BIGINT", func(w *Writer) { w.SetInt(0, -1) }, "0000000000000000ffffffffffffffff"},
	{"INT", func(w *Writer) { w.SetInt(0, -1) }, "0000000000000000ffffffff00000000"},
	{"TINYINT", func(w *Writer) { w.SetInt(0, -1) }, "0000000000000000ff00000000000000"},
	{"BOOLEAN", func(w *Writer) { w.SetInt(0, 1) }, "00000000000000000100000000000000"},
	{"INT", func(w *Writer) { w.SetNull(0) }, "00010000000000000000000000000000"},
	{"STRING", func(w *Writer) { w.SetNull(0) }, "00010000000000000000000000000000"},
	{"STRING", func(w *Writer) { w.SetBytes(0, nil) }, "00000000000000000000000000000080"},
	{"STRING", func(w *Writer) { w.SetBytes(0, []byte("abc")) }, "00000000000000006162630000000083"},
	{"STRING", func(w *Writer) { w.SetBytes(0, []byte("abcdefg")) }, "00000000000000006162636465666787"},
	{"STRING", func(w *Writer) { w.SetBytes(0, []byte("abcdefgh")) }, "000000000000000008000000100000006162636465666768"},
	{"STRING", func(w *Writer) { w.SetBytes(0, []byte("channel-1234")) },
		"00000000000000000c000000100000006368616e6e656c2d3132333400000000"},
	{"BIGINT|STRING", func(w *Writer) { w.SetInt(0, 7); w.SetBytes(1, []byte("x")) },
		"000000000000000007000000000000007800000000000081"},
	{"DOUBLE", func(w *Writer) { w.SetFloat64(0, math.Copysign(0, -1)) }, "00000000000000000000000000000080"},
	{"DOUBLE", func(w *Writer) { w.SetInt(0, 0x7ff8000000000000) }, "0000000000000000000000000000f87f"},
	{"DECIMAL(10, 2)", func(w *Writer) { w.SetInt(0, 150) }, "00000000000000009600000000000000"},
	{"DECIMAL(38, 2)", func(w *Writer) { w.SetBytes(0, []byte{0, 150}) },
		"0000000000000000020000001000000000960000000000000000000000000000"},
	{"DECIMAL(38, 2)", func(w *Writer) { w.SetBytes(0, []byte{0xff, 0x6a}) },
		"00000000000000000200000010000000ff6a0000000000000000000000000000"},
	{"DECIMAL(38, 2)", func(w *Writer) { w.SetNull(0) },
		"0001000000000000000000001000000000000000000000000000000000000000"},
	{"TIMESTAMP(3)", func(w *Writer) { w.SetInt(0, 1000) }, "0000000000000000e803000000000000"},
	{"TIMESTAMP(6)", func(w *Writer) { w.SetTimestamp(0, 1000, 5000) }, "00000000000000008813000010000000e803000000000000"},
	{"TIMESTAMP(6)", func(w *Writer) { w.SetNull(0) }, "000100000000000000000000100000000000000000000000"},
	{"", func(w *Writer) {}, "0000000000000000"},
}

func TestWriterVectors(t *testing.T) {
	for _, v := range vectors {
		var texts []string
		if v.types != "" {
			texts = strings.Split(v.types, "|")
		}
		w := NewWriter(layout(t, texts...))
		v.write(w)
		if got := hex.EncodeToString(w.Row()); got != v.bytes {
			t.Errorf("%s: wrote %s, want %s", v.types, got, v.bytes)
		}
	}
}

// TestProjectorVectors projects each vector's columns out of a row that has others around them, whose nulls are in the
// plain form.
func TestProjectorVectors(t *testing.T) {
	for _, v := range vectors {
		all := []string{"STRING", "BIGINT"}
		var columns []int
		if v.types != "" {
			for _, text := range strings.Split(v.types, "|") {
				columns = append(columns, len(all))
				all = append(all, text, "VARCHAR(20)")
			}
		}
		in := layout(t, all...)
		key := NewWriter(layout(t, strings.Split(v.types, "|")[:len(columns)]...))
		v.write(key)
		keyLayout := key.layout

		w := NewWriter(in)
		w.SetBytes(0, []byte("something long enough"))
		w.SetNull(1)
		for i, c := range columns {
			switch row := key.Row(); {
			case keyLayout.IsNull(row, i):
				w.SetPlainNull(c)
			case in.classes[c] == time12:
				w.SetTimestamp(c, 1000, 5000)
			case in.classes[c] < inlined:
				w.SetInt(c, keyLayout.Int64(row, i))
			default:
				w.SetBytes(c, keyLayout.Bytes(row, i))
			}
			w.SetBytes(c+1, []byte("more of it, behind"))
		}
		row := w.Row()
		if err := in.Check(row); err != nil {
			t.Fatalf("%s: %v", v.types, err)
		}
		for _, kind := range []byte{0, 3} {
			row[0] = kind
			p, err := NewProjector(types(t, all...), columns)
			if err != nil {
				t.Fatal(err)
			}
			var keys rowstate.Rows
			if err := p.Project(batch(row, row), &keys); err != nil {
				t.Fatalf("%s: %v", v.types, err)
			}
			if keys.Len() != 2 {
				t.Fatalf("%s: %d keys of 2 rows", v.types, keys.Len())
			}
			for i := range 2 {
				if got := hex.EncodeToString(keys.Row(i)); got != v.bytes {
					t.Errorf("%s: row %d has key %s, want %s", v.types, i, got, v.bytes)
				}
			}
			if w := p.Width(); w != 0 && w != len(v.bytes)/2 {
				t.Errorf("%s: width %d, keys of %d bytes", v.types, w, len(v.bytes)/2)
			}
		}
	}
}

func batch(rows ...[]byte) *changelog.Batch {
	b := &changelog.Batch{Offsets: []int32{0}}
	for _, row := range rows {
		b.Kinds = append(b.Kinds, changelog.Insert)
		b.Data = append(b.Data, row...)
		b.Offsets = append(b.Offsets, int32(len(b.Data)))
	}
	return b
}

// everyType is one column of each storage class and more.
var everyType = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME(3)", "INTERVAL MONTH",
	"INTERVAL DAY(2) TO SECOND(6)", "DECIMAL(18, 3)", "DECIMAL(38, 10)", "TIMESTAMP(3)", "TIMESTAMP(9)",
	"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "CHAR(3)", "STRING", "BINARY(9)", "BYTES",
	"ARRAY<INT>", "MAP<INT, INT>", "ROW<`a` INT>", "RAW('x', 'y')", "BITMAP",
}

// randomRow writes a row of any types and returns it.
func randomRow(rng *rand.Rand, w *Writer) []byte {
	w.Reset()
	for i, c := range w.layout.classes {
		if rng.IntN(4) == 0 {
			if rng.IntN(2) == 0 {
				w.SetNull(i)
			} else {
				w.SetPlainNull(i)
			}
			continue
		}
		switch c {
		case time12:
			w.SetTimestamp(i, int64(rng.Uint64()), rng.Int32N(1000000))
		case decimal16:
			w.SetBytes(i, randomBytes(rng, 1+rng.IntN(16)))
		case inlined, variable:
			w.SetBytes(i, randomBytes(rng, rng.IntN(30)))
		default:
			w.SetInt(i, int64(rng.Uint64()))
		}
	}
	return w.Row()
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// TestReadersSeeWhatWriterWrote goes through random rows of every type, and a wide row whose null bits take two words.
func TestReadersSeeWhatWriterWrote(t *testing.T) {
	const seed = 17
	rng := rand.New(rand.NewPCG(seed, 1))
	wide := append([]string{}, everyType...)
	for len(wide) < 70 {
		wide = append(wide, everyType...)
	}
	for _, texts := range [][]string{everyType, wide} {
		l := layout(t, texts...)
		w := NewWriter(l)
		for range 500 {
			w.Reset()
			type value struct {
				null  bool
				word  int64
				nanos int32
				bytes []byte
			}
			want := make([]value, len(texts))
			for i, c := range l.classes {
				v := &want[i]
				switch {
				case rng.IntN(5) == 0:
					v.null = true
					w.SetNull(i)
				case c == time12:
					v.word, v.nanos = int64(rng.Uint64()), rng.Int32N(1000000)
					w.SetTimestamp(i, v.word, v.nanos)
				case c >= inlined:
					v.bytes = randomBytes(rng, rng.IntN(17))
					w.SetBytes(i, v.bytes)
				default:
					v.word = int64(rng.Uint64())
					w.SetInt(i, v.word)
				}
			}
			row := w.Row()
			if err := l.Check(row); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for i, c := range l.classes {
				v := want[i]
				if l.IsNull(row, i) != v.null {
					t.Fatalf("seed %d: column %d: null %v", seed, i, !v.null)
				}
				if v.null {
					continue
				}
				ok := true
				switch c {
				case byte1:
					ok = l.Int8(row, i) == int8(v.word)
				case byte2:
					ok = l.Int16(row, i) == int16(v.word)
				case byte4:
					ok = l.Int32(row, i) == int32(v.word)
				case byte8:
					ok = l.Int64(row, i) == v.word
				case time12:
					millis, nanos := l.Timestamp(row, i)
					ok = millis == v.word && nanos == v.nanos
				default:
					ok = bytes.Equal(l.Bytes(row, i), v.bytes)
				}
				if !ok {
					t.Fatalf("seed %d: column %d (%s) reads back wrongly", seed, i, texts[i])
				}
			}
		}
	}
}

// TestProjectionOfAllColumnsEqualsWriter: the key made of all columns is the row itself, in projection form. This covers
// the fast path against the slow one, and both against Writer.
func TestProjectionOfAllColumnsEqualsWriter(t *testing.T) {
	const seed = 23
	rng := rand.New(rand.NewPCG(seed, 1))
	slots := []string{"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "DECIMAL(9, 2)", "TIMESTAMP(3)"}
	wide := append([]string{}, slots...)
	for len(wide) < 60 {
		wide = append(wide, slots...)
	}
	for _, texts := range [][]string{everyType, slots, wide} {
		columns := make([]int, len(texts))
		for i := range columns {
			columns[i] = i
		}
		p, err := NewProjector(types(t, texts...), columns)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWriter(layout(t, texts...))
		again := NewWriter(layout(t, texts...))
		var keys, one rowstate.Rows
		for range 300 {
			row := append([]byte{}, randomRow(rng, w)...)
			if err := p.Project(batch(row), &keys); err != nil {
				t.Fatal(err)
			}
			one.Reset(p.Width())
			p.Append(row, &one)
			again.Reset()
			for i, c := range w.layout.classes {
				switch {
				case w.layout.IsNull(row, i):
					again.SetNull(i)
				case c == time12:
					millis, nanos := w.layout.Timestamp(row, i)
					again.SetTimestamp(i, millis, nanos)
				case c >= inlined:
					again.SetBytes(i, w.layout.Bytes(row, i))
				default:
					again.SetInt(i, w.layout.Int64(row, i))
				}
			}
			if !bytes.Equal(keys.Row(0), again.Row()) || !bytes.Equal(one.Row(0), again.Row()) {
				t.Fatalf("seed %d, %d columns: row %x has key %x and %x, want %x", seed, len(texts), row, keys.Row(0), one.Row(0), again.Row())
			}
		}
	}
}

func TestProjectorKeepsNoGarbage(t *testing.T) {
	// A null's slot and the unused bytes of a short slot must not reach the key, or equal keys differ.
	texts := []string{"INT", "BIGINT"}
	l := layout(t, texts...)
	row := make([]byte, l.FixedSize())
	for i := range row {
		row[i] = 0xff
	}
	row[1] = 0b10 // BIGINT is null
	p, err := NewProjector(types(t, texts...), []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	var keys rowstate.Rows
	if err := p.Project(batch(row), &keys); err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(keys.Row(0)), "0002000000000000"+"ffffffff00000000"+"0000000000000000"; got != want {
		t.Errorf("key %s, want %s", got, want)
	}
}

func TestUnsupportedTypes(t *testing.T) {
	for _, text := range []string{"NULL", "TIMESTAMP(3) WITH TIME ZONE", "DESCRIPTOR", "mytype"} {
		if _, err := NewLayout(types(t, text)); err == nil {
			t.Errorf("%s has a layout", text)
		}
	}
	if _, err := NewProjector(types(t, "INT"), []int{1}); err == nil {
		t.Error("a projector of a missing column")
	}
}

func TestCheckBatch(t *testing.T) {
	l := layout(t, "BIGINT", "STRING") // 24 bytes
	row := make([]byte, 24)
	for _, test := range []struct {
		name string
		edit func(b *changelog.Batch)
		want string
	}{
		{"fine", func(b *changelog.Batch) {}, ""},
		{"sliced", func(b *changelog.Batch) { b.Offsets, b.Kinds = b.Offsets[1:], b.Kinds[1:] }, ""},
		{"empty", func(b *changelog.Batch) { b.Offsets, b.Kinds = []int32{5}, nil }, ""},
		{"offsets missing", func(b *changelog.Batch) { b.Offsets = b.Offsets[:2] }, "2 rows with 2 offsets"},
		{"no offsets", func(b *changelog.Batch) { b.Offsets, b.Kinds = nil, nil }, "0 rows with 0 offsets"},
		{"negative", func(b *changelog.Batch) { b.Offsets[0] = -24 }, "row 0: starts at offset -24"},
		{"backwards", func(b *changelog.Batch) { b.Offsets[1] = 72 }, "row 1: -24 bytes"},
		{"overflowing", func(b *changelog.Batch) { b.Offsets[0], b.Offsets[1] = 1<<31-1, -1<<31 }, "row 0"},
		{"short", func(b *changelog.Batch) { b.Offsets[1] = 16 }, "row 0: 16 bytes"},
		{"no word", func(b *changelog.Batch) { b.Offsets[2] = 49 }, "row 1: 25 bytes"},
		{"beyond the data", func(b *changelog.Batch) { b.Data = b.Data[:40] }, "row 1: ends at offset 48 of 40"},
	} {
		b := batch(row, row)
		test.edit(b)
		err := l.CheckBatch(b)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func TestCheckFindsMalformedFields(t *testing.T) {
	for _, test := range []struct {
		text string
		slot uint64
		ok   bool
	}{
		{"STRING", 0x80 << 56, true},
		{"STRING", 0x87 << 56, true},
		{"STRING", 0x88 << 56, false},
		{"STRING", 0xff << 56, false},
		{"STRING", 16<<32 | 8, true},
		{"STRING", 16<<32 | 9, false},
		{"STRING", 24 << 32, true},
		{"STRING", 8<<32 | 8, false},
		{"STRING", 0x7fffffff<<32 | 0xffffffff, false},
		{"ROW<`a` INT>", 0xffffffff<<32 | 0xffffffff, false},
		{"ROW<`a` INT>", 16<<32 | 8, true},
		{"DECIMAL(38, 0)", 16<<32 | 1, false}, // its 16 bytes aren't there
		{"DECIMAL(38, 0)", 16<<32 | 17, false},
		{"TIMESTAMP(6)", 16<<32 | 999999, true},
		{"TIMESTAMP(6)", 24 << 32, false},
		{"BIGINT", ^uint64(0), true},
	} {
		row := make([]byte, 24)
		binary.LittleEndian.PutUint64(row[8:], test.slot)
		l := layout(t, test.text)
		if err := l.Check(row); (err == nil) != test.ok {
			t.Errorf("%s with slot %#x: %v", test.text, test.slot, err)
		}
		p, err := NewProjector(types(t, test.text), []int{0})
		if err != nil {
			t.Fatal(err)
		}
		var keys rowstate.Rows
		if err := p.Project(batch(row), &keys); (err == nil) != test.ok {
			t.Errorf("projecting %s with slot %#x: %v", test.text, test.slot, err)
		}
		row[1] = 1 // null: whatever the slot says is not looked at
		if err := l.Check(row); err != nil {
			t.Errorf("null %s with slot %#x: %v", test.text, test.slot, err)
		}
		if err := p.Project(batch(row), &keys); err != nil {
			t.Errorf("projecting null %s with slot %#x: %v", test.text, test.slot, err)
		}
	}
}

// FuzzCheck: what Check accepts can be read and projected.
func FuzzCheck(f *testing.F) {
	l := layout(f, everyType...)
	columns := make([]int, len(everyType))
	for i := range columns {
		columns[i] = i
	}
	p, err := NewProjector(types(f, everyType...), columns)
	if err != nil {
		f.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		f.Add(append([]byte{}, randomRow(rng, NewWriter(l))...))
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		if l.Check(row) != nil {
			return
		}
		for i, c := range l.classes {
			if l.IsNull(row, i) {
				continue
			}
			switch {
			case c == time12:
				l.Timestamp(row, i)
			case c >= inlined:
				l.Bytes(row, i)
			default:
				l.Int64(row, i)
			}
		}
		var keys rowstate.Rows
		if err := p.Project(batch(row), &keys); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkProject(b *testing.B) {
	for _, test := range []struct {
		name    string
		columns []int
	}{{"key=bigint", []int{0}}, {"key=bigint,bigint", []int{1, 0}}, {"key=string", []int{3}}} {
		b.Run(test.name, func(b *testing.B) {
			texts := []string{"BIGINT", "BIGINT", "BIGINT", "STRING", "STRING", "TIMESTAMP(3)", "STRING"}
			rng := rand.New(rand.NewPCG(1, 1))
			w := NewWriter(layout(b, texts...))
			rows := make([][]byte, 1024)
			for i := range rows {
				rows[i] = append([]byte{}, randomRow(rng, w)...)
			}
			in := batch(rows...)
			p, err := NewProjector(types(b, texts...), test.columns)
			if err != nil {
				b.Fatal(err)
			}
			var keys rowstate.Rows
			b.ReportAllocs()
			for b.Loop() {
				if err := w.layout.CheckBatch(in); err != nil {
					b.Fatal(err)
				}
				if err := p.Project(in, &keys); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/row")
		})
	}
}
