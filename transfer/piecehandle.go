package transfer

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"hemera/disk"
	"hemera/platform/zerocopy"
	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/transfer/proof"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// pieceHandle is the hold of the head, or of a client, on a piece.
type pieceHandle struct {
	*pendingPiece
	table *Pending
	entry *entry
	head  bool // it has proved to be the head of the write
	open  atomic.Bool
}

var (
	_ hemera.PieceHandle = (*pieceHandle)(nil)
	_ hemera.Sparse      = (*pieceHandle)(nil)
	_ hemera.Prover      = (*pieceHandle)(nil)
	_ hemera.Offerer     = (*pieceHandle)(nil)
)

// do runs one call on the pending piece, which changes it or not.
func (h *pieceHandle) do(op string, changes bool, call func(disk.Writer) error) error {
	w := h.use()
	if w == nil {
		return piece.BadHandle(op, h.id.String())
	}
	defer h.done()
	if err := h.may(op, changes); err != nil {
		return err
	}
	return call(w)
}

// may refuses a call by who may use the piece now.
func (h *pieceHandle) may(op string, changes bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.open.Load():
		return piece.BadHandle(op, h.id.String())
	case h.head:
		return nil
	case h.heads:
		return errs.New(errs.Denied, op, h.id.String(), "the head of the write has taken the piece")
	case changes && h.offer != nil:
		return errs.New(errs.Denied, op, h.id.String(), "the piece was offered to the head of the write")
	}
	return nil
}

// fits refuses what would make a client's piece larger than its write promised.
func (h *pieceHandle) fits(op string, end int64) error {
	if h.head || end <= h.most {
		return nil
	}
	return errs.New(errs.OverQuota, op, h.id.String(), fmt.Sprintf("%d bytes are this piece's share of what the write may have", h.most)).
		WithRemedy("announce the size of the file when it is opened")
}

// ReadPages reads the content, pending or sealed.
func (h *pieceHandle) ReadPages(p []byte, sums []uint32, off int64) (n int, err error) {
	// A head that lost its connection behind the seal reads the piece to copy it elsewhere.
	if h.sealed() {
		if err := h.may("transfer.ReadPiece", false); err != nil {
			return 0, err
		}
		r, err := h.store.Open(h.id)
		if err != nil {
			return 0, err
		}
		defer r.Close()
		return r.ReadPages(p, sums, off)
	}
	err = h.do("transfer.ReadPiece", false, func(w disk.Writer) (err error) {
		n, err = w.ReadPages(p, sums, off)
		return err
	})
	return n, err
}

// WritePages writes into the pending piece.
func (h *pieceHandle) WritePages(p []byte, sums []uint32, off int64) error {
	if err := piece.CheckRange("transfer.WritePiece", h.id.String(), off, len(p)); err != nil {
		return err
	}
	if err := h.fits("transfer.WritePiece", off+int64(len(p))); err != nil {
		return err
	}
	h.counts.WriteBytes.Add(int64(len(p)))
	return h.do("transfer.WritePiece", true, func(w disk.Writer) error { return w.WritePages(p, sums, off) })
}

// restart empties the piece for one that starts over.
func (h *pieceHandle) restart() error { return h.Truncate(0) }

// Truncate sets the piece's size.
func (h *pieceHandle) Truncate(size int64) error {
	if err := piece.CheckRange("transfer.TruncatePiece", h.id.String(), size, 0); err != nil {
		return err
	}
	if err := h.fits("transfer.TruncatePiece", size); err != nil {
		return err
	}
	return h.do("transfer.TruncatePiece", true, func(w disk.Writer) error { return w.Truncate(size) })
}

// Sync makes the pending piece durable.
func (h *pieceHandle) Sync(context.Context) error {
	return h.do("transfer.SyncPiece", false, disk.Writer.Sync)
}

// Seal seals the piece. Called again, it answers as before, and changes nothing but whether the piece is kept. A footer is the word
// of a head, which commits it.
func (h *pieceHandle) Seal(_ context.Context, s hemera.SealInfo) (hemera.PieceStat, error) {
	if !h.head {
		return hemera.PieceStat{}, errs.New(errs.Denied, "transfer.SealPiece", h.id.String(), "only the head of the write seals its pieces")
	}
	// Writes in progress end first; those that come now wait, and find the piece sealed.
	w, stat, taken := h.beginEnd()
	defer func() { h.endEnd(w, stat, taken) }()
	if stat != nil {
		if stat.Kept != s.Kept {
			if err := disk.Mark(h.store, h.id, s.Kept); err != nil {
				return hemera.PieceStat{}, err
			}
			changed := *stat
			changed.Kept = s.Kept
			stat = &changed
		}
		return *stat, piece.CheckSealed(*stat, s)
	}
	if !h.open.Load() || w == nil {
		return hemera.PieceStat{}, piece.BadHandle("transfer.SealPiece", h.id.String())
	}
	if want := layout.PieceSize(h.cap.Layout, s.FileSize, h.id.Index); w.Size() != want {
		return hemera.PieceStat{}, piece.SizeMismatch("transfer.SealPiece", h.id.String(), w.Size(), want)
	}
	made, err := w.Seal(s)
	w = nil
	if err != nil {
		return hemera.PieceStat{}, err
	}
	stat = &made
	return made, nil
}

