package simd

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestAvalanche flips every input bit of random rows: every hash bit must change in half of the cases. With 2,000 rows the
// deviation of a fair coin stays below 0.065 in 64*width*8 trials with overwhelming probability (5.8 sigma).
func TestAvalanche(t *testing.T) {
	const rows = 2000
	rng := rand.New(rand.NewPCG(11, 1))
	for _, k := range All() {
		for _, width := range []int{1, 4, 8, 9, 16, 18, 32, 33, 40, 70} {
			var seed Seed
			fill(rng, seed[:])
			data := make([]byte, rows*width+Padding)
			fill(rng, data)
			p := unsafe.Pointer(&data[0])
			before, after := make([]uint64, rows), make([]uint64, rows)
			k.HashFixed(&seed, before, p, width)
			worst := 0.0
			for bit := range width * 8 {
				for i := range rows {
					data[i*width+bit/8] ^= 1 << (bit % 8)
				}
				k.HashFixed(&seed, after, p, width)
				for i := range rows {
					data[i*width+bit/8] ^= 1 << (bit % 8)
				}
				var changed [64]int
				for i := range rows {
					for d := before[i] ^ after[i]; d != 0; d &= d - 1 {
						changed[bits.TrailingZeros64(d)]++
					}
				}
				for _, n := range changed {
					worst = max(worst, math.Abs(float64(n)/rows-0.5))
				}
			}
			// One-byte rows have 256 values, so their trials repeat.
			if limit := 0.065 + 0.2*float64(b2i(width == 1)); worst > limit {
				t.Errorf("%s width %d: a bit changes with probability 0.5 ± %.3f", k.Name, width, worst)
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSpread hashes keys as jobs have them and checks that every part of a hash that a table uses, and the tag together
// with the rest, is as evenly spread as random numbers are: the chi-squared statistic within 6 sigma.
func TestSpread(t *testing.T) {
	const rows = 1 << 17
	shapes := map[string]func(i int, row []byte){
		"sequential ids": func(i int, row []byte) { binary.LittleEndian.PutUint64(row[8:], uint64(i)) },
		"big-endian ids": func(i int, row []byte) { binary.BigEndian.PutUint64(row[8:], uint64(i)) },
		"ids in steps":   func(i int, row []byte) { binary.LittleEndian.PutUint64(row[8:], uint64(i)<<20) },
		"decimal text":   func(i int, row []byte) { copy(row[8:], fmt.Sprintf("user%08d", i)) },
		"two letters": func(i int, row []byte) {
			for b := range 18 {
				row[b] = 'a' + byte(i>>b&1)
			}
		},
		"few bits far apart": func(i int, row []byte) {
			row[0], row[7], row[15], row[23] = byte(i&31), byte(i>>5&31), byte(i>>10&31), byte(i>>15)
		},
	}
	parts := map[string]func(h uint64) uint64{
		"tag":               func(h uint64) uint64 { return h >> TagShift },
		"chunk":             func(h uint64) uint64 { return h >> ChunkShift & 63 },
		"directory":         func(h uint64) uint64 { return h >> DirShift & 1023 },
		"tag and chunk":     func(h uint64) uint64 { return h>>TagShift<<6 | h>>ChunkShift&63 },
		"tag and directory": func(h uint64) uint64 { return h>>TagShift<<6 | h>>DirShift&63 },
	}
	sizes := map[string]int{"tag": 256, "chunk": 64, "directory": 1024, "tag and chunk": 1 << 14, "tag and directory": 1 << 14}
	const width = 24
	rng := rand.New(rand.NewPCG(11, 2))
	for _, k := range All() {
		for shape, write := range shapes {
			var seed Seed
			fill(rng, seed[:])
			data := make([]byte, rows*width+Padding)
			for i := range rows {
				write(i, data[i*width:(i+1)*width])
			}
			hashes := make([]uint64, rows)
			k.HashFixed(&seed, hashes, unsafe.Pointer(&data[0]), width)
			seen := make(map[uint64]bool, rows)
			for _, h := range hashes {
				seen[h] = true
			}
			if len(seen) != rows {
				t.Errorf("%s, %s: %d of %d hashes collide", k.Name, shape, rows-len(seen), rows)
			}
			for part, of := range parts {
				counts := make([]int, sizes[part])
				for _, h := range hashes {
					counts[of(h)]++
				}
				expected, chi := float64(rows)/float64(len(counts)), 0.0
				for _, n := range counts {
					chi += (float64(n) - expected) * (float64(n) - expected) / expected
				}
				freedom := float64(len(counts) - 1)
				if z := (chi - freedom) / math.Sqrt(2*freedom); math.Abs(z) > 6 {
					t.Errorf("%s, %s: %s is spread with z = %.1f", k.Name, shape, part, z)
				}
			}
		}
	}
}

// TestChosenDifferences tries what defeats weak constructions: pairs of rows whose two blocks differ by chosen amounts.
func TestChosenDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	const width, pairs = 64, 1 << 16
	for _, k := range All() {
		data := make([]byte, 2*pairs*width+Padding)
		for i := range pairs {
			a, b := data[2*i*width:(2*i+1)*width], data[(2*i+1)*width:(2*i+2)*width]
			copy(b, a)
			// One or two bits, in one block, in both, or the same in both.
			first, second := rng.IntN(width*8), rng.IntN(width*8)
			if i%3 == 0 {
				second = (first + 128*rng.IntN(4)) % (width * 8)
			}
			b[first/8] ^= 1 << (first % 8)
			if second != first {
				b[second/8] ^= 1 << (second % 8)
			}
		}
		var seed Seed
		fill(rng, seed[:])
		hashes := make([]uint64, 2*pairs)
		k.HashFixed(&seed, hashes, unsafe.Pointer(&data[0]), width)
		for i := range pairs {
			if hashes[2*i] == hashes[2*i+1] {
				t.Fatalf("%s: pair %d collides", k.Name, i)
			}
		}
	}
}
