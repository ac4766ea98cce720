//go:build !purego

#include "textflag.h"

DATA one<>+0(SB)/8, $0x0101010101010101
DATA one<>+8(SB)/8, $0x0101010101010101
GLOBL one<>(SB), RODATA|NOPTR, $16

// The 64 bytes at keymask+64-n have n bytes of FF, then zeros.
DATA keymask<>+0(SB)/8, $0xffffffffffffffff
DATA keymask<>+8(SB)/8, $0xffffffffffffffff
DATA keymask<>+16(SB)/8, $0xffffffffffffffff
DATA keymask<>+24(SB)/8, $0xffffffffffffffff
DATA keymask<>+32(SB)/8, $0xffffffffffffffff
DATA keymask<>+40(SB)/8, $0xffffffffffffffff
DATA keymask<>+48(SB)/8, $0xffffffffffffffff
DATA keymask<>+56(SB)/8, $0xffffffffffffffff
DATA keymask<>+64(SB)/8, $0
DATA keymask<>+72(SB)/8, $0
DATA keymask<>+80(SB)/8, $0
DATA keymask<>+88(SB)/8, $0
DATA keymask<>+96(SB)/8, $0
DATA keymask<>+104(SB)/8, $0
DATA keymask<>+112(SB)/8, $0
DATA keymask<>+120(SB)/8, $0
GLOBL keymask<>(SB), RODATA|NOPTR, $128

// HOME: see probe_amd64.s.
#define HOME(A, T) \
	MOVQ A, T; \
	SHRQ $22, A; \
	ANDQ R8, A; \
	MOVL (DI)(A*4), A; \
	SHLQ $12, A; \
	SHRQ $10, T; \
	ANDL $0xFC0, T; \
	ORQ  T, A

// Registers of both kernels: R9 = entries, R10 = refs, R11 = slow list, R12 = segments, R13 = the row's key, R14 = width,
// R15 = rows done, Y7 and Y8 = masks of the key's first and second 32 bytes, X5 = ones, X1 = the row's tag 16 times.

// SAME compares the key with that of the entry BX (a ref) and sets ZF if they are equal; WIDE does so for 33..64 bytes.
#define SAME \
	VMOVDQU (R13), Y0; \
	VPXOR   (R9)(BX*8), Y0, Y0; \
	VPTEST  Y7, Y0

#define WIDE \
	VMOVDQU (R13), Y0; \
	VMOVDQU 32(R13), Y3; \
	VPXOR   (R9)(BX*8), Y0, Y0; \
	VPXOR   32(R9)(BX*8), Y3, Y3; \
	VPAND   Y8, Y3, Y3; \
	VPOR    Y0, Y3, Y3; \
	VPTEST  Y3, Y3

// SLOW puts the row on the slow list.
#define SLOW \
	MOVL R15, (R11); \
	ADDQ $4, R11; \
	MOVL $1, (R10)(R15*4)

// PASSED sets CF if entries with this tag may have gone past the chunk AX. BX and DX are clobbered.
#define PASSED \
	VMOVD X1, DX; \
	ORL   $16, DX; \
	MOVL  12(AX), BX; \
	BTL   DX, BX

// CHASE goes on to the next chunk that entries with this tag go to from a full one, 2*tag+1 on, modulo 64, and sets DX and
// ZF as for the first. Few entries are farther away: those rows go to the slow list.
#define CHASE \
	MOVQ (SI)(R15*8), BX; \
	SHRQ $56, BX; \
	CMPL BX, $1; \
	ADCL $0, BX; \
	LEAL 1(BX)(BX*1), BX; \
	SHLL $6, BX; \
	ADDL AX, BX; \
	ANDL $0xFFF, BX; \
	ANDQ $-4096, AX; \
	ORQ  BX, AX; \
	VPCMPEQB (AX), X1, X2; \
	VPMOVMSKB X2, DX; \
	ANDL $0xFFF, DX

// func findAVX2(a *findArgs) (slow int)
TEXT ·findAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), AX
	MOVQ 0(AX), DX          // table
	MOVQ 0(DX), R12
	MOVQ 8(DX), DI
	MOVQ 16(DX), R8
	MOVQ 24(DX), R9
	MOVQ 8(AX), SI          // hashes
	MOVQ 16(AX), CX         // n
	MOVQ 24(AX), R13        // keys
	MOVQ 32(AX), R14        // width
	MOVQ 40(AX), R10        // refs
	MOVQ 48(AX), R11        // slow
	LEAQ keymask<>+64(SB), BX
	SUBQ R14, BX
	VMOVDQU (BX), Y7
	VMOVDQU 32(BX), Y8
	VMOVDQU one<>(SB), X5
	XORQ R15, R15
	CMPQ R14, $32
	JA   wnext

