package xrd

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// session is one login and its state: open files, bound connections, and records of the client's earlier sessions. It
// ends with its connection.
//
// Unmarked fields belong to the goroutine of its connection.
type session struct {
	id    wire.SessionID
	conn  *conn
	since time.Time
	login wire.Login
	host  string        // as the client names it
	stock bool          // the client states a version of the stock client
	ended chan struct{} // closed when the session's handles are released

	// Safe for concurrent use.
	lastUsed     atomic.Int64                    // time of the last request, in Unix nanoseconds
	endRequested atomic.Int64                    // time of the first request to end the session, in Unix nanoseconds
	who          atomic.Pointer[hemera.Identity] // nil until the client is authenticated
	streams      substreams

	handles   handleTable           // open files and pieces
	held      heldGrants            // of opens that were answered late; safe for concurrent use
	opens     reconnect.OpenHistory // nodes to which its opens were redirected
	reconnect reconnection          // state of earlier sessions

	client string // see processName
	name   string // the manager's name of the session; a secret of its client
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

// samePrincipal reports whether both sessions have the same authenticated client.
func (ss *session) samePrincipal(other *session) bool {
	return reconnect.SamePrincipal(ss.identity(), other.identity())
}

// info describes the session for an admin. It is safe for concurrent use.
func (ss *session) info() adminapi.SessionInfo {
	s := adminapi.SessionInfo{
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

// endingFor returns the time since the client first asked to end the session. It is safe for concurrent use.
func (ss *session) endingFor() time.Duration {
	now := time.Now()
	ss.endRequested.CompareAndSwap(0, now.UnixNano())
	return now.Sub(time.Unix(0, ss.endRequested.Load()))
}

// process returns the client process of the session.
func (ss *session) process() reconnect.Process {
	p := reconnect.Process{Host: ss.conn.peer.Remote.Addr().String(), Name: ss.host, User: ss.login.User, PID: ss.login.PID}
	if who := ss.identity(); who != nil {
		p.Principal, p.Protocol, p.UID = who.Name, who.Protocol, who.UID
	}
	return p
}

// processName returns a name by which a manager tells processes of one user apart; "" for clients that do not send a
// process number.
func (ss *session) processName() string {
	if ss.client == "" && ss.login.PID != 0 {
		ss.client = ss.conn.peer.Remote.Addr().String() + "/" + translate.Decimal(ss.login.PID)
	}
	return ss.client
}

// remembersReads reports whether the client is of a kind that reopens a file when it has lost its connection in a read,
// and that the door can recognise.
func (ss *session) remembersReads() bool { return ss.stock || ss.reconnect.replaces }

// tpcClient returns the name of this session's client for the other end of a third-party copy.
func (ss *session) tpcClient() string {
	return printable(ss.login.User) + "." + translate.Decimal(ss.login.PID)
}
