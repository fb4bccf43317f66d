//go:build !amd64

package checksum

// crcFolds is false: the standard library's is the best there is for this architecture.
func crcFolds() bool { return false }

// crcFold is not called where crcFolds is false.
func crcFold(state uint32, p *byte, n int, k *crcFoldConstants) uint32 {
	panic("checksum: no folding on this architecture")
}

// crcFoldPages is not called where crcFolds is false.
func crcFoldPages(p *byte, groups int, k *crcFoldConstants, sums *uint32) {
	panic("checksum: no folding on this architecture")
}
