package agg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"drey/native/changelog"
	"drey/rowstate"
)

// Distinct values cross phases as Flink's MapView does, in a RAW column at the end of the accumulators, one per view: the bytes of
// an ExternalSerializer of the MapView's type, which are
//
//	length of the row, 4 bytes, big-endian
//	a BinaryRowData of one column, the map:
//	    length of the keys, 4 bytes; the keys, a BinaryArrayData; the values, a BinaryArrayData
//
// and an array is: number of elements, 4 bytes; null bits in words of 4 bytes; elements in their own width; padding to 8; what
// elements point to. A value is a BIGINT, or an ARRAY<BIGINT> where one number is not enough: with retractions a count per
// call. Flink's order is that of a HashMap of the keys; here it is that of arrival, and calls for which the order matters
// are refused. A null key is left out: no call does anything for it.

// rawRow is the length of the row in a RAW value, without what its one column points to.
const rawRow = 16

// beginRaw appends the beginning of a RAW value; what its column holds is appended next.
func beginRaw(dst []byte) []byte { return append(dst, make([]byte, 4+rawRow)...) }

// endRaw ends the RAW value that begins at start.
func endRaw(dst []byte, start int) []byte {
	row := start + 4
	size := len(dst) - row - rawRow
	for (len(dst)-row)&7 != 0 {
		dst = append(dst, 0)
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-row))
	binary.LittleEndian.PutUint64(dst[row+8:], rawRow<<32|uint64(size))
	return dst
}

// rawContent is what the column in a RAW value holds.
func rawContent(b []byte) ([]byte, error) {
	if len(b) < 4+rawRow || int64(binary.BigEndian.Uint32(b)) > int64(len(b)-4) {
		return nil, errView
	}
	return columnAt(b[4:], 8)
}

// columnAt is what a row's slot at points to.
func columnAt(row []byte, slot int) ([]byte, error) {
	at, n := uint64(binary.LittleEndian.Uint32(row[slot+4:])), uint64(binary.LittleEndian.Uint32(row[slot:]))
	if at > uint64(len(row)) || n > uint64(len(row))-at {
		return nil, fmt.Errorf("%w: %d bytes at %d of %d", errView, n, at, len(row))
	}
	return row[at : at+n], nil
}

// elementSize is the width of a type's values in an array.
func (p physical) elementSize() int {
	switch p.kind {
	case kindInt:
		return 8 - int(p.shift)/8
	case kindFloat32:
		return 4
	}
	return 8
}

// words is how many numbers belong to a value.
func (v *view) words() int { return int(v.linksAt) / 8 }

// beginArray appends an array of n elements that are 0, and returns where its elements are.
func beginArray(dst []byte, n, elementSize int) (_ []byte, elements int) {
	header := 4 + (n+31)/32*4
	start := len(dst)
	dst = append(dst, make([]byte, pad8(header+n*elementSize))...)
	binary.LittleEndian.PutUint32(dst[start:], uint32(n))
	return dst, start + header
}

func pad8(n int) int { return (n + 7) &^ 7 }

// appendMap appends the RAW value of a group's distinct values.
func (v *view) appendMap(dst, group []byte, p *plan) []byte {
	n := 0
	for ref := getRef(group, v.headAt(p)); ref != 0; ref = getRef(v.table.Value(ref), v.linksAt) {
		n++
	}
	start := len(dst)
	dst = append(beginRaw(dst), 0, 0, 0, 0)
	keys, size := len(dst), v.arg.elementSize()
	dst, at := beginArray(dst, n, size)
	for ref := getRef(group, v.headAt(p)); ref != 0; ref = getRef(v.table.Value(ref), v.linksAt) {
		dst = v.arg.appendValue(dst, keys, at, v.table.Key(ref)[4:])
		at += size
	}
	binary.LittleEndian.PutUint32(dst[keys-4:], uint32(len(dst)-keys))
	values := len(dst)
	dst, at = beginArray(dst, n, 8)
	for ref := getRef(group, v.headAt(p)); ref != 0; ref = getRef(v.table.Value(ref), v.linksAt) {
		e := v.table.Value(ref)[:v.linksAt]
		if len(e) == 8 {
			copy(dst[at:], e)
		} else {
			inner := len(dst)
			var elements int
			dst, elements = beginArray(dst, v.words(), 8)
			copy(dst[elements:], e)
			binary.LittleEndian.PutUint64(dst[at:], uint64(inner-values)<<32|uint64(len(dst)-inner))
		}
		at += 8
	}
	return endRaw(dst, start)
}

var errView = errors.New("a view of a phase's values that can't be read")

// array is a BinaryArrayData that was checked.
type array struct {
	bytes    []byte
	n, first int
	size     int
}

func parseArray(b []byte, elementSize int) (array, error) {
	if len(b) < 4 {
		return array{}, errView
	}
	n := int64(int32(binary.LittleEndian.Uint32(b)))
	first := 4 + (n+31)/32*4
	if n < 0 || first+n*int64(elementSize) > int64(len(b)) {
		return array{}, fmt.Errorf("%w: %d elements in %d bytes", errView, n, len(b))
	}
	return array{b, int(n), int(first), elementSize}, nil
}

