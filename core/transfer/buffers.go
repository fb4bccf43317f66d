package transfer

import "sync"

// buffers has memory that was used, for the next that needs some. The zero value is ready.
type buffers struct{ pool sync.Pool }

// get returns n bytes with any content.
func (s *buffers) get(n int) []byte {
	// Too short ones are left to the collector: one node's layouts have few block sizes.
	if b, ok := s.pool.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]byte, n)
}

// put takes back memory that nobody looks at any more.
func (s *buffers) put(b []byte) { s.pool.Put(&b) }
