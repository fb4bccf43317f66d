package xrd

import (
	"sync"

	"hemera"
	"hemera/rules/wire"
)

const (
	// bufferSize is what one connection reads, or collects of small answers, at a time.
	bufferSize = 64 << 10
	// chunkPages is how many pages of file data are in memory at a time: 256 KiB, measured best.
	chunkPages = 64
	chunkSize  = chunkPages * hemera.PageSize
	// smallRead is the longest read that is collected with other answers.
	smallRead = 32 << 10
)

// chunk is the memory for one step of a bulk transfer. An unaligned chunk has one fragment more
// than pages.
type chunk struct {
	buf  [chunkSize + 4*(chunkPages+1)]byte
	sums [chunkPages + 1]uint32
	crc  [4 * (chunkPages + 1)]byte
	vec  [2*(chunkPages+1) + 1][]byte
}

// pool is the memory that is not in use now, shared by all connections of a server.
type pool struct {
	chunks, buffers sync.Pool
	pipes           pipes
}

func (p *pool) chunk() *chunk {
	if k, ok := p.chunks.Get().(*chunk); ok {
		return k
	}
	return new(chunk)
}

func (p *pool) buffer() *[bufferSize]byte {
	if b, ok := p.buffers.Get().(*[bufferSize]byte); ok {
		return b
	}
	return new([bufferSize]byte)
}

// chunkLen is how many of n bytes at a file offset the next chunk holds: it ends on a page border.
func chunkLen(off, n int64) int64 { return min(n, chunkSize-off%hemera.PageSize) }

// interleave lists what goes on the wire for the chunk's first n bytes: each page after its checksum.
func (k *chunk) interleave(vec [][]byte, n int, off int64) [][]byte {
	crc := wire.AppendSums(k.crc[:0], k.sums[:wire.Fragments(off, int64(n))])
	p := k.buf[:n]
	for len(p) > 0 {
		f := wire.FragmentLen(off, len(p))
		vec = append(vec, crc[:4], p[:f])
		crc, p, off = crc[4:], p[f:], off+int64(f)
	}
	return vec
}