func (a array) isNull(i int) bool    { return a.bytes[4+i/8]>>(i&7)&1 != 0 }
func (a array) element(i int) []byte { return a.bytes[a.first+i*a.size:][:a.size] }

// behind is what an element of 8 bytes points to.
func (a array) behind(offset, n uint64) ([]byte, error) {
	if offset > uint64(len(a.bytes)) || n > uint64(len(a.bytes))-offset {
		return nil, fmt.Errorf("%w: %d bytes at %d of %d", errView, n, offset, len(a.bytes))
	}
	return a.bytes[offset : offset+n], nil
}

// incoming is what a batch has of distinct values for a view.
type incoming struct {
	rows     []int32       // of the batch, ascending
	contents rowstate.Rows // the values, as in keys of the view
	counts   []uint64      // as many per value as the view has
}

// read takes the maps of column c out of a batch.
func (in *incoming) read(v *view, batch *changelog.Batch, c *cell) error {
	in.rows, in.counts = in.rows[:0], in.counts[:0]
	in.contents.Reset(0)
	for i := range batch.Len() {
		row := batch.Row(i)
		if c.isNull(row) {
			continue
		}
		if err := in.readMap(v, int32(i), c.raw(row)); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// raw is a RAW column's bytes, which are never in the slot.
func (c *cell) raw(row []byte) []byte {
	v := getUint64(row, c.slot)
	return row[v>>32:][:uint32(v)]
}

// parseMap is the keys and values of a MapView.
func parseMap(b []byte, keySize int) (keys, values array, err error) {
	m, err := rawContent(b)
	if err != nil || len(m) < 4 {
		return keys, values, errors.Join(errView, err)
	}
	split := int64(int32(binary.LittleEndian.Uint32(m)))
	if split < 0 || split > int64(len(m)-4) {
		return keys, values, errView
	}
	if keys, err = parseArray(m[4:4+split], keySize); err != nil {
		return keys, values, err
	}
	if values, err = parseArray(m[4+split:], 8); err == nil && keys.n != values.n {
		err = fmt.Errorf("%w: %d keys, %d values", errView, keys.n, values.n)
	}
	return keys, values, err
}

func (in *incoming) readMap(v *view, i int32, b []byte) error {
	keys, values, err := parseMap(b, v.arg.elementSize())
	if err != nil {
		return err
	}
	for k := range keys.n {
		if keys.isNull(k) {
			continue
		}
		if err := v.arg.readKey(&in.contents, keys, k); err != nil {
			return err
		}
		if err := in.readCounts(v, values, k); err != nil {
			return err
		}
		in.rows = append(in.rows, i)
	}
	return nil
}

func (in *incoming) readCounts(v *view, values array, k int) error {
	word := binary.LittleEndian.Uint64(values.element(k))
	if v.words() == 1 {
		in.counts = append(in.counts, word)
		return nil
	}
	b, err := values.behind(word>>32, word&math.MaxUint32)
	if err != nil {
		return err
	}
	inner, err := parseArray(b, 8)
	if err != nil {
		return err
	}
	if inner.n != v.words() {
		return fmt.Errorf("%w: %d counts for %d calls", errView, inner.n, v.words())
	}
	for j := range inner.n {
		in.counts = append(in.counts, binary.LittleEndian.Uint64(inner.element(j)))
	}
	return nil
}

// readKey adds the key of an array's element.
func (p physical) readKey(to *rowstate.Rows, from array, i int) error {
	e := from.element(i)
	switch p.kind {
	case kindInt:
		var word [8]byte
		copy(word[:], e)
		v := int64(binary.LittleEndian.Uint64(word[:])<<p.shift) >> p.shift
		binary.BigEndian.PutUint64(to.Extend(8), uint64(v)^1<<63)
		return nil
	case kindFloat32:
		binary.BigEndian.PutUint32(to.Extend(4), key32(math.Float32frombits(binary.LittleEndian.Uint32(e))))
		return nil
	case kindFloat64:
		binary.BigEndian.PutUint64(to.Extend(8), key64(math.Float64frombits(binary.LittleEndian.Uint64(e))))
		return nil
	}
	word := binary.LittleEndian.Uint64(e)
	switch p.kind {
	case kindWide:
		b, err := from.behind(word>>32, word&math.MaxUint32)
		if err != nil || len(b) > 16 {
			return errors.Join(errView, err)
		}
		d, dst := int128FromBytes(b), to.Extend(16)
		binary.BigEndian.PutUint64(dst, uint64(d.hi)^1<<63)
		binary.BigEndian.PutUint64(dst[8:], d.lo)
	case kindTime:
		b, err := from.behind(word>>32, 8)
		if err != nil {
			return err
		}
		appendTimeKey(to.Extend(12)[:0], rowstate.Int64(b), int32(word))
	default:
		b, err := from.text(i)
		if err != nil {
			return err
		}
		to.Append(b)
	}
	return nil
}

// text is an element that is a string.
func (a array) text(i int) ([]byte, error) {
	e := a.element(i)
	word := binary.LittleEndian.Uint64(e)
	if word>>63 == 0 {
		return a.behind(word>>32, word&math.MaxUint32)
	}
	if n := word >> 56 & 0x7f; n <= 7 {
		return e[:n], nil
	}
	return nil, errView
}
