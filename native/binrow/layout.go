package binrow

import (
	"encoding/binary"
	"fmt"
	"math"

	"drey/native/logical"
)

// class is how a type is stored.
type class uint8

const (
	byte1     class = iota // the value in the slot's first byte
	byte2                  // ... two bytes
	byte4                  // ... four bytes
	byte8                  // ... whole slot
	inlined                // up to 7 bytes in the slot, else in the variable part
	variable               // always in the variable part
	decimal16              // DECIMAL over 18 digits
	time12                 // timestamp over 3
)

func classOf(t logical.Type) (class, error) {
	switch t.Kind {
	case logical.Boolean, logical.TinyInt:
		return byte1, nil
	case logical.SmallInt:
		return byte2, nil
	case logical.Integer, logical.Float, logical.Date, logical.Time, logical.IntervalYearMonth:
		return byte4, nil
	case logical.BigInt, logical.Double, logical.IntervalDayTime:
		return byte8, nil
	case logical.Decimal:
		if t.Precision > 18 {
			return decimal16, nil
		}
		return byte8, nil
	case logical.Timestamp, logical.TimestampLTZ:
		if t.Precision > 3 {
			return time12, nil
		}
		return byte8, nil
	case logical.Char, logical.Varchar, logical.Binary, logical.Varbinary:
		return inlined, nil
	case logical.Array, logical.Multiset, logical.Map, logical.RowKind, logical.Structured, logical.Raw, logical.Variant,
		logical.Bitmap:
		return variable, nil
	}
	return 0, fmt.Errorf("type %s has no binary row form", t)
}

// Layout knows where the fields of a row type are.
type Layout struct {
	classes   []class
	nullBytes int // header and null bits
	fixed     int // all before the variable part
}

// NewLayout makes the layout of a row of these types. It fails on a type that Flink doesn't store in rows.
func NewLayout(types []logical.Type) (*Layout, error) {
	l := &Layout{classes: make([]class, len(types)), nullBytes: nullBytes(len(types))}
	l.fixed = l.nullBytes + 8*len(types)
	for i, t := range types {
		c, err := classOf(t)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
		l.classes[i] = c
	}
	return l, nil
}

func nullBytes(arity int) int { return (arity + 8 + 63) / 64 * 8 }

// FixedSize is the least length of a row, in bytes.
func (l *Layout) FixedSize() int { return l.fixed }

// Slot is the offset of field i's slot.
func (l *Layout) Slot(i int) int { return l.nullBytes + 8*i }

// The accessors below take a row that Check has accepted. What they return for a null field is what Flink's BinaryRowData
// returns: whatever the slot says, which is 0 but for the exception in the package comment.

// IsNull tells whether field i is null.
func (l *Layout) IsNull(row []byte, i int) bool { return row[(i+8)>>3]>>(uint(i)&7)&1 != 0 }

// Int64 is a slot of eight bytes: BIGINT, short decimals and timestamps, day-time intervals.
func (l *Layout) Int64(row []byte, i int) int64 {
	return int64(binary.LittleEndian.Uint64(row[l.nullBytes+8*i:]))
}

// Int32 is a slot of four bytes: INT, DATE, TIME, year-month intervals.
func (l *Layout) Int32(row []byte, i int) int32 { return int32(l.Int64(row, i)) }

// Int16 is a SMALLINT.
func (l *Layout) Int16(row []byte, i int) int16 { return int16(l.Int64(row, i)) }

// Int8 is a TINYINT, or a BOOLEAN as 0 or 1.
func (l *Layout) Int8(row []byte, i int) int8 { return int8(l.Int64(row, i)) }

// Float64 is a DOUBLE.
func (l *Layout) Float64(row []byte, i int) float64 {
	return math.Float64frombits(uint64(l.Int64(row, i)))
}

// Float32 is a FLOAT.
func (l *Layout) Float32(row []byte, i int) float32 {
	return math.Float32frombits(uint32(l.Int64(row, i)))
}

// Bytes is a string's UTF-8, a binary's bytes, a long decimal's big-endian unscaled value, or a nested value's own binary
// form; borrowed from the row.
func (l *Layout) Bytes(row []byte, i int) []byte {
	slot := l.nullBytes + 8*i
	v := binary.LittleEndian.Uint64(row[slot:])
	if v>>63 != 0 && l.classes[i] == inlined {
		return row[slot : slot+int(v>>56&0x7f)]
	}
	offset, n := int(v>>32), int(uint32(v))
	return row[offset : offset+n]
}

// Timestamp is a timestamp over 3.
func (l *Layout) Timestamp(row []byte, i int) (millis int64, nanos int32) {
	v := uint64(l.Int64(row, i))
	return int64(binary.LittleEndian.Uint64(row[v>>32:])), int32(v)
}
