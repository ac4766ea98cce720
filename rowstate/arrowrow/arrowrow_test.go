package arrowrow

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"drey/rowstate"
)

var (
	timestamp12 = arrow.StructOf(arrow.Field{Name: "millis", Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: "nanos", Type: arrow.PrimitiveTypes.Int32})
	// per type: JSON of values in ascending order, nulls first
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

func TestTypesWithoutKeyAreRefused(t *testing.T) {
	for _, dt := range []arrow.DataType{arrow.ListOf(arrow.PrimitiveTypes.Int8), arrow.Null, arrow.StructOf()} {
		if _, err := KindOf(dt); err == nil {
			t.Errorf("%s has a kind", dt)
		}
	}
}
