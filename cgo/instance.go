package main

// #include "abi.h"
// void dreyRelease(struct ArrowArray *array);
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

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
	resumer  op.Resumer // the operator, if it is one
	mixed    op.Mixed   // the operator, if it is one
	budget   *rowstate.Budget
	host     *host
	groups   op.KeyGroups
	inputs   []*batchSchema
	output   *batchSchema
	pushed   bool

	batch  changelog.Batch
	next   int             // the first row of the batch that the operator has not been given yet
	run    changelog.Batch // those it has been given last
	held   heldBatch
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
	host         *host
}

func open(a openArguments) (*instance, error) {
	if g := a.groups; g.Max < 1 || g.Max > 1<<15 || g.First < 0 || g.Last < g.First || g.Last >= g.Max {
		return nil, failf(C.DREY_INVALID, "open: key groups %d..%d of %d", g.First, g.Last, g.Max)
	}
	if a.memoryBudget < 0 {
		return nil, failf(C.DREY_INVALID, "open: memory budget is %d", a.memoryBudget)
	}
	in := &instance{groups: a.groups, inputs: a.inputs, output: a.output, host: a.host,
		budget: rowstate.NewBudget(a.memoryBudget)}
	operator, err := openOperator(a, in.budget)
	if err != nil {
		return nil, err
	}
	in.operator = operator
	in.resumer, _ = operator.(op.Resumer)
	in.mixed, _ = operator.(op.Mixed)
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
func (in *instance) begin() error {
	if in.unfinished() {
		return failf(C.DREY_INVALID, "the call before is not finished: its output is not polled to the end")
	}
	in.out.Recycle()
	in.export.recycle()
	in.snapshot.abandon()
	return nil
}

// unfinished tells that the operator has stopped in the middle of a batch, or has not been given all of it.
func (in *instance) unfinished() bool { return in.next < in.batch.Len() || in.stopped() }

func (in *instance) stopped() bool { return in.resumer != nil && in.resumer.Unfinished() }

// heldBatch is what keeps an input batch valid.
type heldBatch struct {
	array  *arrowArray       // row form: where the host's is moved to for an operator that has stopped half-way; C memory
	record arrow.RecordBatch // columnar form
}

// push processes a batch. The array is the caller's to release unless it was moved into held.
func (in *instance) push(input int, array *arrowArray, now int64) error {
	if err := in.begin(); err != nil {
		return err
	}
	if n := in.out.Pending(); n > 0 {
		return failf(C.DREY_INVALID, "push: %d output rows not yet polled", n)
	}
	if err := in.restore.finished(); err != nil {
		return err
	}
	in.pushed = true
	if err := in.read(input, array); err != nil {
		in.letGo()
		return err
	}
	in.batch.Now = now
	err := in.process(input)
	if err == nil && in.unfinished() {
		if in.held.record == nil {
			in.held.take(array)
		}
		return nil
	}
	in.letGo()
	return in.whole(err)
}

// whole marks an error that has come in the middle of what the operator was doing.
func (in *instance) whole(err error) error {
	if err != nil && in.stopped() {
		return halfway{err}
	}
	return err
}

// read points batch at the rows of the array.
func (in *instance) read(input int, array *arrowArray) (err error) {
	if input == C.DREY_MIXED && len(in.inputs) == 2 && in.inputs[0].columns == nil && in.inputs[1].columns == nil {
		return readMixedRows(array, [2]int32{in.inputs[0].fixedPart(), in.inputs[1].fixedPart()}, &in.batch)
	}
	if input < 0 || input >= len(in.inputs) {
		return failf(C.DREY_INVALID, "push: input %d of %d", input, len(in.inputs))
	}
	schema := in.inputs[input]
	if schema.columns == nil {
		return readRows(array, schema.fixedPart(), &in.batch)
	}
	in.held.record, err = schema.columns.read(array, &in.batch)
	return err
}

// process gives the operator the batch, or as much of it as it takes to have enough output for now.
func (in *instance) process(input int) error {
	switch {
	case in.batch.Inputs == nil:
		in.next = in.batch.Len()
		if input == C.DREY_MIXED {
			return nil // an empty batch of both
		}
		return in.operator.Push(input, &in.batch, in.out)
	case in.mixed != nil:
		in.next = in.batch.Len()
		return in.mixed.PushMixed(&in.batch, in.out)
	}
	return in.pushRuns()
}

// pushRuns gives the operator run after run of a batch of rows of both inputs.
func (in *instance) pushRuns() error {
	for in.next < in.batch.Len() && !in.stopped() && !in.out.Full() {
		from := in.next
		in.next = in.batch.Run(from)
		in.run = in.batch.Slice(from, in.next)
		in.out.Base(from)
		if err := in.operator.Push(int(in.batch.Inputs[from]), &in.run, in.out); err != nil {
			if from > 0 {
				return halfway{err}
			}
			return err
		}
	}
	return nil
}

// letGo ends the use of the input batch: nobody keeps an input buffer.
func (in *instance) letGo() {
	in.batch, in.run, in.next = changelog.Batch{}, changelog.Batch{}, 0
	in.out.Base(0)
	if in.held.record != nil {
		in.held.record.Release()
		in.held.record = nil
	}
	release(in.held.array)
}

// take moves the host's array here; its release gets to see this address.
func (h *heldBatch) take(array *arrowArray) {
	const size = unsafe.Sizeof(arrowArray{})
	if h.array == nil {
		h.array = (*arrowArray)(cAlloc(int(size)))
	}
	// As words, without write barriers: both are C's.
	*(*[size / 8]uint64)(unsafe.Pointer(h.array)) = *(*[size / 8]uint64)(unsafe.Pointer(array))
	setAddress(&array.release, nil)
}

func (h *heldBatch) close() {
	if h.array != nil {
		cFree(unsafe.Pointer(h.array), int(unsafe.Sizeof(arrowArray{})))
		h.array = nil
	}
}

func (in *instance) advance(event int32, value int64) error {
	if err := in.begin(); err != nil {
		return err
	}
	switch event {
	case C.DREY_WATERMARK:
		return in.whole(in.operator.Watermark(value, in.out))
	case C.DREY_PROCESSING_TIME:
		return in.whole(in.operator.ProcessingTime(value, in.out))
	}
	return failf(C.DREY_INVALID, "advance: event %d", event)
}

func (in *instance) flush() error {
	if err := in.begin(); err != nil {
		return err
	}
	return in.whole(in.operator.Flush(in.out))
}

func (in *instance) poll(out *arrowArray) (int64, error) {
	if out == nil || out.release != nil {
		return 0, failf(C.DREY_INVALID, "poll: the array must be the caller's, zeroed or released")
	}
	chunk, ok := in.out.Next()
	if !ok {
		if !in.unfinished() {
			return 0, nil
		}
		if err := in.resume(); err != nil {
			return 0, halfway{err}
		}
		if chunk, ok = in.out.Next(); !ok {
			return 0, nil
		}
	}
	switch columns := in.output.columns; {
	case columns != nil && !chunk.Joined():
		if err := columns.write(&chunk, out); err != nil {
			return 0, err
		}
	case chunk.Joined() == in.output.joined:
		in.export.export(&chunk, out)
	default:
		return 0, halfway{failf(C.DREY_INVALID, "poll: the operator's rows come joined: %v, the output schema is of another form",
			chunk.Joined())}
	}
	return int64(chunk.Len()), nil
}

// resume lets an operator that has stopped go on. All that it had emitted has been read: that memory is used again, so that
// a batch of any fan-out needs no more than a few chunks.
func (in *instance) resume() error {
	in.out.Recycle()
	in.export.recycle()
	if in.stopped() {
		if err := in.resumer.Resume(in.out); err != nil {
			return err
		}
	}
	if err := in.pushRuns(); err != nil {
		return err
	}
	if !in.unfinished() {
		in.letGo()
	} else if in.out.Pending() == 0 {
		return errors.New("the operator has stopped without having emitted a row")
	}
	return nil
}

func (in *instance) stats() (string, error) {
	if err := in.begin(); err != nil {
		return "", err
	}
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
	defer in.host.release() // last of all, and whatever happens
	in.letGo()
	in.held.close()
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
