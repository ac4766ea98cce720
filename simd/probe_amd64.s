//go:build !purego

#include "textflag.h"

DATA one<>+0(SB)/8, $0x0101010101010101
DATA one<>+8(SB)/8, $0x0101010101010101
GLOBL one<>(SB), RODATA|NOPTR, $16

// HOME turns the hash in A into the offset of its home chunk from the segments' base; T is clobbered.
// DI = directory, R8 = directory mask.
#define HOME(A, T) \
	MOVQ A, T; \
	SHRQ $22, A; \
	ANDQ R8, A; \
	MOVL (DI)(A*4), A; \
	SHLQ $12, A; \
	SHRQ $10, T; \
	ANDL $0xFC0, T; \
	ORQ  T, A

// func probeSSE(t *ProbeTable, hashes *uint64, n int, cand *uint32)
//
// Each turn asks for the home chunk of the hash 16 rows on and compares the tags of this row's chunk, which has arrived by
// then; the entry of a match is asked for too (first and last line), so that it has arrived when the caller compares keys.
TEXT ·probeSSE(SB), NOSPLIT, $0-32
	MOVQ  t+0(FP), AX
	MOVQ  hashes+8(FP), SI
	MOVQ  n+16(FP), CX
	MOVQ  cand+24(FP), R10
	MOVQ  0(AX), R12
	MOVQ  8(AX), DI
	MOVQ  16(AX), R8
	MOVQ  24(AX), R9
	MOVQ  32(AX), R11
	ADDQ  R9, R11
	MOVOU one<>(SB), X5
	PXOR  X6, X6

	// The first 16 chunks are asked for before the loop.
	MOVQ    $16, DX
	CMPQ    CX, DX
	CMOVQLT CX, DX
	XORQ    R13, R13

warm:
	MOVQ (SI)(R13*8), AX
	HOME(AX, BX)
	PREFETCHT0 (R12)(AX*1)
	INCQ R13
	CMPQ R13, DX
	JB   warm

	// R13 = address of the last hash: the look-ahead stops there.
	LEAQ -8(SI)(CX*8), R13

next:
	LEAQ    128(SI), AX
	CMPQ    AX, R13
	CMOVQHI R13, AX
	MOVQ    (AX), AX
	HOME(AX, BX)
	PREFETCHT0 (R12)(AX*1)
	MOVQ    (SI), AX
	MOVQ    AX, DX
	HOME(AX, BX)
	ADDQ    R12, AX
	SHRQ    $56, DX
	MOVQ    DX, X1
	PSHUFB  X6, X1
	PMAXUB  X5, X1
	MOVOU   (AX), X0
	PCMPEQB X1, X0
	PMOVMSKB X0, DX
	ANDL    $0xFFF, DX
	JZ      none
	BSFL    DX, DX
	MOVL    16(AX)(DX*4), BX
	PREFETCHT0 (R9)(BX*8)
	PREFETCHT0 (R11)(BX*8)
	MOVL    BX, (R10)
	ADDQ    $8, SI
	ADDQ    $4, R10
	DECQ    CX
	JNZ     next
	RET

none:
	// 1 (Unsure) if the bit of the tag is set among the upper 16 at 12, else 0 (Absent)
	MOVQ  X1, DX
	ORL   $16, DX
	MOVL  12(AX), AX
	XORL  BX, BX
	BTL   DX, AX
	SETCS BX
	MOVL  BX, (R10)
	ADDQ  $8, SI
	ADDQ  $4, R10
	DECQ  CX
	JNZ   next
	RET

// func prefetch(base unsafe.Pointer, refs *uint32, n int)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVQ base+0(FP), AX
	MOVQ refs+8(FP), SI
	MOVQ n+16(FP), CX
	LEAQ (SI)(CX*4), CX

fetch:
	CMPQ SI, CX
	JAE  fetched
	MOVL (SI), BX
	PREFETCHT0 (AX)(BX*8)
	ADDQ $4, SI
	JMP  fetch

fetched:
	RET
