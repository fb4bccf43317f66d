package checksum

// adlerBlocks uses NEON, which every arm64 has.
//
//go:noescape
func adlerBlocks(p *byte, blocks int) (plain, weighted uint32)
