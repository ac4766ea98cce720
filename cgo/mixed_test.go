package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/rowstate"
)

// mixedBatch is a host's batch of rows of both inputs.
type mixedBatch struct {
	*hostBatch
	inputs   []uint8
	column   arrowArray
	buffers  [2]unsafe.Pointer
	children [3]unsafe.Pointer
}

func newMixedBatch(inputs []uint8, kinds []changelog.RowKind, rows ...[]byte) *mixedBatch {
	b := &mixedBatch{hostBatch: newHostBatch(kinds, rows...), inputs: inputs}
	b.buffers[1] = unsafe.Pointer(unsafe.SliceData(inputs))
	b.column = arrowArray{length: int64(len(rows)), nBuffers: 2, buffers: unsafe.Pointer(&b.buffers[0])}
	b.children = [3]unsafe.Pointer{unsafe.Pointer(&b.columns[0]), unsafe.Pointer(&b.columns[1]), unsafe.Pointer(&b.column)}
	b.root.nChildren, b.root.children = 3, unsafe.Pointer(&b.children[0])
	return b
}

// recorder is an echo that writes down its calls.
type recorder struct {
	echo
	calls []string
}

func (r *recorder) Push(input int, in *changelog.Batch, out *changelog.Builder) error {
	r.calls = append(r.calls, fmt.Sprintf("%d:%d", input, in.Len()))
	return r.echo.Push(input, in, out)
}

// mixedRecorder takes rows of both inputs at once.
type mixedRecorder struct{ recorder }

func (r *mixedRecorder) PushMixed(in *changelog.Batch, out *changelog.Builder) error {
	r.calls = append(r.calls, fmt.Sprintf("mixed:%d", in.Len()))
	return r.echo.Push(0, in, out)
}

func openTwo(t *testing.T, operator op.Operator, fields ...int) *instance {
	t.Helper()
	a := openArguments{spec: []byte(echoSpec), output: &batchSchema{}, groups: op.KeyGroups{First: 0, Last: 127, Max: 128}}
	for _, n := range fields {
		a.inputs = append(a.inputs, &batchSchema{row: logical.Row{Fields: make([]logical.Field, n)}})
	}
	in, err := open(a)
	if err != nil {
		t.Fatal(err)
	}
	in.operator = operator
	in.resumer, _ = operator.(op.Resumer)
	in.mixed, _ = operator.(op.Mixed)
	t.Cleanup(in.close)
	return in
}

// nothingStays checks, after everything opened in the test is closed, that it has given its memory back.
func nothingStays(t *testing.T) {
	t.Cleanup(func() {
		if n := cMemory.Load(); n != 0 {
			t.Errorf("%d bytes not freed", n)
		}
	})
}

// sources polls everything.
func sources(t *testing.T, in *instance) (list []int32) {
	t.Helper()
	for {
		var out arrowArray
		n, err := in.poll(&out)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return list
		}
		list = append(list, unsafe.Slice((*int32)(out.child(2).buffer(1)), n)...)
	}
}

