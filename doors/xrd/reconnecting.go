package xrd

import (
	"slices"
	"sync"
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// readMemory is what a manager's door knows of reads, so that a client that lost its connection gets the same content
// again. It is safe for concurrent use.
//
// A stock client that loses its connection in a read opens the file again at the manager and goes on at its offset. It
// says nothing of what it read so far, so the door remembers which content each client process was granted, and asks for
// the same again. A client that cannot be given it gets an error.
type readMemory struct {
	history reconnect.ReadHistory
	clients *registry
}

// pinContent makes the request of a reader that comes back one for the content that it was granted.
//
// Stock clients open for the first time with the options for an asynchronous answer and for a stat, and again without.
// Clients that say which version they are (their login has one) or name an earlier session are recognised by that. Of
// other clients, an open without these options is an open like any other. Hemera's own client says that it comes back.
//
// A forked child goes on with its parent's files. Of a reader that nothing is known of, the file must not have changed
// since before the session that it names began, or for [reconnect.UnchangedTime].
func (m *readMemory) pinContent(ss *session, want *hemera.OpenRequest, o wire.Open, opaque wire.Opaque) error {
	bare := o.Options&(wire.OpenAsync|wire.OpenRetStat) == 0 && ss.remembersReads() // as an open that comes back
	if want.Access != hemera.AccessRead || !bare && !opaque.Has(wire.OpaqueAgain) {
		return nil
	}
	read, known := m.history.Get(ss.process(), want.Path) // what this process was granted itself
	if !known && ss.reconnect.earlier.IsZero() {
		read.Content, known = m.ofSiblings(ss.process(), want.Path)
	}
	switch {
	case !known:
		if want.Unchanged = ss.reconnect.earlier; want.Unchanged.IsZero() {
			want.Unchanged = time.Now().Add(-reconnect.UnchangedTime)
		}
	case read.Several:
		return errs.New(errs.Conflict, "xrd.Open", want.Path, "the client has read several contents of this file, and does not say which one it continues").
			WithRemedy("read the file again from its beginning")
	default:
		want.Again = read.Content
	}
	return nil
}

// ofSiblings returns the content of the path that sibling processes have been granted. It returns false if that is none
// or several, or if the door may not know of all that were granted.
func (m *readMemory) ofSiblings(of reconnect.Process, path string) (found *hemera.Content, ok bool) {
	if of.PID == 0 { // a client that does not say which process it is has no siblings
		return nil, false
	}
	var all []*hemera.Content
	// Sessions first: what a session has open is in the history before it ends.
	for _, ss := range m.clients.siblings(of) {
		all = append(all, ss.handles.reading.contents(path)...)
	}
	remembered, complete := m.history.OfSiblings(of, path, time.Now())
	if !complete {
		return nil, false
	}
	for _, c := range append(all, remembered...) {
		if found != nil && (found.File != c.File || found.Gen != c.Gen) {
			return nil, false
		}
		found = c
	}
	return found, found != nil
}

// add remembers what the session's client was granted to read at a node.
func (m *readMemory) add(ss *session, path string, granted *hemera.Capability) {
	if granted.Access == hemera.AccessRead && ss.remembersReads() {
		m.history.Add(ss.process(), path, granted.Content(), time.Now())
	}
}

// addOpen remembers, when a session ends, the files that its manager's door had opened for reading itself.
func (m *readMemory) addOpen(ss *session) {
	for _, h := range ss.handles.files {
		if f, ok := h.(*fileHandle); ok && f.granted != nil {
			m.history.Add(ss.process(), f.path, f.granted.Content(), time.Now())
		}
	}
}

// localReads are the handles of reads that a session's manager's door opened itself, for other sessions to see. It is
// safe for concurrent use.
type localReads struct {
	mu      sync.Mutex
	handles map[wire.Handle]*fileHandle
}

// add records a handle, while it is open.
func (l *localReads) add(id wire.Handle, h *fileHandle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handles == nil {
		l.handles = map[wire.Handle]*fileHandle{}
	}
	l.handles[id] = h
}

// remove forgets a handle that is closed.
func (l *localReads) remove(id wire.Handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.handles, id)
}

// contents lists the contents of the path that are open.
func (l *localReads) contents(path string) (list []*hemera.Content) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.handles {
		if h.path == path {
			list = append(list, h.granted.Content())
		}
	}
	return list
}

// writeMemory is what a manager's door that opens files itself knows of writes whose connections were lost. A client
// that was redirected returns to its node with its capability. One that was not has only its old session to name, in
// kXR_endsess, and the path. It is safe for concurrent use.
type writeMemory struct {
	lost reconnect.LostWrites[hemera.Grant]
}

