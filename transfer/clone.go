package transfer

import (
	"context"
	"slices"
	"time"

	"hemera/disk"
	"hemera/transfer/resum"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The first change of an update makes pieces that begin as those of the base. A disk that has the base's piece copies it, or
// shares its blocks: nothing of it passes the head. Where that cannot be, the head reads the base and writes the piece, which
// is the way of an older peer, of a disk that the base is not on, and of a base that lacks a piece.
//
// From then on the update is a write like any other, whose base was written before: the parity of a row that changes is read
// back, rows that do not change cost nothing.

// cloneRate is how fast a peer copies at least, in bytes a second, where blocks are not shared. Slower ones are lost.
const cloneRate = 16 << 20

// wholeUnits returns how much of the base an update begins with that keeps the first keep bytes: whole units, as what is cut off
// within one is cut by the truncation that follows, which brings parity and checksums in line.
func wholeUnits(keep, unit int64, base *Reader) int64 {
	return min((keep+unit-1)/unit*unit, base.cap.Size)
}

// beginFrom gives a new piece the first n bytes of the base's.
func (h *head) beginFrom(base *Reader, pc *piece, n int64) error {
	if _, _, ok := baseOf(h.cap, pc.target); ok {
		ctx, cancel := context.WithTimeout(h.ctx, callTimeout+time.Duration(n/cloneRate)*time.Second)
		defer cancel()
		err := pc.out.Clone(ctx, n)
		if !refused(err) {
			return err
		}
		h.host.Log.Info("piece of an update is copied through its head", "path", h.cap.Path, "trace", h.cap.Trace,
			"piece", pc.target.Index, "disk", pc.target.Disk, "error", err)
	}
	_, err := copyPages(h.ctx, h.host.Panics, pc.out, base.content(pc.target.Index), n)
	return err
}

// refused reports whether a piece did not begin as a copy, but can be written to.
func refused(err error) bool {
	return err != nil && slices.Contains([]errs.Kind{errs.Unsupported, errs.NotFound, errs.Corrupt, errs.Invalid}, errs.KindOf(err))
}

// baseOf returns the content that the capability's update begins from, and where the target's disk has its piece; false if
// it has none. Copies are alike, whatever their numbers.
func baseOf(c *hemera.Capability, t hemera.Target) (base hemera.Capability, at hemera.Target, ok bool) {
	if c.Base == nil {
		return base, at, false
	}
	base = *c
	base.Gen, base.Size, base.Targets = c.Base.Gen, c.Base.Size, c.Base.Pieces
	for _, at := range c.Base.Pieces {
		if at.Disk == t.Disk && (at.Index == t.Index || !c.Layout.Coded()) {
			return base, at, true
		}
	}
	return base, at, false
}

// cloneBase has a pending piece at a target of this node begin as the first size bytes of the base's piece there.
func cloneBase(h *Host, c *hemera.Capability, t hemera.Target, w disk.Writer, size int64) error {
	base, at, ok := baseOf(c, t)
	if !ok {
		return errs.New(errs.NotFound, "transfer.ClonePiece", subject(c), "the base has no such piece on this disk")
	}
	// As any reader would, it compares the footer with what was committed.
	r, err := h.openPiece(&base, at)
	if err != nil {
		h.found(at, pieceID(&base, at.Index), err)
		return err
	}
	_ = r.Close()
	return disk.Clone(w, pieceID(&base, at.Index), size)
}

// Clone implements PeerWriter.
func (p *diskPiece) Clone(_ context.Context, size int64) error {
	return cloneBase(p.host, p.cap, p.target, p.Writer, size)
}

var _ hemera.Cloner = (*pieceHandle)(nil)

// Clone implements [hemera.Cloner].
func (h *pieceHandle) Clone(_ context.Context, size int64) error {
	if err := checkRange("transfer.ClonePiece", h.id.String(), size, 0); err != nil {
		return err
	}
	if err := h.fits("transfer.ClonePiece", size); err != nil {
		return err
	}
	return h.do("transfer.ClonePiece", true, func(w disk.Writer) error {
		return cloneBase(h.table.host, &h.cap, hemera.Target{Index: h.id.Index, Disk: h.entry.key.disk}, w, size)
	})
}

// fromBase returns the checksums of an update's content of size bytes without reading all of it; false if that is not
// possible, or reads more than the other way, which reads what follows the first next bytes.
func (s *streamSums) fromBase(size int64, now source) ([]hemera.Checksum, bool) {
	cost, ok := s.update.Cost(size)
	if !ok || cost >= size-s.next {
		return nil, false
	}
	buf := newWindow(copyWindow)
	from := func(src source) resum.Read {
		return func(off int64, n int) ([]byte, error) {
			err := buf.read(src, off, n)
			return buf.data, err
		}
	}
	// A base that cannot be read any more is no reason to fail.
	sums, err := s.update.Sums(size, from(s.base), from(now))
	return sums, err == nil
}
