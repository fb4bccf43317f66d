package xrd

import (
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// readMemory remembers what a manager's door knows of reads, so that a client that lost its connection gets the same
// content again. It is safe for concurrent use.
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

// writeMemory remembers the lost writes of a manager's door that opens files itself: those whose connections were lost. A client
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
