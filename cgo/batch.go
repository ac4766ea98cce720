package main

// #include "abi.h"
import "C"

import (
	"math/bits"
	"unsafe"

	"drey/native/changelog"
)

// maxRows keeps a batch's row count, and with it every address computed from it, far from overflow.
const maxRows = 1 << 30

// noRows is the offsets of an empty batch.
var noRows = []int32{0}

// readRows points batch at the rows of a row-form array, without copying: kinds, offsets and bytes stay where the host
// has them. minimum is the size of the fixed part of a row, the least a BinaryRowData of this type can have. Everything
// the operators rely on is checked here, once per batch; what is wrong is named by field.
func readRows(a *arrowArray, minimum int32, batch *changelog.Batch) error {
	n, offset, err := readStruct(a, 2)
	if err != nil {
		return err
	}
	return readRowColumns(a, n, offset, minimum, batch)
}

// readMixedRows is readRows for rows of two inputs, whose least lengths are given.
func readMixedRows(a *arrowArray, minimum [2]int32, batch *changelog.Batch) error {
	n, offset, err := readStruct(a, 3)
	if err != nil {
		return err
	}
	if err := readRowColumns(a, n, offset, min(minimum[0], minimum[1]), batch); err != nil {
		return err
	}
	inputs := a.child(2)
	if err := checkColumn(inputs, "batch: field input", n, offset, 2); err != nil {
		return err
	}
	batch.Inputs = nil
	if n == 0 {
		return nil
	}
	data := inputs.buffer(1)
	if data == nil {
		return failf(C.DREY_CORRUPT, "batch: field input: no data buffer")
	}
	batch.Inputs = unsafe.Slice((*uint8)(data), inputs.offset+offset+n)[inputs.offset+offset:]
	for i, input := range batch.Inputs {
		if input > 1 {
			return failf(C.DREY_CORRUPT, "batch: field input: row %d is of input %d", i, int8(input))
		}
		if length := batch.Offsets[i+1] - batch.Offsets[i]; length < minimum[input] {
			return failf(C.DREY_CORRUPT, "batch: field row: row %d has %d bytes, a row of input %d needs at least %d", i, length,
				input, minimum[input])
		}
	}
	return nil
}

func readRowColumns(a *arrowArray, n, offset int64, minimum int32, batch *changelog.Batch) error {
	kind, row := a.child(0), a.child(1)
	var err error
	batch.Kinds, err = readKinds(kind, n, offset)
	if err != nil {
		return err
	}
	if err := checkColumn(row, "batch: field row", n, offset, 3); err != nil {
		return err
	}
	if n == 0 {
		// An empty array need not have any buffer.
		batch.Offsets, batch.Data = noRows, nil
		return nil
	}
	if batch.Offsets, err = readOffsets(row, "batch: field row", n, offset, minimum); err != nil {
		return err
	}
	last := batch.Offsets[n]
	data := row.buffer(2)
	if data == nil {
		return failf(C.DREY_CORRUPT, "batch: field row: no data buffer for %d bytes", last)
	}
	batch.Data = unsafe.Slice((*byte)(data), last)
	return nil
}

// readOffsets returns the n+1 offsets of a column of variable width, in place: the first not negative, none before the one
// ahead of it plus the least length of a value. The format does not tell how long the data buffer is: the last offset does.
func readOffsets(a *arrowArray, name string, n, offset int64, minimum int32) ([]int32, error) {
	buffer := a.buffer(1)
	if buffer == nil {
		return nil, failf(C.DREY_CORRUPT, "%s: no offsets buffer", name)
	}
	if uintptr(buffer)%unsafe.Alignof(int32(0)) != 0 {
		return nil, failf(C.DREY_CORRUPT, "%s: offsets buffer at %#x is not aligned", name, uintptr(buffer))
	}
	// The host keeps the buffers alive until it is called back by release, which is after the last use of the batch.
	offsets := unsafe.Slice((*int32)(buffer), a.offset+offset+n+1)[a.offset+offset:]
	if offsets[0] < 0 {
		return nil, failf(C.DREY_CORRUPT, "%s: offset 0 is %d", name, offsets[0])
	}
	// One pass without a branch per row: the sign bit of any short or negative length survives the OR.
	var short int64
	last := int64(offsets[0])
	for _, next := range offsets[1:] {
		short |= int64(next) - last - int64(minimum)
		last = int64(next)
	}
	if short < 0 {
		for i := range int(n) {
			if length := int64(offsets[i+1]) - int64(offsets[i]); length < int64(minimum) {
				return nil, failf(C.DREY_CORRUPT, "%s: row %d has %d bytes (offsets %d, %d), needs at least %d", name, i, length,
					offsets[i], offsets[i+1], minimum)
			}
		}
	}
	return offsets, nil
}

