// Package simd has the whole-batch kernels of the state engine: table hashes of many rows at once, and the probe of a
// swiss table for many hashes at once. It knows nothing of rows, arenas or operators.
//
// # Rules
//
// A kernel works on a batch, never on one row: Go cannot inline assembly, and a call costs as much as hashing a short key.
// Every kernel has a portable version in plain Go, which is its specification; tests compare the two on all lengths,
// alignments and seeds, and a test that cannot run a kernel on the machine at hand says so.
//
// # Two hash functions
//
// The table hash is seeded per process and never leaves memory, so two processes need not agree on it. This leaves room
// for two functions, each with its own specification:
//
//   - mul folds 64x64->128 bit multiplications. It is what a CPU without AES instructions runs, in plain Go (mul.go).
//   - aes runs two or more AES rounds over every 16 bytes. Its specification (aes.go) is software AES and slow, on purpose
//     simple; its kernels use AES-NI (one row's lanes at a time), VAES with AVX-512 (four rows per register) and the AES
//     instructions of arm64.
//
// # Choice of kernels
//
// A Kernels value is one consistent choice. Best gives the fastest for the CPU, as github.com/klauspost/cpuid sees it;
// the environment variable DREY_SIMD (portable, aesni, vaes512 or armaes) overrides it, and so do tests, by name.
package simd
