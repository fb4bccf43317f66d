//go:build !amd64 && !arm64

package checksum

// prefetchPage does nothing on this architecture.
func prefetchPage(p *byte) {}
