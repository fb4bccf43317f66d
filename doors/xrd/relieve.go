package xrd

import (
	"cmp"
	"slices"
	"time"
)

const (
	// relieveMost is how many connections are closed at once to make room, and relieveEvery the shortest time
	// between two such rounds, each of which looks at all connections.
	relieveMost  = 32
	relieveEvery = 50 * time.Millisecond
	// relieveAfter is how long a client must have been silent before its connection can be spared.
	relieveAfter = time.Second
)

// Relieve makes room for other connections: it closes some on which nothing is lost, those of clients that
// have not logged in first, then those that have been silent for longest. Clients of the latter connect again
// when they have something to ask. It reports whether it closed any.
func (s *Server) Relieve() bool {
	now := time.Now()
	last := s.relieved.Load()
	if now.UnixNano()-last < int64(relieveEvery) || !s.relieved.CompareAndSwap(last, now.UnixNano()) {
		return false
	}
	type silent struct {
		conn  *conn
		since int64
	}
	var spare []silent
	s.mu.Lock()
	for c := range s.conns {
		if since, known := c.silentSince(); c.unused() && now.UnixNano()-since > int64(relieveAfter) {
			if !known {
				since -= now.UnixNano() // before all others
			}
			spare = append(spare, silent{c, since})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(spare, func(a, b silent) int { return cmp.Compare(a.since, b.since) })
	spare = spare[:min(len(spare), relieveMost)]
	for _, one := range spare {
		_ = one.conn.nc.Close()
	}
	return len(spare) > 0
}

// silentSince is when the client last asked for something, in Unix nanoseconds, and whether it is known who
// it is; else it is when the client came.
func (c *conn) silentSince() (int64, bool) {
	ss := c.shared.Load()
	if ss == nil || ss.identity() == nil {
		return c.began.UnixNano(), false
	}
	return ss.last.Load(), true
}
