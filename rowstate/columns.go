package rowstate

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// Kind is the physical kind of a column: which bytes a value has, and how its sort key is written.
type Kind uint8

// The kinds; the comments name the Flink types.
const (
	KindBool      Kind = iota + 1 // BOOLEAN
	KindInt8                      // TINYINT
	KindInt16                     // SMALLINT
	KindInt32                     // INT, DATE, TIME, INTERVAL YEAR TO MONTH
	KindInt64                     // BIGINT, DECIMAL of up to 18 digits, TIMESTAMP of up to 3 digits, INTERVAL DAY TO SECOND
	KindFloat32                   // FLOAT
	KindFloat64                   // DOUBLE
	KindTimestamp                 // TIMESTAMP of more than 3 digits: milliseconds, and nanoseconds of the millisecond
	KindDecimal                   // DECIMAL of more than 18 digits
	KindBytes                     // CHAR, VARCHAR, BINARY, VARBINARY
)

var keyWidths = [...]int{KindBool: 1, KindInt8: 1, KindInt16: 2, KindInt32: 4, KindInt64: 8, KindFloat32: 4, KindFloat64: 8,
	KindTimestamp: 12, KindDecimal: 16, KindBytes: 0}

// Column is a view of one column of a batch, in Arrow's layout.
type Column struct {
	Kind Kind
	// Values has the values, little-endian: for KindBool a bitmap, for KindTimestamp the milliseconds, for KindDecimal 16
	// bytes in two's complement, for KindBytes what Offsets cuts.
	Values  []byte
	Nanos   []byte  // KindTimestamp: 4 bytes each
	Offsets []int32 // KindBytes: one more than rows
	// Validity has a bit per row, set if the value is not null; nil if none is.
	Validity []byte
	// First is the index of the view's first row in all of these.
	First int
}

func (c *Column) valid(i int) bool {
	i += c.First
	return c.Validity == nil || c.Validity[i>>3]>>(i&7)&1 != 0
}

// KeyField is one column of a key.
type KeyField struct {
	Kind  Kind
	Order SortOrder
	// Exact keeps every bit of a floating point number, in the order of IEEE 754's totalOrder: for payloads, which come back as
	// they were. Without it -0.0 is written as 0.0 and NaNs as one, as keys have to be.
	Exact bool
}

// KeyCodec writes batches of sort keys, a column at a time, in the format of SortOrder's Append functions, and reads them
// back. With exact fields it also serves as the encoding of payloads in columnar form. It is not for concurrent use.
type KeyCodec struct {
	fields  []KeyField
	fixed   int // bytes of all fields but those of KindBytes
	strings []int
	at      []uint32 // per row: where its next field goes, or comes from
}

// NewKeyCodec returns a codec for keys of these fields.
func NewKeyCodec(fields []KeyField) (*KeyCodec, error) {
	c := &KeyCodec{fields: fields}
	for i, f := range fields {
		if f.Kind < KindBool || f.Kind > KindBytes {
			return nil, fmt.Errorf("key field %d: unknown kind %d", i, f.Kind)
		}
		if f.Kind == KindBytes {
			c.strings = append(c.strings, i)
		} else {
			c.fixed += 1 + keyWidths[f.Kind]
		}
	}
	return c, nil
}

// Encode writes the keys of rows to out, which is reset before. Without fields of KindBytes the batch has one width; with
// no field at all its rows are empty.
func (c *KeyCodec) Encode(columns []Column, rows int, out *Rows) error {
	for i := range columns {
		if i >= len(c.fields) || columns[i].Kind != c.fields[i].Kind {
			return fmt.Errorf("key column %d does not match its field", i)
		}
	}
	if len(columns) != len(c.fields) {
		return fmt.Errorf("%d key columns for %d fields", len(columns), len(c.fields))
	}
	if len(c.strings) == 0 && c.fixed > 0 {
		out.Reset(c.fixed)
		p := out.room(rows * c.fixed)
		for i, f := range c.fields {
			encodeFixed(&columns[i], f, rows, p, uintptr(c.fixed))
			p = unsafe.Add(p, 1+keyWidths[f.Kind])
		}
		return nil
	}
	c.layout(columns, rows, out)
	p := unsafe.Pointer(unsafe.SliceData(out.Data))
	for i, f := range c.fields {
		if f.Kind == KindBytes {
			encodeBytes(&columns[i], f.Order, p, c.at)
		} else {
			encodeAt(&columns[i], f, p, c.at)
		}
	}
	return nil
}

