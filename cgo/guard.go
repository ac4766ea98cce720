package main

// #include <stdlib.h>
// #include "abi.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/debug"

	"drey/native/op"
	"drey/rowstate"
)

// failure is an error that knows its status.
type failure struct {
	status  C.int32_t
	message string
}

func (f *failure) Error() string { return f.message }

func failf(status C.int32_t, format string, args ...any) *failure {
	return &failure{status, fmt.Sprintf(format, args...)}
}

// guarded runs f where no panic can get out: a Go panic that reached a C frame would end the process. A wild pointer
// counts as a panic too (SetPanicOnFault is per goroutine, and the goroutine of a call from C belongs to the thread, so
// it is set each time).
//
// What recover can't catch stays fatal: concurrent map writes, an exhausted stack, the runtime out of memory.
func guarded(message **C.char, f func() error) (status C.int32_t) {
	debug.SetPanicOnFault(true)
	defer func() {
		if r := recover(); r != nil {
			status = report(message, panicked(r, ""))
		}
	}()
	return report(message, f())
}

// onHandle runs f on the handle's instance. Whatever is not one of the declared kinds of error is a bug that may have
// left the state half applied, as does an error of the host, of the query or in the middle of a batch: the instance is poisoned, answers
// every later call with this first failure, and is only good for closing.
func onHandle(handle C.uint64_t, message **C.char, f func(*instance) error) (status C.int32_t) {
	debug.SetPanicOnFault(true)
	in, refusal := handles.enter(uint64(handle))
	if refusal != nil {
		return report(message, refusal)
	}
	defer func() {
		if r := recover(); r != nil {
			in.poison = panicked(r, in.label)
			status = report(message, in.poison)
		}
		in.leave()
	}()
	if in.poison != nil {
		return report(message, failf(C.DREY_POISONED, "%s", in.poison.message))
	}
	err := f(in)
	if err == nil {
		return C.DREY_OK
	}
	var half halfway
	status = statusOf(err)
	if status == C.DREY_INTERNAL || status == C.DREY_HOST || status == C.DREY_QUERY || errors.As(err, &half) {
		in.poison = failf(status, "%s: %v", in.label, err)
		err = in.poison
	}
	return report(message, err)
}

// halfway is an error, of any kind, that came when part of a batch had been processed already, or part of a key group restored:
// no call can make that whole again.
type halfway struct{ error }

func (h halfway) Unwrap() error { return h.error }

// closeHandle frees the instance, poisoned or not. The handle goes first: whatever a failing close leaves behind, no later
// call can reach it.
func closeHandle(handle C.uint64_t, message **C.char) (status C.int32_t) {
	debug.SetPanicOnFault(true)
	in, refusal := handles.enter(uint64(handle))
	if refusal != nil {
		return report(message, refusal)
	}
	handles.remove(in)
	defer func() {
		if r := recover(); r != nil {
			status = report(message, panicked(r, in.label))
		}
	}()
	in.close()
	return C.DREY_OK
}

func panicked(r any, label string) *failure {
	if label != "" {
		label += ": "
	}
	return failf(C.DREY_INTERNAL, "%spanic: %v\n%s\n%s", label, r, build, debug.Stack())
}

func statusOf(err error) C.int32_t {
	var f *failure
	var budget *rowstate.BudgetError
	switch {
	case errors.As(err, &f):
		return f.status
	case errors.As(err, &budget):
		return C.DREY_BUDGET
	case errors.Is(err, op.ErrInvalid):
		return C.DREY_INVALID
	case errors.Is(err, op.ErrUnsupported):
		return C.DREY_UNSUPPORTED
	case errors.Is(err, op.ErrCorrupt):
		return C.DREY_CORRUPT
	case errors.Is(err, op.ErrQuery):
		return C.DREY_QUERY
	}
	return C.DREY_INTERNAL
}

func report(message **C.char, err error) C.int32_t {
	if err == nil {
		return C.DREY_OK
	}
	if message != nil {
		*message = C.CString(err.Error())
	}
	return statusOf(err)
}
