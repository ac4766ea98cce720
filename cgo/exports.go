package main

// #include <stdlib.h>
// #include "abi.h"
import "C"

import (
	"unsafe"

	"drey/native/op"
)

// The exports of abi.h, which documents them. Each is guard, handle, call.

//export drey_abi_version
func drey_abi_version() C.int32_t { return C.DREY_ABI_VERSION }

//export drey_open
func drey_open(spec *C.drey_text, specLen C.int64_t, inputs **C.struct_ArrowSchema, nInputs C.int32_t,
	output *C.struct_ArrowSchema, maxParallelism, firstKeyGroup, lastKeyGroup C.int32_t, memoryBudget C.int64_t,
	offer *C.struct_drey_host, handle *C.uint64_t, message **C.char) C.int32_t {
	return guarded(message, func() error {
		host, kept := newHost(offer), false
		defer func() {
			if !kept {
				host.release()
			}
		}()
		if spec == nil || specLen < 0 || handle == nil {
			return failf(C.DREY_INVALID, "open: no specification, or nowhere to put the handle")
		}
		in, out, err := readSchemas(unsafe.Pointer(inputs), int(nInputs), (*arrowSchema)(unsafe.Pointer(output)))
		if err != nil {
			return err
		}
		opened, err := open(openArguments{
			spec:         C.GoBytes(unsafe.Pointer(spec), C.int(specLen)),
			inputs:       in,
			output:       out,
			groups:       op.KeyGroups{First: int(firstKeyGroup), Last: int(lastKeyGroup), Max: int(maxParallelism)},
			memoryBudget: int64(memoryBudget),
			host:         host,
		})
		if err != nil {
			return err
		}
		kept = true
		*handle = C.uint64_t(handles.add(opened))
		return nil
	})
}

//export drey_push
func drey_push(handle C.uint64_t, input C.int32_t, batch *C.struct_ArrowArray, processingTime C.int64_t, pending *C.int64_t,
	message **C.char) C.int32_t {
	array := (*arrowArray)(unsafe.Pointer(batch))
	defer release(array) // moved to us whatever happens
	return onHandle(handle, message, func(in *instance) error {
		if array == nil {
			return failf(C.DREY_INVALID, "push: no batch")
		}
		return in.emit(pending, in.push(int(input), array, int64(processingTime)))
	})
}

//export drey_advance
func drey_advance(handle C.uint64_t, event C.int32_t, value C.int64_t, pending *C.int64_t, message **C.char) C.int32_t {
	return onHandle(handle, message, func(in *instance) error {
		return in.emit(pending, in.advance(int32(event), int64(value)))
	})
}

//export drey_flush
func drey_flush(handle C.uint64_t, pending *C.int64_t, message **C.char) C.int32_t {
	return onHandle(handle, message, func(in *instance) error { return in.emit(pending, in.flush()) })
}

// emit tells the host how many rows wait for it.
func (in *instance) emit(pending *C.int64_t, err error) error {
	if err == nil && pending != nil {
		*pending = C.int64_t(in.out.Pending())
	}
	return err
}

//export drey_poll
func drey_poll(handle C.uint64_t, out *C.struct_ArrowArray, rows *C.int64_t, message **C.char) C.int32_t {
	return onHandle(handle, message, func(in *instance) error {
		n, err := in.poll((*arrowArray)(unsafe.Pointer(out)))
		if err == nil && rows != nil {
			*rows = C.int64_t(n)
		}
		return err
	})
}

//export drey_snapshot
func drey_snapshot(handle C.uint64_t, keyGroup C.int32_t, buffer *C.uint8_t, capacity C.int64_t, written *C.int64_t,
	message **C.char) C.int32_t {
	return onHandle(handle, message, func(in *instance) error {
		if buffer == nil || capacity <= 0 || written == nil {
			return failf(C.DREY_INVALID, "snapshot: no buffer")
		}
		n, err := in.snapshotGroup(int(keyGroup), unsafe.Slice((*byte)(unsafe.Pointer(buffer)), int(capacity)))
		*written = C.int64_t(n)
		return err
	})
}

//export drey_restore
func drey_restore(handle C.uint64_t, keyGroup C.int32_t, bytes *C.drey_bytes, length C.int64_t, message **C.char) C.int32_t {
	return onHandle(handle, message, func(in *instance) error {
		if length < 0 || (bytes == nil && length > 0) {
			return failf(C.DREY_INVALID, "restore: no bytes")
		}
		return in.restoreGroup(int(keyGroup), unsafe.Slice((*byte)(unsafe.Pointer(bytes)), int(length)))
	})
}

//export drey_stats
func drey_stats(handle C.uint64_t, json **C.char, message **C.char) C.int32_t {
	return onHandle(handle, message, func(in *instance) error {
		if json == nil {
			return failf(C.DREY_INVALID, "stats: nowhere to put them")
		}
		text, err := in.stats()
		*json = C.CString(text)
		return err
	})
}

//export drey_close
func drey_close(handle C.uint64_t, message **C.char) C.int32_t {
	return closeHandle(handle, message)
}

//export drey_live
func drey_live(text **C.char, message **C.char) C.int32_t {
	return guarded(message, func() error {
		if text == nil {
			return failf(C.DREY_INVALID, "live: nowhere to put the text")
		}
		*text = C.CString(handles.live())
		return nil
	})
}

//export drey_panic_for_test
func drey_panic_for_test(handle C.uint64_t, kind C.int32_t, message **C.char) C.int32_t {
	if handle == 0 {
		return guarded(message, func() error { return panicForTest(int(kind)) })
	}
	return onHandle(handle, message, func(*instance) error { return panicForTest(int(kind)) })
}

func panicForTest(kind int) error {
	var nowhere *int
	var empty []int
	switch kind {
	case 0:
		panic("for test")
	case 1:
		*nowhere = 1
	case 2:
		_ = empty[kind]
	}
	return failf(C.DREY_INVALID, "panic for test: kind %d", kind)
}
