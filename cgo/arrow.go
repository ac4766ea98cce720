package main

// #include "abi.h"
import "C"

import (
	"encoding/binary"
	"unsafe"
)

// arrowArray and arrowSchema are struct ArrowArray and struct ArrowSchema of the Arrow C data interface, laid out for
// plain Go: a field of a cgo type could not be touched in tests, and reading one costs the same.
//
// The pointers are C's. They are only ever read through these types; writing goes through setAddress, because a pointer
// store into C memory runs Go's write barrier over whatever bytes were there before.
type arrowArray struct {
	length, nullCount, offset, nBuffers, nChildren int64
	buffers                                        unsafe.Pointer // [nBuffers]unsafe.Pointer
	children                                       unsafe.Pointer // [nChildren]*arrowArray
	dictionary                                     unsafe.Pointer
	release                                        unsafe.Pointer
	privateData                                    unsafe.Pointer
}

type arrowSchema struct {
	format, name, metadata *byte
	flags, nChildren       int64
	children               unsafe.Pointer // [nChildren]*arrowSchema
	dictionary             unsafe.Pointer
	release                unsafe.Pointer
	privateData            unsafe.Pointer
}

// Both layouts are the C ones, or this does not compile.
var (
	_ [unsafe.Sizeof(C.struct_ArrowArray{})]byte  = [unsafe.Sizeof(arrowArray{})]byte{}
	_ [unsafe.Sizeof(C.struct_ArrowSchema{})]byte = [unsafe.Sizeof(arrowSchema{})]byte{}
)

func setAddress(field *unsafe.Pointer, address unsafe.Pointer) {
	*(*uintptr)(unsafe.Pointer(field)) = uintptr(address)
}

// buffer is the i-th buffer's address; nil when the array has fewer, which is as wrong as a null buffer.
func (a *arrowArray) buffer(i int64) unsafe.Pointer {
	if i >= a.nBuffers || a.buffers == nil {
		return nil
	}
	return *(*unsafe.Pointer)(unsafe.Add(a.buffers, uintptr(i)*unsafe.Sizeof(a.buffers)))
}

// child is the i-th child, which the caller knows to exist (nChildren); it may be nil in a malformed array.
func (a *arrowArray) child(i int) *arrowArray {
	if a.children == nil {
		return nil
	}
	return *(**arrowArray)(unsafe.Add(a.children, uintptr(i)*unsafe.Sizeof(a.children)))
}

func (s *arrowSchema) child(i int) *arrowSchema {
	if s.children == nil {
		return nil
	}
	return *(**arrowSchema)(unsafe.Add(s.children, uintptr(i)*unsafe.Sizeof(s.children)))
}

// text copies a NUL-terminated C string; nil is "".
func text(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// metadataOf decodes a schema's metadata: a count of pairs, then length and bytes of key and value, in native byte order.
// The format has no total length, so only the lengths' signs can be checked.
func metadataOf(p *byte) (map[string]string, bool) {
	pairs := map[string]string{}
	if p == nil {
		return pairs, true
	}
	at := unsafe.Pointer(p)
	number := func() int32 {
		n := int32(binary.NativeEndian.Uint32(unsafe.Slice((*byte)(at), 4)))
		at = unsafe.Add(at, 4)
		return n
	}
	for n := number(); n > 0; n-- {
		var pair [2]string
		for i := range pair {
			size := number()
			if size < 0 {
				return nil, false
			}
			pair[i] = string(unsafe.Slice((*byte)(at), int(size)))
			at = unsafe.Add(at, int(size))
		}
		pairs[pair[0]] = pair[1]
	}
	return pairs, true
}
