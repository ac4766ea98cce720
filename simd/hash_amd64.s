//go:build !purego

#include "textflag.h"

// The 16 bytes at tail+16-n have n bytes of FF, then zeros.
DATA tail<>+0(SB)/8, $0xffffffffffffffff
DATA tail<>+8(SB)/8, $0xffffffffffffffff
DATA tail<>+16(SB)/8, $0
DATA tail<>+24(SB)/8, $0
GLOBL tail<>(SB), RODATA|NOPTR, $32

// Registers of all kernels here: X10 = K1^L, X11 = K0^L, X12 = K1, X13 = K2, X14 = K3.

// SHORT ends a row of at most 16 bytes, LONG a longer one whose halves went into A and B; FOLD leaves low ^ high in R.
#define SHORT(A) \
	AESENC X12, A; \
	AESENC X13, A; \
	AESENC X14, A

#define STEP(A, B) \
	AESENC X12, A; \
	AESENC X13, B; \
	AESENC X13, A; \
	AESENC X14, B

#define LONG(A, B) \
	PXOR   B, A; \
	AESENC X14, A

#define FOLD(A, T, R) \
	PSHUFD $0x4e, A, T; \
	PXOR   T, A; \
	MOVQ   A, R

// func aesFixed(seed *Seed, dst *uint64, p unsafe.Pointer, n, width int)
TEXT ·aesFixed(SB), NOSPLIT, $0-40
	MOVQ  seed+0(FP), AX
	MOVQ  dst+8(FP), DI
	MOVQ  p+16(FP), SI
	MOVQ  n+24(FP), CX
	MOVQ  width+32(FP), BX
	MOVOU (AX), X0
	MOVOU 16(AX), X12
	MOVOU 32(AX), X13
	MOVOU 48(AX), X14
	MOVQ  BX, X11
	MOVO  X11, X10
	PXOR  X0, X11
	PXOR  X12, X10
	CMPQ  BX, $16
	JA    wide

	LEAQ  tail<>+16(SB), DX
	SUBQ  BX, DX
	MOVOU (DX), X9
	LEAQ  (BX)(BX*2), R8
	SUBQ  $4, CX
	JL    shortTail

short4:
	MOVOU (SI), X0
	MOVOU (SI)(BX*1), X1
	MOVOU (SI)(BX*2), X2
	MOVOU (SI)(R8*1), X3
	PAND  X9, X0
	PAND  X9, X1
	PAND  X9, X2
	PAND  X9, X3
	PXOR  X11, X0
	PXOR  X11, X1
	PXOR  X11, X2
	PXOR  X11, X3
	SHORT(X0)
	SHORT(X1)
	SHORT(X2)
	SHORT(X3)
	FOLD(X0, X4, R9)
	FOLD(X1, X5, R10)
	FOLD(X2, X6, R11)
	FOLD(X3, X7, R12)
	MOVQ  R9, (DI)
	MOVQ  R10, 8(DI)
	MOVQ  R11, 16(DI)
	MOVQ  R12, 24(DI)
	LEAQ  (SI)(BX*4), SI
	ADDQ  $32, DI
	SUBQ  $4, CX
	JGE   short4

shortTail:
	ADDQ $4, CX
	JZ   done

short1:
	MOVOU (SI), X0
	PAND  X9, X0
	PXOR  X11, X0
	SHORT(X0)
	FOLD(X0, X4, R9)
	MOVQ  R9, (DI)
	ADDQ  BX, SI
	ADDQ  $8, DI
	DECQ  CX
	JNZ   short1

done:
	RET

wide:
	TESTQ CX, CX
	JZ    done
	CMPQ  BX, $32
	JA    long
	LEAQ  -16(SI)(BX*1), DX
	SUBQ  $2, CX
	JL    wideTail

wide2:
	MOVOU (SI), X0
	MOVOU (DX), X1
	MOVOU (SI)(BX*1), X2
	MOVOU (DX)(BX*1), X3
	PXOR  X11, X0
	PXOR  X10, X1
	PXOR  X11, X2
	PXOR  X10, X3
	STEP(X0, X1)
	STEP(X2, X3)
	LONG(X0, X1)
	LONG(X2, X3)
	FOLD(X0, X4, R9)
	FOLD(X2, X5, R10)
	MOVQ  R9, (DI)
	MOVQ  R10, 8(DI)
	LEAQ  (SI)(BX*2), SI
	LEAQ  (DX)(BX*2), DX
	ADDQ  $16, DI
	SUBQ  $2, CX
	JGE   wide2

