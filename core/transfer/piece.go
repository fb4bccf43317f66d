package transfer

import (
	"context"
	"sync/atomic"

	"hemera"
	"hemera/core/disk"
	"hemera/errs"
	"hemera/rules/checksum"
	"hemera/rules/layout"
)

// source reads pages of one piece, verified; it is what content is copied from.
type source interface {
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	// NextData is as in [hemera.Sparse].
	NextData(off int64) (int64, error)
}

// piece is one piece of a write at its head: where it goes, and the way there. The way is a PeerWriter for local
// pieces too, so that the head treats all alike.
type piece struct {
	target hemera.Target
	out    PeerWriter // nil while it is planned, and once it is lost
	local  *diskPiece // out, if the piece is on this node; else nil
	err    error      // why it was lost
}

// writeSpans sends those of the pages at off that the layout gives to the piece.
func (pc *piece) writeSpans(l hemera.Layout, b []byte, sums []uint32, off int64) error {
	if layout.Needed(l) == 1 { // a copy has them all
		return pc.out.WritePages(b, sums, off)
	}
	column, isData := layout.Column(l, pc.target.Index)
	if !isData {
		return errs.New(errs.Unsupported, "transfer.Write", l.String(), "parity is not written")
	}
	for _, span := range layout.Split(l, off, len(b)) {
		if span.Column != column {
			continue
		}
		first := checksum.Fragments(off, span.At)
		last := first + checksum.Fragments(off+int64(span.At), span.Len)
		if err := pc.out.WritePages(b[span.At:span.At+span.Len], sums[first:last], span.Off); err != nil {
			return err
		}
	}
	return nil
}

// diskPiece is a pending piece on a disk in the shape of a peer's.
//
// A disk.Writer must not be called again after a seal or an abort. As the abort of a lost piece runs in the background,
// ended says whether one of them was begun.
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
	// A seal that fails has removed the piece as well.
	p.ended.Store(true)
	stat, err := p.Writer.Seal(s)
	if err != nil {
		return err
	}
	return checkSealed(stat, s)
}

// Abort removes the piece, sealed or not.
func (p *diskPiece) Abort() {
	// A writer that has sealed or aborted must not be called again; the piece may be there under its name all the same.
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

// create begins one piece where its target says. local is out for a piece on this node.
func (h *Host) create(ctx context.Context, c *hemera.Capability, permit *hemera.Permit, t hemera.Target) (out PeerWriter, local *diskPiece, err error) {
	if h.local(t) {
		local, err = h.createLocal(c, t)
		if err != nil {
			return nil, nil, err
		}
		return local, local, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	token, err := permit.Token()
	if err != nil {
		return nil, nil, err
	}
	out, err = h.Peers.Create(ctx, t, token)
	if err != nil {
		return nil, nil, errs.Wrap(err, "transfer.CreatePiece", t.Addr)
	}
	return out, nil, nil
}

// createLocal begins a piece on a disk of this node.
func (h *Host) createLocal(c *hemera.Capability, t hemera.Target) (*diskPiece, error) {
	store, err := h.store(t)
	if err != nil {
		return nil, err
	}
	id := pieceID(c, t.Index)
	w, err := store.Create(id, createOptions(c, t.Index))
	if err != nil {
		return nil, err
	}
	return &diskPiece{Writer: w, store: store, id: id}, nil
}

// createOptions returns how a disk begins the piece with the index. The size hint lets it refuse at once what has no
// room, and reserve the space.
func createOptions(c *hemera.Capability, index uint8) disk.CreateOptions {
	// Nothing is reserved for an update of what may have holes.
	return disk.CreateOptions{Path: c.Path, Layout: c.Layout, SizeHint: layout.PieceSize(c.Layout, c.Size, index), Sparse: c.Base != nil}
}
