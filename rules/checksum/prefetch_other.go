//go:build !amd64 && !arm64

package checksum

// prefetchPage does nothing: the processor has to find out by itself.
func prefetchPage(p *byte) {}
