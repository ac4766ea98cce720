package javamap

import (
	"slices"
	"testing"
)

// TestWalkComputedDoublesWithTheNextCall: 13 keys are one too many for 16 bins, but computeIfAbsent notices with the next call
// only. In 16 bins 0 stands in front of 16, which came before; in 32 they are apart.
func TestWalkComputedDoublesWithTheNextCall(t *testing.T) {
	codes := []int32{16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	for _, test := range []struct {
		again bool
		want  []int32
	}{
		{false, []int32{1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{true, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0}},
	} {
		if got := WalkComputed(codes, test.again, nil); !slices.Equal(got, test.want) {
			t.Errorf("again %v: got %v, want %v", test.again, got, test.want)
		}
	}
}
