package transport

import (
	"sync"

	"hemera/platform/zerocopy"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

const (
	// BufferSize is the size, in bytes, of the buffers for reading from one connection and for collecting small answers.
	BufferSize = 64 << 10
	// chunkPages is the number of pages in one Chunk: 512 KiB. Each chunk of a write is one call to a worker of the disk,
	// which costs some microseconds: with 256 KiB a write took up to 9 % more CPU, with 1 MiB not less, and a client that
	// stops in the middle of a write occupies one chunk.
	chunkPages = 128
	chunkSize  = chunkPages * hemera.PageSize
	// SmallRead bounds the reads, in bytes, whose answers are collected with others.
	SmallRead = 32 << 10
	// pipesMax bounds the pipes of a server: as many as a user other than root may have. A connection uses one while it
	// sends a frame. When slow clients use all, others work without.
	pipesMax = 64
)

// Chunk is the memory for one step of a bulk transfer: Buf for data, or for pages with their checksums between them, and
// Sums for the checksums of the pages. Unaligned data has one page fragment more.
type Chunk struct {
	Buf  [chunkSize + 4*(chunkPages+1)]byte
	Sums [chunkPages + 1]uint32
	crc  [4 * (chunkPages + 1)]byte
	vec  [2*(chunkPages+1) + 1][]byte
}

// ChunkLen returns how many of n bytes at the file offset off fit in the next chunk, which ends on a page boundary.
func ChunkLen(off, n int64) int64 { return min(n, chunkSize-off%hemera.PageSize) }

// Vec returns the slices for [Sink.Send] of a frame with head and the chunk's first n bytes. It is valid until the next
// call.
func (k *Chunk) Vec(head []byte, n int) [][]byte { return append(k.vec[:0], nil, head, k.Buf[:n]) }

// PageVec does the same as Vec for pages: each page fragment of p follows its checksum in sums. off is the offset of p in
// its file, and p is not longer than [ChunkLen] allows. p may be memory of the chunk or other memory.
func (k *Chunk) PageVec(head, p []byte, sums []uint32, off int64) [][]byte {
	return wire.PageVec(append(k.vec[:0], nil, head), k.crc[:], p, sums, off)
}

// Pool has unused memory and pipes, shared by all connections of a server. The zero Pool is ready. It is safe for
// concurrent use.
type Pool struct {
	chunks, buffers sync.Pool

	mu     sync.Mutex
	unused []*zerocopy.Pipe
	made   int // pipes that exist, in use or not
	closed bool
}

// Chunk returns a chunk with undefined content. The caller returns it with [Pool.PutChunk].
func (p *Pool) Chunk() *Chunk {
	if k, ok := p.chunks.Get().(*Chunk); ok {
		return k
	}
	return new(Chunk)
}

// PutChunk takes a chunk back. The caller must not use it any more.
func (p *Pool) PutChunk(k *Chunk) { p.chunks.Put(k) }

func (p *Pool) buffer() *[BufferSize]byte {
	if b, ok := p.buffers.Get().(*[BufferSize]byte); ok {
		return b
	}
	return new([BufferSize]byte)
}

// outBuffer returns an empty buffer for answers.
func (p *Pool) outBuffer() outBuffer {
	b := p.buffer()
	return outBuffer{b, b[:0]}
}

// copyOf returns a copy of a buffer of answers. It does not take b back, because a stuck call may still write behind its
// answers.
func (p *Pool) copyOf(b outBuffer) outBuffer {
	c := p.outBuffer()
	c.data = append(c.data, b.data...)
	return c
}

// Pipe returns an empty pipe, or nil if none is available. The caller returns it with [Pool.PutPipe].
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
		return nil // there may be room another time
	}
	p.made++
	return pipe
}

// PutPipe takes a pipe back. It closes a pipe that is not empty, because its data is for a client that has left.
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

// Close closes the unused pipes; others are closed when they are returned. Chunks and buffers stay usable.
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
