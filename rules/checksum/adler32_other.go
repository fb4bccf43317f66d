//go:build !amd64 && !arm64

package checksum

import "unsafe"

// adlerBlocks uses no special instructions.
func adlerBlocks(p *byte, blocks int) (plain, weighted uint32) {
	return adlerBlocksGeneric(unsafe.Slice(p, blocks*adlerBlock))
}
