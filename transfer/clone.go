package transfer

import (
	"context"
	"slices"
	"time"

	"hemera/disk"
	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The first change of an update makes pieces that begin as those of the base. A disk that has the base's piece copies it, or
// shares its blocks: nothing of it passes the head. Where that cannot be, the head reads the base and writes the piece, which
// is the way of an older peer, of a disk that the base is not on, and of a base that lacks a piece.
//
// From then on the update is a write like any other, whose base was written before: the parity of a row that changes is read
// back, rows that do not change cost nothing.

// cloneRate is the least rate of a peer that copies, in bytes a second, where blocks are not shared. A slower peer's
// piece is lost.
const cloneRate = 16 << 20

// wholeUnits returns how much of the base an update begins with that keeps the first keep bytes: whole units, as what is cut off
// within one is cut by the truncation that follows, which brings parity and checksums in line.
func wholeUnits(keep, unit int64, base *read.Reader) int64 {
	return min((keep+unit-1)/unit*unit, base.Size())
}

// beginFrom gives a new piece the first n bytes of the base's.
func (h *head) beginFrom(base *read.Reader, pc *headPiece, n int64) error {
	if _, _, ok := piece.BaseOf(h.cap, pc.target); ok {
		ctx, cancel := context.WithTimeout(h.ctx, piece.CallTimeout+time.Duration(n/cloneRate)*time.Second)
		defer cancel()
		err := pc.out.Clone(ctx, n)
		if !refused(err) {
			return err
		}
		h.node.Log.Info("piece of an update is copied through its head", "path", h.cap.Path, "trace", h.cap.Trace,
			"piece", pc.target.Index, "disk", pc.target.Disk, "error", err)
	}
	_, err := piece.Copy(h.ctx, h.node.Panics, pc.out, base.Content(pc.target.Index), n)
	return err
}

// refused reports whether a piece did not begin as a copy, but can be written to.
func refused(err error) bool {
	return err != nil && slices.Contains([]errs.Kind{errs.Unsupported, errs.NotFound, errs.Corrupt, errs.Invalid}, errs.KindOf(err))
}

var _ hemera.Cloner = (*pieceHandle)(nil)

// Clone implements [hemera.Cloner].
func (h *pieceHandle) Clone(_ context.Context, size int64) error {
	if err := piece.CheckRange("transfer.ClonePiece", h.id.String(), size, 0); err != nil {
		return err
	}
	if err := h.fits("transfer.ClonePiece", size); err != nil {
		return err
	}
	return h.do("transfer.ClonePiece", true, func(w disk.Writer) error {
		return h.table.node.CloneBase(&h.cap, hemera.Target{Index: h.id.Index, Disk: h.entry.key.disk}, w, size)
	})
}

// fillFrom gives the new pieces of the set the first size bytes of the base. It fails, and ends the write, when too few pieces
// are left.
func (p *pieces) fillFrom(base *read.Reader, among layout.Set, size int64) error {
	return p.fanOut(among, nil, func(_ int, pc *headPiece) error {
		pc.end = layout.PieceSize(p.head.cap.Layout, size, pc.target.Index)
		pc.sent.Forget() // the bytes of the base are not those of this write
		return p.head.beginFrom(base, pc, pc.end)
	})
}
