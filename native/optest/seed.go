package optest

import (
	"flag"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"
)

var seedFlag = flag.Uint64("seed", 0, "run random tests with this seed alone")

// Seeds runs a random test once per seed: fixed ones, and one that nobody has seen before. The seed is the test's only
// input; a failure says how to have it again.
func Seeds(t *testing.T, fixed int, run func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	var seeds []uint64
	if *seedFlag != 0 {
		seeds = []uint64{*seedFlag}
	} else {
		for i := range fixed {
			seeds = append(seeds, uint64(i+1))
		}
		seeds = append(seeds, maphash.Bytes(maphash.MakeSeed(), nil)|1)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Helper()
			defer func() {
				if t.Failed() {
					t.Logf("again with: go test -run '%s' -seed %d", t.Name(), seed)
				}
			}()
			run(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}
