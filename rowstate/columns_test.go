package rowstate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

var allKinds = []Kind{KindBool, KindInt8, KindInt16, KindInt32, KindInt64, KindFloat32, KindFloat64, KindTimestamp, KindDecimal, KindBytes}

// randomColumn draws a column whose view starts at First; nulls are one in nulls, or none if that is 0.
func randomColumn(rng *rand.Rand, kind Kind, rows, nulls int) Column {
	c := Column{Kind: kind, First: rng.IntN(11)}
	total := rows + c.First
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
			if rng.IntN(3) == 0 {
				b[i] = []byte{0, 0xFF, 0x80, 0x7F}[rng.IntN(4)]
			}
		}
		return b
	}
	switch kind {
	case KindBool:
		c.Values = random((total + 7) / 8)
	case KindBytes:
		c.Offsets = []int32{int32(rng.IntN(5))}
		for range total {
			n := rng.IntN(1 + rng.IntN(100))
			c.Offsets = append(c.Offsets, c.Offsets[len(c.Offsets)-1]+int32(n))
		}
		c.Values = random(int(c.Offsets[total]))
	case KindTimestamp:
		c.Values = random(8 * total)
		for range total {
			c.Nanos = binary.LittleEndian.AppendUint32(c.Nanos, uint32(rng.IntN(1_000_000)))
		}
	default:
		c.Values = random(keyWidths[kind] * total)
	}
	if kind == KindFloat64 || kind == KindFloat32 {
		for i := range total {
			if rng.IntN(4) == 0 {
				v := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(5)]
				if kind == KindFloat64 {
					binary.LittleEndian.PutUint64(c.Values[8*i:], math.Float64bits(v))
				} else {
					binary.LittleEndian.PutUint32(c.Values[4*i:], math.Float32bits(float32(v)))
				}
			}
		}
	}
	if nulls > 0 {
		c.Validity = make([]byte, (total+7)/8)
		for i := range total {
			if rng.IntN(nulls) > 0 {
				c.Validity[i>>3] |= 1 << (i & 7)
			}
		}
	}
	return c
}

// appendField writes row i of a column with the Append functions, which sortkey_test.go checks.
func appendField(dst []byte, c *Column, o SortOrder, i int) []byte {
	if !c.valid(i) {
		if c.Kind == KindBytes {
			return o.AppendNullBytes(dst)
		}
		return o.AppendNull(dst, keyWidths[c.Kind])
	}
	i += c.First
	switch v := c.Values; c.Kind {
	case KindBool:
		return o.AppendBool(dst, v[i/8]>>(i%8)&1 != 0)
	case KindInt8:
		return o.AppendInt8(dst, int8(v[i]))
	case KindInt16:
		return o.AppendInt16(dst, int16(binary.LittleEndian.Uint16(v[2*i:])))
	case KindInt32:
		return o.AppendInt32(dst, int32(binary.LittleEndian.Uint32(v[4*i:])))
	case KindInt64:
		return o.AppendInt64(dst, int64(binary.LittleEndian.Uint64(v[8*i:])))
	case KindFloat32:
		return o.AppendFloat32(dst, math.Float32frombits(binary.LittleEndian.Uint32(v[4*i:])))
	case KindFloat64:
		return o.AppendFloat64(dst, math.Float64frombits(binary.LittleEndian.Uint64(v[8*i:])))
	case KindTimestamp:
		return o.AppendTimestamp(dst, int64(binary.LittleEndian.Uint64(v[8*i:])), int32(binary.LittleEndian.Uint32(c.Nanos[4*i:])))
	case KindDecimal:
		big := bytes.Clone(v[16*i : 16*i+16])
		for a, b := 0, 15; a < b; a, b = a+1, b-1 {
			big[a], big[b] = big[b], big[a]
		}
		return o.AppendDecimal(dst, big)
	}
	return o.AppendBytes(dst, c.Values[c.Offsets[i]:c.Offsets[i+1]])
}

// TestCodecEqualsAppend encodes random columns and compares with the field-wise functions, then decodes and encodes again.
func TestCodecEqualsAppend(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for round := range 400 {
		var fields []KeyField
		var columns []Column
		rows := rng.IntN(70)
		for range 1 + rng.IntN(4) {
			kind := allKinds[(round+len(fields)*3)%len(allKinds)]
			fields = append(fields, KeyField{Kind: kind, Order: orders[rng.IntN(len(orders))]})
			columns = append(columns, randomColumn(rng, kind, rows, rng.IntN(4)))
		}
		codec, err := NewKeyCodec(fields)
		if err != nil {
			t.Fatal(err)
		}
		var keys, again Rows
		if err := codec.Encode(columns, rows, &keys); err != nil {
			t.Fatal(err)
		}
		if keys.Len() != rows {
			t.Fatalf("%v: %d keys of %d rows", fields, keys.Len(), rows)
		}
		for i := range rows {
			var want []byte
			for f := range fields {
				want = appendField(want, &columns[f], fields[f].Order, i)
			}
			if !bytes.Equal(keys.Row(i), want) {
				t.Fatalf("%v row %d:\n%x\n%x", fields, i, keys.Row(i), want)
			}
		}
		decoded := make([]Column, len(fields))
		if err := codec.Decode(&keys, decoded); err != nil {
			t.Fatal(err)
		}
		if err := codec.Encode(decoded, rows, &again); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if !bytes.Equal(keys.Row(i), again.Row(i)) {
				t.Fatalf("%v row %d: %x decoded and encoded: %x", fields, i, keys.Row(i), again.Row(i))
			}
			for f, kind := range fields {
				if kind.Kind == KindBytes && columns[f].valid(i) {
					a, b := i+columns[f].First, decoded[f]
					if !bytes.Equal(columns[f].Values[columns[f].Offsets[a]:columns[f].Offsets[a+1]], b.Values[b.Offsets[i]:b.Offsets[i+1]]) {
						t.Fatalf("row %d field %d: bytes differ", i, f)
					}
				}
			}
		}
	}
}

