package binrow

import (
	"encoding/binary"
	"fmt"

	"drey/native/changelog"
)

// CheckBatch makes sure that a batch can be walked: offsets that ascend within the data, and rows no shorter than the
// fixed part, in whole words. It costs a nanosecond a row, so every operator calls it on every batch. With it, reading
// slots is safe; reading what slots point to needs CheckField, which Projector does for the keys. Nothing else of a row is
// ever looked into by an operator that only moves it.
func (l *Layout) CheckBatch(b *changelog.Batch) error { return checkBatch(b, nil, int32(l.fixed), 0) }

// CheckMixed is CheckBatch of a batch of rows of two inputs, which it says of each.
func CheckMixed(layouts [2]*Layout, b *changelog.Batch) error {
	return checkBatch(b, b.Inputs, int32(layouts[0].fixed), int32(layouts[1].fixed))
}

func checkBatch(b *changelog.Batch, inputs []uint8, left, right int32) error {
	n := len(b.Kinds)
	if len(b.Offsets) != n+1 {
		return fmt.Errorf("%d rows with %d offsets", n, len(b.Offsets))
	}
	last := b.Offsets[0]
	if last < 0 {
		return fmt.Errorf("row 0: starts at offset %d", last)
	}
	for i, end := range b.Offsets[1:] {
		least := left
		if inputs != nil && inputs[i] == 1 {
			least = right
		}
		if n := end - last; n < least || n&7 != 0 {
			return fmt.Errorf("row %d: %d bytes, from offset %d to %d; needs at least %d, in whole words", i, int64(end)-int64(last), last, end, least)
		}
		last = end
	}
	if int(last) > len(b.Data) {
		return fmt.Errorf("row %d: ends at offset %d of %d", n-1, last, len(b.Data))
	}
	return nil
}

// InSlot tells whether all of a value stands in the row's fixed part, so that CheckField never fails.
func (l *Layout) InSlot(i int) bool { return l.classes[i] <= byte8 }

// CheckField makes sure that field i of a row, which is no shorter than the fixed part, can be read.
func (l *Layout) CheckField(row []byte, i int) error {
	if l.IsNull(row, i) {
		return nil
	}
	v := binary.LittleEndian.Uint64(row[l.Slot(i):])
	switch l.classes[i] {
	case inlined:
		if v>>63 != 0 {
			if n := v >> 56 & 0x7f; n > 7 {
				return fmt.Errorf("column %d: %d bytes in a slot", i, n)
			}
			return nil
		}
		return l.checkRange(row, i, int64(v>>32), int64(uint32(v)))
	case variable:
		return l.checkRange(row, i, int64(v>>32), int64(uint32(v)))
	case decimal16:
		if n := uint32(v); n > 16 {
			return fmt.Errorf("column %d: a decimal of %d bytes", i, n)
		}
		return l.checkRange(row, i, int64(v>>32), 16)
	case time12:
		return l.checkRange(row, i, int64(v>>32), 8)
	}
	return nil
}

func (l *Layout) checkRange(row []byte, i int, offset, n int64) error {
	// The padding behind a value belongs to it: whoever copies words copies it too.
	if offset < int64(l.fixed) || offset+(n+7)&^7 > int64(len(row)) {
		return fmt.Errorf("column %d: %d bytes at offset %d, the row's variable part is [%d,%d)", i, n, offset, l.fixed, len(row))
	}
	return nil
}

// Check makes sure that all fields of a row can be read. Nested values are opaque: what is inside them is not looked at.
func (l *Layout) Check(row []byte) error {
	if len(row) < l.fixed || len(row)&7 != 0 {
		return fmt.Errorf("%d bytes; needs at least %d, in whole words", len(row), l.fixed)
	}
	for i := range l.classes {
		if err := l.CheckField(row, i); err != nil {
			return err
		}
	}
	return nil
}
