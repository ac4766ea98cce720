package binrow

import "encoding/binary"

// Extender adds a BIGINT column at the end of rows: the rank of Top-N.
type Extender struct {
	in    *Layout
	out   int   // null bytes of the longer row
	shift int   // by which the variable part moves
	moved []int // columns whose slot may have an offset
}

// NewExtender makes an extender of rows of a layout.
func NewExtender(in *Layout) *Extender {
	e := &Extender{in: in, out: nullBytes(len(in.classes) + 1)}
	e.shift = e.out - in.nullBytes + 8
	for i, c := range in.classes {
		if c >= inlined {
			e.moved = append(e.moved, i)
		}
	}
	return e
}

// Size is the length of a row that is n bytes long without the column.
func (e *Extender) Size(n int) int { return n + e.shift }

// Slot is the offset of the new column's slot.
func (e *Extender) Slot() int { return e.out + 8*len(e.in.classes) }

// Extend writes a row, which can be read, with the column's value 0, to dst, which has Size bytes.
func (e *Extender) Extend(dst, row []byte) {
	arity := len(e.in.classes)
	n := copy(dst, row[:e.in.nullBytes])
	clear(dst[n:e.out])
	copy(dst[e.out:], row[e.in.nullBytes:e.in.fixed])
	slot := e.Slot()
	clear(dst[slot : slot+8])
	copy(dst[slot+8:], row[e.in.fixed:])
	// The bit of a row's last field and more may be anything in a row that has no such field; here it is the column's.
	dst[(arity+8)>>3] &^= 1 << (uint(arity) & 7)
	for _, c := range e.moved {
		at := e.out + 8*c
		v := binary.LittleEndian.Uint64(dst[at:])
		if v == 0 || v>>63 != 0 && e.in.classes[c] == inlined {
			continue // null, or in the slot
		}
		binary.LittleEndian.PutUint64(dst[at:], v+uint64(e.shift)<<32)
	}
}

// Strip is the inverse of Extend: dst has e.shift bytes less than the row.
func (e *Extender) Strip(dst, row []byte) {
	copy(dst, row[:e.in.nullBytes])
	copy(dst[e.in.nullBytes:], row[e.out:e.Slot()])
	copy(dst[e.in.fixed:], row[e.Slot()+8:])
	for _, c := range e.moved {
		at := e.in.Slot(c)
		v := binary.LittleEndian.Uint64(dst[at:])
		if v == 0 || v>>63 != 0 && e.in.classes[c] == inlined {
			continue
		}
		binary.LittleEndian.PutUint64(dst[at:], v-uint64(e.shift)<<32)
	}
}
