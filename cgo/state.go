package main

// #include "abi.h"
import "C"

import (
	"bytes"
	"unsafe"

	"drey/native/op"
)

// cBuffer is a growing byte buffer outside the Go heap: a key group's snapshot can be large, and the garbage collector's
// pace must not depend on it.
type cBuffer struct {
	p       unsafe.Pointer
	n, size int
}

func (b *cBuffer) Write(p []byte) (int, error) {
	if b.n+len(p) > b.size {
		size := max(2*b.size, b.n+len(p), 64<<10)
		grown := cAlloc(size)
		copy(unsafe.Slice((*byte)(grown), size), b.bytes())
		b.free()
		b.p, b.size = grown, size
	}
	copy(unsafe.Slice((*byte)(unsafe.Add(b.p, b.n)), len(p)), p)
	b.n += len(p)
	return len(p), nil
}

func (b *cBuffer) bytes() []byte { return unsafe.Slice((*byte)(b.p), b.n) }

func (b *cBuffer) free() {
	if b.p != nil {
		cFree(b.p, b.size)
	}
	b.p, b.size = nil, 0
}

// snapshotSession is a snapshot being read: one key group at a time is written into the buffer, from which the host takes
// it in pieces of its own size.
type snapshotSession struct {
	view   op.Snapshot // nil: no snapshot is being read
	group  int         // the group in the buffer
	buffer cBuffer
	taken  int
}

func (in *instance) snapshotGroup(group int, dst []byte) (int, error) {
	s := &in.snapshot
	if group < in.groups.First || group > in.groups.Last {
		return 0, failf(C.DREY_INVALID, "snapshot: key group %d is not in %d..%d", group, in.groups.First, in.groups.Last)
	}
	if s.view == nil || group < s.group {
		if err := in.begin(); err != nil {
			return 0, err
		}
		if n := in.out.Pending(); n > 0 {
			return 0, failf(C.DREY_INVALID, "snapshot: %d output rows not yet polled", n)
		}
		view, err := in.operator.Snapshot(in.groups)
		if err != nil {
			return 0, err
		}
		s.view, s.group = view, -1
	}
	if group != s.group {
		s.group, s.buffer.n, s.taken = group, 0, 0
		if err := s.view.Write(group, &s.buffer); err != nil {
			s.abandon()
			return 0, err
		}
	}
	n := copy(dst, s.buffer.bytes()[s.taken:])
	s.taken += n
	if n == 0 && s.taken == s.buffer.n && group == in.groups.Last {
		s.abandon()
	}
	return n, nil
}

// abandon drops the view; the buffer is kept for the next snapshot unless it has grown large.
func (s *snapshotSession) abandon() {
	if s.view == nil {
		return
	}
	s.view.Close()
	s.view = nil
	if s.buffer.size > 1<<20 {
		s.buffer.free()
	}
	s.buffer.n, s.taken = 0, 0
}

func (s *snapshotSession) close() {
	s.abandon()
	s.buffer.free()
}

// restoreSession collects one key group's bytes until the host says that they are all.
type restoreSession struct {
	open   bool
	group  int
	buffer cBuffer
}

func (in *instance) restoreGroup(group int, p []byte) error {
	r := &in.restore
	switch {
	case group < in.groups.First || group > in.groups.Last:
		return failf(C.DREY_INVALID, "restore: key group %d is not in %d..%d", group, in.groups.First, in.groups.Last)
	case in.pushed:
		return failf(C.DREY_INVALID, "restore: rows were pushed before")
	case r.open && group != r.group:
		return failf(C.DREY_INVALID, "restore: key group %d begins before key group %d has ended", group, r.group)
	}
	if len(p) > 0 {
		r.open, r.group = true, group
		_, err := r.buffer.Write(p)
		return err
	}
	bytes := bytes.NewReader(r.buffer.bytes())
	r.open = false
	err := in.operator.Restore(group, bytes)
	r.buffer.n = 0
	if err != nil {
		return halfway{err} // entries before the one it failed at are in
	}
	return nil
}

func (r *restoreSession) finished() error {
	if r.open {
		return failf(C.DREY_INVALID, "push: key group %d is not restored to its end", r.group)
	}
	r.buffer.free()
	return nil
}

func (r *restoreSession) close() { r.buffer.free() }
