package xrd

import (
	"context"
	"strings"
	"time"

	"hemera/doors/xrd/tpc"
	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// localMax is the size, in bytes, of the largest file that a manager's door opens itself, and tells clients nothing of.
// For larger files an open costs nothing beside the data, and they are better off on a connection of their own, to which
// stock clients bind parallel ones. They never do so at a manager.
const localMax = 16 << 20

const (
	// openWaitsMax is how often a client comes back before it gets the error.
	openWaitsMax = 3
	// openWaitSeconds is for how long each time.
	openWaitSeconds = 5
)

// managerOpens serve opens, and truncations by path, at a manager: the answer is the node to go to and the permission to
// open there, or the open file itself if the node is in this process.
type managerOpens struct {
	files    hemera.Files
	prepares prepareHandlers
	local    localNodes // nil: no node is in this process
	reads    *readMemory
	restarts *copyRestarts
}

// open answers kXR_open.
func (m *managerOpens) open(r *request) error {
	path, opaque, err := r.path()
	if err != nil {
		return err
	}
	o, err := translate.OpenOptions(r.Body)
	if err != nil {
		return err
	}
	if err := translate.CheckEOSKeys(opaque, o); err != nil {
		return err
	}
	if err := m.restarts.onReopen(r, path, opaque, o); err != nil { // a client whose copy is to be restarted
		return err
	}
	want := translate.OpenRequest(path, opaque, o)
	write, lost, err := r.session.reconnect.lostWrite(path, o) // a write of the connection that this client lost
	if err != nil {
		return err
	}
	if lost {
		return m.reopen(r, &write, path, o)
	}
	r.useTrace(opaque)
	if err := m.reads.pinContent(r.session, &want, o, opaque); err != nil {
		return err
	}
	g, err := m.grant(r, want, opaque) // may wait for the namespace, or for another close of the same process
	if err != nil {
		return err
	}
	if n := m.localNode(&g, want.Access, opaque); n != nil {
		if h, err := m.openLocal(r, n, &g, path, o); err == nil {
			return okOpen(r, h, o)
		}
		// The client gets what it would have got from the node, and may be sent to another one then.
	}
	m.reads.add(r.session, path, &g.Permit.Capability)
	return m.sendTo(r, &g, want, opaque)
}

// truncate sends a truncation to a node: an update of one step, or a step of the write that the same process has open.
// xrootdfs opens a file and then truncates it by its path.
func (m *managerOpens) truncate(r *request) error {
	path, opaque, err := r.path()
	if err != nil {
		if len(r.payload) == 0 {
			return errBadHandle
		}
		return err
	}
	if err := translate.CheckSize(wire.DecodeTruncate(r.Body).Size); err != nil {
		return err
	}
	want := hemera.OpenRequest{Path: path, Access: hemera.AccessUpdate, Join: true}
	g, err := m.grant(r, want, opaque)
	if err != nil {
		return err
	}
	return m.sendTo(r, &g, want, opaque)
}

// grant asks the manager for the open. While the manager cannot serve it, it sends the client away for some seconds, a few times.
func (m *managerOpens) grant(r *request, o hemera.OpenRequest, opaque wire.Opaque) (hemera.Grant, error) {
	ss := r.session
	// These tell the manager that a client comes back to a write of its own, and which close an open has to wait for.
	o.Session, o.Ended, o.Process = ss.name, ss.reconnect.named, ss.processName()
	if opaque.Has(translate.TriedKey) {
		o.Tried, o.Avoid = ss.opens.Of(o.Path, true).Tried(opaque)
	}
	g, err := m.files.Open(r.context(), r.who(), o)
	history := ss.opens[o.Path] // nil if the path has none
	if k := errs.KindOf(err); err != nil && len(o.Tried) > 0 && (k == errs.NoReplicas || k == errs.NoSpace) && history.ClearOnce() {
		o.Tried, o.Avoid = nil, nil
		g, err = m.files.Open(r.context(), r.who(), o)
	}
	if err == nil {
		if history != nil {
			history.Waits = 0
		}
		return g, nil
	}
	if recall := m.awaitRecall(r, o.Path, err); recall != nil {
		return g, recall
	}
	if k := errs.KindOf(err); k == errs.Unavailable || k == errs.Overloaded {
		history = ss.opens.Of(o.Path, true)
		if history.Waits < openWaitsMax {
			history.Waits++
			return g, &waitFor{Seconds: openWaitSeconds, Text: err.Error()}
		}
	}
	return g, err
}

// sendTo redirects the client to the head of its grant, and remembers that it was sent there.
func (m *managerOpens) sendTo(r *request, g *hemera.Grant, o hemera.OpenRequest, opaque wire.Opaque) error {
	r.session.opens.Of(o.Path, opaque.Has(translate.TriedKey)).Sent(headOf(g), g.Addr, g.Permit.Targets)
	return redirectToHead(g, translate.RetryHint(g, o.Access))
}

// localNode returns the node of this process at which the door opens a granted file itself. It returns nil if the client
// has to go to a node: the head is elsewhere, the client wants to know where it is or has failed before, or it copies
// between servers, whose other end has to find that node.
//
// Writes are opened here only if they make a file. A client that loses its connection opens again without its
// capability, for an update. If the door has forgotten the write by then, there is nothing at the name that could be
// mistaken for its content.
func (m *managerOpens) localNode(g *hemera.Grant, access hemera.Access, opaque wire.Opaque) hemera.Node {
	replaces := access == hemera.AccessCreate && g.Permit.BaseGen != 0
	switch {
	case m.local == nil, g.Permit.Size > localMax, access == hemera.AccessUpdate, replaces:
		return nil
	case opaque != "" && (opaque.Has(translate.TriedKey) || opaque.Has(wire.OpaqueWhere) || strings.Contains(string(opaque), tpc.Prefix)):
		return nil
	}
	return m.local(headOf(g))
}

// openLocal opens a granted file at a node of this process.
func (m *managerOpens) openLocal(r *request, n hemera.Node, g *hemera.Grant, path string, o wire.Open) (*fileHandle, error) {
	h := &fileHandle{posc: o.Options&wire.OpenPosc != 0}
	err := openInto(r, &h.openFile, path, r.conn.countedAs(), func() (endable, error) {
		return n.Open(r.context(), g.Permit, hemera.NodeOpen{Truncate: translate.CreatesFile(o)})
	})
	switch {
	case err == nil && h.writable:
		h.write = g
	case err == nil && g.Permit.Access == hemera.AccessRead && r.session.remembersReads():
		h.granted = g.Permit
	}
	return h, translate.OpenFailure(err)
}

// reopen opens a write again whose connection was lost, or sends the client to the node that has it.
func (m *managerOpens) reopen(r *request, g *hemera.Grant, path string, o wire.Open) error {
	if n := m.local(headOf(g)); n != nil {
		if h, err := m.openLocal(r, n, g, path, o); err == nil {
			return okOpen(r, h, o)
		}
	}
	delete(r.session.reconnect.lost, path) // its node has it, and the capability finds it there
	return redirectToHead(g, translate.RetryWrite)
}

// headOf returns the node that a grant sends its client to, zero if none of its targets is there.
func headOf(g *hemera.Grant) hemera.NodeID {
	for _, at := range g.Permit.Targets {
		if at.Addr == g.Addr {
			return at.Node
		}
	}
	return 0
}

// redirectToHead sends the client to the head of its grant, with the permission to open there. hint says for how long
// it is to try to reach it.
func redirectToHead(g *hemera.Grant, hint wire.Opaque) error {
	token, err := g.Permit.Token() // signed here if nobody asked before
	if err != nil {
		return err
	}
	// The node's id comes back with a client that failed there: clients name hosts only, and a host may run several.
	return redirectTo(g.Addr, wire.Opaque(wire.OpaqueCapability+"="+token+"&"+wire.OpaqueNode+"="+headOf(g).String()+"&")+hint)
}

// nodeOpens serve opens, and truncations and stats by path, at a node. What they open a client needs a capability for;
// a client without one is sent to the manager.
type nodeOpens struct {
	node        hemera.Node
	puller      Puller // nil: no third-party copies into this node
	managerAddr func() string
	restarts    *copyRestarts
	rendezvous  tpc.Rendezvous[Client]
	ttl         time.Duration // how long a third-party copy's key is good
}

// toManager sends a client that asks about names to the manager.
func (n *nodeOpens) toManager(r *request) error { return redirectToManager(r, n.managerAddr) }

// open answers kXR_open.
func (n *nodeOpens) open(r *request) error {
	path, opaque, err := r.path()
	if err != nil {
		return err
	}
	o, err := translate.OpenOptions(r.Body)
	if err != nil {
		return err
	}
	// A destination that reads a source shows the key instead of a capability.
	if opaque.Has(tpc.Key) {
		party, err := tpc.PartyOf(opaque)
		if err != nil {
			return err
		}
		if party == tpc.Puller {
			return n.openRendezvous(r, path, opaque)
		}
	}
	if !opaque.Has(wire.OpaqueCapability) { // a client that was not sent here by the manager
		return n.toManager(r)
	}
	if opaque.Has(wire.OpaquePiece) { // another node's open, of one piece
		return n.openPiece(r, path, opaque, o)
	}
	h, err := n.openFile(r, path, opaque, o)
	restart := n.restarts.forOpen(r.session, opaque, o) // kept whatever becomes of the open: it may be of a lost write
	if restart != nil && translate.ReopensWrite(o) && translate.IsConflict(err) {
		h, err = newLostHandle(path, errs.As(err, errs.Conflict, "xrd.Write", path)), nil
	}
	if err != nil {
		return err
	}
	h.restart = restart
	if err := n.arrangeCopy(r, h, opaque); err != nil {
		h.abort(r.conn.ctx)
		return err
	}
	return okOpen(r, h, o)
}

// openFile opens a whole file with the capability in the opaque part.
func (n *nodeOpens) openFile(r *request, path string, opaque wire.Opaque, o wire.Open) (*fileHandle, error) {
	r.useTrace(opaque) // before the open, so that the node's log has it
	h := &fileHandle{posc: o.Options&wire.OpenPosc != 0}
	permit := hemera.ParsePermit(opaque.Value(wire.OpaqueCapability))
	err := openInto(r, &h.openFile, path, n.countedAs(r, permit), func() (endable, error) {
		return n.node.Open(r.context(), permit, hemera.NodeOpen{Truncate: translate.CreatesFile(o), Path: path})
	})
	return h, translate.OpenFailure(err)
}

// openPiece opens one piece, for another node or a client that goes without a head.
func (n *nodeOpens) openPiece(r *request, path string, opaque wire.Opaque, o wire.Open) error {
	piece, err := wire.ParsePieceOpen(opaque.Value(wire.OpaquePiece))
	if err != nil {
		return errs.As(err, errs.Invalid, "xrd.Open", path)
	}
	if opaque.Has(tpc.Key) {
		return errs.New(errs.Invalid, "xrd.Open", path, "a piece takes no part in third-party copies")
	}
	r.useTrace(opaque)
	piece.Truncate, piece.Path = translate.CreatesFile(o), path
	piece.Head, piece.Adopt = opaque.Value(wire.OpaqueHead), opaque.Has(wire.OpaqueTake)
	h, permit := &pieceHandle{}, hemera.ParsePermit(opaque.Value(wire.OpaqueCapability))
	err = openInto(r, &h.openFile, path, n.countedAs(r, permit), func() (_ endable, err error) {
		h.piece, err = n.node.OpenPiece(r.context(), permit, piece)
		return h.piece, err
	})
	if err != nil {
		return translate.PieceOpenFailure(err)
	}
	return okOpen(r, h, o)
}

// countedAs returns the client that an open with the permit is charged to: the user that it names, who may come from the same
// machine as others, or through a head. Heads that serve the cluster itself are told apart by their addresses, and so is
// nobody, of whom nothing else is known.
func (n *nodeOpens) countedAs(r *request, permit *hemera.Permit) Client {
	who, err := n.node.User(r.context(), permit)
	if err != nil || who.UID == hemera.NobodyID || who.Name == hemera.SystemIdentity().Name { // the open says what is wrong
		return r.conn.countedAs()
	}
	return Client{Name: strings.Clone(who.Name), UID: who.UID}
}

// openInto opens a file for one more handle of the request's session, which is counted.
func openInto(r *request, f *openFile, path string, as Client, open func() (endable, error)) error {
	counted, err := r.session.handles.count(as) // before the open: an open file that is refused would have to be closed
	if err != nil {
		return err
	}
	file, err := open()
	if err != nil {
		counted.Give(1)
		counted.Close()
		return err
	}
	info := file.Info()
	f.file, f.path, f.counted, f.client, f.writable = file, path, counted, as, info.Writable // the capability decides whether it is for writing
	_, opaque := wire.SplitPath(r.payload)
	// Once: what came from tape and is bad again is an error. The puller of a third-party copy has no right at the manager.
	f.onTape = info.OnTape && !opaque.Has(wire.OpaqueNoPiece) && !opaque.Has(tpc.Key)
	return nil
}

// statWrite answers kXR_stat of a path: of a write whose process the manager sent here to ask for what it has written.
func (n *nodeOpens) statWrite(r *request) error {
	raw, opaque := wire.SplitPath(r.payload)
	token, ok := opaque.Get(wire.OpaqueCapability)
	if !ok {
		return n.toManager(r)
	}
	path, err := wire.CleanPath(raw)
	if err != nil {
		return err
	}
	info, err := n.node.Written(r.context(), hemera.ParsePermit(token), path)
	if err != nil {
		return err
	}
	return okStat(r, info)
}

// truncate answers kXR_truncate of a path, with the manager's capability: an open, a truncation and a close, or a step
// of the write that has the file open.
func (n *nodeOpens) truncate(r *request) error {
	t := wire.DecodeTruncate(r.Body)
	if err := translate.CheckSize(t.Size); err != nil {
		return err
	}
	raw, opaque := wire.SplitPath(r.payload)
	token, ok := opaque.Get(wire.OpaqueCapability)
	if !ok {
		return n.toManager(r)
	}
	path, err := wire.CleanPath(raw)
	if err != nil {
		return err
	}
	return runInline(r, func() ([]byte, error) {
		ctx := r.context()
		f, err := n.node.Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{Path: path})
		if err != nil {
			return nil, translate.OpenFailure(err)
		}
		err = f.Truncate(t.Size)
		if errs.KindOf(err) == errs.BadHandle { // of a write that was closed meanwhile: the manager begins another
			_ = f.End(ctx, hemera.EndClose)
			return nil, n.toManager(r)
		}
		return nil, endTruncate(ctx, f, err)
	})
}

// endTruncate ends the open of a truncation by path that returned err.
func endTruncate(ctx context.Context, f hemera.File, err error) error {
	switch {
	case f.Shared(): // another handle has the write open, and commits
		_ = f.End(ctx, hemera.EndDetach)
		return err
	case err != nil:
		_ = f.End(ctx, hemera.EndAbort)
		return err
	}
	return f.End(ctx, hemera.EndClose)
}
