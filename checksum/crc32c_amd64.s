#include "textflag.h"

// FOLD adds acc, moved by the distance that the multipliers in by are for, to what is in to.
#define FOLD(acc, by, tmp, to) \
	VPCLMULQDQ $0x00, by, acc, tmp; \
	VPCLMULQDQ $0x11, by, acc, acc; \
	VPTERNLOGD $0x96, tmp, acc, to

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

	// Four registers to one, and its four quarters to one.
	VBROADCASTI32X4 16(BX), Z17
	VBROADCASTI32X4 32(BX), Z18
	VBROADCASTI32X4 48(BX), Z19
	FOLD(Z0, Z19, Z8, Z3)
	FOLD(Z1, Z18, Z9, Z3)
	FOLD(Z2, Z17, Z10, Z3)
	VEXTRACTI32X4 $3, Z3, X0
	VMOVDQU64     64(BX), Z20
	VPXORQ        Z4, Z4, Z4
	FOLD(Z3, Z20, Z8, Z4)
	VEXTRACTI32X4 $1, Z4, X5
	VEXTRACTI32X4 $2, Z4, X6
	VPXOR         X0, X4, X4
	VPXOR         X5, X6, X6
	VPXOR         X4, X6, X6

	// Sixteen bytes, reduced by the instruction.
	XORL    AX, AX
	VMOVQ   X6, DX
	CRC32Q  DX, AX
	VPEXTRQ $1, X6, DX
	CRC32Q  DX, AX
	VZEROUPPER
	MOVL    AX, ret+24(FP)
	RET
