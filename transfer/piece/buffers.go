package piece

import "sync"

// Buffers has memory that was used, for the next that needs some. The zero value is ready. Methods may be called concurrently.
type Buffers struct{ pool sync.Pool }

// Get returns n bytes with any content.
func (s *Buffers) Get(n int) []byte {
	// Too short ones are left to the collector: one node's layouts have few block sizes.
	if b, ok := s.pool.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]byte, n)
}

// Put takes back memory that has no user any more.
func (s *Buffers) Put(b []byte) { s.pool.Put(&b) }
