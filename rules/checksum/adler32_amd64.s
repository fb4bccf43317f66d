#include "textflag.h"

// Weights of the bytes within a block: 64, 63, ... 1.
DATA adlerWeights<>+0(SB)/8, $0x393a3b3c3d3e3f40
DATA adlerWeights<>+8(SB)/8, $0x3132333435363738
DATA adlerWeights<>+16(SB)/8, $0x292a2b2c2d2e2f30
DATA adlerWeights<>+24(SB)/8, $0x2122232425262728
DATA adlerWeights<>+32(SB)/8, $0x191a1b1c1d1e1f20
DATA adlerWeights<>+40(SB)/8, $0x1112131415161718
DATA adlerWeights<>+48(SB)/8, $0x090a0b0c0d0e0f10
DATA adlerWeights<>+56(SB)/8, $0x0102030405060708
GLOBL adlerWeights<>(SB), RODATA|NOPTR, $64

// func adlerBlocksAVX2(p *byte, blocks int) (plain, weighted uint32)
//
// Y0 sums bytes; Y1 sums Y0 as it was before each block (what earlier bytes weigh more, in units of
// 64); Y2 and Y3 sum bytes times their weight within the block. 64*255+63*255 fits the signed 16
// bits of VPMADDUBSW.
TEXT ·adlerBlocksAVX2(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX

	VMOVDQU adlerWeights<>+0(SB), Y4
	VMOVDQU adlerWeights<>+32(SB), Y5
	VPCMPEQW Y6, Y6, Y6
	VPSRLW   $15, Y6, Y6     // sixteen ones
	VPXOR Y7, Y7, Y7         // zero
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

block:
	VMOVDQU (SI), Y8
	VMOVDQU 32(SI), Y9
	VPADDD  Y0, Y1, Y1

	VPSADBW    Y7, Y8, Y10
	VPSADBW    Y7, Y9, Y11
	VPMADDUBSW Y4, Y8, Y12
	VPMADDUBSW Y5, Y9, Y13
	VPADDD     Y10, Y0, Y0
	VPMADDWD   Y6, Y12, Y12
	VPMADDWD   Y6, Y13, Y13
	VPADDD     Y11, Y0, Y0
	VPADDD     Y12, Y2, Y2
	VPADDD     Y13, Y3, Y3

	ADDQ $64, SI
	DECQ CX
	JNZ  block

	VPSLLD $6, Y1, Y1
	VPADDD Y3, Y2, Y2
	VPADDD Y1, Y2, Y2

	// Across lanes.
	VEXTRACTI128 $1, Y0, X8
	VEXTRACTI128 $1, Y2, X9
	VPADDD  X8, X0, X0
	VPADDD  X9, X2, X2
	VPSHUFD $0x4e, X0, X8
	VPSHUFD $0x4e, X2, X9
	VPADDD  X8, X0, X0
	VPADDD  X9, X2, X2
	VPSHUFD $0xb1, X0, X8
	VPSHUFD $0xb1, X2, X9
	VPADDD  X8, X0, X0
	VPADDD  X9, X2, X2
	VMOVD   X0, AX
	VMOVD   X2, BX
	VZEROUPPER
	MOVL AX, plain+16(FP)
	MOVL BX, weighted+20(FP)
	RET
