//go:build !amd64

package checksum

// crcFolds returns false: the standard library has the fastest code for this architecture.
func crcFolds() bool { return false }

// crcFold panics: crcFolds is false here.
func crcFold(state uint32, p *byte, n int, k *crcFoldConstants) uint32 {
	panic("checksum: no folding on this architecture")
}

// crcFoldPages panics: crcFolds is false here.
func crcFoldPages(p *byte, groups int, k *crcFoldConstants, sums *uint32) {
	panic("checksum: no folding on this architecture")
}
