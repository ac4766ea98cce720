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

// mapRow is the length of the row that holds a map, without the map.
const mapRow = 16

// elementSize is the width of the view's values in an array.
func (v *view) elementSize() int {
	switch v.arg.kind {
	case kindInt:
		return 8 - int(v.arg.shift)/8
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
	dst = append(dst, make([]byte, 4+mapRow+4)...)
	row, keys := start+4, len(dst)
	size := v.elementSize()
	dst, at := beginArray(dst, n, size)
	for ref := getRef(group, v.headAt(p)); ref != 0; ref = getRef(v.table.Value(ref), v.linksAt) {
		dst = v.appendElement(dst, keys, at, v.table.Key(ref)[4:])
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
	size = len(dst) - keys + 4
	for (len(dst)-row)&7 != 0 {
		dst = append(dst, 0)
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-row))
	binary.LittleEndian.PutUint64(dst[row+8:], mapRow<<32|uint64(size))
	return dst
}

// appendElement writes a value into its place in an array that begins at start, or behind it.
func (v *view) appendElement(dst []byte, start, at int, content []byte) []byte {
	switch v.arg.kind {
	case kindInt:
		copy(dst[at:at+v.elementSize()], content)
	case kindFloat32:
		binary.LittleEndian.PutUint32(dst[at:], float32OfKey(uint32(getUint64(content, 0))))
	case kindFloat64:
		binary.LittleEndian.PutUint64(dst[at:], float64OfKey(getUint64(content, 0)))
	case kindWide:
		behind := len(dst)
		dst = append(dst, make([]byte, 16)...)
		n := int128{int64(getUint64(content, 8)), getUint64(content, 0)}.put(dst[behind:])
		binary.LittleEndian.PutUint64(dst[at:], uint64(behind-start)<<32|uint64(n))
	case kindTime:
		behind := len(dst)
		dst = append(dst, content[:8]...)
		binary.LittleEndian.PutUint64(dst[at:], uint64(behind-start)<<32|uint64(binary.LittleEndian.Uint32(content[8:])))
	case kindBytes:
		if len(content) <= 7 {
			copy(dst[at:], content)
			dst[at+7] = 0x80 | byte(len(content))
			break
		}
		behind := len(dst)
		dst = append(dst, content...)
		binary.LittleEndian.PutUint64(dst[at:], uint64(behind-start)<<32|uint64(len(content)))
		for (len(dst)-start)&7 != 0 {
			dst = append(dst, 0)
		}
	}
	return dst
}

func float32OfKey(k uint32) uint32 {
	if k>>31 == 0 {
		return ^k
	}
	return k &^ (1 << 31)
}

func float64OfKey(k uint64) uint64 {
	if k>>63 == 0 {
		return ^k
	}
	return k &^ (1 << 63)
}

var errMap = errors.New("a map of distinct values that can't be read")

// array is a BinaryArrayData that was checked.
type array struct {
	bytes    []byte
	n, first int
	size     int
}

func parseArray(b []byte, elementSize int) (array, error) {
	if len(b) < 4 {
		return array{}, errMap
	}
	n := int64(int32(binary.LittleEndian.Uint32(b)))
	first := 4 + (n+31)/32*4
	if n < 0 || first+n*int64(elementSize) > int64(len(b)) {
		return array{}, fmt.Errorf("%w: %d elements in %d bytes", errMap, n, len(b))
	}
	return array{b, int(n), int(first), elementSize}, nil
}

func (a array) isNull(i int) bool    { return a.bytes[4+i/8]>>(i&7)&1 != 0 }
func (a array) element(i int) []byte { return a.bytes[a.first+i*a.size:][:a.size] }

// behind is what an element of 8 bytes points to.
func (a array) behind(offset, n uint64) ([]byte, error) {
	if offset > uint64(len(a.bytes)) || n > uint64(len(a.bytes))-offset {
		return nil, fmt.Errorf("%w: %d bytes at %d of %d", errMap, n, offset, len(a.bytes))
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

func (in *incoming) readMap(v *view, i int32, b []byte) error {
	if len(b) < 4+mapRow || int64(binary.BigEndian.Uint32(b)) > int64(len(b)-4) {
		return errMap
	}
	row := b[4:]
	at, n := uint64(binary.LittleEndian.Uint32(row[12:])), uint64(binary.LittleEndian.Uint32(row[8:]))
	if at > uint64(len(row)) || n < 4 || n > uint64(len(row))-at {
		return errMap
	}
	m := row[at : at+n]
	split := int64(int32(binary.LittleEndian.Uint32(m)))
	if split < 0 || split > int64(len(m)-4) {
		return errMap
	}
	keys, err := parseArray(m[4:4+split], v.elementSize())
	if err != nil {
		return err
	}
	values, err := parseArray(m[4+split:], 8)
	if err != nil {
		return err
	}
	if keys.n != values.n {
		return fmt.Errorf("%w: %d keys, %d values", errMap, keys.n, values.n)
	}
	for k := range keys.n {
		if keys.isNull(k) {
			continue
		}
		if err := in.readElement(v, keys, k); err != nil {
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
		return fmt.Errorf("%w: %d counts for %d calls", errMap, inner.n, v.words())
	}
	for j := range inner.n {
		in.counts = append(in.counts, binary.LittleEndian.Uint64(inner.element(j)))
	}
	return nil
}

// readElement appends a value as it stands in keys of the view.
func (in *incoming) readElement(v *view, keys array, k int) error {
	e := keys.element(k)
	switch v.arg.kind {
	case kindInt:
		var word [8]byte
		copy(word[:], e)
		shift := v.arg.shift
		binary.LittleEndian.PutUint64(in.contents.Extend(8), uint64(int64(binary.LittleEndian.Uint64(word[:])<<shift)>>shift))
		return nil
	case kindFloat32:
		f := math.Float32frombits(binary.LittleEndian.Uint32(e))
		binary.LittleEndian.PutUint64(in.contents.Extend(8), uint64(key32(f)))
		return nil
	case kindFloat64:
		binary.LittleEndian.PutUint64(in.contents.Extend(8), key64(math.Float64frombits(binary.LittleEndian.Uint64(e))))
		return nil
	}
	word := binary.LittleEndian.Uint64(e)
	switch v.arg.kind {
	case kindWide:
		b, err := keys.behind(word>>32, word&math.MaxUint32)
		if err != nil || len(b) > 16 {
			return errors.Join(errMap, err)
		}
		d, dst := int128FromBytes(b), in.contents.Extend(16)
		binary.LittleEndian.PutUint64(dst, d.lo)
		binary.LittleEndian.PutUint64(dst[8:], uint64(d.hi))
	case kindTime:
		b, err := keys.behind(word>>32, 8)
		if err != nil {
			return err
		}
		dst := in.contents.Extend(12)
		copy(dst, b)
		binary.LittleEndian.PutUint32(dst[8:], uint32(word))
	default:
		if word>>63 != 0 {
			if n := word >> 56 & 0x7f; n <= 7 {
				in.contents.Append(e[:n])
				return nil
			}
			return errMap
		}
		b, err := keys.behind(word>>32, word&math.MaxUint32)
		if err != nil {
			return err
		}
		in.contents.Append(b)
	}
	return nil
}
