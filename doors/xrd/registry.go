package xrd

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// registry is the connections and sessions of a server. It is safe for concurrent use.
//
// The registry is what is known of clients over all connections. It is asked by admins, by other sessions and by Shutdown,
// never on the way of a read or write.
type registry struct {
	mu       sync.Mutex
	down     bool // no connection is added any more
	conns    map[*conn]struct{}
	sessions map[wire.SessionID]*session
	idle     chan struct{} // closed when down and the last connection ended
}

// addConn reports whether the connection may be served.
func (g *registry) addConn(c *conn, max int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down || len(g.conns) >= max {
		return false
	}
	g.conns[c] = struct{}{}
	return true
}

// removeConn forgets a connection that has ended, and tells Shutdown of the last one.
func (g *registry) removeConn(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
	if g.down && len(g.conns) == 0 {
		close(g.idle)
	}
}

// shutdown adds no more connections. The channel that it returns is closed when the last one has ended.
func (g *registry) shutdown() (idle <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.down {
		g.down = true
		if len(g.conns) == 0 {
			close(g.idle)
		}
	}
	return g.idle
}

// closeConns closes each connection that which selects. It calls which with mu held.
func (g *registry) closeConns(which func(*conn) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		if which(c) {
			_ = c.nc.Close()
		}
	}
}

// silent lists the connections that nothing is lost on and whose clients have been silent for a while. Those without a
// login come first, then those that have been silent for longest.
func (g *registry) silent(now time.Time) []*conn {
	type idleConn struct {
		conn  *conn
		since int64 // Unix nanoseconds; below zero without a login
	}
	var list []idleConn
	g.mu.Lock()
	for c := range g.conns {
		if since, loggedIn := c.silentSince(); c.unused() && now.UnixNano()-since > int64(silentMin) {
			if !loggedIn {
				since -= now.UnixNano()
			}
			list = append(list, idleConn{c, since})
		}
	}
	g.mu.Unlock()
	slices.SortFunc(list, func(a, b idleConn) int { return cmp.Compare(a.since, b.since) })
	conns := make([]*conn, len(list))
	for i := range list {
		conns[i] = list[i].conn
	}
	return conns
}

// addSession makes a session findable by its id.
func (g *registry) addSession(ss *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sessions[ss.id] = ss
}

func (g *registry) removeSession(ss *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, ss.id)
}

// session returns the connected session with the id, or nil.
func (g *registry) session(id wire.SessionID) *session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[id]
}

// infos lists the sessions for admins.
func (g *registry) infos() []hemera.SessionInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]hemera.SessionInfo, 0, len(g.sessions))
	for _, ss := range g.sessions {
		list = append(list, ss.info())
	}
	return list
}

// siblings lists the sessions of processes that differ from this one at most by their number.
func (g *registry) siblings(of reconnect.Process) (list []*session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, ss := range g.sessions {
		if ss.process().IsSibling(of) {
			list = append(list, ss)
		}
	}
	return list
}

// counts returns how many connections and sessions there are.
func (g *registry) counts() (conns, sessions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns), len(g.sessions)
}
