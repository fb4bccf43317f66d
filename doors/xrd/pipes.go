package xrd

import (
	"sync"

	"hemera/platform/vfs"
)

// pipesMax is how many pipes a server makes: as many as a user may have who is not root. A connection has
// one while it sends a frame; when all are with slow clients, others go without.
const pipesMax = 64

// pipes are the pipes of a server.
type pipes struct {
	mu     sync.Mutex
	unused []*vfs.Pipe
	made   int
	closed bool
}

// take returns an empty pipe, to be given back, or nil.
func (s *pipes) take() *vfs.Pipe {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.unused) - 1; last >= 0 {
		p := s.unused[last]
		s.unused = s.unused[:last]
		return p
	}
	if s.made == pipesMax || s.closed {
		return nil
	}
	p, err := vfs.NewPipe()
	if err != nil {
		return nil // there may be room another time
	}
	s.made++
	return p
}

// giveBack takes a pipe back. One that is not empty is done for.
func (s *pipes) giveBack(p *vfs.Pipe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Len() > 0 || s.closed {
		p.Close()
		s.made--
		return
	}
	s.unused = append(s.unused, p)
}

// close closes the pipes that are not in use; the others go when they are given back.
func (s *pipes) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, p := range s.unused {
		p.Close()
	}
	s.unused = nil
}
