//go:build amd64 || arm64

package checksum

// prefetchPage tells the processor to load the page at p into its cache. It never faults.
//
//go:noescape
func prefetchPage(p *byte)
