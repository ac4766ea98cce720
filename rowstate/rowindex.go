package rowstate

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"drey/simd"
)

// RowIndex finds rows by their bytes in groups too large to be searched one by one: the rows of a join key, the peers of a
// Top-N's partition. One index serves all groups of an operator; small groups need not be in it. Equal rows may be in it
// several times, and the one added first is found first. A row is a Ref of the owner's, with a number of the owner's.
//
// An index only saves time, so no owner has to reserve room for it: Add says when the budget has none, and the owner goes
// on without. A row costs it about 40 bytes.
type RowIndex struct {
	bytes func(Ref) []byte
	table *Table // group and hash of the bytes to indexed
	more  *Arena // further rows of the same group and hash, each an indexed
	rows  Rows
	keys  Rows
	hash  [1]uint64
	ref   [1]Ref
	fresh [1]bool
}

// indexed is a row and where those of the same hash go on: next names the one that was added after it, last, only in the
// table, the one added last.
type indexed struct {
	row  Ref
	note uint32
	next Ref
	last Ref
}

const indexedSize = int(unsafe.Sizeof(indexed{}))

// NewRowIndex returns an empty index. bytes gives what a row is found by, the row's own bytes or a key within; they must not
// change while the row is in the index.
func NewRowIndex(b *Budget, purpose string, bytes func(Ref) []byte) *RowIndex {
	return &RowIndex{
		bytes: bytes,
		table: NewTable(b, TableOptions{KeyWidth: 16, ValueSize: indexedSize, Purpose: purpose}),
		more:  NewArena(b, purpose),
	}
}

// Add enters a row of a group. It returns false, and nothing has changed, if the budget has no room for that.
func (x *RowIndex) Add(group uint64, r Ref, note uint32) bool {
	if x.table.Reserve(1, 16) != nil || x.more.Reserve(int64(indexedSize)) != nil {
		return false
	}
	x.prepare(group, x.bytes(r))
	x.table.FindOrInsert(&x.keys, x.hash[:], x.ref[:], x.fresh[:])
	first := x.in(x.ref[0])
	if x.fresh[0] {
		first.row, first.note = r, note
		return true
	}
	added := x.more.Alloc(indexedSize)
	*x.block(added) = indexed{row: r, note: note}
	if first.last == 0 {
		first.next = added
	} else {
		x.block(first.last).next = added
	}
	first.last = added
	return true
}

// First is the row of the group with these bytes that was added first, and its number; 0 if there is none.
func (x *RowIndex) First(group uint64, row []byte) (r Ref, note uint32) {
	for e := x.find(group, row); e != nil; e = x.after(e) {
		if bytes.Equal(x.bytes(e.row), x.rows.Row(0)) { // row may be memory that bytes writes to
			return e.row, e.note
		}
	}
	return 0, 0
}

// Note is the number of a row that is in the index; ok is false if it is not.
func (x *RowIndex) Note(group uint64, r Ref) (note uint32, ok bool) {
	for e := x.find(group, x.bytes(r)); e != nil; e = x.after(e) {
		if e.row == r {
			return e.note, true
		}
	}
	return 0, false
}

// Replace puts another row in the place of one that is there, with the same number. It returns false, and nothing has
// changed, if the bytes the two are found by differ.
func (x *RowIndex) Replace(group uint64, r, by Ref) bool {
	for e := x.find(group, x.bytes(r)); e != nil; e = x.after(e) {
		if e.row == r {
			if !bytes.Equal(x.bytes(by), x.rows.Row(0)) {
				return false
			}
			e.row = by
			return true
		}
	}
	return false
}

// Remove takes a row out and returns its number; ok is false if it was not there. The row's bytes must still be what they
// were. It takes time in proportion to the equal rows added before it: none, if First gave the row.
func (x *RowIndex) Remove(group uint64, r Ref) (note uint32, ok bool) {
	first := x.find(group, x.bytes(r))
	if first == nil {
		return 0, false
	}
	if first.row == r {
		note = first.note
		if first.next == 0 {
			x.table.Delete(x.ref[0])
			return note, true
		}
		second, last := first.next, first.last
		*first = *x.block(second)
		if first.last = last; first.next == 0 {
			first.last = 0
		}
		x.more.Free(second, indexedSize)
		return note, true
	}
	at := Ref(0) // the block of before, 0 if that is in the table
	for before := first; before.next != 0; {
		e := x.block(before.next)
		if e.row == r {
			gone := before.next
			note, before.next = e.note, e.next
			if first.last == gone {
				first.last = at
			}
			x.more.Free(gone, indexedSize)
			return note, true
		}
		at, before = before.next, e
	}
	return 0, false
}

// Len is the number of different rows, of all groups together.
func (x *RowIndex) Len() int { return x.table.Len() }

// Close gives all memory back. It is idempotent.
func (x *RowIndex) Close() {
	x.table.Close()
	x.more.Close()
}

// prepare makes the table's key for a row, and its hash.
func (x *RowIndex) prepare(group uint64, row []byte) {
	x.rows.Reset(0)
	x.rows.Append(row)
	x.table.kernels.HashOffsets(&process.seed, x.hash[:], unsafe.Pointer(unsafe.SliceData(x.rows.Data)), x.rows.Offsets)
	if x.table.hash != nil {
		x.hash[0] = x.table.hash(row)
	}
	x.keys.Reset(16)
	key := x.keys.Extend(16)
	binary.LittleEndian.PutUint64(key, group)
	binary.LittleEndian.PutUint64(key[8:], x.hash[0])
	x.table.Hash(&x.keys, x.hash[:])
}

// find is the first row of the group with the hash of these bytes, or nil.
func (x *RowIndex) find(group uint64, row []byte) *indexed {
	x.prepare(group, row)
	x.table.Find(&x.keys, x.hash[:], x.ref[:])
	if x.ref[0] == simd.Absent {
		return nil
	}
	return x.in(x.ref[0])
}

func (x *RowIndex) after(e *indexed) *indexed {
	if e.next == 0 {
		return nil
	}
	return x.block(e.next)
}

func (x *RowIndex) in(r Ref) *indexed {
	return (*indexed)(unsafe.Pointer(unsafe.SliceData(x.table.Value(r))))
}

func (x *RowIndex) block(r Ref) *indexed {
	return (*indexed)(unsafe.Pointer(unsafe.SliceData(x.more.Bytes(r, indexedSize))))
}
