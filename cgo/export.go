package main

// #include <stdlib.h>
// #include "abi.h"
// void dreyReleaseView(struct ArrowArray *array);
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"drey/native/changelog"
)

// viewRelease is the release of an array whose memory stays somebody else's: it marks the array released.
var viewRelease = unsafe.Pointer(C.dreyReleaseView)

// cMemory counts the bytes this package has from malloc: output buffers, export blocks, snapshot and restore buffers.
var cMemory atomic.Int64

func cAlloc(n int) unsafe.Pointer {
	p := C.calloc(C.size_t(n), 1) // zeroed: Go may only meet initialised memory
	if p == nil {
		panic(fmt.Sprintf("no memory for a buffer of %d bytes", n))
	}
	cMemory.Add(int64(n))
	return p
}

func cFree(p unsafe.Pointer, n int) {
	cMemory.Add(-int64(n))
	C.free(p)
}

// outputMemory is the builder's memory: malloc'ed, so that the host may read it after the call, with each array on a cache
// line of its own and readable padding behind the last row.
type outputMemory struct {
	blocks map[*changelog.Buffers]outputBlock
}

type outputBlock struct {
	p unsafe.Pointer
	n int
}

const (
	cacheLine     = 64
	outputPadding = 64
)

func (m *outputMemory) Alloc(form changelog.Form, rows, bytes int) *changelog.Buffers {
	align := func(n int) int { return (n + cacheLine - 1) &^ (cacheLine - 1) }
	const view = int(unsafe.Sizeof(changelog.View{}))
	kinds, offsets, views, source := align(rows), align(4*(rows+1)), 0, align(4*rows)
	if form.Joined() {
		offsets, views = 0, align(view*rows)
	}
	n := cacheLine + kinds + offsets + 2*views + source + align(bytes) + outputPadding
	block := cAlloc(n)
	at := unsafe.Add(block, uintptr(align(int(uintptr(block))))-uintptr(block))
	b := &changelog.Buffers{Kinds: unsafe.Slice((*changelog.RowKind)(at), rows)}
	at = unsafe.Add(at, kinds)
	if form.Joined() {
		b.Left = unsafe.Slice((*changelog.View)(at), rows)
		b.Right = unsafe.Slice((*changelog.View)(unsafe.Add(at, views)), rows)
	} else {
		b.Offsets = unsafe.Slice((*int32)(at), rows+1)
	}
	at = unsafe.Add(at, offsets+2*views)
	b.Source = unsafe.Slice((*int32)(at), rows)
	b.Data = unsafe.Slice((*byte)(unsafe.Add(at, source)), bytes)
	if m.blocks == nil {
		m.blocks = map[*changelog.Buffers]outputBlock{}
	}
	m.blocks[b] = outputBlock{block, n}
	return b
}

func (m *outputMemory) Free(b *changelog.Buffers) {
	block, ok := m.blocks[b]
	if !ok {
		panic("output buffers freed twice")
	}
	delete(m.blocks, b)
	cFree(block.p, block.n)
}

// exportBlock is the C memory one exported chunk needs beside its data: the children and the pointer arrays. The joined form
// needs the most.
type exportBlock struct {
	children      [4]arrowArray
	childPointers [4]unsafe.Pointer
	buffers       [13]unsafe.Pointer // row: struct 1, kind 2, row 3, source 2; joined: struct 1, kind 2, left 4, right 4, source 2
	dataLength    int64              // joined: what both columns say of the length of their only data buffer
}

// exporter hands chunks of a handle's output to the host. A block is in use until the output is recycled, so that every
// chunk of one call stays valid, whichever the host reads first.
type exporter struct {
	blocks []*exportBlock
	used   int
}

// export fills out, a zeroed struct of the host's. The data is the builder's; releasing marks the arrays released and frees
// nothing.
func (e *exporter) export(chunk *changelog.Chunk, out *arrowArray) {
	if e.used == len(e.blocks) {
		e.blocks = append(e.blocks, (*exportBlock)(cAlloc(int(unsafe.Sizeof(exportBlock{})))))
	}
	b := e.blocks[e.used]
	e.used++
	b.fill(out, int64(chunk.Len()), b.buffers[:1]) // no nulls: nowhere is there a bitmap
	column, at := 0, 1
	add := func(buffers ...unsafe.Pointer) {
		list := b.buffers[at : at+1+len(buffers)]
		setAddress(&list[0], nil)
		for i, p := range buffers {
			setAddress(&list[1+i], p)
		}
		child := &b.children[column]
		b.fill(child, out.length, list)
		setAddress(&b.childPointers[column], unsafe.Pointer(child))
		column, at = column+1, at+len(list)
	}
	data := unsafe.Pointer(unsafe.SliceData(chunk.Data))
	add(unsafe.Pointer(unsafe.SliceData(chunk.Kinds)))
	if chunk.Joined() {
		b.dataLength = int64(len(chunk.Data))
		add(unsafe.Pointer(unsafe.SliceData(chunk.Left)), data, unsafe.Pointer(&b.dataLength))
		add(unsafe.Pointer(unsafe.SliceData(chunk.Right)), data, unsafe.Pointer(&b.dataLength))
	} else {
		add(unsafe.Pointer(unsafe.SliceData(chunk.Offsets)), data)
	}
	add(unsafe.Pointer(unsafe.SliceData(chunk.Source)))
	out.nChildren = int64(column)
	setAddress(&out.children, unsafe.Pointer(&b.childPointers[0]))
}

func (b *exportBlock) fill(a *arrowArray, n int64, buffers []unsafe.Pointer) {
	a.length, a.nullCount, a.offset, a.nBuffers, a.nChildren = n, 0, 0, int64(len(buffers)), 0
	setAddress(&a.buffers, unsafe.Pointer(&buffers[0]))
	setAddress(&a.children, nil)
	setAddress(&a.dictionary, nil)
	setAddress(&a.release, viewRelease)
	setAddress(&a.privateData, nil)
}

func (e *exporter) recycle() { e.used = 0 }

func (e *exporter) close() {
	for _, b := range e.blocks {
		cFree(unsafe.Pointer(b), int(unsafe.Sizeof(exportBlock{})))
	}
	e.blocks, e.used = nil, 0
}
