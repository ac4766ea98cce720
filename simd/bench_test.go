package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// BenchmarkHash hashes batches of 512 rows, which stay in the cache, with every kernel set of this CPU.
func BenchmarkHash(b *testing.B) {
	const rows = 512
	rng := rand.New(rand.NewPCG(1, 1))
	var seed Seed
	fill(rng, seed[:])
	hashes := make([]uint64, rows)
	for _, k := range All() {
		for _, width := range []int{8, 18, 40, 100} {
			data := make([]byte, rows*width+Padding)
			fill(rng, data)
			offsets := make([]uint32, rows+1)
			for i := range offsets {
				offsets[i] = uint32(i * width)
			}
			b.Run(fmt.Sprintf("kernel=%s/rows=fixed/width=%d", k.Name, width), func(b *testing.B) {
				for b.Loop() {
					k.HashFixed(&seed, hashes, unsafe.Pointer(&data[0]), width)
				}
				perRow(b, rows)
			})
			b.Run(fmt.Sprintf("kernel=%s/rows=variable/width=%d", k.Name, width), func(b *testing.B) {
				for b.Loop() {
					k.HashOffsets(&seed, hashes, unsafe.Pointer(&data[0]), offsets)
				}
				perRow(b, rows)
			})
		}
	}
}

// perRow reports nanoseconds per row beside those per batch.
func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}
