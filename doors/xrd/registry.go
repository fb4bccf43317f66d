package xrd

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/rules/wire"
	"hemera/words/adminapi"
)

// registry has the connections and sessions of a server. It is safe for concurrent use.
//
// Admins, other sessions and Shutdown use it; reads and writes do not.
type registry struct {
	mu       sync.Mutex
	down     bool // no more connections are added
	conns    map[*conn]struct{}
	sessions map[wire.SessionID]*session
	idle     chan struct{} // closed when down is set and the last connection has ended
}

// addConn adds a connection and reports whether it may be served.
func (g *registry) addConn(c *conn, max int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down || len(g.conns) >= max {
		return false
	}
	g.conns[c] = struct{}{}
	return true
}

// removeConn removes a connection that has ended. After the last one it wakes Shutdown.
func (g *registry) removeConn(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
	if g.down && len(g.conns) == 0 {
		close(g.idle)
	}
}

// shutdown stops adding connections. The returned channel is closed when the last one has ended.
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

// closeConns closes the connections that which selects. It calls which with mu held.
func (g *registry) closeConns(which func(*conn) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		if which(c) {
			_ = c.nc.Close()
		}
	}
}

// silent returns the connections that can be closed without loss and whose clients have been silent for a while. Those
// without a login come first, then those with the longest silence.
func (g *registry) silent(now time.Time) []*conn {
	type idleConn struct {
		conn  *conn
		since int64 // Unix nanoseconds; negative without a login
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

// addSession adds a session, so that others can find it by its id.
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

// infos returns the sessions for admins.
func (g *registry) infos() []adminapi.SessionInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]adminapi.SessionInfo, 0, len(g.sessions))
	for _, ss := range g.sessions {
		list = append(list, ss.info())
	}
	return list
}

// siblings returns the sessions of processes that differ from this one at most in their number.
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

// counts returns the numbers of connections and sessions.
func (g *registry) counts() (conns, sessions int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns), len(g.sessions)
}
