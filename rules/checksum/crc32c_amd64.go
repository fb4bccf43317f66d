package checksum

import "golang.org/x/sys/cpu"

// crcFolds reports whether this processor has the instructions of crcFold. Folding is 2.5 times as fast as three streams
// of the CRC instruction, which the standard library uses.
func crcFolds() bool {
	return cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasSSE42
}

// crcFold continues a CRC over n bytes. state, and the result, are complements of a sum.
//
//go:noescape
func crcFold(state uint32, p *byte, n int, k *crcFoldConstants) uint32

// crcFoldPages puts the CRC32Cs of groups of four pages into sums; there must be at least one group. Four streams at a
// time read faster than one from memory that is not in a cache.
//
//go:noescape
func crcFoldPages(p *byte, groups int, k *crcFoldConstants, sums *uint32)
