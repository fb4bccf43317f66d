package transfer

import (
	"sync/atomic"

	"hemera/transfer/piece"
)

// parityBytes bounds the parity that all writes of one node keep, in bytes; see [parityMemory.Short].
const parityBytes = 256 << 20

// parityMemory is the memory for parity of all writes of one node. The zero value is ready. Methods may be called concurrently.
type parityMemory struct {
	bytes atomic.Int64 // in use
	free  piece.Buffers
}

// Get returns a block of n bytes with any content.
func (m *parityMemory) Get(n int) []byte {
	m.bytes.Add(int64(n))
	return m.free.Get(n)
}

// Put releases a block, for others to use if nothing may look at it any more.
func (m *parityMemory) Put(b []byte, reusable bool) {
	m.bytes.Add(-int64(len(b)))
	if reusable {
		m.free.Put(b)
	}
}

// Lose releases n bytes whose memory something may still look at.
func (m *parityMemory) Lose(n int64) { m.bytes.Add(-n) }

// Short reports whether writes are to keep no parity: a write then sends its parity with each call.
func (m *parityMemory) Short() bool { return m.bytes.Load() > parityBytes }
