package checksum

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// adlerBlocks uses AVX2 if the processor has it.
func adlerBlocks(p *byte, blocks int) (plain, weighted uint32) {
	if cpu.X86.HasAVX2 {
		return adlerBlocksAVX2(p, blocks)
	}
	return adlerBlocksGeneric(unsafe.Slice(p, blocks*adlerBlock))
}

//go:noescape
func adlerBlocksAVX2(p *byte, blocks int) (plain, weighted uint32)
