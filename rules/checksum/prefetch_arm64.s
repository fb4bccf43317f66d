#include "textflag.h"

// func prefetchPage(p *byte)
TEXT ·prefetchPage(SB), NOSPLIT, $0-8
	MOVD p+0(FP), R0
	MOVD $64, R1

line:
	PRFM (R0), PLDL2KEEP
	ADD  $64, R0
	SUBS $1, R1, R1
	BNE  line
	RET
