package main

// #include "abi.h"
// void dreyRelease(struct ArrowArray *array);
import "C"

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"unsafe"

	"drey/native/changelog"
	"drey/native/op"
	"drey/rowstate"
)

// instance is one open operator with everything the boundary keeps for it. Its methods are the calls of abi.h; the guard
// sees to it that only one runs at a time.
type instance struct {
	handle uint64
	label  string
	busy   atomic.Bool
	poison *failure // the first failure; set once, by the guard

	operator op.Operator
	budget   *rowstate.Budget
	groups   op.KeyGroups
	inputs   []*batchSchema
	output   *batchSchema
	pushed   bool

	batch  changelog.Batch
	memory outputMemory
	out    *changelog.Builder
	export exporter

	snapshot snapshotSession
	restore  restoreSession
}

type openArguments struct {
	spec         []byte
	inputs       []*batchSchema
	output       *batchSchema
	groups       op.KeyGroups
	memoryBudget int64
}

func open(a openArguments) (*instance, error) {
	if g := a.groups; g.Max < 1 || g.Max > 1<<15 || g.First < 0 || g.Last < g.First || g.Last >= g.Max {
		return nil, failf(C.DREY_INVALID, "open: key groups %d..%d of %d", g.First, g.Last, g.Max)
	}
	if a.memoryBudget < 0 {
		return nil, failf(C.DREY_INVALID, "open: memory budget is %d", a.memoryBudget)
	}
	in := &instance{groups: a.groups, inputs: a.inputs, output: a.output, budget: rowstate.NewBudget(a.memoryBudget)}
	operator, err := openOperator(a, in.budget)
	if err != nil {
		return nil, err
	}
	in.operator = operator
	in.out = changelog.NewBuilder(changelog.BuilderOptions{Memory: &in.memory})
	in.label = fmt.Sprintf("%s, key groups %d..%d of %d", operatorName(a.spec), a.groups.First, a.groups.Last, a.groups.Max)
	return in, nil
}

// operatorName is for messages; the spec has been validated by whoever opened it.
func operatorName(spec []byte) string {
	var s struct {
		Operator string `json:"operator"`
	}
	if json.Unmarshal(spec, &s) != nil || s.Operator == "" {
		return "operator"
	}
	return s.Operator
}

// leave ends a call.
func (in *instance) leave() { in.busy.Store(false) }

// begin is what every call but poll starts with: the output of the call before becomes invalid, and a snapshot that was
// not read to its end is dropped.
func (in *instance) begin() {
	in.out.Recycle()
	in.export.recycle()
	in.snapshot.abandon()
}

func (in *instance) push(input int, array *arrowArray, now int64) error {
	in.begin()
	if input < 0 || input >= len(in.inputs) {
		return failf(C.DREY_INVALID, "push: input %d of %d", input, len(in.inputs))
	}
	if n := in.out.Pending(); n > 0 {
		return failf(C.DREY_INVALID, "push: %d output rows not yet polled", n)
	}
	if err := in.restore.finished(); err != nil {
		return err
	}
	in.pushed = true
	schema := in.inputs[input]
	if schema.columns != nil {
		record, err := schema.columns.read(array, &in.batch)
		if err != nil {
			return err
		}
		defer record.Release()
	} else if err := readRows(array, schema.fixedPart(), &in.batch); err != nil {
		return err
	}
	in.batch.Now = now
	err := in.operator.Push(input, &in.batch, in.out)
	in.batch = changelog.Batch{} // nobody keeps an input buffer
	return err
}

func (in *instance) advance(event int32, value int64) error {
	in.begin()
	switch event {
	case C.DREY_WATERMARK:
		return in.operator.Watermark(value, in.out)
	case C.DREY_PROCESSING_TIME:
		return in.operator.ProcessingTime(value, in.out)
	}
	return failf(C.DREY_INVALID, "advance: event %d", event)
}

func (in *instance) flush() error {
	in.begin()
	return in.operator.Flush(in.out)
}

func (in *instance) poll(out *arrowArray) (int64, error) {
	if out == nil || out.release != nil {
		return 0, failf(C.DREY_INVALID, "poll: the array must be the caller's, zeroed or released")
	}
	chunk, ok := in.out.Next()
	if !ok {
		return 0, nil
	}
	if columns := in.output.columns; columns != nil {
		if err := columns.write(&chunk, out); err != nil {
			return 0, err
		}
	} else {
		in.export.export(&chunk, out)
	}
	return int64(chunk.Len()), nil
}

func (in *instance) stats() (string, error) {
	in.begin()
	stats := map[string]int64{"output.bytes": in.out.Memory(), "state.bytes": in.budget.Used()}
	for purpose, bytes := range in.budget.ByPurpose() {
		stats["state.bytes."+purpose] = bytes
	}
	for _, s := range in.operator.Stats(nil) {
		stats[s.Name] = s.Value
	}
	text, err := json.Marshal(stats) // sorted by name
	return string(text), err
}

func (in *instance) close() {
	in.snapshot.close()
	in.restore.close()
	in.export.close()
	in.out.Close()
	in.operator.Close()
}

// release calls the array's release, unless the array was moved on. That of a batch whose memory stays the host's only
// marks it, which is done here: the way to C and back costs as much as all the rest of an empty push.
func release(array *arrowArray) {
	switch {
	case array == nil || array.release == nil:
	case array.release == viewRelease:
		setAddress(&array.release, nil)
	default:
		C.dreyRelease((*C.struct_ArrowArray)(unsafe.Pointer(array)))
	}
}