func TestMixedBatchesAreCutIntoRuns(t *testing.T) {
	nothingStays(t)
	inputs := []uint8{0, 0, 1, 0, 1, 1, 1}
	rows := make([][]byte, len(inputs))
	for i := range rows {
		rows[i] = make([]byte, 16+8*int(inputs[i]))
	}
	r := &recorder{echo: echo{echoOptions: echoOptions{Copies: 2}}}
	in := openTwo(t, r, 1, 2)
	b := newMixedBatch(inputs, make([]changelog.RowKind, len(inputs)), rows...)
	if err := in.push(-1, &b.root, 0); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(r.calls, " "), "0:2 1:1 0:1 1:3"; got != want {
		t.Errorf("calls %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(sources(t, in)), "[0 0 1 1 2 2 3 3 4 4 5 5 6 6]"; got != want {
		t.Errorf("sources %s, want %s", got, want)
	}
	m := &mixedRecorder{}
	m.echoOptions.Copies = 1
	in = openTwo(t, m, 1, 2)
	b = newMixedBatch(inputs, make([]changelog.RowKind, len(inputs)), rows...)
	if err := in.push(-1, &b.root, 0); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(m.calls, " "); got != "mixed:7" {
		t.Errorf("calls %s", got)
	}
	if got, want := fmt.Sprint(sources(t, in)), "[0 1 2 3 4 5 6]"; got != want {
		t.Errorf("sources %s, want %s", got, want)
	}
}

// However much each row of however mixed a batch brings, everything comes out in order, in a memory of a few chunks.
func TestMixedBatchesStopAnywhere(t *testing.T) {
	nothingStays(t)
	const seed = 0xb07
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range 20 {
		copies := 1 + rng.IntN(4000)
		r := &recorder{echo: echo{echoOptions: echoOptions{Copies: copies}}}
		in := openTwo(t, r, 1, 1)
		n := 1 + rng.IntN(50)
		inputs, rows := make([]uint8, n), make([][]byte, n)
		for i := range rows {
			inputs[i], rows[i] = uint8(rng.IntN(2)), make([]byte, 16)
		}
		b := newMixedBatch(inputs, make([]changelog.RowKind, n), rows...)
		for range 2 {
			setAddress(&b.root.release, viewRelease)
			if err := in.push(-1, &b.root, 0); err != nil {
				t.Fatal(err)
			}
			for i, source := range sources(t, in) {
				if int(source) != i/copies {
					t.Fatalf("seed %#x round %d: output row %d of source %d, want %d", seed, round, i, source, i/copies)
				}
			}
			if in.unfinished() {
				t.Fatalf("seed %#x round %d: polled to the end, but unfinished", seed, round)
			}
			if memory := in.out.Memory(); memory > 600<<10 {
				t.Fatalf("seed %#x round %d: %d bytes of output memory", seed, round, memory)
			}
		}
	}
}

func TestMixedBatchesAreChecked(t *testing.T) {
	nothingStays(t)
	in := openTwo(t, &recorder{echo: echo{echoOptions: echoOptions{Copies: 1}}}, 2, 1)
	kinds := make([]changelog.RowKind, 2)
	for _, test := range []struct {
		inputs []uint8
		sizes  []int
		want   string
	}{
		{[]uint8{0, 2}, []int{24, 24}, "field input: row 1 is of input 2"},
		{[]uint8{0, 255}, []int{24, 24}, "field input: row 1 is of input -1"},
		{[]uint8{1, 0}, []int{16, 16}, "field row: row 1 has 16 bytes, a row of input 0 needs at least 24"},
		{[]uint8{1, 0}, []int{8, 24}, "field row: row 0 has 8 bytes"},
	} {
		b := newMixedBatch(test.inputs, kinds, make([]byte, test.sizes[0]), make([]byte, test.sizes[1]))
		if err := in.push(-1, &b.root, 0); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("inputs %v, sizes %v: %v, want %q", test.inputs, test.sizes, err, test.want)
		}
	}
	b := newHostBatch(kinds, make([]byte, 24), make([]byte, 24))
	if err := in.push(-1, &b.root, 0); err == nil || !strings.Contains(err.Error(), "2 columns, the schema has 3") {
		t.Errorf("a batch without the column: %v", err)
	}
	one := openTwo(t, &recorder{}, 2)
	m := newMixedBatch([]uint8{0, 0}, kinds, make([]byte, 24), make([]byte, 24))
	if err := one.push(-1, &m.root, 0); err == nil || !strings.Contains(err.Error(), "input -1 of 1") {
		t.Errorf("a mixed batch for one input: %v", err)
	}
	empty := newMixedBatch(nil, nil)
	if err := in.push(-1, &empty.root, 0); err != nil {
		t.Errorf("an empty batch: %v", err)
	}
}

// corrupted finds a snapshot corrupt.
type corrupted struct{ echo }

func (c *corrupted) Restore(int, io.Reader) error { return op.Corruptf("frame 3") }

// What came before the fault of a snapshot is in the state.
func TestErrorsOfRestore(t *testing.T) {
	nothingStays(t)
	in := openTwo(t, &corrupted{}, 1, 1)
	if err := in.restoreGroup(7, []byte("half a snapshot")); err != nil {
		t.Fatal(err)
	}
	err := in.restoreGroup(7, nil)
	var half halfway
	if !errors.As(err, &half) || !errors.Is(err, op.ErrCorrupt) {
		t.Errorf("%v: not half-way, or not corrupt", err)
	}
	if err = in.restoreGroup(999, nil); err == nil || errors.As(err, &half) {
		t.Errorf("a key group of others: %v", err)
	}
}

// halting fails at the end of a bundle, in the middle of it or not.
type halting struct {
	echo
	leaves, unfinished bool
}

func (h *halting) Flush(*changelog.Builder) error {
	h.unfinished = h.leaves
	return &rowstate.BudgetError{}
}
func (h *halting) Unfinished() bool                { return h.unfinished }
func (h *halting) Resume(*changelog.Builder) error { return nil }

// An error of an operator that stays unfinished leaves it half-way; one before anything has changed doesn't.
func TestErrorsOfUnfinishedOperators(t *testing.T) {
	nothingStays(t)
	for _, leaves := range []bool{false, true} {
		err := openTwo(t, &halting{leaves: leaves}, 1, 1).flush()
		var half halfway
		if got := errors.As(err, &half); err == nil || got != leaves {
			t.Errorf("%v: half-way %v, want %v", err, got, leaves)
		}
	}
}
