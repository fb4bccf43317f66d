package xrd

import (
	"context"
	"time"

	"hemera"
	"hemera/doors/xrd/tpc"
	"hemera/doors/xrd/translate"
	"hemera/errs"
	"hemera/rules/wire"
)

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
	err := openInto(r, &h.openFile, path, func() (endable, error) {
		return n.node.Open(r.context(), hemera.ParsePermit(opaque.Value(wire.OpaqueCapability)), hemera.NodeOpen{Truncate: translate.CreatesFile(o), Path: path})
	})
	return h, err
}

// openPiece opens one piece, for another node.
func (n *nodeOpens) openPiece(r *request, path string, opaque wire.Opaque, o wire.Open) error {
	piece, err := wire.ParsePieceOpen(opaque.Value(wire.OpaquePiece))
	if err != nil {
		return errs.As(err, errs.Invalid, "xrd.Open", path)
	}
	if opaque.Has(tpc.Key) {
		return errs.New(errs.Invalid, "xrd.Open", path, "a piece takes no part in third-party copies")
	}
	r.useTrace(opaque)
	piece.Truncate = translate.CreatesFile(o)
	h := &pieceHandle{}
	err = openInto(r, &h.openFile, path, func() (_ endable, err error) {
		h.piece, err = n.node.OpenPiece(r.context(), hemera.ParsePermit(opaque.Value(wire.OpaqueCapability)), piece)
		return h.piece, err
	})
	if err != nil {
		return err
	}
	return okOpen(r, h, o)
}

// openInto opens a file for one more handle of the request's session, which is counted.
func openInto(r *request, f *openFile, path string, open func() (endable, error)) error {
	counted, err := r.session.handles.count(r.conn.countedAs()) // before the open: an open file that is refused would have to be closed
	if err != nil {
		return err
	}
	file, err := open()
	if err != nil {
		counted.Give(1)
		return translate.OpenFailure(err)
	}
	f.file, f.path, f.counted, f.writable = file, path, counted, file.Info().Writable // the capability decides whether it is for writing
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
	_, opaque := wire.SplitPath(r.payload)
	token, ok := opaque.Get(wire.OpaqueCapability)
	if !ok {
		return n.toManager(r)
	}
	return runInline(r, func() ([]byte, error) {
		ctx := r.context()
		f, err := n.node.Open(ctx, hemera.ParsePermit(token), hemera.NodeOpen{})
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
