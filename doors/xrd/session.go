package xrd

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hemera"
	"hemera/rules/limits"
	"hemera/rules/wire"
)

// session is one login and what it holds. Its handles and visits belong to the goroutine of its
// connection; the rest is guarded as said.
type session struct {
	id    wire.SessionID
	conn  *conn
	since time.Time
	login wire.Login
	host  string        // as the client calls it
	stock bool          // the client says which version of the stock client it is
	ended chan struct{} // closed when the session's handles are released

	open  atomic.Int32 // len(handles), for who asks from outside
	last  atomic.Int64
	asked atomic.Int64 // when its client first asked to have it ended, in Unix nanoseconds

	who atomic.Pointer[hemera.Identity] // nil until the client is authenticated

	mu         sync.Mutex                    // guards these, which come from other goroutines too
	ending     bool                          // nothing is bound to it any more
	substreams [maxSubstreams + 1]*substream // by path id; 0 is the session's own connection
	bound      [maxSubstreams + 1]bool       // the path ids that were ever given out
	refused    map[string]ticket             // of writes that a manager's door opened, those whose close failed
	reading    map[wire.Handle]*handle       // those of handles that have granted

	files   *limits.Account[Client] // of open files; nil until the first
	handles map[wire.Handle]*handle
	next    uint32
	visits  visits

	// Of a manager that opens files itself: whether the client has named a session before this one, and
	// the writes it had there.
	replaces bool
	earlier  time.Time // since when the sessions that it has named are, of which nothing else is known
	lost     map[string]ticket

	client string   // see processName
	name   string   // how the manager knows the session; a secret of its client
	named  []string // the same of earlier sessions that the client has named
}

// namedMax bounds how many earlier sessions one remembers. A client names one for each connection it loses.
const namedMax = 8

func nameOf(id wire.SessionID) string { return hex.EncodeToString(id[:]) }

// follows remembers an earlier session that the client has named. Nobody else knows its id.
func (ss *session) follows(id wire.SessionID) {
	name := nameOf(id)
	if slices.Contains(ss.named, name) {
		return
	}
	ss.named = append(ss.named, name)
	if len(ss.named) > namedMax {
		ss.named = ss.named[1:]
	}
}

func newSession(c *conn, login wire.Login) *session {
	ss := &session{
		conn: c, since: time.Now(), login: login, ended: make(chan struct{}),
		handles: map[wire.Handle]*handle{},
	}
	_, _ = rand.Read(ss.id[:])
	markSession(&ss.id, ss.since)
	ss.name = nameOf(ss.id)
	ss.last.Store(ss.since.UnixNano())
	return ss
}

// identity is nil until the client is authenticated.
func (ss *session) identity() *hemera.Identity { return ss.who.Load() }

func (ss *session) setIdentity(who hemera.Identity) { ss.who.Store(&who) }

// samePrincipal reports whether both sessions are of one authenticated client.
func (ss *session) samePrincipal(other *session) bool {
	return samePrincipal(ss.identity(), other.identity())
}

func samePrincipal(a, b *hemera.Identity) bool {
	return a != nil && b != nil && a.Name == b.Name && a.UID == b.UID && a.Protocol == b.Protocol
}

func (ss *session) info() hemera.SessionInfo {
	s := hemera.SessionInfo{
		Since: ss.since, Idle: time.Since(time.Unix(0, ss.last.Load())),
		Open: int(ss.open.Load()), Addr: ss.conn.nc.RemoteAddr().String(),
	}
	if who := ss.identity(); who != nil {
		s.Who = *who
	} else {
		s.Who = hemera.Identity{Name: ss.login.User, UID: hemera.NobodyID, GID: hemera.NobodyID}
	}
	return s
}

// endingFor is for how long the session's client has been asking to have it ended.
func (ss *session) endingFor() time.Duration {
	now := time.Now()
	ss.asked.CompareAndSwap(0, now.UnixNano())
	return now.Sub(time.Unix(0, ss.asked.Load()))
}

// addHandle gives the file its handle.
func (ss *session) addHandle(h *handle) wire.Handle {
	ss.next++
	var id wire.Handle
	binary.BigEndian.PutUint32(id[:], ss.next)
	ss.handles[id] = h
	if h.granted != nil {
		ss.opened(id, h)
	}
	ss.open.Add(1)
	return id
}

func (ss *session) handle(id wire.Handle) (*handle, error) {
	if h := ss.handles[id]; h != nil {
		return h, nil
	}
	return nil, errBadHandle
}

// usable is the handle, unless it is of a piece that was ended: then only close is left.
func (ss *session) usable(id wire.Handle) (*handle, error) {
	h, err := ss.handle(id)
	if err == nil && h.sealed {
		return nil, errBadHandle
	}
	return h, err
}

func (ss *session) dropHandle(id wire.Handle) {
	h := ss.handles[id]
	if h.leave(); h.granted != nil {
		ss.closed(id)
	}
	delete(ss.handles, id)
	ss.open.Add(-1)
}

func (s *Server) addSession(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[ss.id] = ss
}

// endSession releases what the session holds. Only its connection's goroutine calls it.
func (s *Server) endSession(ss *session) {
	ss.closeSubstreams()
	s.unfinished.keep(ss)
	s.keepReads(ss)
	for id, h := range ss.handles {
		h.abandon(s.o.Log)
		ss.dropHandle(id)
	}
	if ss.files != nil {
		ss.files.Close()
	}
	s.mu.Lock()
	delete(s.sessions, ss.id)
	s.mu.Unlock()
	close(ss.ended)
}
