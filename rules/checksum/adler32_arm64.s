#include "textflag.h"

// Weights of 32 columns: 32, 31, ... 1, sixteen bits each.
DATA adlerWeights<>+0(SB)/8, $0x001d001e001f0020
DATA adlerWeights<>+8(SB)/8, $0x0019001a001b001c
DATA adlerWeights<>+16(SB)/8, $0x0015001600170018
DATA adlerWeights<>+24(SB)/8, $0x0011001200130014
DATA adlerWeights<>+32(SB)/8, $0x000d000e000f0010
DATA adlerWeights<>+40(SB)/8, $0x0009000a000b000c
DATA adlerWeights<>+48(SB)/8, $0x0005000600070008
DATA adlerWeights<>+56(SB)/8, $0x0001000200030004
GLOBL adlerWeights<>(SB), RODATA|NOPTR, $64

// Instructions the assembler does not know. Rd and Rn are vector register numbers.
#define UADDLP_16B_8H(Rd, Rn) WORD $(0x6e202800 | Rn<<5 | Rd)
#define UADALP_16B_8H(Rd, Rn) WORD $(0x6e206800 | Rn<<5 | Rd)
#define UADALP_8H_4S(Rd, Rn) WORD $(0x6e606800 | Rn<<5 | Rd)
#define UADDW_8B_8H(Rd, Rm) WORD $(0x2e201000 | Rm<<16 | Rd<<5 | Rd)
#define UADDW2_16B_8H(Rd, Rm) WORD $(0x6e201000 | Rm<<16 | Rd<<5 | Rd)
#define UMLAL_4H_4S(Rd, Rn, Rm) WORD $(0x2e608000 | Rm<<16 | Rn<<5 | Rd)
#define UMLAL2_8H_4S(Rd, Rn, Rm) WORD $(0x6e608000 | Rm<<16 | Rn<<5 | Rd)

// func adlerBlocks(p *byte, blocks int) (plain, weighted uint32)
//
// Half blocks of 32 bytes. V0 sums bytes; V1 sums V0 as it was before each half block (in units of
// 32); V2..V5 sum the 32 columns, sixteen bits each: 172 half blocks of 255 fit. The columns are
// weighted once, at the end.
TEXT ·adlerBlocks(SB), NOSPLIT, $0-24
	MOVD p+0(FP), R0
	MOVD blocks+8(FP), R1
	LSL  $1, R1, R1

	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16

half:
	VLD1.P 32(R0), [V6.B16, V7.B16]
	VADD   V0.S4, V1.S4, V1.S4
	UADDLP_16B_8H(8, 6)
	UADALP_16B_8H(8, 7)
	UADDW_8B_8H(2, 6)
	UADDW2_16B_8H(3, 6)
	UADDW_8B_8H(4, 7)
	UADDW2_16B_8H(5, 7)
	UADALP_8H_4S(0, 8)
	SUBS   $1, R1, R1
	BNE    half

	MOVD $adlerWeights<>(SB), R2
	VLD1 (R2), [V16.B16, V17.B16, V18.B16, V19.B16]
	VSHL $5, V1.S4, V1.S4
	UMLAL_4H_4S(1, 2, 16)
	UMLAL2_8H_4S(1, 2, 16)
	UMLAL_4H_4S(1, 3, 17)
	UMLAL2_8H_4S(1, 3, 17)
	UMLAL_4H_4S(1, 4, 18)
	UMLAL2_8H_4S(1, 4, 18)
	UMLAL_4H_4S(1, 5, 19)
	UMLAL2_8H_4S(1, 5, 19)

	VADDV V0.S4, V0
	VADDV V1.S4, V1
	VMOV  V0.S[0], R3
	VMOV  V1.S[0], R4
	MOVW  R3, plain+16(FP)
	MOVW  R4, weighted+20(FP)
	RET
