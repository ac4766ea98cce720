//go:build (!amd64 && !arm64) || purego

package simd

import "unsafe"

func archKernels() []Kernels { return nil }

// Prefetch asks for the cache lines that refs, in units of 8 bytes from base, point to; without assembly it does nothing.
func Prefetch(unsafe.Pointer, []uint32) {}
