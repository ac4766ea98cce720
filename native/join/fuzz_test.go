package join_test

import (
	"bytes"
	"testing"

	"drey/native/op"
	"drey/native/optest"
)

// FuzzRestoreItems: whatever the items of a snapshot hold, restoring them is an error or gives an operator that works.
func FuzzRestoreItems(f *testing.F) {
	var streams [][]byte
	for variant, s := range restorable {
		x := open(f, s, 1<<24)
		x.PushTo(0, `+I 1 "a string"`, `+I 1 "b"`)
		x.PushTo(1, `+I 1 "c"`)
		group, b := optest.Only(x.Snapshot())
		streams = append(streams, b)
		f.Add(variant, group, optest.Items(b))
		x.Close()
	}
	f.Fuzz(func(t *testing.T, variant, group int, items []byte) {
		if variant < 0 || variant >= len(restorable) {
			return
		}
		x := open(t, restorable[variant], 1<<24)
		defer x.Close()
		if x.Op.Restore(group, bytes.NewReader(optest.WithItems(streams[variant], items))) != nil {
			return
		}
		x.Time(10)
		for input := range 2 {
			batch := x.BatchOf(input, `+I 1 "c"`, `-D 1 "a string"`, `-U 2 "x"`, `+U NULL NULL`)
			if err := x.Op.Push(input, batch, x.Out); err != nil {
				t.Fatal(err)
			}
			// A count may say that there are billions.
			for range 10 {
				optest.Drain(x.Out)
				if r := x.Op.(op.Resumer); !r.Unfinished() {
					break
				} else if err := r.Resume(x.Out); err != nil {
					t.Fatal(err)
				}
			}
			if x.Op.(op.Resumer).Unfinished() {
				return
			}
		}
		optest.TakeSnapshot(t, x.Op, optest.Groups)
	})
}
