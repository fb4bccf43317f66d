// Package buffers has memory that is used again and again: what is read to be decoded, and the parity of writes.
package buffers

import (
	"sync"
	"sync/atomic"
)

// Pool has memory that was used, for the next that needs some. The zero value is ready. Methods may be called concurrently.
type Pool struct{ pool sync.Pool }

// Get returns n bytes with any content.
func (s *Pool) Get(n int) []byte {
	// Too short ones are left to the collector: one node's layouts have few block sizes.
	if b, ok := s.pool.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]byte, n)
}

// Put takes back memory that nobody looks at any more.
func (s *Pool) Put(b []byte) { s.pool.Put(&b) }

// parityBytes bounds the parity that all writes of one node keep, in bytes; see [Parity.Short].
const parityBytes = 256 << 20

// Parity is the memory for parity of all writes of one node. The zero value is ready. Methods may be called concurrently.
type Parity struct {
	bytes atomic.Int64 // in use
	free  Pool
}

// Get returns a block of n bytes with any content.
func (m *Parity) Get(n int) []byte {
	m.bytes.Add(int64(n))
	return m.free.Get(n)
}

// Put releases a block, for others to use if nothing may look at it any more.
func (m *Parity) Put(b []byte, reusable bool) {
	m.bytes.Add(-int64(len(b)))
	if reusable {
		m.free.Put(b)
	}
}

// Lose releases n bytes whose memory something may still look at.
func (m *Parity) Lose(n int64) { m.bytes.Add(-n) }

// Short reports whether writes are to keep no parity: one that goes on sends what it has with each call.
func (m *Parity) Short() bool { return m.bytes.Load() > parityBytes }
