package transport

import (
	"sync"

	"hemera/platform/zerocopy"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

const (
	// BufferSize is how many bytes one connection reads, or collects of small answers, at a time.
	BufferSize = 64 << 10
	// chunkPages is how many pages of file data one Chunk holds: 512 KiB. Each chunk of a write is one call to a worker
	// of the disk, which costs some microseconds: with 256 KiB a write took up to 9 % more CPU, with 1 MiB no less, and
	// a client that stops in the middle of a write holds one chunk.
	chunkPages = 128
	chunkSize  = chunkPages * hemera.PageSize
	// SmallRead is the longest read, in bytes, that is collected with other answers.
	SmallRead = 32 << 10
	// pipesMax is how many pipes a server makes: as many as a user may have who is not root. A connection holds one
	// while it sends a frame. When all are with slow clients, the others do without.
	pipesMax = 64
)

// Chunk is the memory for one step of a bulk transfer: Buf for data or pages with their checksums between them, Sums
// for the checksums of its pages. An unaligned chunk has one page fragment more than pages.
type Chunk struct {
	Buf  [chunkSize + 4*(chunkPages+1)]byte
	Sums [chunkPages + 1]uint32
	crc  [4 * (chunkPages + 1)]byte
	vec  [2*(chunkPages+1) + 1][]byte
}

// ChunkLen returns how many of n bytes at the file offset off the next chunk holds. It ends on a page border.
func ChunkLen(off, n int64) int64 { return min(n, chunkSize-off%hemera.PageSize) }

// Vec returns the slices that [Sink.Send] takes for a frame of head and the chunk's first n bytes. It is valid until
// the next call.
func (k *Chunk) Vec(head []byte, n int) [][]byte { return append(k.vec[:0], nil, head, k.Buf[:n]) }

// PageVec is Vec for pages: each page fragment of p goes behind its checksum, which sums has. off is the offset of the first
// byte in its file, and p is no longer than [ChunkLen] says. p may be memory of the chunk, or other memory.
func (k *Chunk) PageVec(head, p []byte, sums []uint32, off int64) [][]byte {
	return wire.PageVec(append(k.vec[:0], nil, head), k.crc[:], p, sums, off)
}

// Pool is the memory and the pipes that are not in use now, shared by all connections of a server. The zero Pool is
// ready. It is safe for concurrent use.
type Pool struct {
	chunks, buffers sync.Pool

	mu     sync.Mutex
	unused []*zerocopy.Pipe
	made   int // pipes that exist, in use or not
	closed bool
}

// Chunk returns a chunk with undefined content, to be given back with [Pool.PutChunk].
func (p *Pool) Chunk() *Chunk {
	if k, ok := p.chunks.Get().(*Chunk); ok {
		return k
	}
	return new(Chunk)
}

// PutChunk takes a chunk back, which the caller must not use any more.
func (p *Pool) PutChunk(k *Chunk) { p.chunks.Put(k) }

func (p *Pool) buffer() *[BufferSize]byte {
	if b, ok := p.buffers.Get().(*[BufferSize]byte); ok {
		return b
	}
	return new([BufferSize]byte)
}

// outBuffer returns a buffer without answers.
func (p *Pool) outBuffer() outBuffer {
	b := p.buffer()
	return outBuffer{b, b[:0]}
}

// copyOf returns a buffer with the same answers. It does not take b back: a call that is stuck may still write behind its
// answers.
func (p *Pool) copyOf(b outBuffer) outBuffer {
	c := p.outBuffer()
	c.data = append(c.data, b.data...)
	return c
}

// Pipe returns an empty pipe, to be given back with [Pool.PutPipe], or nil if there is none to be had.
func (p *Pool) Pipe() *zerocopy.Pipe {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.unused) - 1; last >= 0 {
		pipe := p.unused[last]
		p.unused = p.unused[:last]
		return pipe
	}
	if p.made == pipesMax || p.closed {
		return nil
	}
	pipe, err := zerocopy.NewPipe()
	if err != nil {
		return nil // another time there may be room
	}
	p.made++
	return pipe
}

// PutPipe takes a pipe back. One that is not empty is closed: what is in it belongs to a client that is gone.
func (p *Pool) PutPipe(pipe *zerocopy.Pipe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pipe.Len() > 0 || p.closed {
		pipe.Close()
		p.made--
		return
	}
	p.unused = append(p.unused, pipe)
}

// Close closes the pipes that are not in use; the others are closed when they are given back. Chunks and buffers stay
// usable.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, pipe := range p.unused {
		pipe.Close()
	}
	p.made -= len(p.unused)
	p.unused = nil
}