wideTail:
	ADDQ  $2, CX
	JZ    done
	MOVOU (SI), X0
	MOVOU (DX), X1
	PXOR  X11, X0
	PXOR  X10, X1
	STEP(X0, X1)
	LONG(X0, X1)
	FOLD(X0, X4, R9)
	MOVQ  R9, (DI)
	RET

long:
	MOVO X11, X0
	MOVO X10, X1
	MOVQ SI, R8
	LEAQ -32(SI)(BX*1), DX

longStep:
	MOVOU (R8), X2
	MOVOU 16(R8), X3
	PXOR  X2, X0
	PXOR  X3, X1
	STEP(X0, X1)
	ADDQ  $32, R8
	CMPQ  R8, DX
	JB    longStep
	MOVOU (DX), X2
	MOVOU 16(DX), X3
	PXOR  X2, X0
	PXOR  X3, X1
	STEP(X0, X1)
	LONG(X0, X1)
	FOLD(X0, X4, R9)
	MOVQ  R9, (DI)
	ADDQ  BX, SI
	ADDQ  $8, DI
	DECQ  CX
	JNZ   long
	RET

// func aesOffsets(seed *Seed, dst *uint64, p unsafe.Pointer, offsets *uint32, n int)
TEXT ·aesOffsets(SB), NOSPLIT, $0-40
	MOVQ  seed+0(FP), AX
	MOVQ  dst+8(FP), DI
	MOVQ  p+16(FP), R13
	MOVQ  offsets+24(FP), R14
	MOVQ  n+32(FP), R15
	MOVOU (AX), X8
	MOVOU 16(AX), X12
	MOVOU 32(AX), X13
	MOVOU 48(AX), X14
	LEAQ  tail<>+16(SB), R12
	MOVL  (R14), SI

row:
	MOVL 4(R14), R11
	MOVQ R11, CX
	SUBQ SI, CX
	ADDQ R13, SI
	MOVQ CX, X0
	MOVO X0, X1
	PXOR X8, X0
	CMPQ CX, $16
	JA   rowWide
	MOVQ  R12, DX
	SUBQ  CX, DX
	MOVOU (SI), X2
	MOVOU (DX), X3
	PAND  X3, X2
	PXOR  X2, X0
	SHORT(X0)
	JMP   rowDone

rowWide:
	PXOR X12, X1
	LEAQ -32(SI)(CX*1), DX
	CMPQ CX, $32
	JA   rowLong
	MOVOU (SI), X2
	MOVOU 16(DX), X3
	PXOR  X2, X0
	PXOR  X3, X1
	STEP(X0, X1)
	LONG(X0, X1)
	JMP   rowDone

rowLong:
	MOVOU (SI), X2
	MOVOU 16(SI), X3
	PXOR  X2, X0
	PXOR  X3, X1
	STEP(X0, X1)
	ADDQ  $32, SI
	CMPQ  SI, DX
	JB    rowLong
	MOVOU (DX), X2
	MOVOU 16(DX), X3
	PXOR  X2, X0
	PXOR  X3, X1
	STEP(X0, X1)
	LONG(X0, X1)

rowDone:
	FOLD(X0, X4, R9)
	MOVQ R9, (DI)
	MOVQ R11, SI
	ADDQ $4, R14
	ADDQ $8, DI
	DECQ R15
	JNZ  row
	RET

// FOUR gathers the 16 bytes at OFF of four rows, BX apart (R8 = 3*BX), in Z; T is clobbered.
#define FOUR(P, Z, Y, X, ZT, YT, XT) \
	VMOVDQU (P), X; \
	VINSERTI128 $1, (P)(BX*1), Y, Y; \
	VMOVDQU (P)(BX*2), XT; \
	VINSERTI128 $1, (P)(R8*1), YT, YT; \
	VINSERTI64X4 $1, YT, Z, Z

