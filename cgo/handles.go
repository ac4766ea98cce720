package main

// #include "abi.h"
import "C"

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// handleTable gives out handles: generation<<32 | index. A slot's generation grows each time it is given out, so that a
// handle that was closed is never valid again, not even when its slot is; 0 is never a handle. Looking up takes no lock.
type handleTable struct {
	mu    sync.Mutex // guards free and the growth of slots
	slots atomic.Pointer[[]*slot]
	free  []uint32
}

type slot struct {
	generation uint32 // the last one given out; under mu
	instance   atomic.Pointer[instance]
}

var handles handleTable

// add publishes the instance and sets its handle.
func (t *handleTable) add(in *instance) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var index uint32
	if n := len(t.free); n > 0 {
		index = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		var slots []*slot
		if p := t.slots.Load(); p != nil {
			slots = *p
		}
		index = uint32(len(slots))
		slots = append(slots[:len(slots):len(slots)], new(slot)) // a copy: readers hold the old one
		t.slots.Store(&slots)
	}
	s := (*t.slots.Load())[index]
	s.generation++
	if s.generation == 0 {
		s.generation = 1
	}
	in.handle = uint64(s.generation)<<32 | uint64(index)
	s.instance.Store(in)
	return in.handle
}

// enter finds the instance and marks it busy until leave: a second caller meanwhile has broken the contract, and is told so
// before it can break the state.
func (t *handleTable) enter(handle uint64) (*instance, *failure) {
	in := t.find(handle)
	if in == nil {
		return nil, failf(C.DREY_CLOSED, "handle %#x is closed or was never given out", handle)
	}
	if !in.busy.CompareAndSwap(false, true) {
		return nil, failf(C.DREY_INVALID, "%s: handle %#x is in use by another call", in.label, handle)
	}
	if t.find(handle) != in { // closed while we were entering
		in.busy.Store(false)
		return nil, failf(C.DREY_CLOSED, "handle %#x is closed", handle)
	}
	return in, nil
}

func (t *handleTable) find(handle uint64) *instance {
	slots := t.slots.Load()
	if slots == nil || handle&0xffffffff >= uint64(len(*slots)) {
		return nil
	}
	in := (*slots)[uint32(handle)].instance.Load()
	if in == nil || in.handle != handle {
		return nil
	}
	return in
}

// remove makes the handle stale. The caller has entered it.
func (t *handleTable) remove(in *instance) {
	t.mu.Lock()
	defer t.mu.Unlock()
	index := uint32(in.handle)
	(*t.slots.Load())[index].instance.Store(nil)
	t.free = append(t.free, index)
}

// live describes the open handles and the C memory that is not freed yet, a line each; "" is a clean process.
func (t *handleTable) live() string {
	var text strings.Builder
	if slots := t.slots.Load(); slots != nil {
		for _, s := range *slots {
			if in := s.instance.Load(); in != nil {
				fmt.Fprintf(&text, "handle %#x: %s\n", in.handle, in.label)
			}
		}
	}
	if n := cMemory.Load(); n != 0 {
		fmt.Fprintf(&text, "buffers: %d bytes\n", n)
	}
	if n := hosts.Load(); n != 0 {
		fmt.Fprintf(&text, "hosts: %d\n", n)
	}
	if n := columns.AllocatedBytes(); n != 0 {
		fmt.Fprintf(&text, "columns: %d bytes\n", n)
	}
	return text.String()
}
