package xrd

import (
	"context"
	"time"

	"hemera"
)

const (
	// overtakeEvery is how often connections are looked at whose goroutine may hang in a write.
	overtakeEvery = 2 * time.Second
	// overtakenMax is how many goroutines may be left behind in writes that hang.
	overtakenMax = 1024
)

// overtaken is what a goroutine panics with that comes back from a write and finds that the connection
// has gone on without it: nothing on its way out may touch the connection. [conn.advance] recovers.
type overtaken struct{}

// writing makes a call that writes to h's file, on this goroutine, as others cost too much; rest is how
// much of the request's data is still to come. If the device does not answer, the goroutine is left in
// the call, and another answers the request and goes on with the connection: whoever takes writer back
// to nil owns everything in it.
func (c *conn) writing(h *handle, rest int64, call func() error) error {
	c.rest = rest
	c.writer.Store(h)
	defer func() { // also when the call panics
		if !c.writer.CompareAndSwap(h, nil) {
			panic(overtaken{})
		}
	}()
	return call()
}

// overtakeStalled looks for writes that hang until ctx ends.
func (s *Server) overtakeStalled(ctx context.Context) {
	for pause(ctx, overtakeEvery) {
		s.overtake()
	}
}

// overtake goes on with each connection whose goroutine hangs in a write.
func (s *Server) overtake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		h := c.writer.Load()
		if h == nil {
			continue
		}
		file, ok := h.file.(hemera.Staller)
		if !ok {
			continue
		}
		if err := file.Stalled(); err != nil && s.overtaken.Load() < overtakenMax && c.writer.CompareAndSwap(h, nil) {
			s.overtaken.Add(1)
			s.o.Log.Warn("a write hangs; its connection goes on without it", "path", h.path, "peer", c.peer.Remote, "err", err)
			go c.goOn(err)
		}
	}
}

// goOn is serve on a connection that was overtaken, beginning with the answer to the write.
func (c *conn) goOn(cause error) {
	if c.sock != nil {
		c.sock.Detach()
	}
	c.serveFrom(func() error { return c.finishBound(c.drain(c.rest, cause)) })
}
