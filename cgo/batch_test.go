package main

import (
	"bytes"
	"testing"
	"unsafe"

	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
)

// hostBatch is a row-form batch as a host lays it out, in memory the garbage collector may move nothing of.
type hostBatch struct {
	root    arrowArray
	columns [2]arrowArray
	// Pointer arrays, and what they point to.
	children [2]unsafe.Pointer
	buffers  [6]unsafe.Pointer
	kinds    []changelog.RowKind
	offsets  []int32
	data     []byte
}

func newHostBatch(kinds []changelog.RowKind, rows ...[]byte) *hostBatch {
	b := &hostBatch{kinds: kinds, offsets: []int32{0}, data: bytes.Join(rows, nil)}
	for _, row := range rows {
		b.offsets = append(b.offsets, b.offsets[len(b.offsets)-1]+int32(len(row)))
	}
	n := int64(len(rows))
	b.buffers[2] = unsafe.Pointer(unsafe.SliceData(b.kinds))
	b.buffers[4] = unsafe.Pointer(unsafe.SliceData(b.offsets))
	b.buffers[5] = unsafe.Pointer(unsafe.SliceData(b.data))
	b.columns[0] = arrowArray{length: n, nBuffers: 2, buffers: unsafe.Pointer(&b.buffers[1])}
	b.columns[1] = arrowArray{length: n, nBuffers: 3, buffers: unsafe.Pointer(&b.buffers[3])}
	b.children = [2]unsafe.Pointer{unsafe.Pointer(&b.columns[0]), unsafe.Pointer(&b.columns[1])}
	// The release is never called here; it only must not be null.
	b.root = arrowArray{length: n, nBuffers: 1, buffers: unsafe.Pointer(&b.buffers[0]), nChildren: 2,
		children: unsafe.Pointer(&b.children[0]), release: unsafe.Pointer(b)}
	return b
}

const echoSpec = `{"operator":"echo","version":1}`

func openEcho(t testing.TB, fields int) *instance {
	row := logical.Row{Fields: make([]logical.Field, fields)}
	schema := &batchSchema{row: row}
	in, err := open(openArguments{spec: []byte(echoSpec), inputs: []*batchSchema{schema}, output: schema,
		groups: op.KeyGroups{First: 0, Last: 127, Max: 128}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.close()
		if n := cMemory.Load(); n != 0 {
			t.Errorf("%d bytes not freed", n)
		}
	})
	return in
}

// In a steady state a batch costs no allocation, however many rows it has.
func TestPushPollAllocatesNothing(t *testing.T) {
	in := openEcho(t, 2)
	var kinds []changelog.RowKind
	var rows [][]byte
	for i := range 1000 {
		kinds = append(kinds, changelog.RowKind(i%4))
		rows = append(rows, make([]byte, 24+i%5*8))
	}
	for _, n := range []int{0, 1, 1000} {
		batch := newHostBatch(kinds[:n], rows[:n]...)
		cycle := func() {
			if err := in.push(0, &batch.root, 0); err != nil {
				t.Fatal(err)
			}
			for {
				var out arrowArray
				got, err := in.poll(&out)
				if err != nil {
					t.Fatal(err)
				}
				if got == 0 {
					break
				}
			}
		}
		cycle()
		if allocs := testing.AllocsPerRun(100, cycle); allocs != 0 {
			t.Errorf("%d rows: %v allocations per batch", n, allocs)
		}
	}
}

// FuzzRows: whatever a host says of its rows, as long as the buffers are as long as it says, they are taken as they are or
// refused by name; reading what was taken never leaves them.
func FuzzRows(f *testing.F) {
	f.Add([]byte{0, 3}, []byte{0, 0, 0, 0, 24, 0, 0, 0, 48, 0, 0, 0}, 48, int64(0), int64(2))
	f.Add([]byte{0, 4}, []byte{0, 0, 0, 0, 24, 0, 0, 0, 47, 0, 0, 0}, 48, int64(1), int64(1))
	f.Fuzz(func(t *testing.T, kinds, offsets []byte, size int, offset, length int64) {
		n := min(len(kinds), len(offsets)/4-1)
		if n < 1 || size < 0 || size > 1<<16 {
			return
		}
		rows := make([][]byte, n)
		b := newHostBatch(make([]changelog.RowKind, n), rows...)
		for i := range n {
			b.kinds[i] = changelog.RowKind(kinds[i])
		}
		for i := range b.offsets {
			v := int32(offsets[4*i]) | int32(offsets[4*i+1])<<8 | int32(offsets[4*i+2])<<16 | int32(offsets[4*i+3])<<24
			if int(v) > size {
				return // the format does not say how long the data is; the last offset is what must be right
			}
			b.offsets[i] = v
		}
		b.data = make([]byte, size)
		b.buffers[5] = unsafe.Pointer(unsafe.SliceData(b.data))
		b.root.offset, b.root.length = offset, length
		var batch changelog.Batch
		if err := readRows(&b.root, 24, &batch); err != nil {
			if s := statusOf(err); s != 3 {
				t.Fatalf("status %d: %v", s, err)
			}
			return
		}
		if int64(batch.Len()) != length || offset < 0 || offset+length > int64(n) {
			t.Fatalf("%d rows of %d taken, offset %d", batch.Len(), n, offset)
		}
		for i := range batch.Len() {
			if k := batch.Kinds[i]; k < 0 || k > 3 {
				t.Fatalf("row %d has kind %d", i, k)
			}
			if len(batch.Row(i)) < 24 {
				t.Fatalf("row %d has %d bytes", i, len(batch.Row(i)))
			}
		}
	})
}
