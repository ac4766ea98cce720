package agg

import (
	"encoding/binary"
	"fmt"
	"math"

	"drey/native/binrow"
	"drey/native/logical"
)

// kind is how a value is stored and compared.
type kind uint8

const (
	kindInt     kind = iota // a signed number in the slot: BOOLEAN to BIGINT, DATE, TIME, short decimals and timestamps, intervals
	kindFloat32             // FLOAT
	kindFloat64             // DOUBLE
	kindWide                // DECIMAL over 18 digits: 16 bytes behind the slots
	kindTime                // timestamp over 3: 8 bytes of milliseconds behind the slots, nanoseconds in the slot
	kindBytes               // strings and binaries
)

// physical is a type as far as an accumulator cares.
type physical struct {
	kind  kind
	shift uint8 // kindInt: the bits of a slot that are not the value's
}

func intOf(bytes int) physical { return physical{kindInt, uint8(64 - 8*bytes)} }

func physicalOf(t logical.Type) (physical, error) {
	switch t.Kind {
	case logical.Boolean, logical.TinyInt:
		return intOf(1), nil
	case logical.SmallInt:
		return intOf(2), nil
	case logical.Integer, logical.Date, logical.Time, logical.IntervalYearMonth:
		return intOf(4), nil
	case logical.BigInt, logical.IntervalDayTime:
		return intOf(8), nil
	case logical.Float:
		return physical{kind: kindFloat32}, nil
	case logical.Double:
		return physical{kind: kindFloat64}, nil
	case logical.Decimal:
		if t.Precision > 18 {
			return physical{kind: kindWide}, nil
		}
		return intOf(8), nil
	case logical.Timestamp, logical.TimestampLTZ:
		if t.Precision > 3 {
			return physical{kind: kindTime}, nil
		}
		return intOf(8), nil
	case logical.Char, logical.Varchar, logical.Binary, logical.Varbinary:
		return physical{kind: kindBytes}, nil
	}
	return physical{}, fmt.Errorf("type %s", t)
}

// room is what a value takes behind the slots, if that is fixed.
func (p physical) room() int {
	switch p.kind {
	case kindWide:
		return 16
	case kindTime:
		return 8
	}
	return 0
}

// cell is a place for a value: a column of rows that come in, or a field of a group's value in the table. Both have a slot and
// a null bit; what does not fit the slot is, in a row, where the slot says, and in a group's value at the cell's room.
type cell struct {
	slot     int32
	nullAt   int32
	nullMask uint8
	physical
	room int32
}

func columnOf(layout *binrow.Layout, t logical.Type, i int) (cell, error) {
	p, err := physicalOf(t)
	return cell{slot: int32(layout.Slot(i)), nullAt: int32(i+8) >> 3, nullMask: 1 << (i & 7), physical: p}, err
}

func getUint64(b []byte, at int32) uint64    { return binary.LittleEndian.Uint64(b[at:]) }
func putUint64(b []byte, at int32, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }

func (c *cell) isNull(row []byte) bool { return row[c.nullAt]&c.nullMask != 0 }

func (c *cell) setNull(value []byte) {
	value[c.nullAt] |= c.nullMask
	c.zero(value)
}

// zero clears the value, so that equal values are equal bytes.
func (c *cell) zero(value []byte) {
	putUint64(value, c.slot, 0)
	switch c.kind {
	case kindWide:
		putUint64(value, c.room, 0)
		putUint64(value, c.room+8, 0)
	case kindTime:
		putUint64(value, c.room, 0)
	}
}

func (c *cell) clearNull(value []byte) { value[c.nullAt] &^= c.nullMask }

func (c *cell) int(row []byte) int64 {
	return int64(getUint64(row, c.slot)<<c.shift) >> c.shift
}

// setInt stores a number, cut to the cell's width.
func (c *cell) setInt(value []byte, v int64) { putUint64(value, c.slot, uint64(v)<<c.shift>>c.shift) }

func (c *cell) float32(row []byte) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(row[c.slot:]))
}

func (c *cell) setFloat32(value []byte, v float32) {
	putUint64(value, c.slot, uint64(math.Float32bits(v)))
}

func (c *cell) float64(row []byte) float64 { return math.Float64frombits(getUint64(row, c.slot)) }

func (c *cell) setFloat64(value []byte, v float64) { putUint64(value, c.slot, math.Float64bits(v)) }

// decimal is a row's unscaled value.
func (c *cell) decimal(row []byte) int128 {
	if c.kind == kindInt {
		return int128Of(int64(getUint64(row, c.slot)))
	}
	v := getUint64(row, c.slot)
	at := uint32(v >> 32)
	return int128FromBytes(row[at : at+uint32(v)])
}

// setDecimal stores an unscaled value, where the row that begins the group's value has its decimals.
func (c *cell) setDecimal(value []byte, v int128) {
	n := v.put(value[c.room : c.room+16])
	putUint64(value, c.slot, uint64(c.room)<<32|uint64(n))
}

func (c *cell) time(row []byte) (millis int64, nanos int32) {
	v := getUint64(row, c.slot)
	return int64(getUint64(row, int32(v>>32))), int32(v)
}

func (c *cell) setTime(value []byte, millis int64, nanos int32) {
	putUint64(value, c.room, uint64(millis))
	putUint64(value, c.slot, uint64(c.room)<<32|uint64(uint32(nanos)))
}

// bytes is a row's string.
func (c *cell) bytes(row []byte) []byte {
	v := getUint64(row, c.slot)
	if v>>63 != 0 {
		return row[c.slot : c.slot+int32(v>>56&0x7f)]
	}
	at, n := uint32(v>>32), uint32(v)
	return row[at : at+n]
}

func (c *cell) isTrue(row []byte) bool { return !c.isNull(row) && row[c.slot] != 0 }
