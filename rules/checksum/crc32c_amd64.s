#include "textflag.h"

// func crcFold(state uint32, p *byte, n int, k *crcFoldConstants) uint32
//
// Z0 to Z3 carry the last 256 bytes, folded. Only the first sixteen registers are used: VZEROUPPER
// clears them, so that a switch of threads does not have to save their upper halves.
TEXT ·crcFold(SB), NOSPLIT, $0-36
	MOVL state+0(FP), AX
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ k+24(FP), DX

	VMOVDQU64 (SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	VMOVD     AX, X4
	VPXORQ    Z4, Z0, Z0
	ADDQ      $256, SI
	SUBQ      $256, CX
	JZ        together

	VBROADCASTI64X2 (DX), Z8

block:
	VPCLMULQDQ $0x00, Z8, Z0, Z4
	VPCLMULQDQ $0x11, Z8, Z0, Z0
	VPCLMULQDQ $0x00, Z8, Z1, Z5
	VPCLMULQDQ $0x11, Z8, Z1, Z1
	VPCLMULQDQ $0x00, Z8, Z2, Z6
	VPCLMULQDQ $0x11, Z8, Z2, Z2
	VPCLMULQDQ $0x00, Z8, Z3, Z7
	VPCLMULQDQ $0x11, Z8, Z3, Z3
	VPTERNLOGQ $0x96, (SI), Z4, Z0 // the sum of three
	VPTERNLOGQ $0x96, 64(SI), Z5, Z1
	VPTERNLOGQ $0x96, 128(SI), Z6, Z2
	VPTERNLOGQ $0x96, 192(SI), Z7, Z3

	ADDQ $256, SI
	SUBQ $256, CX
	JNZ  block

together:
	VBROADCASTI64X2 16(DX), Z8
	VBROADCASTI64X2 32(DX), Z9
	VBROADCASTI64X2 48(DX), Z10
	VPCLMULQDQ      $0x00, Z8, Z0, Z4
	VPCLMULQDQ      $0x11, Z8, Z0, Z0
	VPCLMULQDQ      $0x00, Z9, Z1, Z5
	VPCLMULQDQ      $0x11, Z9, Z1, Z1
	VPCLMULQDQ      $0x00, Z10, Z2, Z6
	VPCLMULQDQ      $0x11, Z10, Z2, Z2
	VPTERNLOGQ      $0x96, Z0, Z4, Z3
	VPTERNLOGQ      $0x96, Z1, Z5, Z6
	VPTERNLOGQ      $0x96, Z2, Z6, Z3

	// Four lanes of 128 bits: the first three move to the last.
	VMOVDQU64     64(DX), Z8
	VPCLMULQDQ    $0x00, Z8, Z3, Z4
	VPCLMULQDQ    $0x11, Z8, Z3, Z5
	VPXORQ        Z5, Z4, Z4
	VEXTRACTI64X2 $3, Z3, X6
	VEXTRACTI64X4 $1, Z4, Y5
	VPXOR         Y5, Y4, Y4
	VEXTRACTI128  $1, Y4, X5
	VPXOR         X5, X4, X4
	VPXOR         X6, X4, X4

	VMOVQ      X4, AX
	VPEXTRQ    $1, X4, BX
	VZEROUPPER
	XORL       DI, DI
	CRC32Q     AX, DI
	CRC32Q     BX, DI
	MOVL       DI, ret+32(FP)
	RET

// FOLD adds acc, moved by the distance that the multipliers in by are for, to what is in to.
#define FOLD(acc, by, tmp, to) \
	VPCLMULQDQ $0x00, by, acc, tmp; \
	VPCLMULQDQ $0x11, by, acc, acc; \
	VPTERNLOGD $0x96, tmp, acc, to

// REDUCE puts the CRC of what acc comes to into sum: its four quarters are moved to the last by Z14,
// which has nothing for the last itself, and the instruction does the rest.
#define REDUCE(acc, sum) \
	VEXTRACTI32X4 $3, acc, X8; \
	VPXORQ Z9, Z9, Z9; \
	FOLD(acc, Z14, Z10, Z9); \
	VEXTRACTI32X4 $1, Z9, X10; \
	VEXTRACTI32X4 $2, Z9, X11; \
	VPXOR X8, X9, X9; \
	VPXOR X10, X11, X11; \
	VPXOR X9, X11, X11; \
	XORL sum, sum; \
	VMOVQ X11, DX; \
	CRC32Q DX, sum; \
	VPEXTRQ $1, X11, DX; \
	CRC32Q DX, sum

// func crcFoldPages(p *byte, groups int, k *crcFoldConstants, sums *uint32)
//
// Z0 to Z3 are what four pages come to so far, one each.
TEXT ·crcFoldPages(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), SI
	MOVQ groups+8(FP), CX
	MOVQ k+16(FP), BX
	MOVQ sums+24(FP), DI

	MOVL  $-1, AX
	VMOVD AX, X13
	VBROADCASTI32X4 48(BX), Z12
	VMOVDQU64 64(BX), Z14

group:
	VPXORQ (SI), Z13, Z0
	VPXORQ 4096(SI), Z13, Z1
	VPXORQ 8192(SI), Z13, Z2
	VPXORQ 12288(SI), Z13, Z3
	MOVQ   $63, R8

line:
	ADDQ $64, SI
	VMOVDQU64 (SI), Z4
	VMOVDQU64 4096(SI), Z5
	VMOVDQU64 8192(SI), Z6
	VMOVDQU64 12288(SI), Z7
	FOLD(Z0, Z12, Z8, Z4)
	FOLD(Z1, Z12, Z9, Z5)
	FOLD(Z2, Z12, Z10, Z6)
	FOLD(Z3, Z12, Z11, Z7)
	VMOVDQA64 Z4, Z0
	VMOVDQA64 Z5, Z1
	VMOVDQA64 Z6, Z2
	VMOVDQA64 Z7, Z3
	DECQ R8
	JNZ  line

	REDUCE(Z0, AX)
	REDUCE(Z1, R9)
	REDUCE(Z2, R10)
	REDUCE(Z3, R11)
	NOTL AX
	NOTL R9
	NOTL R10
	NOTL R11
	MOVL AX, (DI)
	MOVL R9, 4(DI)
	MOVL R10, 8(DI)
	MOVL R11, 12(DI)
	ADDQ $16, DI
	ADDQ $12352, SI      // 64 of these bytes, and three pages
	DECQ CX
	JNZ  group
	VZEROUPPER
	RET
