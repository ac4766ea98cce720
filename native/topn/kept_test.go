package topn_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"drey/native/optest"
	"drey/native/spec"
)

// Snapshots of format version 1, as the first release wrote them, give back an operator that goes on as if it had never
// stopped.
func TestKeptSnapshots(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(strategies)) {
		s := strategies[name]
		before := []string{
			`+I 1 "a" 5 "text" 2 NULL`, `+I 1 "b" 4 "text, longer" 2 NULL`, `+I 1 "c" 5 NULL 2 "x"`, `+I 2 "a" 1 NULL 2 NULL`,
			`+I NULL "a" NULL NULL 2 "a value"`,
		}
		after := []string{`+I 1 "d" 3 NULL 7 NULL`, `+I 1 "e" 5 NULL 7 NULL`, `+I 2 "a" 0 "b" 7 NULL`, `+I NULL "z" 3 NULL 2 NULL`, `+I 3 "n" 3 NULL 2 NULL`}
		if s.Function == spec.RetractableTopN {
			before = append(before, `-D 1 "never there" 5 NULL 2 NULL`)
			after = append(after, `-D 1 "b" 4 "text, longer" 2 NULL`, `-D 1 "c" 5 NULL 2 "x"`, `-U 2 "a" 1 NULL 2 NULL`)
		}
		f, g := open(t, s, 0), open(t, s, 0)
		f.Push(before...)
		kept := optest.Kept(t, "version_1_"+strings.ReplaceAll(name, " ", "_"), func() map[int][]byte {
			return optest.TakeSnapshot(t, f.Op, optest.Groups)
		})
		optest.RestoreSnapshot(t, g.Op, kept, optest.Groups)
		want, got := f.Push(after...), g.Push(after...)
		if !slices.Equal(want, got) || len(want) == 0 {
			t.Errorf("%s: emitted %q, want %q", name, got, want)
		}
		f.Close()
		g.Close()
	}
}
