//go:build amd64 || arm64

package checksum

// prefetchPage asks for the page at p to be brought near. It never faults.
//
//go:noescape
func prefetchPage(p *byte)
