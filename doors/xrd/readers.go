package xrd

import (
	"container/list"
	"encoding/binary"
	"sync"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// A stock client that loses its connection in a read opens the file again at the manager and goes on at its
// offset. It says nothing of what it read so far, so the manager's door remembers which content each client
// process was granted, and asks for the same again. A client that cannot be given it gets an error.
//
// A process is known by its host, number and user, not by its session: clients drop idle connections to
// managers, and their next session names no earlier one.

const (
	// processesMax is how many client processes are remembered, readingsMax how many files of all of them
	// and readingsEach of one. What was not used for longest goes first.
	processesMax = 1 << 14
	readingsMax  = 100_000
	readingsEach = 2048
	// readingsTime is how long a process is remembered after its last open.
	readingsTime = 24 * time.Hour
	// unchangedTime is for how long a file must have been what it is to be given to a reader who comes back
	// and of whom nothing is known: the manager was restarted, or too much was to be remembered.
	unchangedTime = 24 * time.Hour
)

// process is one client process: the host as the door sees it and as it calls itself, the number and user
// that it logs in with, and whom it was authenticated as. The last is no claim: what one was granted, another
// who says the same of himself must not get, least of all when the file is removed and has no mode any more.
type process struct {
	host, name, user string
	pid              uint32

	who, protocol string
	uid           uint32
}

// granted is the content of a path that a process was granted last.
type granted struct {
	content *hemera.Content
	several bool // it was granted others before
}

// readings are one process's.
type readings struct {
	of    process
	last  time.Time
	paths map[string]granted
	order []string // of paths, oldest first
	lost  bool     // some were forgotten
}

// readers remembers what client processes read. Safe for concurrent use.
type readers struct {
	mu     sync.Mutex
	known  map[process]*list.Element // of *readings
	recent list.List                 // the one used last first
	count  int                       // of paths
	// since is when the memory begins: who was granted something before may not be known. Zero: nobody ever was.
	since time.Time
}

// add remembers that the process was granted the content of the path.
func (rs *readers) add(of process, path string, c *hemera.Content, now time.Time) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.known == nil {
		rs.known = map[process]*list.Element{}
	}
	at := rs.known[of]
	if at == nil {
		at = rs.recent.PushFront(&readings{of: of, paths: map[string]granted{}})
		rs.known[of] = at
	}
	rs.recent.MoveToFront(at)
	r := at.Value.(*readings)
	r.last = now
	old, again := r.paths[path]
	if !again {
		if len(r.order) >= readingsEach {
			delete(r.paths, r.order[0])
			r.lost = true
			r.order = r.order[1:]
			rs.count--
		}
		r.order = append(r.order, path)
		rs.count++
	}
	other := again && (old.content.File != c.File || old.content.Gen != c.Gen)
	r.paths[path] = granted{c, old.several || other}
	for {
		last := rs.recent.Back()
		oldest := last.Value.(*readings)
		if last == at || rs.recent.Len() <= processesMax && rs.count <= readingsMax && now.Sub(oldest.last) < readingsTime {
			return
		}
		if now.Sub(oldest.last) < readingsTime {
			rs.since = now
		}
		rs.recent.Remove(last)
		delete(rs.known, oldest.of)
		rs.count -= len(oldest.paths)
	}
}

// get is what the process was granted of the path.
func (rs *readers) get(of process, path string) (granted, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	at := rs.known[of]
	if at == nil {
		return granted{}, false
	}
	r, ok := at.Value.(*readings).paths[path]
	return r, ok
}

// process is whose session this is.
func (ss *session) process() process {
	p := process{host: ss.conn.peer.Remote.Addr().String(), name: ss.host, user: ss.login.User, pid: ss.login.PID}
	if who := ss.identity(); who != nil {
		p.who, p.protocol, p.uid = who.Name, who.Protocol, who.UID
	}
	return p
}

// processName is how a manager tells processes of one user apart; empty for clients that do not say which they are.
func (ss *session) processName() string {
	if ss.client == "" && ss.login.PID != 0 {
		ss.client = ss.conn.peer.Remote.Addr().String() + "/" + decimal(ss.login.PID)
	}
	return ss.client
}

// readsOn makes the request that of a reader who comes back, if it is one: for the content it was granted.
//
// Stock clients open for the first time with the options for an asynchronous answer and for a stat, and again
// without. Those that say who they are (their login has a version) or name an earlier session are taken by
// that. Of other clients, an open without these options is an open like any other. Hemera's own client says
// that it comes back.
//
// A forked child goes on with its parent's files; see kin. Of a reader that nothing is known of, the file must not have changed since before the session that it
// names began, or for unchangedTime.
func (c *conn) readsOn(want *hemera.OpenRequest, o wire.Open, opaque wire.Opaque) error {
	ss := c.session
	bare := o.Options&(wire.OpenAsync|wire.OpenRetStat) == 0 && (ss.stock || ss.replaces)
	if want.Access != hemera.AccessRead || !bare && !opaque.Has(hemera.OpaqueAgain) {
		return nil
	}
	r, known := c.srv.readers.get(ss.process(), want.Path)
	if !known && ss.earlier.IsZero() {
		r.content, known = c.srv.kin(ss.process(), want.Path)
	}
	switch {
	case !known:
		if want.Unchanged = ss.earlier; want.Unchanged.IsZero() {
			want.Unchanged = time.Now().Add(-unchangedTime)
		}
	case r.several:
		return errs.New(errs.Conflict, "xrd.Open", want.Path, "the client has read several contents of this file, and does not say which one it goes on with").
			WithRemedy("read the file again from its beginning")
	default:
		want.Again = r.content
	}
	return nil
}

// reads remembers what the session's client was granted to read.
func (c *conn) reads(path string, cap *hemera.Capability) {
	if cap.Access == hemera.AccessRead && (c.session.stock || c.session.replaces) {
		c.srv.readers.add(c.session.process(), path, cap.Content(), time.Now())
	}
}

// keepReads remembers, when a session ends, the files that its manager's door had opened for reading itself.
func (s *Server) keepReads(ss *session) {
	for _, h := range ss.handles {
		if h.granted != nil {
			s.readers.add(ss.process(), h.path, h.granted.Content(), time.Now())
		}
	}
}

// A session's id says when it began, for a door that was started since and knows nothing else of it: a mark
// and 48 bits of milliseconds. The other half is random.
const sessionMark = uint64('h')<<8 | 'm'

func markSession(id *wire.SessionID, began time.Time) {
	binary.BigEndian.PutUint64(id[:], sessionMark<<48|uint64(began.UnixMilli())&(1<<48-1))
}

// sessionBegan is when the session began, zero if its id does not say so.
func sessionBegan(id wire.SessionID, now time.Time) time.Time {
	n := binary.BigEndian.Uint64(id[:])
	t := time.UnixMilli(int64(n & (1<<48 - 1)))
	if n>>48 != sessionMark || t.After(now) {
		return time.Time{}
	}
	return t
}
