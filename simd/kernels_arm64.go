//go:build arm64 && !purego

package simd

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:noescape
func aesRows(seed *Seed, dst *uint64, p unsafe.Pointer, offsets *uint32, n, width int)

//go:noescape
func prefetch(base unsafe.Pointer, refs *uint32, n int)

// Prefetch asks for the cache lines that refs, in units of 8 bytes from base, point to.
func Prefetch(base unsafe.Pointer, refs []uint32) {
	if len(refs) > 0 {
		prefetch(base, &refs[0], len(refs))
	}
}

// archKernels has AES instructions hash; lookups are the portable ones, which have the entries fetched before they are compared.
func archKernels() []Kernels {
	if !cpu.ARM64.HasAES {
		return nil
	}
	return []Kernels{{Name: "armaes", HashFixed: hashFixedARM, HashOffsets: hashOffsetsARM, Probe: probeFetching,
		Find: findPortable, Compare: comparePortable}}
}

func hashFixedARM(seed *Seed, dst []uint64, p unsafe.Pointer, width int) {
	if len(dst) > 0 {
		aesRows(seed, &dst[0], p, nil, len(dst), width)
	}
}

func hashOffsetsARM(seed *Seed, dst []uint64, p unsafe.Pointer, offsets []uint32) {
	if len(dst) > 0 {
		_ = offsets[len(dst)]
		aesRows(seed, &dst[0], p, &offsets[0], len(dst), 0)
	}
}

func probeFetching(t *ProbeTable, hashes []uint64, cand []uint32) {
	probePortable(t, hashes, cand)
	Prefetch(t.Entries, cand[:len(hashes)])
}
