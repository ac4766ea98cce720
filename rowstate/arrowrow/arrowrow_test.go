package arrowrow

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"drey/rowstate"
)

var (
	timestamp12 = arrow.StructOf(arrow.Field{Name: "millis", Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: "nanos", Type: arrow.PrimitiveTypes.Int32})
	// The Arrow types that columns of Flink's types have. Per type: JSON of values in ascending order, nulls first.
	sorted = []struct {
		t    arrow.DataType
		json string
	}{
		{arrow.FixedWidthTypes.Boolean, `[null, false, true]`},
		{arrow.PrimitiveTypes.Int8, `[null, -128, -1, 0, 127]`},
		{arrow.PrimitiveTypes.Int16, `[null, -32768, -1, 0, 300]`},
		{arrow.PrimitiveTypes.Int32, `[null, -70000, -1, 0, 70000]`},
		{arrow.PrimitiveTypes.Int64, `[null, -5000000000, -1, 0, 5000000000]`},
		{arrow.PrimitiveTypes.Date32, `[null, "1969-12-31", "1970-01-01", "2024-02-29"]`},
		{arrow.FixedWidthTypes.MonthInterval, `[null, {"months": -3}, {"months": 0}, {"months": 14}]`},
		{arrow.FixedWidthTypes.Duration_ms, `[null, -86400000, 0, 1]`},
		{arrow.FixedWidthTypes.Time32s, `[null, "00:00:00", "23:59:59"]`},
		{arrow.FixedWidthTypes.Time32ms, `[null, "00:00:00.001", "23:59:59.999"]`},
		{arrow.FixedWidthTypes.Time64us, `[null, "00:00:00.000001", "23:59:59.999999"]`},
		{arrow.FixedWidthTypes.Time64ns, `[null, "00:00:00.000000001", "23:59:59.999999999"]`},
		{arrow.FixedWidthTypes.Timestamp_s, `[null, "1969-12-31T23:59:59Z", "2024-01-01T00:00:00Z"]`},
		{arrow.FixedWidthTypes.Timestamp_us, `[null, "1969-12-31T23:59:59.999999Z", "2024-01-01T00:00:00Z"]`},
		{arrow.FixedWidthTypes.Timestamp_ns, `[null, "1969-12-31T23:59:59.999999999Z", "2024-01-01T00:00:00Z"]`},
		{arrow.BinaryTypes.Binary, `[null, "", "AA==", "AAA=", "fw==", "gA==", "/w=="]`},
		{&arrow.Decimal128Type{Precision: 7, Scale: 2}, `[null, "-0.01", "0.00", "99999.99"]`},
		{arrow.FixedWidthTypes.Timestamp_ms, `[null, "1969-12-31T23:59:59.999Z", "2024-01-01T00:00:00Z"]`},
		{arrow.PrimitiveTypes.Float32, `[null, -1.5, 0, 2.25]`},
		{arrow.PrimitiveTypes.Float64, `[null, -1e300, -1, 0, 1e-300, 7]`},
		{&arrow.Decimal128Type{Precision: 30, Scale: 2}, `[null, "-12345678901234567890123.45", "-0.01", "0.00", "99999999999999999999.99"]`},
		{arrow.BinaryTypes.String, `[null, "", "a", "a\u0000", "ab", "b", "zebra zebra zebra zebra zebra zebra zebra zebra"]`},
		{timestamp12, `[null, {"millis": -1, "nanos": 999999}, {"millis": 0, "nanos": 0}, {"millis": 0, "nanos": 1}]`},
	}
)

func fromJSON(t *testing.T, dt arrow.DataType, text string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, dt, strings.NewReader(text))
	if err != nil {
		t.Fatal(dt, err)
	}
	return a
}

// TestArraysThereAndBack encodes arrays of every type, whole and sliced, checks the order of the keys, decodes them and compares
// the arrays.
func TestArraysThereAndBack(t *testing.T) {
	for _, c := range sorted {
		whole := fromJSON(t, c.t, c.json)
		for from := range whole.Len() {
			a := array.NewSlice(whole, int64(from), int64(whole.Len()))
			rows := a.Len()
			kind, err := KindOf(c.t)
			if err != nil {
				t.Fatal(err)
			}
			columns, err := Columns([]arrow.Array{a, a})
			if err != nil {
				t.Fatal(err)
			}
			codec, err := rowstate.NewKeyCodec([]rowstate.KeyField{{Kind: kind}, {Kind: kind, Order: rowstate.SortOrder{Descending: true}}})
			if err != nil {
				t.Fatal(err)
			}
			var keys rowstate.Rows
			if err := codec.Encode(columns, rows, &keys); err != nil {
				t.Fatal(err)
			}
			for i := 1; i < rows; i++ {
				if bytes.Compare(keys.Row(i-1), keys.Row(i)) >= 0 {
					t.Errorf("%s from %d: key %d is not less than key %d", c.t, from, i-1, i)
				}
			}
			decoded := make([]rowstate.Column, 2)
			if err := codec.Decode(&keys, decoded); err != nil {
				t.Fatal(err)
			}
			for _, column := range decoded {
				back, err := Array(c.t, column, rows)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(back) != fmt.Sprint(a) {
					t.Errorf("%s from %d: %v came back as %v", c.t, from, a, back)
				}
				back.Release()
			}
		}
	}
}