// Offer implements [hemera.Offerer].
func (h *pieceHandle) Offer(_ context.Context, s hemera.SealInfo) error {
	const op = "transfer.OfferPiece"
	// Writes in progress end first; those that come now wait, and are refused.
	w, stat, taken := h.beginEnd()
	defer func() { h.endEnd(w, stat, taken) }()
	if w == nil {
		return piece.BadHandle(op, h.id.String())
	}
	if err := h.may(op, false); err != nil {
		return err
	}
	if want := layout.PieceSize(h.cap.Layout, s.FileSize, h.id.Index); w.Size() != want {
		return piece.SizeMismatch(op, h.id.String(), w.Size(), want)
	}
	if s.Sync || h.cap.Sync { // the device has the bytes then when the head seals them
		if err := w.Sync(); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.offer = &s
	return nil
}

// Prove implements [hemera.Prover].
func (h *pieceHandle) Prove(_ context.Context, q hemera.ProofRequest) (p hemera.PieceProof, err error) {
	const op = "transfer.ProvePiece"
	err = h.do(op, false, func(w disk.Writer) error {
		if err := h.offered(op, q.Seal); err != nil {
			return err
		}
		// Every page is compared with its checksum before it is summed, as for a reader.
		p, err = proof.Of(w, h.cap.Layout, h.id.Index, q)
		return err
	})
	return p, err
}

// offered refuses what is not the head's, or was not offered to it with these values.
func (h *pieceHandle) offered(op string, s hemera.SealInfo) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.head:
		return errs.New(errs.Denied, op, h.id.String(), "only the head of the write has its pieces proved")
	case h.offer == nil:
		return errs.New(errs.Invalid, op, h.id.String(), "the piece was not offered")
	case h.offer.FileSize != s.FileSize || !slices.Equal(h.offer.Checksums, s.Checksums):
		return errs.New(errs.Corrupt, op, h.id.String(), "the piece was offered with another size or other checksums")
	}
	return nil
}

// End implements hemera.PieceHandle.
func (h *pieceHandle) End(_ context.Context, how hemera.Ending) error {
	switch how {
	case hemera.EndDetach:
		if h.open.CompareAndSwap(true, false) {
			h.table.release(h.entry)
		}
		return nil
	case hemera.EndAbort:
		return h.abort()
	}
	return h.close()
}

// abort removes the piece, sealed or not. A client's handle removes what a client made, which is never sealed.
func (h *pieceHandle) abort() error {
	const op = "transfer.AbortPiece"
	if !h.open.Load() {
		return piece.BadHandle(op, h.id.String())
	}
	w, stat, taken := h.beginEnd()
	refused := h.may(op, false)
	if !h.open.CompareAndSwap(true, false) {
		refused = piece.BadHandle(op, h.id.String())
	}
	if refused != nil {
		h.endEnd(w, stat, taken)
		if errs.KindOf(refused) != errs.BadHandle {
			h.table.release(h.entry)
		}
		return refused
	}
	if w != nil {
		_ = w.Abort()
	}
	// After Take the name is another's: repair may have made the piece again by now.
	if !taken { // before the entry leaves the table: a caller that does not find it there any more waits for this
		defer h.table.node.Removals.Begin(h.id, h.entry.key.disk)()
	}
	h.endEnd(nil, nil, taken)
	h.table.finish(h.entry, nil)
	h.table.release(h.entry)
	if taken || !h.head {
		return nil
	}
	return h.store.Remove(h.id)
}

// close ends the handle. A sealed piece is the file's; an unsealed one stays pending, as after a detach.
func (h *pieceHandle) close() error {
	if !h.open.CompareAndSwap(true, false) {
		return piece.BadHandle("transfer.ClosePiece", h.id.String())
	}
	h.await()
	ended := h.w == nil
	h.mu.Unlock()
	// The head of a write may still have it open when a reader closes it.
	if ended && !h.table.shared(h.entry) {
		h.table.finish(h.entry, nil)
	}
	h.table.release(h.entry)
	return nil
}

