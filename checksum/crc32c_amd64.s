#include "textflag.h"

// FOLD adds acc, moved by the distance that the multipliers in by are for, to what is in to.
#define FOLD(acc, by, tmp, to) \
	VPCLMULQDQ $0x00, by, acc, tmp; \
	VPCLMULQDQ $0x11, by, acc, acc; \
	VPTERNLOGD $0x96, tmp, acc, to

// REDUCE puts the CRC of what acc comes to into sum: its four quarters are moved to the last by Z20,
// which has nothing for the last itself, and the instruction does the rest.
#define REDUCE(acc, sum) \
	VEXTRACTI32X4 $3, acc, X8; \
	VPXORQ Z9, Z9, Z9; \
	FOLD(acc, Z20, Z10, Z9); \
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

// func crcBlocksAVX512(p *byte, blocks int, folds *[8][2]uint64) uint32
//
// Z0 to Z3 are what all blocks so far come to at the place of the last one.
TEXT ·crcBlocksAVX512(SB), NOSPLIT, $0-28
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ folds+16(FP), BX

	VMOVDQU64 (SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	MOVL      $-1, AX
	VMOVD     AX, X4
	VPXORQ    Z4, Z0, Z0     // a CRC32C begins with all bits set
	VBROADCASTI32X4 (BX), Z16
	JMP       next

block:
	VMOVDQU64 (SI), Z4
	VMOVDQU64 64(SI), Z5
	VMOVDQU64 128(SI), Z6
	VMOVDQU64 192(SI), Z7
	FOLD(Z0, Z16, Z8, Z4)
	FOLD(Z1, Z16, Z9, Z5)
	FOLD(Z2, Z16, Z10, Z6)
	FOLD(Z3, Z16, Z11, Z7)
	VMOVDQA64 Z4, Z0
	VMOVDQA64 Z5, Z1
	VMOVDQA64 Z6, Z2
	VMOVDQA64 Z7, Z3

next:
	ADDQ $256, SI
	DECQ CX
	JNZ  block

	// Four registers to one.
	VBROADCASTI32X4 16(BX), Z17
	VBROADCASTI32X4 32(BX), Z18
	VBROADCASTI32X4 48(BX), Z19
	FOLD(Z0, Z19, Z8, Z3)
	FOLD(Z1, Z18, Z9, Z3)
	FOLD(Z2, Z17, Z10, Z3)
	VMOVDQU64 64(BX), Z20
	REDUCE(Z3, AX)
	VZEROUPPER
	MOVL    AX, ret+24(FP)
	RET

// func crcPagesAVX512(p *byte, groups int, folds *[8][2]uint64, sums *uint32)
//
// Z0 to Z3 are what four pages come to so far, one each.
TEXT ·crcPagesAVX512(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), SI
	MOVQ groups+8(FP), CX
	MOVQ folds+16(FP), BX
	MOVQ sums+24(FP), DI

	MOVL  $-1, AX
	VMOVD AX, X19
	VBROADCASTI32X4 16(BX), Z16
	VMOVDQU64 64(BX), Z20

group:
	VPXORQ (SI), Z19, Z0
	VPXORQ 4096(SI), Z19, Z1
	VPXORQ 8192(SI), Z19, Z2
	VPXORQ 12288(SI), Z19, Z3
	MOVQ   $63, R8

line:
	ADDQ $64, SI
	VMOVDQU64 (SI), Z4
	VMOVDQU64 4096(SI), Z5
	VMOVDQU64 8192(SI), Z6
	VMOVDQU64 12288(SI), Z7
	FOLD(Z0, Z16, Z8, Z4)
	FOLD(Z1, Z16, Z9, Z5)
	FOLD(Z2, Z16, Z10, Z6)
	FOLD(Z3, Z16, Z11, Z7)
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
