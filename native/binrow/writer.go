package binrow

import (
	"encoding/binary"
	"math"
)

// Writer writes rows, one after the other, into memory of its own. The set methods are called in the order of the fields,
// or the variable part gets another order than Flink's. An unset field is what the last null left: call SetNull.
type Writer struct {
	layout *Layout
	row    []byte
}

// NewWriter makes a writer of rows of a layout.
func NewWriter(layout *Layout) *Writer {
	w := &Writer{layout: layout}
	w.Reset()
	return w
}

// Reset begins a row.
func (w *Writer) Reset() {
	if cap(w.row) < w.layout.fixed {
		w.row = make([]byte, w.layout.fixed, 2*w.layout.fixed)
	}
	w.row = w.row[:w.layout.fixed]
	clear(w.row)
}

// Row is the row written, valid until Reset.
func (w *Writer) Row() []byte { return w.row }

func (w *Writer) slot(i int, v uint64) { binary.LittleEndian.PutUint64(w.row[w.layout.Slot(i):], v) }

// SetNull writes a null in projection form (see the package comment).
func (w *Writer) SetNull(i int) {
	w.row[(i+8)>>3] |= 1 << (uint(i) & 7)
	switch w.layout.classes[i] {
	case decimal16:
		w.slot(i, uint64(w.grow(16))<<32)
	case time12:
		w.slot(i, uint64(w.grow(8))<<32)
	default:
		w.slot(i, 0)
	}
}

// SetPlainNull writes a null as RowDataSerializer does: slot 0, whatever the type.
func (w *Writer) SetPlainNull(i int) {
	w.row[(i+8)>>3] |= 1 << (uint(i) & 7)
	w.slot(i, 0)
}

// SetInt writes a number, boolean, date, time, interval, short decimal or short timestamp, cut to the type's width.
func (w *Writer) SetInt(i int, v int64) {
	switch w.layout.classes[i] {
	case byte1:
		w.slot(i, uint64(uint8(v)))
	case byte2:
		w.slot(i, uint64(uint16(v)))
	case byte4:
		w.slot(i, uint64(uint32(v)))
	case byte8:
		w.slot(i, uint64(v))
	default:
		panic("binrow: SetInt on a column whose slot holds no number")
	}
}

// SetFloat64 writes a DOUBLE.
func (w *Writer) SetFloat64(i int, v float64) { w.slot(i, math.Float64bits(v)) }

// SetFloat32 writes a FLOAT.
func (w *Writer) SetFloat32(i int, v float32) { w.slot(i, uint64(math.Float32bits(v))) }

// SetTimestamp writes a timestamp over 3.
func (w *Writer) SetTimestamp(i int, millis int64, nanos int32) {
	at := w.grow(8)
	binary.LittleEndian.PutUint64(w.row[at:], uint64(millis))
	w.slot(i, uint64(at)<<32|uint64(uint32(nanos)))
}

// SetBytes writes what Bytes reads.
func (w *Writer) SetBytes(i int, v []byte) {
	switch {
	case w.layout.classes[i] == inlined && len(v) <= 7:
		var word [8]byte
		copy(word[:], v)
		word[7] = 0x80 | byte(len(v))
		copy(w.row[w.layout.Slot(i):], word[:])
	case w.layout.classes[i] == decimal16:
		at := w.grow(16)
		copy(w.row[at:at+16], v)
		w.slot(i, uint64(at)<<32|uint64(len(v)))
	default:
		at := w.grow(len(v))
		copy(w.row[at:], v)
		w.slot(i, uint64(at)<<32|uint64(len(v)))
	}
}

// grow adds n bytes of zeros, rounded up to whole words, and returns their offset.
func (w *Writer) grow(n int) int {
	at := len(w.row)
	w.row = append(w.row, make([]byte, (n+7)&^7)...)
	return at
}
