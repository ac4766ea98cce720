package dedup_test

import (
	"bytes"
	"testing"

	"drey/native/changelog"
	"drey/native/optest"
	"drey/native/spec"
)

// restorable are variants whose state looks different.
var restorable = []spec.Deduplicate{
	{KeepLastRow: true, GenerateInsert: true},
	{KeepLastRow: true, IsRowtime: true, GenerateInsert: true, StateTTLMillis: 100, UniqueKeys: []int{1, 0}},
	{OutputInsertOnly: true},
	{OutputInsertOnly: true, StateTTLMillis: 100},
	{IsRowtime: true, OutputInsertOnly: true},
	{IsRowtime: true, OutputInsertOnly: true, StateTTLMillis: 100},
}

// FuzzRestore: whatever a snapshot holds, restoring it is an error or gives an operator that works.
func FuzzRestore(f *testing.F) {
	for variant, s := range restorable {
		x := open(f, s, 1<<24)
		x.Push(`+I 1 "a string" 1`)
		group, b := optest.Only(optest.TakeSnapshot(f, x.Op, optest.Groups))
		f.Add(variant, group, b)
		x.Close()
	}
	f.Fuzz(func(t *testing.T, variant, group int, b []byte) {
		if variant < 0 || variant >= len(restorable) {
			return
		}
		x := open(t, restorable[variant], 1<<24)
		defer x.Close()
		if x.Op.Restore(group, bytes.NewReader(b)) != nil {
			return
		}
		use(x)
	})
}

// FuzzRestoreEntries does the same behind the frames' checksums.
func FuzzRestoreEntries(f *testing.F) {
	for variant, s := range restorable {
		x := open(f, s, 1<<24)
		x.Push(`+I 1 "a string" 1`)
		group, b := optest.Only(optest.TakeSnapshot(f, x.Op, optest.Groups))
		f.Add(variant, group, optest.Items(b))
		x.Close()
	}
	f.Fuzz(func(t *testing.T, variant, group int, entries []byte) {
		if variant < 0 || variant >= len(restorable) {
			return
		}
		// The frames of an operator that has a key, with its entries replaced.
		y := open(t, restorable[variant], 1<<24)
		y.Push(`+I 1 "a string" 1`)
		_, b := optest.Only(optest.TakeSnapshot(t, y.Op, optest.Groups))
		y.Close()
		x := open(t, restorable[variant], 1<<24)
		defer x.Close()
		if x.Op.Restore(group, bytes.NewReader(optest.WithItems(b, entries))) != nil {
			return
		}
		use(x)
		optest.TakeSnapshot(t, x.Op, optest.Groups)
	})
}

// use plays a little with a restored operator.
func use(x *optest.Fixture) {
	x.Now = 50
	x.Push(`+I 1 "a string" 3`, `+I 1 "another" 0`, `+I NULL NULL NULL`)
	if err := x.Op.Watermark(2, x.Out); err != nil {
		x.T.Fatal(err)
	}
	if err := x.Op.ProcessingTime(1<<40, x.Out); err != nil {
		x.T.Fatal(err)
	}
	x.Drain()
}

// FuzzPush: no bytes that come as a batch make the operator fail in another way than by an error.
func FuzzPush(f *testing.F) {
	x := open(f, restorable[1], 1<<24)
	b := x.Batch(`+I 1 "a string of some length" 1`, `+I 2 "b" 2`)
	f.Add(0, b.Data, int32(0), b.Offsets[1], b.Offsets[2])
	f.Add(1, b.Data, int32(0), b.Offsets[1], b.Offsets[2])
	x.Close()
	f.Fuzz(func(t *testing.T, variant int, data []byte, a, b, c int32) {
		if variant < 0 || variant >= len(restorable) {
			return
		}
		x := open(t, restorable[variant], 1<<24)
		defer x.Close()
		in := &changelog.Batch{Kinds: make([]changelog.RowKind, 2), Offsets: []int32{a, b, c}, Data: data}
		if x.Op.Push(0, in, x.Out) != nil {
			return
		}
		use(x)
	})
}