// room makes Data n bytes long, of any content, and returns its start.
func (r *Rows) room(n int) unsafe.Pointer {
	r.Data = r.Data[:0]
	if n+2*largeBlock > cap(r.Data) {
		r.grow(n)
	}
	r.Data = r.Data[:n]
	return unsafe.Pointer(unsafe.SliceData(r.Data))
}

// layout computes where every key starts.
func (c *KeyCodec) layout(columns []Column, rows int, out *Rows) {
	out.Reset(0)
	if cap(c.at) < rows {
		c.at = make([]uint32, rows)
	}
	c.at = c.at[:rows]
	for i := range c.at {
		c.at[i] = uint32(c.fixed)
	}
	for _, field := range c.strings {
		column := &columns[field]
		offsets := column.Offsets[column.First:]
		for i := range c.at {
			n := 1
			if column.valid(i) {
				n = bytesWidth(int(offsets[i+1] - offsets[i]))
			}
			c.at[i] += uint32(n)
		}
	}
	if cap(out.Offsets) < rows+1 {
		out.Offsets = make([]uint32, rows+1)
	}
	out.Offsets = out.Offsets[:rows+1]
	from := uint32(0)
	for i, n := range c.at {
		out.Offsets[i], c.at[i] = from, from
		from += n
	}
	out.Offsets[rows] = from
	out.room(int(from))
}

func put8(p unsafe.Pointer, b byte)    { *(*byte)(p) = b }
func put16(p unsafe.Pointer, v uint16) { *(*uint16)(p) = bits.ReverseBytes16(v) }
func put32(p unsafe.Pointer, v uint32) { *(*uint32)(p) = bits.ReverseBytes32(v) }
func put64(p unsafe.Pointer, v uint64) { *(*uint64)(p) = bits.ReverseBytes64(v) }

// encodeFixed writes a column to keys that are stride bytes apart.
func encodeFixed(c *Column, f KeyField, rows int, p unsafe.Pointer, stride uintptr) {
	if c.Kind == KindInt64 && c.Validity == nil && rows > 0 {
		flip := uint64(1)<<63 ^ f.Order.invert64()
		values := unsafe.Pointer(&c.Values[c.First*8 : (c.First+rows)*8][: rows*8 : rows*8][0])
		for i := range rows {
			put8(p, valid)
			put64(unsafe.Add(p, 1), load(values, uintptr(i)*8)^flip)
			p = unsafe.Add(p, stride)
		}
		return
	}
	for i := range rows {
		encodeOne(c, f, i, p)
		p = unsafe.Add(p, stride)
	}
}

// encodeAt writes a column of a fixed-width kind to keys at different places, which it moves on.
func encodeAt(c *Column, f KeyField, p unsafe.Pointer, at []uint32) {
	width := uint32(1 + keyWidths[c.Kind])
	if c.Kind == KindInt64 && c.Validity == nil && len(at) > 0 {
		flip := uint64(1)<<63 ^ f.Order.invert64()
		values := unsafe.Pointer(&c.Values[c.First*8 : (c.First+len(at))*8][0])
		for i, to := range at {
			q := unsafe.Add(p, to)
			put8(q, valid)
			put64(unsafe.Add(q, 1), load(values, uintptr(i)*8)^flip)
			at[i] = to + width
		}
		return
	}
	for i, to := range at {
		encodeOne(c, f, i, unsafe.Add(p, to))
		at[i] = to + width
	}
}

