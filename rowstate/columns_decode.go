package rowstate

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrBadKey tells that bytes are not a key of the codec's fields.
var ErrBadKey = errors.New("rowstate: bytes are not a key of these fields")

// Decode reads keys back into columns, one per field, whose slices it reuses. Zeros and NaNs come back as the one that was
// written for them.
func (c *KeyCodec) Decode(keys *Rows, columns []Column) error {
	rows := keys.Len()
	if len(columns) != len(c.fields) {
		return fmt.Errorf("%d columns for %d fields", len(columns), len(c.fields))
	}
	c.at = append(c.at[:0], make([]uint32, rows)...)
	for field, f := range c.fields {
		column := &columns[field]
		*column = Column{
			Kind: f.Kind, Values: column.Values[:0], Nanos: column.Nanos[:0], Offsets: append(column.Offsets[:0], 0),
			Validity: append(column.Validity[:0], make([]byte, (rows+7)/8)...),
		}
		if f.Kind == KindBool {
			column.Values = append(column.Values, make([]byte, (rows+7)/8)...)
		}
		for i := range rows {
			rest := keys.Row(i)[c.at[i]:]
			used := 0
			if f.Kind == KindBytes {
				used = column.decodeBytes(f.Order, rest, i)
			} else {
				used = column.decodeFixed(f.Order, rest, i)
			}
			if used == 0 {
				return fmt.Errorf("%w: row %d field %d", ErrBadKey, i, field)
			}
			c.at[i] += uint32(used)
		}
	}
	for i := range rows {
		if int(c.at[i]) != len(keys.Row(i)) {
			return fmt.Errorf("%w: row %d has %d bytes behind its fields", ErrBadKey, i, len(keys.Row(i))-int(c.at[i]))
		}
	}
	return nil
}

// decodeFixed reads row i's value and returns how many bytes it has, or 0 if they are none.
func (c *Column) decodeFixed(o SortOrder, key []byte, i int) int {
	width := keyWidths[c.Kind]
	if len(key) < 1+width || key[0] != valid && key[0] != o.null() {
		return 0
	}
	var raw [16]byte
	value := raw[:width]
	if key[0] == valid {
		c.Validity[i>>3] |= 1 << (i & 7)
		copy(value, key[1:])
		if o.Descending {
			invertBytes(value)
		}
		if c.Kind != KindBool {
			value[0] ^= 0x80
		}
	}
	null := key[0] != valid
	switch c.Kind {
	case KindBool:
		c.Values[i>>3] |= value[0] & 1 << (i & 7)
	case KindInt8:
		c.Values = append(c.Values, value[0])
	case KindInt16:
		c.Values = binary.LittleEndian.AppendUint16(c.Values, binary.BigEndian.Uint16(value))
	case KindInt32:
		c.Values = binary.LittleEndian.AppendUint32(c.Values, binary.BigEndian.Uint32(value))
	case KindInt64:
		c.Values = binary.LittleEndian.AppendUint64(c.Values, binary.BigEndian.Uint64(value))
	case KindFloat32:
		v := binary.BigEndian.Uint32(value)
		if !null && int32(v) < 0 { // written inverted; the sign is back already
			v ^= 0x7FFFFFFF
		}
		c.Values = binary.LittleEndian.AppendUint32(c.Values, v)
	case KindFloat64:
		v := binary.BigEndian.Uint64(value)
		if !null && int64(v) < 0 {
			v ^= 1<<63 - 1
		}
		c.Values = binary.LittleEndian.AppendUint64(c.Values, v)
	case KindTimestamp:
		c.Values = binary.LittleEndian.AppendUint64(c.Values, binary.BigEndian.Uint64(value))
		nanos := binary.BigEndian.Uint32(value[8:])
		if !null {
			nanos ^= 1 << 31
		}
		c.Nanos = binary.LittleEndian.AppendUint32(c.Nanos, nanos)
	case KindDecimal:
		c.Values = binary.LittleEndian.AppendUint64(c.Values, binary.BigEndian.Uint64(value[8:]))
		c.Values = binary.LittleEndian.AppendUint64(c.Values, binary.BigEndian.Uint64(value))
	}
	return 1 + width
}

// decodeBytes reads row i's value and returns how many bytes it has, or 0 if they are none.
func (c *Column) decodeBytes(o SortOrder, key []byte, i int) int {
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
		for _, b := range key[used : used+count] {
			c.Values = append(c.Values, b^invert)
		}
		used += block + 1
		if last != more {
			return used
		}
	}
}
