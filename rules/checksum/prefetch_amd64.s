#include "textflag.h"

// func prefetchPage(p *byte)
TEXT ·prefetchPage(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), SI
	MOVQ $64, CX

line:
	PREFETCHT1 (SI)
	ADDQ $64, SI
	DECQ CX
	JNZ  line
	RET
