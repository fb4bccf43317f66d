package session

import "context"

// pool is a bounded number of buffers. They are allocated when they are first needed.
type pool struct {
	free chan []byte
	size int
}

// newPool makes a pool of n buffers of so many bytes.
func newPool(n, size int) *pool {
	p := &pool{free: make(chan []byte, n), size: size}
	for range n {
		p.free <- nil
	}
	return p
}

// get waits for a buffer.
func (p *pool) get(ctx context.Context) ([]byte, error) {
	select {
	case b := <-p.free:
		if b == nil {
			b = make([]byte, p.size)
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// put gives a buffer back, at whatever length it is now.
func (p *pool) put(b []byte) { p.free <- b[:cap(b)] }
