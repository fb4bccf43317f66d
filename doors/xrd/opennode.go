package xrd

import (
	"context"
	"strings"

	"hemera/doors/xrd/tpc"
	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// nodeOpens serve opens, and truncations and stats by path, at a node. An open needs a capability; clients without one
// are redirected to the manager.
type nodeOpens struct {
	node        hemera.Node
	managerAddr func() string
	restarts    *copyRestarts
	copies      copyEnds
}

// toManager redirects a request about names to the manager.
func (n *nodeOpens) toManager(r *request) error { return redirectToManager(r, n.managerAddr) }

// open answers kXR_open. The opaque part decides the kind of open.
func (n *nodeOpens) open(r *request) error {
	a, err := parseOpen(r)
	if err != nil {
		return err
	}
	pulls, err := tpc.Pulls(a.opaque)
	switch {
	case err != nil:
		return err
	case pulls: // a destination shows the key of the copy in place of a capability
		return n.openArranged(r, &a)
	case !a.opaque.Has(wire.OpaqueCapability): // the manager has not redirected this client
		return n.toManager(r)
	case a.opaque.Has(wire.OpaquePiece): // an open of one piece, by another node
		return n.openPiece(r, &a)
	}
	return n.openGranted(r, &a)
}

// openArranged opens the file that a client arranged for this destination. It waits for the client.
func (n *nodeOpens) openArranged(r *request, a *openArgs) error {
	token, err := n.copies.await(r, a.path, a.opaque)
	if err != nil {
		return err
	}
	h, err := n.openFile(r, &openArgs{path: a.path, opaque: wire.Opaque(wire.OpaqueCapability + "=" + token), options: wire.Open{Options: wire.OpenRead}})
	if err != nil {
		return err
	}
	return okOpen(r, h, wire.DecodeOpen(r.Body))
}

// openGranted opens the file for a client that the manager redirected, and makes it one end of a copy if the open says
// so.
func (n *nodeOpens) openGranted(r *request, a *openArgs) error {
	h, err := n.openFile(r, a)
	restart := n.restarts.forOpen(r.session, a.opaque, a.options) // also if the open fails: the open may be that of a lost write
	if restart != nil && translate.ReopensWrite(a.options) && translate.IsConflict(err) {
		h, err = newLostHandle(a.path, errs.As(err, errs.Conflict, "xrd.Write", a.path)), nil
	}
	if err != nil {
		return err
	}
	h.restart = restart
	if err := n.copies.arrange(r, h, a.opaque); err != nil {
		h.abort(r.conn.ctx)
		return err
	}
	return okOpen(r, h, a.options)
}

// openFile opens a whole file with the capability in the opaque part.
func (n *nodeOpens) openFile(r *request, a *openArgs) (*fileHandle, error) {
	r.useTrace(a.opaque) // before the open, so that the node's log has the trace id
	h := &fileHandle{posc: a.options.Options&wire.OpenPosc != 0}
	permit := hemera.ParsePermit(a.opaque.Value(wire.OpaqueCapability))
	err := openInto(r, &h.openFile, a.path, n.countedAs(r, permit), func() (endable, error) {
		return n.node.Open(r.context(), permit, hemera.NodeOpen{Truncate: translate.CreatesFile(a.options), Path: a.path})
	})
	return h, translate.OpenFailure(err)
}

// openPiece opens one piece, for another node or for a client with direct access.
func (n *nodeOpens) openPiece(r *request, a *openArgs) error {
	piece, err := wire.ParsePieceOpen(a.opaque.Value(wire.OpaquePiece))
	if err != nil {
		return errs.As(err, errs.Invalid, "xrd.Open", a.path)
	}
	if a.opaque.Has(tpc.Key) {
		return errs.New(errs.Invalid, "xrd.Open", a.path, "a piece takes no part in third-party copies")
	}
	r.useTrace(a.opaque)
	piece.Truncate, piece.Path = translate.CreatesFile(a.options), a.path
	piece.Head, piece.Adopt = a.opaque.Value(wire.OpaqueHead), a.opaque.Has(wire.OpaqueTake)
	h, permit := &pieceHandle{}, hemera.ParsePermit(a.opaque.Value(wire.OpaqueCapability))
	err = openInto(r, &h.openFile, a.path, n.countedAs(r, permit), func() (_ endable, err error) {
		h.piece, err = n.node.OpenPiece(r.context(), permit, piece)
		return h.piece, err
	})
	if err != nil {
		return translate.PieceOpenFailure(err)
	}
	return okOpen(r, h, a.options)
}

// countedAs returns the client that is charged for an open with the permit: the user in the permit, because several users
// may come from one machine or through one head. Heads that work for the cluster are told apart by their addresses, and
// so are clients with the identity nobody.
func (n *nodeOpens) countedAs(r *request, permit *hemera.Permit) Client {
	who, err := n.node.User(r.context(), permit)
	if err != nil || who.UID == hemera.NobodyID || who.Name == hemera.SystemIdentity().Name { // the open reports the error
		return r.conn.countedAs()
	}
	return Client{Name: strings.Clone(who.Name), UID: who.UID}
}

// statWrite answers kXR_stat of a path, for a process that the manager redirected here to get the size of its write.
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

// truncate answers kXR_truncate of a path, with the manager's capability: an open, a truncation and a close, or a step of
// the write that has the file open.
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
		if errs.KindOf(err) == errs.BadHandle { // the write was closed meanwhile: the manager begins another
			_ = f.End(ctx, hemera.EndClose)
			return nil, n.toManager(r)
		}
		return nil, endTruncate(ctx, f, err)
	})
}

// endTruncate ends the open of a truncation by path that returned err.
func endTruncate(ctx context.Context, f hemera.File, err error) error {
	switch {
	case f.Shared(): // another handle has the write open, and commits it
		_ = f.End(ctx, hemera.EndDetach)
		return err
	case err != nil:
		_ = f.End(ctx, hemera.EndAbort)
		return err
	}
	return f.End(ctx, hemera.EndClose)
}