// add remembers what a session that ends had under way, or had not continued of an earlier session's, and writes whose
// close failed: their client may not have got the answer.
func (m *writeMemory) add(ss *session) {
	writes := map[string]hemera.Grant{}
	for path, g := range ss.reconnect.lost {
		writes[path] = g
	}
	ss.reconnect.failedCloses(func(path string, g hemera.Grant) { reconnect.Merge(writes, path, g) })
	for _, h := range ss.handles.files {
		if f, ok := h.(*fileHandle); ok && f.write != nil {
			reconnect.Merge(writes, f.path, *f.write)
		}
	}
	if who := ss.identity(); who != nil && len(writes) > 0 { // an unauthenticated client has nothing to come back to
		m.lost.Add(ss.id, *who, writes, time.Now())
	}
}

// claim gives a session the writes of an earlier one that it names; false if there are none.
func (m *writeMemory) claim(id wire.SessionID, ss *session) bool {
	writes, ok := m.lost.Claim(id, ss.identity())
	if !ok {
		return false
	}
	if ss.reconnect.lost == nil {
		ss.reconnect.lost = map[string]hemera.Grant{}
	}
	for path, g := range writes {
		ss.reconnect.lost[path] = g
	}
	return true
}

const (
	// namedMax bounds how many earlier sessions one remembers. A client names one for each connection it loses.
	namedMax = 8
	// failedClosesMax is how many writes whose close failed one session remembers.
	failedClosesMax = 64
)

// reconnection is what a session knows of the client's earlier ones, and leaves to its next. It belongs to the goroutine
// of the session's connection but for what mu guards.
type reconnection struct {
	replaces bool                    // the client has named an earlier session
	named    []string                // the names of those sessions; secrets of the client
	earlier  time.Time               // when the last of them began that nothing else is known of; zero: none
	lost     map[string]hemera.Grant // the writes it had there, by path

	mu     sync.Mutex
	failed map[string]hemera.Grant // writes of this session whose close failed, by path
}

// replace remembers an earlier session that the client has named. Only that client knows its id.
func (c *reconnection) replace(id wire.SessionID) {
	c.replaces = true
	name := sessionName(id)
	if slices.Contains(c.named, name) {
		return
	}
	c.named = append(c.named, name)
	if len(c.named) > namedMax {
		c.named = c.named[1:]
	}
}

// lostWrite returns the write that an open continues: one that this session's client had under way on the connection it
// lost. It fails with Conflict if the write was forgotten.
//
// Stock clients open again without the options that make or empty a file, and without those that they always set the
// first time; Hemera's client asks for a stat. Stock clients do so once for each of the requests that were cut off, and
// use one of the handles: until that is closed the write is found.
func (c *reconnection) lostWrite(path string, o wire.Open) (hemera.Grant, bool, error) {
	const first = wire.OpenNew | wire.OpenDelete | wire.OpenAsync
	const changes = wire.OpenUpdate | wire.OpenWriteTo | wire.OpenAppend
	reads := o.Options&wire.OpenRead != 0 && o.Options&changes == 0
	if !c.replaces || reads || o.Options&first != 0 { // a first open, or nothing was lost
		return hemera.Grant{}, false, nil
	}
	g, known := c.lost[path]
	forgotten := !known && o.Options&(wire.OpenRead|wire.OpenRetStat) == 0
	if forgotten || known && g == (hemera.Grant{}) {
		delete(c.lost, path)
		return g, false, errs.New(errs.Conflict, "xrd.Open", path, "the write was aborted when its connection was lost, its content is lost").
			WithRemedy("write the file again from its beginning")
	}
	return g, known, nil
}

// closeFailed remembers a write that failed at its close, for a client that loses the answer and asks again: it must not
// take what another client may have put at the name for its own. It is safe for concurrent use.
func (c *reconnection) closeFailed(path string, g hemera.Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil || len(c.failed) >= failedClosesMax {
		c.failed = map[string]hemera.Grant{}
	}
	c.failed[path] = g
}

// failedCloses calls visit for each write whose close failed, with mu held.
func (c *reconnection) failedCloses(visit func(path string, g hemera.Grant)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, g := range c.failed {
		visit(path, g)
	}
}

// forgetWrite forgets a write whose client asked for its close.
func (ss *session) forgetWrite(path string, g *hemera.Grant) {
	delete(ss.reconnect.lost, path)
	for _, h := range ss.handles.files {
		if f, ok := h.(*fileHandle); ok && f.write != nil && f.write.Permit == g.Permit {
			f.write = nil
		}
	}
}
