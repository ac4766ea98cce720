package rowstate

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrBadKey tells that bytes are not a key of the codec's fields.
var ErrBadKey = errors.New("rowstate: bytes are not a key of these fields")

// Decode reads keys back into columns, one per field, whose slices it reuses. Unless their field is exact, zeros and NaNs come
// back as the one that was written for them.
func (c *KeyCodec) Decode(keys *Rows, columns []Column) error {
	rows := keys.Len()
	if len(columns) != len(c.fields) {
		return fmt.Errorf("%d columns for %d fields", len(columns), len(c.fields))
	}
	c.at = sized(c.at, rows)
	clear(c.at)
	for i, f := range c.fields {
		column := &columns[i]
		column.prepare(f.Kind, rows)
		bad := 0
		if f.Kind == KindBytes {
			bad = column.decodeBytes(f.Order, keys, c.at)
		} else {
			bad = column.decodeFixed(f.Order, keys, c.at)
		}
		if bad < rows {
			return fmt.Errorf("%w: row %d field %d", ErrBadKey, bad, i)
		}
	}
	for i := range rows {
		if int(c.at[i]) != len(keys.Row(i)) {
			return fmt.Errorf("%w: row %d has %d bytes behind its fields", ErrBadKey, i, len(keys.Row(i))-int(c.at[i]))
		}
	}
	return nil
}

// sized is a slice of n elements of any content, s's memory if that is enough.
func sized[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}

// prepare empties the column and makes room for rows values.
func (c *Column) prepare(kind Kind, rows int) {
	*c = Column{Kind: kind, Values: c.Values, Nanos: c.Nanos[:0], Offsets: c.Offsets[:0], Validity: sized(c.Validity, (rows+7)/8)}
	clear(c.Validity)
	switch kind {
	case KindBool:
		c.Values = sized(c.Values, (rows+7)/8)
		clear(c.Values)
	case KindBytes:
		c.Values, c.Offsets = c.Values[:0], append(c.Offsets, 0)
	case KindTimestamp:
		c.Values, c.Nanos = sized(c.Values, 8*rows), sized(c.Nanos, 4*rows)
	default:
		c.Values = sized(c.Values, keyWidths[kind]*rows)
	}
}

// decodeFixed reads the values at the given offsets of their keys, which it moves on. It returns the number of the first row
// that has none, or that of all rows.
func (c *Column) decodeFixed(o SortOrder, keys *Rows, at []uint32) int {
	width, null, invert := keyWidths[c.Kind], o.null(), o.invert64()
	for i := range at {
		key := keys.Row(i)[at[i]:]
		if len(key) < 1+width {
			return i
		}
		at[i] += uint32(1 + width)
		switch key[0] {
		case valid:
			c.Validity[i>>3] |= 1 << (i & 7)
			c.decodeValue(i, key[1:1+width], invert)
		case null:
			c.setZero(i)
		default:
			return i
		}
	}
	return len(at)
}

// decodeValue writes the value of row i.
func (c *Column) decodeValue(i int, value []byte, invert uint64) {
	big, little := binary.BigEndian, binary.LittleEndian
	switch c.Kind {
	case KindBool:
		c.Values[i>>3] |= (value[0] ^ byte(invert)) & 1 << (i & 7)
	case KindInt8:
		c.Values[i] = value[0] ^ byte(invert) ^ 0x80
	case KindInt16:
		little.PutUint16(c.Values[2*i:], big.Uint16(value)^uint16(invert)^1<<15)
	case KindInt32:
		little.PutUint32(c.Values[4*i:], big.Uint32(value)^uint32(invert)^1<<31)
	case KindInt64:
		little.PutUint64(c.Values[8*i:], big.Uint64(value)^invert^1<<63)
	case KindFloat32:
		v := big.Uint32(value) ^ uint32(invert)
		little.PutUint32(c.Values[4*i:], v^signMask32(^v)) // a negative number was inverted, another has its sign set
	case KindFloat64:
		v := big.Uint64(value) ^ invert
		little.PutUint64(c.Values[8*i:], v^signMask64(^v))
	case KindTimestamp:
		little.PutUint64(c.Values[8*i:], big.Uint64(value)^invert^1<<63)
		little.PutUint32(c.Nanos[4*i:], big.Uint32(value[8:])^uint32(invert)^1<<31)
	case KindDecimal:
		little.PutUint64(c.Values[16*i:], big.Uint64(value[8:])^invert)
		little.PutUint64(c.Values[16*i+8:], big.Uint64(value)^invert^1<<63)
	}
}

// setZero writes zeros for row i, which is null.
func (c *Column) setZero(i int) {
	switch c.Kind {
	case KindBool: // its bit is not set
	case KindTimestamp:
		clear(c.Values[8*i : 8*i+8])
		clear(c.Nanos[4*i : 4*i+4])
	default:
		width := keyWidths[c.Kind]
		clear(c.Values[i*width : (i+1)*width])
	}
}

// decodeBytes is decodeFixed for KindBytes.
func (c *Column) decodeBytes(o SortOrder, keys *Rows, at []uint32) int {
	for i := range at {
		used := c.decodeOne(o, keys.Row(i)[at[i]:], i)
		if used == 0 {
			return i
		}
		at[i] += uint32(used)
	}
	return len(at)
}

// decodeOne reads row i's value and returns how many bytes it has, or 0 if they are none.
func (c *Column) decodeOne(o SortOrder, key []byte, i int) int {
	used := 0
	switch invert := o.invert(); {
	case len(key) == 0:
		return 0
	case key[0] == o.null():
		used = 1
	case key[0]^invert == emptyBytes:
		c.Validity[i>>3] |= 1 << (i & 7)
		used = 1
	case key[0]^invert == someBytes:
		c.Validity[i>>3] |= 1 << (i & 7)
		used = c.decodeBlocks(invert, key)
	}
	c.Offsets = append(c.Offsets, int32(len(c.Values)))
	return used
}

func (c *Column) decodeBlocks(invert byte, key []byte) int {
	used, block := 1, smallBlock
	for n := 0; ; n++ {
		if n == smallOnes {
			block = largeBlock
		}
		if len(key) < used+block+1 {
			return 0
		}
		last := key[used+block] ^ invert
		count := block
		if last != more {
			if count = int(last); count == 0 || count > block {
				return 0
			}
		}
		c.Values = append(c.Values, key[used:used+count]...)
		if invert != 0 {
			invertBytes(c.Values[len(c.Values)-count:])
		}
		used += block + 1
		if last != more {
			return used
		}
	}
}
