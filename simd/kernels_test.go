package simd

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"
)

func fill(rng *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
}

// TestRoundIsAES pins the round of the specification to the standard, by the example of FIPS 197, appendix B, round 1.
func TestRoundIsAES(t *testing.T) {
	start := block{0x19, 0x3d, 0xe3, 0xbe, 0xa0, 0xf4, 0xe2, 0x2b, 0x9a, 0xc6, 0x8d, 0x2a, 0xe9, 0xf8, 0x48, 0x08}
	key := block{0xa0, 0xfa, 0xfe, 0x17, 0x88, 0x54, 0x2c, 0xb1, 0x23, 0xa3, 0x39, 0x39, 0x2a, 0x6c, 0x76, 0x05}
	want := block{0xa4, 0x9c, 0x7f, 0xf2, 0x68, 0x9f, 0x35, 0x2b, 0x6b, 0x5b, 0xea, 0x43, 0x02, 0x6a, 0x50, 0x49}
	if got := start.round(key); got != want {
		t.Fatalf("round: %x, FIPS 197 has %x", got, want)
	}
}

// spec returns the portable version of a kernel set's hash function.
func spec(k Kernels) Kernels {
	if k.Name == "portable" {
		return k
	}
	return Kernels{HashFixed: aesFixedPortable, HashOffsets: aesOffsetsPortable}
}

func TestMulFixedIsMulOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for width := range 130 {
		var seed Seed
		fill(rng, seed[:])
		data := make([]byte, 5*width+Padding)
		fill(rng, data)
		var got [5]uint64
		mulFixed(&seed, got[:], unsafe.Pointer(&data[0]), width)
		for i, h := range got {
			if want := mulOne(&seed, unsafe.Pointer(&data[i*width]), uintptr(width)); h != want {
				t.Fatalf("width %d row %d: %x, want %x", width, i, h, want)
			}
		}
	}
}

func TestHashFixedEqualsPortable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range All() {
		for width := range 4*64 + 2 {
			for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 13} {
				align := rng.IntN(64)
				var seed Seed
				fill(rng, seed[:])
				buffer := make([]byte, align+n*width+Padding)
				fill(rng, buffer)
				before := bytes.Clone(buffer)
				p := unsafe.Pointer(&buffer[align])
				got, want := make([]uint64, n), make([]uint64, n)
				k.HashFixed(&seed, got, p, width)
				spec(k).HashFixed(&seed, want, p, width)
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("%s width %d rows %d row %d align %d: %x, want %x", k.Name, width, n, i, align, got[i], want[i])
					}
				}
				if !bytes.Equal(before, buffer) {
					t.Fatalf("%s width %d wrote to its input", k.Name, width)
				}
			}
		}
	}
}

// TestHashOffsetsEqualsPortable also checks that a row's hash does not depend on whether its batch has offsets, on its
// neighbours or on what lies behind it.
func TestHashOffsetsEqualsPortable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, k := range All() {
		for round := range 300 {
			var seed Seed
			fill(rng, seed[:])
			n := rng.IntN(20)
			offsets := []uint32{uint32(rng.IntN(70))}
			for range n {
				offsets = append(offsets, offsets[len(offsets)-1]+uint32(rng.IntN(260)))
			}
			buffer := make([]byte, int(offsets[n])+Padding)
			fill(rng, buffer)
			p := unsafe.Pointer(&buffer[0])
			got, want := make([]uint64, n), make([]uint64, n)
			k.HashOffsets(&seed, got, p, offsets)
			spec(k).HashOffsets(&seed, want, p, offsets)
			for i := range got {
				row := append(bytes.Clone(buffer[offsets[i]:offsets[i+1]]), make([]byte, Padding)...)
				alone := make([]uint64, 1)
				k.HashFixed(&seed, alone, unsafe.Pointer(&row[0]), len(row)-Padding)
				if got[i] != want[i] || alone[0] != want[i] {
					t.Fatalf("%s round %d row %d of %d bytes: %x, alone %x, want %x", k.Name, round, i, len(row)-Padding, got[i], alone[0], want[i])
				}
			}
		}
	}
}

func TestProbeEqualsPortable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	segments := make([]uint64, 8*512)
	dir := make([]uint32, 16)
	entries := make([]byte, 4096)
	for _, k := range All() {
		for range 200 {
			chunks := unsafe.Slice((*chunk)(unsafe.Pointer(&segments[0])), 8*64)
			for i := range chunks {
				c := &chunks[i]
				for s := range c.tags {
					c.tags[s] = byte(rng.IntN(40))
					c.refs[s] = 8 + uint32(rng.IntN(400))
				}
				if c.overflow = byte(rng.IntN(4)); c.overflow != 0 {
					c.passed = uint16(rng.Uint32())
				} else {
					c.passed = 0
				}
			}
			for i := range dir {
				dir[i] = uint32(rng.IntN(8))
			}
			table := ProbeTable{unsafe.Pointer(&segments[0]), unsafe.Pointer(&dir[0]), uint64(len(dir) - 1), unsafe.Pointer(&entries[0]), 32}
			n := rng.IntN(70)
			hashes := make([]uint64, n)
			for i := range hashes {
				hashes[i] = rng.Uint64()>>8 | uint64(rng.IntN(50))<<TagShift
			}
			got, want := make([]uint32, n), make([]uint32, n)
			k.Probe(&table, hashes, got)
			probePortable(&table, hashes, want)
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%s row %d of %d: %d, want %d", k.Name, i, n, got[i], want[i])
				}
			}
		}
	}
}

