//go:build amd64 && !purego

package simd

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

//go:noescape
func aesFixed(seed *Seed, dst *uint64, p unsafe.Pointer, n, width int)

//go:noescape
func aesOffsets(seed *Seed, dst *uint64, p unsafe.Pointer, offsets *uint32, n int)

//go:noescape
func vaesFixed(seed *Seed, dst *uint64, p unsafe.Pointer, n, width int)

//go:noescape
func probeSSE(t *ProbeTable, hashes *uint64, n int, cand *uint32)

//go:noescape
func findAVX2(a *findArgs) (slow int)

//go:noescape
func compareAVX2(a *findArgs) (slow int)

//go:noescape
func prefetch(base unsafe.Pointer, refs *uint32, n int)

// Prefetch asks for the cache lines that refs, in units of 8 bytes from base, point to.
func Prefetch(base unsafe.Pointer, refs []uint32) {
	if len(refs) > 0 {
		prefetch(base, &refs[0], len(refs))
	}
}

func archKernels() []Kernels {
	if !cpuid.CPU.Supports(cpuid.AESNI, cpuid.SSSE3, cpuid.SSE4) {
		return nil
	}
	aesni := Kernels{Name: "aesni", HashFixed: hashFixedAES, HashOffsets: hashOffsetsAES, Probe: probeSSSE3,
		Find: findPortable, Compare: comparePortable}
	if cpuid.CPU.Supports(cpuid.AVX2) {
		aesni.Find, aesni.Compare = find256, compare256
	}
	if !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512BW, cpuid.VAES) {
		return []Kernels{aesni}
	}
	vaes := aesni
	vaes.Name, vaes.HashFixed = "vaes512", hashFixedVAES
	return []Kernels{aesni, vaes}
}

func hashFixedAES(seed *Seed, dst []uint64, p unsafe.Pointer, width int) {
	if len(dst) > 0 {
		aesFixed(seed, &dst[0], p, len(dst), width)
	}
}

func hashOffsetsAES(seed *Seed, dst []uint64, p unsafe.Pointer, offsets []uint32) {
	if len(dst) > 0 {
		aesOffsets(seed, &dst[0], p, &offsets[0], len(dst))
	}
}

// hashFixedVAES hashes groups of four rows in one register each, and the rest, like rows above 64 bytes, by AES-NI.
func hashFixedVAES(seed *Seed, dst []uint64, p unsafe.Pointer, width int) {
	n := len(dst) &^ 3
	if width > 64 {
		n = 0
	}
	if n > 0 {
		vaesFixed(seed, &dst[0], p, n, width)
	}
	hashFixedAES(seed, dst[n:], unsafe.Add(p, n*width), width)
}

func probeSSSE3(t *ProbeTable, hashes []uint64, cand []uint32) {
	if len(hashes) > 0 {
		probeSSE(t, &hashes[0], len(hashes), &cand[:len(hashes)][0])
	}
}

func find256(t *ProbeTable, hashes []uint64, keys unsafe.Pointer, width int, refs, slow []uint32) int {
	if len(hashes) == 0 {
		return 0
	}
	_, _ = refs[len(hashes)-1], slow[len(hashes)-1]
	return findAVX2(&findArgs{t, &hashes[0], len(hashes), keys, width, &refs[0], &slow[0]})
}

func compare256(t *ProbeTable, keys unsafe.Pointer, width int, refs, slow []uint32) int {
	if len(refs) == 0 {
		return 0
	}
	_ = slow[len(refs)-1]
	return compareAVX2(&findArgs{t, nil, len(refs), keys, width, &refs[0], &slow[0]})
}
