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
