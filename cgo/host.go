package main

// #include "abi.h"
// int32_t dreyCondition(struct drey_host *host, uint8_t *left, uint32_t *left_offsets, uint8_t *right, uint32_t *right_offsets,
//                       int32_t n, uint8_t *matches);
// void dreyReleaseHost(struct drey_host *host);
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"drey/native/op"
	"drey/rowstate"
)

// host is what the other side of the boundary offers to one operator; nil offers nothing.
type host struct {
	functions *C.struct_drey_host // a copy in C memory; nil: nothing, or released
	failed    bool
	offsets   [2][]uint32 // of rows that come without
}

// hosts counts those that are not released yet.
var hosts atomic.Int64

func newHost(from *C.struct_drey_host) *host {
	h := &host{}
	if from != nil {
		h.functions = (*C.struct_drey_host)(cAlloc(C.sizeof_struct_drey_host))
		// As words: what came from C is no business of Go's write barrier.
		const words = C.sizeof_struct_drey_host / 8
		*(*[words]uint64)(unsafe.Pointer(h.functions)) = *(*[words]uint64)(unsafe.Pointer(from))
		hosts.Add(1)
	}
	return h
}

// offer is the host as operators see it.
func (h *host) offer() op.Host {
	if h == nil || h.functions == nil || h.functions.condition == nil {
		return op.Host{}
	}
	return op.Host{Condition: h}
}

func (h *host) Evaluate(left, right *rowstate.Rows, matches []bool) error {
	n := len(matches)
	if left.Len() != n || right.Len() != n {
		panic(fmt.Sprintf("%d rows and %d rows make no %d pairs", left.Len(), right.Len(), n))
	}
	if h.failed {
		return failf(C.DREY_HOST, "the host's condition has failed before")
	}
	if n == 0 {
		return nil
	}
	status := C.dreyCondition(h.functions, (*C.uint8_t)(unsafe.SliceData(left.Data)), h.offsetsOf(left, 0),
		(*C.uint8_t)(unsafe.SliceData(right.Data)), h.offsetsOf(right, 1), C.int32_t(n),
		(*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(matches))))
	if status != 0 {
		// Whatever it was is the host's to know: in Java an exception that is pending now.
		h.failed = true
		return failf(C.DREY_HOST, "the host's condition has failed")
	}
	// A bool that is neither 0 nor 1 is none.
	bytes := unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(matches))), n)
	for i, b := range bytes {
		bytes[i] = min(b, 1)
	}
	return nil
}

func (h *host) offsetsOf(rows *rowstate.Rows, side int) *C.uint32_t {
	offsets := rows.Offsets
	if rows.Width > 0 {
		offsets = h.offsets[side][:0]
		for i := range rows.Len() + 1 {
			offsets = append(offsets, uint32(i*rows.Width))
		}
		h.offsets[side] = offsets
	}
	return (*C.uint32_t)(unsafe.SliceData(offsets))
}

// release tells the host that it is not needed any more. It is idempotent.
func (h *host) release() {
	if h == nil || h.functions == nil {
		return
	}
	functions := h.functions
	h.functions = nil
	hosts.Add(-1)
	defer cFree(unsafe.Pointer(functions), C.sizeof_struct_drey_host)
	if functions.release != nil {
		C.dreyReleaseHost(functions)
	}
}