// randomArray draws an array of rows values that starts somewhere within its buffers.
func randomArray(rng *rand.Rand, t arrow.DataType, rows int) arrow.Array {
	first := rng.IntN(9)
	total := first + rows
	random := func(n int) *memory.Buffer {
		b := make([]byte, n)
		for i := range b {
			if b[i] = byte(rng.Uint32()); rng.IntN(3) == 0 {
				b[i] = []byte{0, 0xFF, 0x80, 0x7F}[rng.IntN(4)]
			}
		}
		return memory.NewBufferBytes(b)
	}
	var validity *memory.Buffer
	nulls := 0
	if rng.IntN(3) > 0 {
		validity, nulls = random((total+7)/8), array.UnknownNullCount
	}
	if t.ID() == arrow.STRUCT {
		millis := array.NewData(arrow.PrimitiveTypes.Int64, total, []*memory.Buffer{nil, random(8 * total)}, nil, 0, 0)
		nanos := array.NewData(arrow.PrimitiveTypes.Int32, total, []*memory.Buffer{nil, random(4 * total)}, nil, 0, 0)
		return array.NewStructData(array.NewData(t, rows, []*memory.Buffer{validity}, []arrow.ArrayData{millis, nanos}, nulls, first))
	}
	buffers := []*memory.Buffer{validity}
	switch layout := t.Layout().Buffers; {
	case len(layout) == 3:
		offsets := []int32{0}
		for range total {
			offsets = append(offsets, offsets[len(offsets)-1]+int32(rng.IntN(1+rng.IntN(80))))
		}
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)), random(int(offsets[total])))
	case layout[1].Kind == arrow.KindBitmap:
		buffers = append(buffers, random((total+7)/8))
	default:
		buffers = append(buffers, random(total*layout[1].ByteWidth))
	}
	return array.MakeFromData(array.NewData(t, rows, buffers, nil, nulls, first))
}

// raw is what makes two values one: their bits.
func raw(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case *array.Boolean:
		return fmt.Sprint(a.Value(i))
	case *array.String:
		return fmt.Sprintf("%x", a.Value(i))
	case *array.Binary:
		return fmt.Sprintf("%x", a.Value(i))
	case *array.Struct:
		return raw(a.Field(0), i) + " " + raw(a.Field(1), i)
	}
	width := a.DataType().(arrow.FixedWidthDataType).Bytes()
	at := (a.Data().Offset() + i) * width
	return fmt.Sprintf("%x", a.Data().Buffers()[1].Bytes()[at:at+width])
}

// checkThereAndBack encodes batches of random arrays of random types, as payloads are, decodes them and compares every value.
func checkThereAndBack(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	rows := rng.IntN(100)
	var types []arrow.DataType
	var arrays []arrow.Array
	var fields []rowstate.KeyField
	for range 1 + rng.IntN(6) {
		dt := sorted[rng.IntN(len(sorted))].t
		kind, err := KindOf(dt)
		if err != nil {
			t.Fatal(err)
		}
		types, arrays = append(types, dt), append(arrays, randomArray(rng, dt, rows))
		order := rowstate.SortOrder{Descending: rng.IntN(2) == 0, NullsLast: rng.IntN(2) == 0}
		fields = append(fields, rowstate.KeyField{Kind: kind, Order: order, Exact: true})
	}
	columns, err := Columns(arrays)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := rowstate.NewKeyCodec(fields)
	if err != nil {
		t.Fatal(err)
	}
	var encoded rowstate.Rows
	decoded := make([]rowstate.Column, len(fields))
	if err := errors.Join(codec.Encode(columns, rows, &encoded), codec.Decode(&encoded, decoded)); err != nil {
		t.Fatalf("seed %d: %v: %v", seed, types, err)
	}
	for c, dt := range types {
		back, err := Array(dt, decoded[c], rows)
		if err != nil {
			t.Fatal(err)
		}
		if back.Len() != rows || back.NullN() != arrays[c].NullN() {
			t.Fatalf("seed %d column %d of %s: %d rows, %d nulls, want %d and %d", seed, c, dt, back.Len(), back.NullN(), rows, arrays[c].NullN())
		}
		for i := range rows {
			if got, want := raw(back, i), raw(arrays[c], i); got != want {
				t.Fatalf("seed %d column %d of %s row %d: %s came back as %s", seed, c, dt, i, want, got)
			}
		}
	}
}

func TestRandomArraysThereAndBack(t *testing.T) {
	for seed := range uint64(400) {
		checkThereAndBack(t, seed)
	}
}

func FuzzArraysThereAndBack(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkThereAndBack)
}

func TestTypesWithoutKeyAreRefused(t *testing.T) {
	for _, dt := range []arrow.DataType{arrow.ListOf(arrow.PrimitiveTypes.Int8), arrow.Null, arrow.StructOf()} {
		if _, err := KindOf(dt); err == nil {
			t.Errorf("%s has a kind", dt)
		}
	}
}