// func vaesFixed(seed *Seed, dst *uint64, p unsafe.Pointer, n, width int)
// n is a multiple of 4 and not 0, width at most 64.
TEXT ·vaesFixed(SB), NOSPLIT, $0-40
	MOVQ seed+0(FP), AX
	MOVQ dst+8(FP), DI
	MOVQ p+16(FP), SI
	MOVQ n+24(FP), CX
	MOVQ width+32(FP), BX
	VMOVQ BX, X11
	VPXOR 16(AX), X11, X10
	VPXOR (AX), X11, X11
	VSHUFI32X4 $0, Z10, Z10, Z10
	VSHUFI32X4 $0, Z11, Z11, Z11
	VBROADCASTI32X4 16(AX), Z12
	VBROADCASTI32X4 32(AX), Z13
	VBROADCASTI32X4 48(AX), Z14
	LEAQ (BX)(BX*2), R8
	MOVL $0x55, DX
	KMOVB DX, K1
	CMPQ BX, $16
	JA   vwide
	LEAQ tail<>+16(SB), DX
	SUBQ BX, DX
	VBROADCASTI32X4 (DX), Z9

vshort:
	FOUR(SI, Z0, Y0, X0, Z1, Y1, X1)
	VPANDD Z9, Z0, Z0
	VPXORD Z11, Z0, Z0
	VAESENC Z12, Z0, Z0
	VAESENC Z13, Z0, Z0
	VAESENC Z14, Z0, Z0
	VPSHUFD $0x4e, Z0, Z1
	VPXORD Z1, Z0, Z0
	VPCOMPRESSQ Z0, K1, Z0
	VMOVDQU Y0, (DI)
	LEAQ (SI)(BX*4), SI
	ADDQ $32, DI
	SUBQ $4, CX
	JNZ  vshort
	VZEROUPPER
	RET

vwide:
	LEAQ -16(SI)(BX*1), DX
	CMPQ BX, $32
	JA   vlong

vwide4:
	FOUR(SI, Z0, Y0, X0, Z2, Y2, X2)
	FOUR(DX, Z1, Y1, X1, Z3, Y3, X3)
	VPXORD Z11, Z0, Z0
	VPXORD Z10, Z1, Z1
	VAESENC Z12, Z0, Z0
	VAESENC Z13, Z1, Z1
	VAESENC Z13, Z0, Z0
	VAESENC Z14, Z1, Z1
	VPXORD Z1, Z0, Z0
	VAESENC Z14, Z0, Z0
	VPSHUFD $0x4e, Z0, Z1
	VPXORD Z1, Z0, Z0
	VPCOMPRESSQ Z0, K1, Z0
	VMOVDQU Y0, (DI)
	LEAQ (SI)(BX*4), SI
	LEAQ (DX)(BX*4), DX
	ADDQ $32, DI
	SUBQ $4, CX
	JNZ  vwide4
	VZEROUPPER
	RET

vlong:
	LEAQ 16(SI), R9
	LEAQ -16(DX), R10

vlong4:
	FOUR(SI, Z0, Y0, X0, Z2, Y2, X2)
	FOUR(R9, Z1, Y1, X1, Z3, Y3, X3)
	FOUR(R10, Z4, Y4, X4, Z2, Y2, X2)
	FOUR(DX, Z5, Y5, X5, Z3, Y3, X3)
	VPXORD Z11, Z0, Z0
	VPXORD Z10, Z1, Z1
	VAESENC Z12, Z0, Z0
	VAESENC Z13, Z1, Z1
	VAESENC Z13, Z0, Z0
	VAESENC Z14, Z1, Z1
	VPXORD Z4, Z0, Z0
	VPXORD Z5, Z1, Z1
	VAESENC Z12, Z0, Z0
	VAESENC Z13, Z1, Z1
	VAESENC Z13, Z0, Z0
	VAESENC Z14, Z1, Z1
	VPXORD Z1, Z0, Z0
	VAESENC Z14, Z0, Z0
	VPSHUFD $0x4e, Z0, Z1
	VPXORD Z1, Z0, Z0
	VPCOMPRESSQ Z0, K1, Z0
	VMOVDQU Y0, (DI)
	LEAQ (SI)(BX*4), SI
	LEAQ (R9)(BX*4), R9
	LEAQ (R10)(BX*4), R10
	LEAQ (DX)(BX*4), DX
	ADDQ $32, DI
	SUBQ $4, CX
	JNZ  vlong4
	VZEROUPPER
	RET