next:
	MOVQ (SI)(R15*8), AX
	VPBROADCASTB 7(SI)(R15*8), X1
	HOME(AX, BX)
	ADDQ R12, AX
	VPMAXUB X5, X1, X1
	VPCMPEQB (AX), X1, X2
	VPMOVMSKB X2, DX
	TESTL $0xFFF, DX
	JZ   none

try:
	BSFL DX, BX
	MOVL 16(AX)(BX*4), BX
	SAME
	JNZ  other
	MOVL BX, (R10)(R15*4)

step:
	ADDQ R14, R13
	INCQ R15
	CMPQ R15, CX
	JB   next
	JMP  done

other:
	LEAL -1(DX), BX
	ANDL BX, DX
	TESTL $0xFFF, DX
	JNZ  try

none:
	CMPB 12(AX), $0
	JNE  past

absent:
	MOVL $0, (R10)(R15*4)
	JMP  step

past:
	PASSED
	JCC  absent
	CHASE
	JZ   none2

try2:
	BSFL DX, BX
	MOVL 16(AX)(BX*4), BX
	SAME
	JNZ  other2
	MOVL BX, (R10)(R15*4)
	JMP  step

other2:
	LEAL -1(DX), BX
	ANDL BX, DX
	JNZ  try2

none2:
	PASSED
	JCC  absent

unsure:
	SLOW
	JMP  step

wnext:
	MOVQ (SI)(R15*8), AX
	VPBROADCASTB 7(SI)(R15*8), X1
	HOME(AX, BX)
	ADDQ R12, AX
	VPMAXUB X5, X1, X1
	VPCMPEQB (AX), X1, X2
	VPMOVMSKB X2, DX
	TESTL $0xFFF, DX
	JZ   wnone

wtry:
	BSFL DX, BX
	MOVL 16(AX)(BX*4), BX
	WIDE
	JNZ  wother
	MOVL BX, (R10)(R15*4)

wstep:
	ADDQ R14, R13
	INCQ R15
	CMPQ R15, CX
	JB   wnext
	JMP  done

wother:
	LEAL -1(DX), BX
	ANDL BX, DX
	TESTL $0xFFF, DX
	JNZ  wtry

wnone:
	CMPB 12(AX), $0
	JNE  wpast

wabsent:
	MOVL $0, (R10)(R15*4)
	JMP  wstep

wpast:
	PASSED
	JCC  wabsent
	CHASE
	JZ   wnone2

wtry2:
	BSFL DX, BX
	MOVL 16(AX)(BX*4), BX
	WIDE
	JNZ  wother2
	MOVL BX, (R10)(R15*4)
	JMP  wstep

wother2:
	LEAL -1(DX), BX
	ANDL BX, DX
	JNZ  wtry2

wnone2:
	PASSED
	JCC  wabsent

wunsure:
	SLOW
	JMP  wstep

done:
	MOVQ a+0(FP), AX
	SUBQ 48(AX), R11
	SHRQ $2, R11
	MOVQ R11, slow+8(FP)
	VZEROUPPER
	RET

// func compareAVX2(a *findArgs) (slow int)
TEXT ·compareAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), AX
	MOVQ 0(AX), DX
	MOVQ 24(DX), R9
	MOVQ 16(AX), CX
	MOVQ 24(AX), R13
	MOVQ 32(AX), R14
	MOVQ 40(AX), R10
	MOVQ 48(AX), R11
	LEAQ keymask<>+64(SB), BX
	SUBQ R14, BX
	VMOVDQU (BX), Y7
	VMOVDQU 32(BX), Y8
	XORQ R15, R15
	CMPQ R14, $32
	JA   cwide

cnext:
	MOVL (R10)(R15*4), BX
	CMPL BX, $1
	JBE  cspecial
	SAME
	JNZ  cslow

cstep:
	ADDQ R14, R13
	INCQ R15
	CMPQ R15, CX
	JB   cnext
	JMP  cdone

cspecial:
	JB   cstep

cslow:
	MOVL R15, (R11)
	ADDQ $4, R11
	JMP  cstep

cwide:
	MOVL (R10)(R15*4), BX
	CMPL BX, $1
	JBE  cwspecial
	WIDE
	JNZ  cwslow

cwstep:
	ADDQ R14, R13
	INCQ R15
	CMPQ R15, CX
	JB   cwide
	JMP  cdone

cwspecial:
	JB   cwstep

cwslow:
	MOVL R15, (R11)
	ADDQ $4, R11
	JMP  cwstep

cdone:
	MOVQ a+0(FP), AX
	SUBQ 48(AX), R11
	SHRQ $2, R11
	MOVQ R11, slow+8(FP)
	VZEROUPPER
	RET
