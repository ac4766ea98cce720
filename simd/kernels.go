package simd

import (
	"fmt"
	"os"
	"unsafe"
)

// Padding is the number of readable bytes that must follow the last row handed to a kernel: kernels load whole vectors.
const Padding = 64

// Seed is the key material of a hash: four 16-byte AES round keys, or eight 64-bit secrets.
type Seed [64]byte

// Kernels is one set of kernels that belong together: hashes of two different sets must never meet in one table.
type Kernels struct {
	// Name is what DREY_SIMD calls the set.
	Name string
	// HashFixed hashes len(dst) rows of width bytes each, one behind the other at p.
	HashFixed func(seed *Seed, dst []uint64, p unsafe.Pointer, width int)
	// HashOffsets hashes len(dst) rows; row i is the bytes offsets[i]..offsets[i+1] behind p.
	HashOffsets func(seed *Seed, dst []uint64, p unsafe.Pointer, offsets []uint32)
	// Probe looks up the home chunk of every hash; see ProbeTable.
	Probe func(t *ProbeTable, hashes []uint64, cand []uint32)
	// Find looks up keys of one width of at most MaxFindWidth bytes in one sweep, which is best while the table is in the
	// cache. Rows that need a closer look are listed in slow, which is as long as the batch, and counted.
	Find func(t *ProbeTable, hashes []uint64, keys unsafe.Pointer, width int, refs, slow []uint32) int
	// Compare is the second sweep behind a Probe that wrote its candidates to refs: those whose key differs are listed in
	// slow, as Unsure ones are.
	Compare func(t *ProbeTable, keys unsafe.Pointer, width int, refs, slow []uint32) int
}

// ProbeTable is what a probe needs to know of a table; package rowstate documents the layout it points to. All pointers
// are to memory outside the Go heap.
type ProbeTable struct {
	Segments unsafe.Pointer // segments of 64 chunks of 64 bytes
	Dir      unsafe.Pointer // uint32 segment numbers, one per directory entry
	DirMask  uint64         // number of directory entries - 1
	Entries  unsafe.Pointer // base of the entries, addressed by refs in 8-byte units
	Span     uint64         // offset of an entry's last word: its cache line is fetched too
}

// What a probe answers besides a ref: refs 0 and 1 name no entry.
const (
	Absent = 0 // no slot of the home chunk has the tag, and nothing with such a tag went past the chunk
	Unsure = 1 // no slot of the home chunk has the tag, but other chunks must be looked at
)

// Where the parts of a table hash are. Bits 0..15 are not used by tables.
const (
	TagShift   = 56 // 8 bits of tag; a tag of 0 becomes 1, as 0 marks an empty slot
	ChunkShift = 16 // 6 bits: home chunk in the segment
	DirShift   = 22 // directory index, low bits first
	ChunkSlots = 12 // slots of a chunk
)

// All lists the kernel sets this CPU can run, slowest first. The portable set is always there.
func All() []Kernels { return append([]Kernels{portable()}, archKernels()...) }

// Named returns the kernel set of that name, or an error that tells which there are.
func Named(name string) (Kernels, error) {
	var names []string
	for _, k := range All() {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kernels{}, fmt.Errorf("simd: no kernel set %q on this CPU, there are %q", name, names)
}

// Best returns the kernel set named by DREY_SIMD or, without it, the fastest. A set that DREY_SIMD names and the CPU
// cannot run is a configuration error and panics at start-up.
func Best() Kernels {
	if name := os.Getenv("DREY_SIMD"); name != "" {
		k, err := Named(name)
		if err != nil {
			panic(err)
		}
		return k
	}
	all := All()
	return all[len(all)-1]
}

func portable() Kernels {
	return Kernels{Name: "portable", HashFixed: mulFixed, HashOffsets: mulOffsets, Probe: probePortable,
		Find: findPortable, Compare: comparePortable}
}