// TestFindEqualsPortable runs Find, and Probe with Compare, on random chunks whose refs name random entries, which have keys
// of the batch with some luck.
func TestFindEqualsPortable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	segments := make([]uint64, 5*512)
	segments = segments[(4096-uintptr(unsafe.Pointer(&segments[0]))%4096)%4096/8:] // segments are aligned to their size
	dir := make([]uint32, 8)
	entries := make([]byte, 8*3000)
	for _, k := range All() {
		for width := 1; width <= MaxFindWidth; width++ {
			n := rng.IntN(300)
			keys := make([]byte, n*width+Padding)
			fill(rng, keys)
			fill(rng, entries)
			chunks := unsafe.Slice((*chunk)(unsafe.Pointer(&segments[0])), 4*64)
			for i := range chunks {
				c := &chunks[i]
				for s := range c.tags {
					c.tags[s] = byte(rng.IntN(4))
					c.refs[s] = 0
					if c.tags[s] == 0 {
						continue
					}
					r := 8 + rng.IntN(2900)
					c.refs[s] = uint32(r)
					if n > 0 {
						copy(entries[8*r:8*r+width], keys[width*rng.IntN(n):])
					}
				}
				if c.overflow = byte(rng.IntN(4)); c.overflow != 0 {
					c.passed = uint16(rng.Uint32())
				} else {
					c.passed = 0
				}
			}
			for i := range dir {
				dir[i] = uint32(rng.IntN(4))
			}
			table := ProbeTable{unsafe.Pointer(&segments[0]), unsafe.Pointer(&dir[0]), uint64(len(dir) - 1), unsafe.Pointer(&entries[0]), 32}
			hashes := make([]uint64, n)
			for i := range hashes {
				hashes[i] = rng.Uint64()>>8 | uint64(rng.IntN(4))<<TagShift
			}
			p := unsafe.Pointer(&keys[0])
			for _, sweeps := range []int{1, 2} {
				got, want := make([]uint32, n), make([]uint32, n)
				gotSlow, wantSlow := make([]uint32, n), make([]uint32, n)
				var a, b int
				if sweeps == 1 {
					a = k.Find(&table, hashes, p, width, got, gotSlow)
					b = findPortable(&table, hashes, p, width, want, wantSlow)
				} else {
					k.Probe(&table, hashes, got)
					a = k.Compare(&table, p, width, got, gotSlow)
					probePortable(&table, hashes, want)
					b = comparePortable(&table, p, width, want, wantSlow)
				}
				if !slices.Equal(got, want) || !slices.Equal(gotSlow[:a], wantSlow[:b]) {
					t.Fatalf("%s width %d, %d sweeps of %d rows:\n%v %v\n%v %v", k.Name, width, sweeps, n, got, gotSlow[:a], want, wantSlow[:b])
				}
			}
		}
	}
}

func TestNamed(t *testing.T) {
	for _, k := range All() {
		if got, err := Named(k.Name); err != nil || got.Name != k.Name {
			t.Fatal(k.Name, err)
		}
	}
	if _, err := Named("abacus"); err == nil {
		t.Fatal("an unknown kernel set was accepted")
	}
	want := os.Getenv("DREY_SIMD")
	if want == "" {
		want = All()[len(All())-1].Name
	}
	if got := Best().Name; got != want {
		t.Fatalf("best is %s, want %s", got, want)
	}
}

func TestKernelsDoNotAllocate(t *testing.T) {
	var seed Seed
	data := make([]byte, 64*40+Padding)
	offsets := make([]uint32, 65)
	for i := range offsets {
		offsets[i] = uint32(i * 40)
	}
	dst := make([]uint64, 64)
	for _, k := range All() {
		for _, width := range []int{8, 18, 40} {
			if n := testing.AllocsPerRun(5, func() { k.HashFixed(&seed, dst, unsafe.Pointer(&data[0]), width) }); n != 0 {
				t.Errorf("%s: %v allocations", k.Name, n)
			}
		}
		if n := testing.AllocsPerRun(5, func() { k.HashOffsets(&seed, dst, unsafe.Pointer(&data[0]), offsets) }); n != 0 {
			t.Errorf("%s offsets: %v allocations", k.Name, n)
		}
	}
}
