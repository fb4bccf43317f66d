package xrd

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// session is one login and what it holds: open files, bound connections, and what is known of the client from before.
// It ends with its connection.
//
// What is not marked belongs to the goroutine of its connection.
type session struct {
	id    wire.SessionID
	conn  *conn
	since time.Time
	login wire.Login
	host  string        // as the client calls it
	stock bool          // the client says which version of the stock client it is
	ended chan struct{} // closed when the session's handles are released

	// Safe for concurrent use.
	lastUsed     atomic.Int64                    // when the last request came, in Unix nanoseconds
	endRequested atomic.Int64                    // when its client first asked to have it ended, in Unix nanoseconds
	who          atomic.Pointer[hemera.Identity] // nil until the client is authenticated
	streams      substreams

	handles   handleTable           // what the client has open
	opens     reconnect.OpenHistory // where its opens were sent
	reconnect reconnection          // what it may come back to

	client string // see processName
	name   string // how the manager knows the session; a secret of its client
}

func sessionName(id wire.SessionID) string { return hex.EncodeToString(id[:]) }

func newSession(c *conn, login wire.Login) *session {
	o := &c.srv.o
	ss := &session{conn: c, since: time.Now(), login: login, ended: make(chan struct{})}
	ss.handles = handleTable{limit: o.Limits.Handles, budget: o.Budgets.Handles, files: map[wire.Handle]handle{}}
	_, _ = rand.Read(ss.id[:]) // never fails
	reconnect.MarkSession(&ss.id, ss.since)
	ss.name = sessionName(ss.id)
	ss.lastUsed.Store(ss.since.UnixNano())
	return ss
}

// identity returns nil until the client is authenticated.
func (ss *session) identity() *hemera.Identity { return ss.who.Load() }

func (ss *session) setIdentity(who hemera.Identity) { ss.who.Store(&who) }

// samePrincipal reports whether both sessions are of one authenticated client.
func (ss *session) samePrincipal(other *session) bool {
	return reconnect.SamePrincipal(ss.identity(), other.identity())
}

// info describes the session for an admin. It is safe for concurrent use.
func (ss *session) info() hemera.SessionInfo {
	s := hemera.SessionInfo{
		Since: ss.since, Idle: time.Since(time.Unix(0, ss.lastUsed.Load())),
		Open: int(ss.handles.open.Load()), Addr: ss.conn.nc.RemoteAddr().String(),
	}
	if who := ss.identity(); who != nil {
		s.Who = *who
	} else {
		s.Who = hemera.Identity{Name: ss.login.User, UID: hemera.NobodyID, GID: hemera.NobodyID}
	}
	return s
}

// endingFor returns for how long the session's client has been asking to have it ended. It is safe for concurrent use.
func (ss *session) endingFor() time.Duration {
	now := time.Now()
	ss.endRequested.CompareAndSwap(0, now.UnixNano())
	return now.Sub(time.Unix(0, ss.endRequested.Load()))
}

// process returns the client process whose session this is.
func (ss *session) process() reconnect.Process {
	p := reconnect.Process{Host: ss.conn.peer.Remote.Addr().String(), Name: ss.host, User: ss.login.User, PID: ss.login.PID}
	if who := ss.identity(); who != nil {
		p.Principal, p.Protocol, p.UID = who.Name, who.Protocol, who.UID
	}
	return p
}

// processName returns the name by which a manager tells processes of one user apart. It is empty for clients that do not say
// which process they are.
func (ss *session) processName() string {
	if ss.client == "" && ss.login.PID != 0 {
		ss.client = ss.conn.peer.Remote.Addr().String() + "/" + translate.Decimal(ss.login.PID)
	}
	return ss.client
}

// remembersReads reports whether the client is one that opens a file again after it lost its connection in a read, and
// that the door can tell from others.
func (ss *session) remembersReads() bool { return ss.stock || ss.reconnect.replaces }

// tpcClient names this session's client to the other end of a third-party copy.
func (ss *session) tpcClient() string {
	return printable(ss.login.User) + "." + translate.Decimal(ss.login.PID)
}
