package rowstate

import (
	"encoding/binary"
	"math"
)

// SortOrder says how one field of a sort key orders.
type SortOrder struct {
	Descending bool
	// NullsLast alone decides where nulls go, whatever the direction is.
	NullsLast bool
}

// Sort keys are written field by field with the functions below, in the Arrow row format, so that bytes.Compare of two
// keys is the order of their rows as Flink's generated comparators (ComparatorCodeGenerator) have it:
//
//	fixed width     01 | value, big-endian, sign bit flipped       null: 00 or FF | zeros
//	empty bytes     01                                             null: 00 or FF
//	other bytes     02 | blocks of 8, 8, 8, 8, then of 32 bytes, the last one padded with zeros; behind each block FF if
//	                more follow, else the number of bytes used in it
//
// Descending fields have all bits behind the null marker inverted; for bytes the marker 01 or 02 too.
//
// Floating point: -0.0 is written as 0.0, as Flink's comparator has them equal. Where Flink's comparator finds NaN equal to
// everything, which is no order, NaN is written as one value greater than all others, as in Flink's MIN and MAX.
//
// The worked bytes of each are in the package documentation.

const (
	valid      = 0x01
	emptyBytes = 0x01
	someBytes  = 0x02
	smallBlock = 8
	largeBlock = 32
	smallOnes  = 4 // blocks of smallBlock at the start
	more       = 0xFF
)

func (o SortOrder) null() byte {
	if o.NullsLast {
		return 0xFF
	}
	return 0
}

// invert is what value bytes are xored with.
func (o SortOrder) invert() byte {
	if o.Descending {
		return 0xFF
	}
	return 0
}

func (o SortOrder) invert64() uint64 { return -uint64(o.invert() >> 7) }

// AppendNull appends a null of a fixed-width field of width bytes.
func (o SortOrder) AppendNull(dst []byte, width int) []byte {
	dst = append(dst, o.null())
	for range width {
		dst = append(dst, 0)
	}
	return dst
}

// AppendNullBytes appends a null of a field of bytes.
func (o SortOrder) AppendNullBytes(dst []byte) []byte { return append(dst, o.null()) }

// AppendBool appends BOOLEAN; width 1.
func (o SortOrder) AppendBool(dst []byte, v bool) []byte {
	b := byte(0)
	if v {
		b = 1
	}
	return append(dst, valid, b^o.invert())
}

// AppendInt8 appends TINYINT; width 1.
func (o SortOrder) AppendInt8(dst []byte, v int8) []byte {
	return append(dst, valid, byte(v)^0x80^o.invert())
}

// AppendInt16 appends SMALLINT; width 2.
func (o SortOrder) AppendInt16(dst []byte, v int16) []byte {
	return binary.BigEndian.AppendUint16(append(dst, valid), uint16(v)^1<<15^uint16(o.invert64()))
}

// AppendInt32 appends INT, DATE, TIME or INTERVAL YEAR TO MONTH; width 4.
func (o SortOrder) AppendInt32(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, valid), uint32(v)^1<<31^uint32(o.invert64()))
}

// AppendInt64 appends BIGINT, DECIMAL of up to 18 digits, TIMESTAMP of up to 3 digits or INTERVAL DAY TO SECOND; width 8.
func (o SortOrder) AppendInt64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, valid), uint64(v)^1<<63^o.invert64())
}

// AppendFloat32 appends FLOAT; width 4.
func (o SortOrder) AppendFloat32(dst []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, valid), floatKey32(math.Float32bits(v))^uint32(o.invert64()))
}

// AppendFloat64 appends DOUBLE; width 8.
func (o SortOrder) AppendFloat64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, valid), floatKey64(math.Float64bits(v))^o.invert64())
}

// floatKey32 orders the bits of floating point numbers as unsigned numbers: negative ones are inverted, the sign of others
// is set.
func floatKey32(bits uint32) uint32 {
	switch {
	case bits&0x7FFFFFFF > 0x7F800000: // NaN
		bits = 0x7FC00000
	case bits == 1<<31: // -0.0
		bits = 0
	}
	return bits ^ signMask32(bits)
}

// signMask32 is what makes the order of floating point numbers that of unsigned ones.
func signMask32(bits uint32) uint32 { return uint32(int32(bits)>>31) | 1<<31 }

func floatKey64(bits uint64) uint64 {
	switch {
	case bits&(1<<63-1) > 0x7FF0000000000000:
		bits = 0x7FF8000000000000
	case bits == 1<<63:
		bits = 0
	}
	return bits ^ signMask64(bits)
}

func signMask64(bits uint64) uint64 { return uint64(int64(bits)>>63) | 1<<63 }

// AppendTimestamp appends TIMESTAMP of more than 3 digits: milliseconds, then nanoseconds of the millisecond; width 12.
func (o SortOrder) AppendTimestamp(dst []byte, millis int64, nanos int32) []byte {
	dst = o.AppendInt64(dst, millis)
	return binary.BigEndian.AppendUint32(dst, uint32(nanos)^1<<31^uint32(o.invert64()))
}

// AppendDecimal appends DECIMAL of more than 18 digits, given as its big-endian two's-complement unscaled value of 1 to 16
// bytes; width 16.
func (o SortOrder) AppendDecimal(dst []byte, unscaled []byte) []byte {
	dst = append(dst, valid)
	fill := byte(0)
	if len(unscaled) > 0 && unscaled[0] >= 0x80 {
		fill = 0xFF
	}
	from := len(dst)
	for range 16 - len(unscaled) {
		dst = append(dst, fill)
	}
	dst = append(dst, unscaled...)
	value := dst[from:]
	value[0] ^= 0x80
	if o.Descending {
		invertBytes(value)
	}
	return dst
}

// AppendBytes appends CHAR, VARCHAR, BINARY or VARBINARY.
func (o SortOrder) AppendBytes(dst []byte, v []byte) []byte {
	from := len(dst)
	if len(v) == 0 {
		return append(dst, emptyBytes^o.invert())
	}
	dst = append(dst, someBytes)
	block := smallBlock
	for i := 0; ; i++ {
		if i == smallOnes {
			block = largeBlock
		}
		if len(v) <= block {
			break
		}
		dst = append(append(dst, v[:block]...), more)
		v = v[block:]
	}
	dst = append(dst, v...)
	for range block - len(v) {
		dst = append(dst, 0)
	}
	dst = append(dst, byte(len(v)))
	if o.Descending {
		invertBytes(dst[from:])
	}
	return dst
}

func invertBytes(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, ^binary.LittleEndian.Uint64(b))
	}
	for i := range b {
		b[i] = ^b[i]
	}
}

// bytesWidth is the number of bytes that AppendBytes appends for n bytes.
func bytesWidth(n int) int {
	switch {
	case n == 0:
		return 1
	case n <= smallOnes*smallBlock:
		return 1 + (n+smallBlock-1)/smallBlock*(smallBlock+1)
	}
	rest := n - smallOnes*smallBlock
	return 1 + smallOnes*(smallBlock+1) + (rest+largeBlock-1)/largeBlock*(largeBlock+1)
}