// Info describes the piece. It does not wait for a call that is sealing it.
func (h *pieceHandle) Info() hemera.FileInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	info := hemera.FileInfo{ID: h.id.File, Gen: h.id.Gen, Path: h.cap.Path, Mtime: time.Now(), Mode: h.cap.Mode, Writable: true}
	switch {
	case h.stat != nil:
		info.Size, info.Sums, info.Mtime = h.stat.Size, h.stat.Checksums, h.stat.Sealed
	case h.w != nil:
		info.Size = h.w.Size()
	}
	return info
}

// sealedHandle is a sealed piece as another node reads it, or a client that is its own head.
type sealedHandle struct {
	disk.Reader
	hemera.Refusal // of changes
	cap            hemera.Capability
	node           *piece.Node
	target         hemera.Target
}

var (
	_ hemera.PieceHandle = (*sealedHandle)(nil)
	_ hemera.Sparse      = (*sealedHandle)(nil)
	_ zerocopy.Source    = (*sealedHandle)(nil)
)

// newSealedHandle returns the handle of a sealed piece at a target of this node. It owns the reader.
func newSealedHandle(n *piece.Node, r disk.Reader, c *hemera.Capability, target hemera.Target) *sealedHandle {
	return &sealedHandle{Reader: r, cap: *c, node: n, target: target, Refusal: hemera.Refusal{Err: piece.ReadOnly("transfer.WritePiece", piece.Subject(c))}}
}

// ReadPages implements hemera.Handle. A bad page is reported here, because a client that reads it cannot report it.
func (h *sealedHandle) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	n, err := h.Reader.ReadPages(p, sums, off)
	h.node.Counters.ReadBytes.Add(int64(n))
	if errs.KindOf(err) == errs.Corrupt {
		h.node.Found(h.target, h.Stat().ID, err)
	}
	return n, err
}

// Splice implements zerocopy.Source.
func (h *sealedHandle) Splice(pipe *zerocopy.Pipe, off, n int64) int64 {
	n = h.Reader.Splice(pipe, off, n)
	h.node.Counters.ReadBytes.Add(n)
	return n
}

// ownHandle is the sealed piece of a write for its head, at a node that has the write no more.
type ownHandle struct {
	*sealedHandle
	store disk.Store
}

// Seal changes nothing but whether the piece is kept.
func (h *ownHandle) Seal(_ context.Context, s hemera.SealInfo) (hemera.PieceStat, error) {
	stat := h.Stat()
	if err := piece.CheckSealed(stat, s); err != nil {
		return hemera.PieceStat{}, err
	}
	if stat.Kept || s.Kept {
		if err := disk.Mark(h.store, stat.ID, s.Kept); err != nil {
			return hemera.PieceStat{}, err
		}
	}
	stat.Kept = s.Kept
	return stat, nil
}

// Info describes the piece.
func (h *ownHandle) Info() hemera.FileInfo {
	i := h.sealedHandle.Info()
	i.Writable = true // by Seal
	return i
}

// Sync has nothing to do.
func (h *sealedHandle) Sync(context.Context) error { return nil }

// Seal fails: the piece was sealed when it was opened.
func (h *sealedHandle) Seal(context.Context, hemera.SealInfo) (hemera.PieceStat, error) {
	return hemera.PieceStat{}, h.Err
}

// End ends all use; the piece stays.
func (h *sealedHandle) End(context.Context, hemera.Ending) error { return h.Close() }

// Info describes the piece.
func (h *sealedHandle) Info() hemera.FileInfo {
	s := h.Stat()
	return hemera.FileInfo{ID: s.ID.File, Gen: s.ID.Gen, Path: h.cap.Path, Size: s.Size, Mtime: s.Sealed,
		Mode: h.cap.Mode, UID: h.cap.Who.UID, GID: h.cap.Who.GID, Sums: s.Checksums}
}

// NextData looks in the piece, pending or sealed.
func (h *pieceHandle) NextData(off int64) (next int64, err error) {
	// As in ReadPages: a sealed piece has a reader, and no writer any more.
	if h.sealed() && h.open.Load() {
		r, err := h.store.Open(h.id)
		if err != nil {
			return off, err
		}
		defer r.Close()
		return r.NextData(off)
	}
	err = h.do("transfer.ReadPiece", false, func(w disk.Writer) (err error) {
		next, err = w.NextData(off)
		return err
	})
	return next, err
}

// Allocated returns the size: what a pending piece takes on its disk is not known.
func (h *pieceHandle) Allocated() (int64, error) { return h.Info().Size, nil }
