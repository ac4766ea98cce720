package dedup_test

import (
	"fmt"
	"slices"
	"testing"

	"drey/native/optest"
)

// Snapshots of format version 1, as the first release wrote them, give back an operator that goes on as if it had never
// stopped.
func TestKeptSnapshots(t *testing.T) {
	for i, s := range restorable {
		f, g := open(t, s, 0), open(t, s, 0)
		f.Now, g.Now = 20, 20
		f.Push(`+I 1 "a string" 5`, `+I 2 "b" 2`, `+I NULL NULL 7`)
		if err := f.Op.Watermark(3, f.Out); err != nil {
			t.Fatal(err)
		}
		f.Drain()
		kept := optest.Kept(t, fmt.Sprintf("version_1_%d", i), func() map[int][]byte {
			return optest.TakeSnapshot(t, f.Op, optest.Groups)
		})
		if err := g.Op.ProcessingTime(g.Now, g.Out); err != nil {
			t.Fatal(err)
		}
		optest.RestoreSnapshot(t, g.Op, kept, optest.Groups)
		var emitted [2][]string
		for n, x := range []*optest.Fixture{f, g} {
			for _, x.Now = range []int64{60, 130} {
				emitted[n] = append(emitted[n], x.Push(`+I 1 "a string" 6`, `+I 2 "b" 3`, `+I 3 "c" 3`, `+I NULL NULL 7`)...)
				if err := x.Op.Watermark(x.Now, x.Out); err != nil {
					t.Fatal(err)
				}
				emitted[n] = append(emitted[n], x.Drain()...)
			}
		}
		if !slices.Equal(emitted[0], emitted[1]) || len(emitted[0]) == 0 {
			t.Errorf("%+v: emitted %q, want %q", s, emitted[1], emitted[0])
		}
		f.Close()
		g.Close()
	}
}
