//go:build !purego

#include "textflag.h"

// The 16 bytes at keep+16-n have n bytes of FF, then zeros.
DATA keep<>+0(SB)/8, $0xffffffffffffffff
DATA keep<>+8(SB)/8, $0xffffffffffffffff
DATA keep<>+16(SB)/8, $0
DATA keep<>+24(SB)/8, $0
GLOBL keep<>(SB), RODATA|NOPTR, $32

// ROUND is one encryption round as x86 has it, the key last; AESE itself takes the key first, here V31, which is zero.
#define ROUND(X, K) \
	AESE  V31.B16, X.B16; \
	AESMC X.B16, X.B16; \
	VEOR  K.B16, X.B16, X.B16

// STEP takes in the 16 bytes of V2 and of V3; V0 and V1 are a and b of the specification.
#define STEP \
	VEOR V2.B16, V0.B16, V0.B16; \
	VEOR V3.B16, V1.B16, V1.B16; \
	ROUND(V0, V17); \
	ROUND(V1, V18); \
	ROUND(V0, V18); \
	ROUND(V1, V19)

// func aesRows(seed *Seed, dst *uint64, p unsafe.Pointer, offsets *uint32, n, width int)
//
// Rows are where offsets tells, or, if that is nil, one behind the other with the same width. Rows do not depend on each other,
// so the CPU works on several at once.
TEXT ·aesRows(SB), NOSPLIT, $0-48
	MOVD seed+0(FP), R0
	MOVD dst+8(FP), R1
	MOVD p+16(FP), R2
	MOVD offsets+24(FP), R3
	MOVD n+32(FP), R4
	MOVD width+40(FP), R5
	VLD1 (R0), [V16.B16, V17.B16, V18.B16, V19.B16]
	VEOR V31.B16, V31.B16, V31.B16
	MOVD $keep<>+16(SB), R6
	MOVD R2, R7

next:
	CBZ   R3, ready
	MOVWU (R3), R7
	MOVWU 4(R3), R5
	SUB   R7, R5, R5
	ADD   R2, R7, R7
	ADD   $4, R3, R3

ready:
	// R7 = the row, R5 = its length
	VEOR V20.B16, V20.B16, V20.B16
	VMOV R5, V20.D[0]
	VEOR V16.B16, V20.B16, V0.B16
	CMP  $16, R5
	BHI  wide
	SUB  R5, R6, R8
	VLD1 (R7), [V2.B16]
	VLD1 (R8), [V3.B16]
	VAND V3.B16, V2.B16, V2.B16
	VEOR V2.B16, V0.B16, V0.B16
	ROUND(V0, V17)
	ROUND(V0, V18)
	ROUND(V0, V19)

fold:
	VMOV   V0.D[0], R9
	VMOV   V0.D[1], R10
	EOR    R9, R10, R10
	MOVD.P R10, 8(R1)
	ADD    R5, R7, R7
	SUBS   $1, R4, R4
	BNE    next
	RET

wide:
	VEOR V17.B16, V20.B16, V1.B16
	ADD  R5, R7, R8
	SUB  $16, R8, R11
	CMP  $32, R5
	BLO  pair
	SUB  $32, R8, R10
	MOVD R7, R9

long:
	CMP    R10, R9
	BHS    last
	VLD1.P 32(R9), [V2.B16, V3.B16]
	STEP
	B      long

last:
	VLD1 (R10), [V2.B16, V3.B16]
	STEP
	B    join

pair:
	VLD1 (R7), [V2.B16]
	VLD1 (R11), [V3.B16]
	STEP

join:
	VEOR V1.B16, V0.B16, V0.B16
	ROUND(V0, V19)
	B    fold

// func prefetch(base unsafe.Pointer, refs *uint32, n int)
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVD base+0(FP), R0
	MOVD refs+8(FP), R1
	MOVD n+16(FP), R2

fetch:
	MOVWU.P 4(R1), R3
	ADD     R3<<3, R0, R4
	PRFM    (R4), PLDL1KEEP
	SUBS    $1, R2, R2
	BNE     fetch
	RET
