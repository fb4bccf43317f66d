package checksum

import "golang.org/x/sys/cpu"

// crcFolds reports whether this processor has what crcFold is made of. Folding is 2.5 times as fast as
// three streams of the CRC instruction, which is what the standard library does.
func crcFolds() bool {
	return cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasSSE42
}

// crcFold continues a CRC over n bytes. state is the complement of a sum, as is what it returns.
//
//go:noescape
func crcFold(state uint32, p *byte, n int, k *crcFoldConstants) uint32

// crcFoldPages puts the CRC32Cs of groups of four pages into sums; there is at least one group. Memory
// that is in no cache gives more to four readers at a time than to one.
//
//go:noescape
func crcFoldPages(p *byte, groups int, k *crcFoldConstants, sums *uint32)
