package transfer

import (
	"context"
	"sync/atomic"

	"hemera"
	"hemera/core/disk"
	"hemera/errs"
	"hemera/rules/layout"
)

// source reads pages of one piece, verified; it is what content is copied from.
type source interface {
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	// NextData is as in [hemera.Sparse].
	NextData(off int64) (int64, error)
}

// piece is one piece of a write at its head: where it goes, and the way there. The way is a
// PeerWriter for local pieces too, so that the head treats all alike.
type piece struct {
	target hemera.Target
	out    PeerWriter
	local  *localPiece // out, if the piece is on this node; else nil
	err    error       // why it failed
}

// diskPiece is a pending piece on a disk in the shape of a peer's.
type diskPiece struct {
	disk.Writer
	store disk.Store
	id    hemera.PieceID
	ended atomic.Bool // sealed or aborted: the Writer must not be used again
}

// Sync makes the pending piece durable.
func (p *diskPiece) Sync(context.Context) error { return p.Writer.Sync() }

// Seal seals the piece and compares what the disk kept with what the head counted.
func (p *diskPiece) Seal(_ context.Context, s hemera.SealInfo) error {
	p.ended.Store(true)
	stat, err := p.Writer.Seal(s)
	if err != nil {
		return err
	}
	return checkSealed(stat, s)
}

// Abort removes the piece, sealed or not.
func (p *diskPiece) Abort() {
	if !p.ended.Swap(true) {
		_ = p.Writer.Abort()
	}
	_ = p.store.Remove(p.id)
}

// Release implements PeerWriter: nothing is held.
func (p *diskPiece) Release() {}

// checkSealed refuses a sealed piece that does not have all of its part of the file.
func checkSealed(stat hemera.PieceStat, s hemera.SealInfo) error {
	if want := layout.PieceSize(stat.Layout, s.FileSize, stat.ID.Index); stat.Size != want {
		return sizeMismatch("transfer.Seal", stat.ID.String(), stat.Size, want)
	}
	return nil
}

// create begins one piece where its target says.
func (h *Host) create(ctx context.Context, c *hemera.Capability, permit *hemera.Permit, t hemera.Target) (*piece, error) {
	if !h.local(t) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		token, err := permit.Token()
		if err != nil {
			return nil, err
		}
		out, err := h.Peers.Create(ctx, t, token)
		if err != nil {
			return nil, errs.Wrap(err, "transfer.CreatePieceAt", t.Addr)
		}
		return &piece{target: t, out: out}, nil
	}
	return h.createLocal(c, t)
}

func createOptions(c *hemera.Capability) disk.CreateOptions {
	// Nothing is reserved for an update of what may have holes.
	return disk.CreateOptions{Path: c.Path, Layout: c.Layout, SizeHint: c.Size, Sparse: c.Base != nil}
}