// encodeOne writes row i of a column of a fixed-width kind.
func encodeOne(c *Column, f KeyField, i int, p unsafe.Pointer) {
	width := keyWidths[c.Kind]
	if !c.valid(i) {
		key := unsafe.Slice((*byte)(p), 1+width)
		clear(key)
		key[0] = f.Order.null()
		return
	}
	put8(p, valid)
	p = unsafe.Add(p, 1)
	i += c.First
	invert := f.Order.invert64()
	switch c.Kind {
	case KindBool:
		put8(p, c.Values[i>>3]>>(i&7)&1^byte(invert))
	case KindInt8:
		put8(p, c.Values[i]^0x80^byte(invert))
	case KindInt16:
		put16(p, uint16(c.number(i, 2))^1<<15^uint16(invert))
	case KindInt32:
		put32(p, uint32(c.number(i, 4))^1<<31^uint32(invert))
	case KindInt64:
		put64(p, c.number(i, 8)^1<<63^invert)
	case KindFloat32:
		put32(p, f.float32(uint32(c.number(i, 4)))^uint32(invert))
	case KindFloat64:
		put64(p, f.float64(c.number(i, 8))^invert)
	case KindTimestamp:
		put64(p, c.number(i, 8)^1<<63^invert)
		nanos := *(*uint32)(unsafe.Pointer(&c.Nanos[4*i : 4*i+4][0]))
		put32(unsafe.Add(p, 8), nanos^1<<31^uint32(invert))
	case KindDecimal:
		high := *(*uint64)(unsafe.Pointer(&c.Values[16*i+8 : 16*i+16][0]))
		low := *(*uint64)(unsafe.Pointer(&c.Values[16*i : 16*i+8][0]))
		put64(p, high^1<<63^invert)
		put64(unsafe.Add(p, 8), low^invert)
	}
}

func (f *KeyField) float32(bits uint32) uint32 {
	if f.Exact {
		return bits ^ signMask32(bits)
	}
	return floatKey32(bits)
}

func (f *KeyField) float64(bits uint64) uint64 {
	if f.Exact {
		return bits ^ signMask64(bits)
	}
	return floatKey64(bits)
}

// number is value i of width bytes.
func (c *Column) number(i, width int) uint64 {
	v := c.Values[i*width : (i+1)*width]
	switch width {
	case 2:
		return uint64(*(*uint16)(unsafe.Pointer(&v[0])))
	case 4:
		return uint64(*(*uint32)(unsafe.Pointer(&v[0])))
	}
	return *(*uint64)(unsafe.Pointer(&v[0]))
}

// encodeBytes writes a column of KindBytes to keys at different places, which it moves on. Values of up to 32 bytes are
// written by whole words: reading up to 7 bytes behind a value is fine but at the end of the column's bytes.
func encodeBytes(c *Column, o SortOrder, p unsafe.Pointer, at []uint32) {
	offsets := c.Offsets[c.First:]
	safe := int32(len(c.Values) - 8)
	invert := o.invert64()
	for i, to := range at {
		q := unsafe.Add(p, to)
		from, end := offsets[i], offsets[i+1]
		n := int(end - from)
		switch {
		case !c.valid(i):
			put8(q, o.null())
			at[i] = to + 1
			continue
		case n == 0 || n > smallOnes*smallBlock || end > safe:
			dst := unsafe.Slice((*byte)(q), bytesWidth(n))
			o.AppendBytes(dst[:0:len(dst)], c.Values[from:end])
			at[i] = to + uint32(len(dst))
			continue
		}
		put8(q, someBytes^byte(invert))
		q = unsafe.Add(q, 1)
		v := unsafe.Pointer(&c.Values[from])
		for ; n > smallBlock; n -= smallBlock {
			store(q, 0, load(v, 0)^invert)
			put8(unsafe.Add(q, smallBlock), more^byte(invert))
			v, q = unsafe.Add(v, smallBlock), unsafe.Add(q, smallBlock+1)
		}
		store(q, 0, load(v, 0)&(^uint64(0)>>(64-8*n))^invert)
		put8(unsafe.Add(q, smallBlock), byte(n)^byte(invert))
		at[i] = uint32(uintptr(q)-uintptr(p)) + smallBlock + 1
	}
}