// readStruct checks the batch's outer array and returns its length and offset.
func readStruct(a *arrowArray, children int64) (n, offset int64, err error) {
	switch {
	case a.release == nil:
		return 0, 0, failf(C.DREY_INVALID, "batch: already released")
	case a.length < 0 || a.length > maxRows:
		return 0, 0, failf(C.DREY_CORRUPT, "batch: length is %d", a.length)
	case a.offset < 0 || a.offset > maxRows:
		return 0, 0, failf(C.DREY_CORRUPT, "batch: offset is %d", a.offset)
	case a.nChildren != children:
		return 0, 0, failf(C.DREY_CORRUPT, "batch: %d columns, the schema has %d", a.nChildren, children)
	case a.dictionary != nil:
		return 0, 0, failf(C.DREY_CORRUPT, "batch: a struct can't have a dictionary")
	}
	for i := range int(children) {
		if a.child(i) == nil {
			return 0, 0, failf(C.DREY_CORRUPT, "batch: column %d is null", i)
		}
	}
	if err := checkNoNulls(a, "batch", a.length, a.offset); err != nil {
		return 0, 0, err
	}
	return a.length, a.offset, nil
}

// readKinds checks the kind column and returns the kinds in place.
func readKinds(a *arrowArray, n, offset int64) ([]changelog.RowKind, error) {
	if err := checkColumn(a, "batch: field kind", n, offset, 2); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, nil
	}
	data := a.buffer(1)
	if data == nil {
		return nil, failf(C.DREY_CORRUPT, "batch: field kind: no data buffer")
	}
	kinds := unsafe.Slice((*changelog.RowKind)(data), a.offset+offset+n)[a.offset+offset:]
	var seen changelog.RowKind
	words := unsafe.Slice((*byte)(unsafe.Pointer(&kinds[0])), n)
	var all uint64
	for len(words) >= 8 {
		all |= *(*uint64)(unsafe.Pointer(&words[0])) // any alignment will do on the CPUs the library is built for
		words = words[8:]
	}
	for _, b := range words {
		seen |= changelog.RowKind(b)
	}
	if all&^0x0303030303030303 != 0 || seen&^3 != 0 {
		for i, k := range kinds {
			if k&^3 != 0 {
				return nil, failf(C.DREY_CORRUPT, "batch: field kind: row %d has kind %d", i, int8(k))
			}
		}
	}
	return kinds, nil
}

// checkColumn checks what every column without nulls has in common. buffers is the number its format has, name what
// to call it in messages.
func checkColumn(a *arrowArray, name string, n, offset, buffers int64) error {
	if err := checkShape(a, name, n, offset, buffers); err != nil {
		return err
	}
	return checkNoNulls(a, name, n, a.offset+offset)
}

func checkShape(a *arrowArray, name string, n, offset, buffers int64) error {
	switch {
	case a.offset < 0 || a.offset > maxRows:
		return failf(C.DREY_CORRUPT, "%s: offset is %d", name, a.offset)
	case a.length < offset+n:
		return failf(C.DREY_CORRUPT, "%s: length %d, the batch needs %d", name, a.length, offset+n)
	case a.nBuffers != buffers:
		return failf(C.DREY_CORRUPT, "%s: %d buffers, its type has %d", name, a.nBuffers, buffers)
	case a.nChildren != 0 || a.dictionary != nil:
		return failf(C.DREY_CORRUPT, "%s: has children or a dictionary", name)
	}
	return nil
}

// checkNoNulls accepts an array without a null bitmap, or with one that has every bit of the range set: foreign hosts
// allocate bitmaps for columns that have no nulls.
func checkNoNulls(a *arrowArray, name string, n, offset int64) error {
	bitmap := a.buffer(0)
	if bitmap == nil {
		if a.nullCount > 0 {
			return failf(C.DREY_CORRUPT, "%s: %d nulls but no bitmap", name, a.nullCount)
		}
		return nil
	}
	if n == 0 {
		return nil
	}
	bytes := unsafe.Slice((*byte)(bitmap), (offset+n+7)/8)
	for i := offset; i < offset+n; {
		if i%8 == 0 && offset+n-i >= 8 {
			if missing := bits.TrailingZeros8(^bytes[i/8]); missing < 8 {
				return failf(C.DREY_CORRUPT, "%s: row %d is null", name, i-offset+int64(missing))
			}
			i += 8
			continue
		}
		if bytes[i/8]>>(i%8)&1 == 0 {
			return failf(C.DREY_CORRUPT, "%s: row %d is null", name, i-offset)
		}
		i++
	}
	return nil
}
