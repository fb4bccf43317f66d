package xrd

import (
	"time"

	"hemera/doors/xrd/reconnect"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// readMemory is the memory of a manager's door about reads, so that a client that lost its connection gets the same
// content again. It is safe for concurrent use.
//
// A stock client that loses its connection in a read opens the file again at the manager and continues at its offset. It
// does not say what it has read, so the door remembers the content that each client process was granted, and asks for the
// same again. If that is not possible, the client gets an error.
type readMemory struct {
	history reconnect.ReadHistory
	clients *registry
}

// pinContent makes the request of a reader that has reconnected one for the content that it was granted.
//
// Stock clients open the first time with the options for an asynchronous answer and for a stat, and later without. The
// absence of these options counts only for clients that state their version (in the login) or name an earlier session. Of
// other clients an open without the options is an ordinary open. Hemera's own client states that it reopens.
//
// A forked child continues with its parent's files. For a reader without a record, the file must be unchanged since
// before the begin of the session that it names, or for [reconnect.UnchangedTime].
func (m *readMemory) pinContent(ss *session, want *hemera.OpenRequest, o wire.Open, opaque wire.Opaque) error {
	bare := o.Options&(wire.OpenAsync|wire.OpenRetStat) == 0 && ss.remembersReads() // like a reopen
	if want.Access != hemera.AccessRead || !bare && !opaque.Has(wire.OpaqueAgain) {
		return nil
	}
	read, known := m.history.Get(ss.process(), want.Path) // the record of this process
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

// ofSiblings returns the content of the path that sibling processes were granted. It returns false if there is none or
// more than one, or if the record may be incomplete.
func (m *readMemory) ofSiblings(of reconnect.Process, path string) (found *hemera.Content, ok bool) {
	if of.PID == 0 { // a client without a process number has no siblings
		return nil, false
	}
	var all []*hemera.Content
	// Sessions first: an open file of a session enters the history before the session ends.
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

// add records a session's grant to read at a node.
func (m *readMemory) add(ss *session, path string, granted *hemera.Capability) {
	if granted.Access == hemera.AccessRead && ss.remembersReads() {
		m.history.Add(ss.process(), path, granted.Content(), time.Now())
	}
}

// addOpen records, when a session ends, the files that its manager's door had opened for reading itself.
func (m *readMemory) addOpen(ss *session) {
	for _, h := range ss.handles.files {
		if f, ok := h.(*fileHandle); ok && f.granted != nil {
			m.history.Add(ss.process(), f.path, f.granted.Content(), time.Now())
		}
	}
}

// writeMemory is the memory of a manager's door that opens files itself about lost writes: those whose connections were
// lost. A client that was redirected returns to its node with its capability. Another client can only name its old
// session, in kXR_endsess, and the path. It is safe for concurrent use.
type writeMemory struct {
	lost reconnect.LostWrites[hemera.Grant]
}

// add records the writes of a session that ends: those under way, those of an earlier session that were not continued,
// and those whose close failed, because their client may not have the answer.
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
	if who := ss.identity(); who != nil && len(writes) > 0 { // an unauthenticated client has no writes
		m.lost.Add(ss.id, *who, writes, time.Now())
	}
}

// claim gives a session the writes of an earlier one that it names. It returns false if there are none.
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
