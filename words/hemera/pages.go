package hemera

// Page geometry. Pages are aligned to file offsets, so a range of bytes is cut into fragments: the first and the last may be
// shorter than a page. Checksums on disk, in pgread and in pgwrite are one for each fragment.

// PageFragments counts the page fragments of n bytes at a file offset; none if n is not positive.
func PageFragments(off, n int64) int {
	if n <= 0 {
		return 0
	}
	return int((off+n-1)/PageSize-off/PageSize) + 1
}

// PageFragment returns the length, in bytes, of the first page fragment of n bytes at a file offset.
func PageFragment(off int64, n int) int {
	return min(n, PageSize-int(off%PageSize))
}