// TestDecodeKnownValues pins decoding by values, not only by encoding again.
func TestDecodeKnownValues(t *testing.T) {
	for _, o := range orders {
		codec, _ := NewKeyCodec([]KeyField{{KindInt64, o, false}, {KindFloat64, o, false}, {KindBytes, o, false}, {KindBool, o, true}})
		var keys Rows
		keys.Reset(0)
		keys.Append(o.AppendBool(o.AppendBytes(o.AppendFloat64(o.AppendInt64(nil, -5), -2.5), []byte("bid")), true))
		keys.Append(o.AppendNull(o.AppendNullBytes(o.AppendNull(o.AppendNull(nil, 8), 8)), 1))
		columns := make([]Column, 4)
		if err := codec.Decode(&keys, columns); err != nil {
			t.Fatal(err)
		}
		if v := int64(columns[0].number(0, 8)); v != -5 {
			t.Errorf("%+v: integer %d", o, v)
		}
		if v := math.Float64frombits(columns[1].number(0, 8)); v != -2.5 {
			t.Errorf("%+v: double %v", o, v)
		}
		if s := string(columns[2].Values[columns[2].Offsets[0]:columns[2].Offsets[1]]); s != "bid" {
			t.Errorf("%+v: string %q", o, s)
		}
		if columns[3].Values[0]&1 != 1 {
			t.Errorf("%+v: boolean", o)
		}
		for f := range columns {
			if !columns[f].valid(0) || columns[f].valid(1) {
				t.Errorf("%+v field %d: nulls", o, f)
			}
		}
	}
}

// TestExactFields: payloads come back bit by bit, negative zeros and the bits of NaNs too, in every order.
func TestExactFields(t *testing.T) {
	doubles := []uint64{1 << 63, 0, math.Float64bits(math.NaN()), 0xFFF0_0000_0000_0001, 0x7FFF_FFFF_FFFF_FFFF, math.Float64bits(-1.5)}
	floats := []uint32{1 << 31, 0, 0x7FC0_0000, 0xFF80_0001, 0x7FFF_FFFF, math.Float32bits(-1.5)}
	columns := []Column{{Kind: KindFloat64}, {Kind: KindFloat32}}
	for i := range doubles {
		columns[0].Values = binary.LittleEndian.AppendUint64(columns[0].Values, doubles[i])
		columns[1].Values = binary.LittleEndian.AppendUint32(columns[1].Values, floats[i])
	}
	for _, o := range orders {
		codec, err := NewKeyCodec([]KeyField{{KindFloat64, o, true}, {KindFloat32, o, true}})
		if err != nil {
			t.Fatal(err)
		}
		var rows Rows
		decoded := make([]Column, 2)
		if err := errors.Join(codec.Encode(columns, len(doubles), &rows), codec.Decode(&rows, decoded)); err != nil {
			t.Fatal(err)
		}
		for i := range columns {
			if !bytes.Equal(columns[i].Values, decoded[i].Values) {
				t.Errorf("%+v column %d: %x came back as %x", o, i, columns[i].Values, decoded[i].Values)
			}
		}
	}
}

func TestCodecWithoutFields(t *testing.T) {
	codec, err := NewKeyCodec(nil)
	if err != nil {
		t.Fatal(err)
	}
	var keys Rows
	if err := codec.Encode(nil, 3, &keys); err != nil || keys.Len() != 3 || len(keys.Row(2)) != 0 {
		t.Fatal(err, keys.Len())
	}
	if _, err := NewKeyCodec([]KeyField{{}}); err == nil {
		t.Fatal("a field without a kind was accepted")
	}
	if err := codec.Encode([]Column{{Kind: KindInt8}}, 1, &keys); err == nil {
		t.Fatal("a column too many was accepted")
	}
}

func TestCodecDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	for _, kinds := range [][]Kind{{KindInt64, KindInt64}, {KindInt64, KindBytes, KindTimestamp}} {
		var fields []KeyField
		var columns []Column
		for _, k := range kinds {
			fields = append(fields, KeyField{Kind: k})
			columns = append(columns, randomColumn(rng, k, 1000, 0))
		}
		codec, _ := NewKeyCodec(fields)
		var keys Rows
		if n := testing.AllocsPerRun(10, func() { _ = codec.Encode(columns, 1000, &keys) }); n != 0 {
			t.Errorf("%v: %v allocations", kinds, n)
		}
		decoded := make([]Column, len(fields))
		if n := testing.AllocsPerRun(10, func() { _ = codec.Decode(&keys, decoded) }); n != 0 {
			t.Errorf("%v decoded: %v allocations", kinds, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{2, 'a', 0, 0, 0, 0, 0, 0, 0, 1}, uint8(0), uint8(9))
	f.Fuzz(func(t *testing.T, key []byte, order, kind uint8) {
		o, k := orders[order%4], allKinds[int(kind)%len(allKinds)]
		codec, _ := NewKeyCodec([]KeyField{{Kind: k, Order: o}, {Kind: KindBytes, Order: o}})
		var keys Rows
		keys.Reset(0)
		keys.Append(key)
		if err := codec.Decode(&keys, make([]Column, 2)); err != nil && !errors.Is(err, ErrBadKey) {
			t.Fatal(fmt.Sprint(err))
		}
	})
}
