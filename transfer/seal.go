package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"hemera/disk"
	"hemera/rules/layout"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// seal takes the ledger's steps until a commit may be made of what is sealed.
func (p *pieces) seal(ctx context.Context, info hemera.SealInfo) error {
	if err := p.spread.beginSeal(info.FileSize); err != nil {
		return err
	}
	// Each step changes the ledger, and rounds of replacement are bounded, so this ends.
	for {
		switch p.ledger.Next() {
		case ledger.Seal:
			if err := p.sealLive(ctx, info); err != nil {
				return err
			}
		case ledger.Fill:
			p.fill(ctx, info)
		case ledger.Replace:
			p.replace(ctx, false)
		case ledger.Commit:
			if err := p.proveRest(info); err != nil {
				return err
			}
			if p.ledger.Count(ledger.Failed) > 0 {
				p.head.node.Counters.Short.Add(1)
			}
			if p.whole != nil && p.lost == 0 {
				p.whole.recycle()
			}
			p.drop()
			return nil
		case ledger.Fail:
			return p.short()
		}
	}
}

// sealLive seals every live piece, all at once.
func (p *pieces) sealLive(ctx context.Context, info hemera.SealInfo) error {
	failures := p.each(ledger.Live, everyPiece, nil, func(_ int, pc *headPiece) error { return pc.seal(ctx, p.head.cap.Layout, info) })
	for i, err := range failures {
		switch {
		case !p.ledger.Is(i, ledger.Live):
		case err != nil:
			p.lose(i, err)
		default:
			p.ledger.Sealed(i)
		}
	}
	// With nothing sealed there is nothing to copy from, wherever the manager might offer room.
	if p.ledger.Count(ledger.Sealed) == 0 {
		return p.fail("transfer.Write", p.ledger.Losses())
	}
	return nil
}

// short returns the error of a close that cannot reach the layout's minimum. It ends the write: nothing was committed, so
// the file that was there before stays.
func (p *pieces) short() error {
	return p.fail("transfer.Close", fmt.Sprintf("%d of %d pieces could be sealed, and a close takes %d", p.ledger.Count(ledger.Sealed), len(p.list), p.ledger.Min()))
}

// fill makes the planned pieces, sealed: from the content in memory, all at once, or each from the sealed ones.
func (p *pieces) fill(ctx context.Context, info hemera.SealInfo) {
	fillOne := func(_ int, pc *headPiece) error { return p.put(ctx, pc, info) }
	if p.whole == nil {
		fillOne = func(_ int, pc *headPiece) error { return p.copySealed(ctx, pc, info) }
	}
	if p.again {
		fillOne = func(_ int, pc *headPiece) error { return p.refill(ctx, pc, info) }
	}
	// A piece that cannot be filled is lost, and may be replaced once more.
	for i, err := range p.each(ledger.Planned, everyPiece, nil, fillOne) {
		switch {
		case !p.ledger.Is(i, ledger.Planned):
		case err != nil:
			p.lose(i, err)
		default:
			p.ledger.Sealed(i)
		}
	}
}

// put makes one piece from the content in memory, and seals it.
func (p *pieces) put(ctx context.Context, pc *headPiece, info hemera.SealInfo) error {
	h, content := p.head, p.contentOf(pc)
	if h.node.Local(pc.target) {
		made, err := h.node.PutLocal(h.cap, pc.target, content, info)
		if err == nil {
			pc.out, pc.local = made, made
		}
		return err
	}
	var err error
	if pc.out, pc.local, err = h.node.Create(ctx, h.cap, h.permit, pc.target); err != nil {
		return err
	}
	if err := pc.writePages(content.Data, content.Sums, 0); err != nil {
		return err
	}
	return pc.seal(ctx, h.cap.Layout, info)
}

// contentOf returns what a piece has of the content in memory.
func (p *pieces) contentOf(pc *headPiece) disk.Content {
	if p.cut != nil {
		return p.cut[pc.target.Index]
	}
	return disk.Content{Data: p.whole.Data, Sums: p.whole.Sums}
}

// copySealed makes one piece from those that are sealed, and seals it.
func (p *pieces) copySealed(ctx context.Context, pc *headPiece, info hemera.SealInfo) error {
	h := p.head
	src := p.sealedReader(info)
	defer src.Close()
	var err error
	if pc.out, pc.local, err = h.node.Create(ctx, h.cap, h.permit, pc.target); err != nil {
		return err
	}
	pc.began = true
	if p.again {
		if err := pc.out.Truncate(0); err != nil {
			return err
		}
	}
	crc, err := piece.Copy(ctx, h.node.Panics, pc.out, sealedSource{src.Content(pc.target.Index)}, layout.PieceSize(h.cap.Layout, info.FileSize, pc.target.Index))
	if err != nil {
		return err
	}
	info.Piece = piece.CRC32C(crc)
	return pc.out.Seal(ctx, info)
}

// unreadError is that the sealed pieces could not be read to make another.
type unreadError struct{ error }

func (e unreadError) Unwrap() error { return e.error }

// sealedSource tells failures to read sealed pieces from those of what is made of them.
type sealedSource struct{ piece.Source }

// ReadPages implements piece.Source.
func (s sealedSource) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	n, err := s.Source.ReadPages(p, sums, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreadError{err}
	}
	return n, err
}

// proveRest fails, and ends the write, where a piece was lost for a bad page of the base, was not made again, and the others do not have
// all of its bytes: several pieces of the base have bad pages, and the base itself can be read. Other writes have no base, and cost no read.
func (p *pieces) proveRest(info hemera.SealInfo) error {
	if p.head.cap.Base == nil {
		return nil
	}
	for i, pc := range p.list {
		_, unread := errors.AsType[unreadError](pc.err)
		bad := unread || errs.KindOf(pc.err) == errs.Corrupt
		if !bad || !p.ledger.Is(i, ledger.Failed) {
			continue
		}
		if err := p.prove(pc.target.Index, info); err != nil {
			e := &errs.Error{Kind: errs.Corrupt, Op: "transfer.Close", Subject: piece.Subject(p.head.cap), Cause: err,
				Text: "pages of the file are bad in several pieces, too many for this update; nothing has changed"}
			return p.head.fail(e.WithRemedy("`hemera file verify` repairs what the other pieces allow; or write the whole file again"))
		}
	}
	return nil
}

// prove reads what a lost piece had, as it can be computed from those that are sealed.
func (p *pieces) prove(index uint8, info hemera.SealInfo) error {
	src := p.sealedReader(info)
	defer src.Close()
	size := layout.PieceSize(p.head.cap.Layout, info.FileSize, index)
	w, content := piece.NewWindow(size), src.Content(index)
	for off := int64(0); off < size; off += piece.CopyWindow {
		if err := w.Read(content, off, int(min(piece.CopyWindow, size-off))); err != nil {
			return err
		}
	}
	return nil
}

// sealedReader reads what this write has sealed with the checks of any reader. It is not committed, so its size and sums are those of
// the seal.
func (p *pieces) sealedReader(info hemera.SealInfo) *read.Reader {
	c := *p.head.cap
	c.Targets, c.Size, c.Sums = nil, info.FileSize, info.Checksums
	for i, pc := range p.list {
		if p.ledger.Is(i, ledger.Sealed) && pc.out != nil {
			c.Targets = append(c.Targets, pc.target)
		}
	}
	return read.New(p.head.node, p.head.reads, &c, p.head.permit)
}

// sealedPieces lists the sealed pieces, for the commit.
func (p *pieces) sealedPieces() []hemera.Piece {
	var list []hemera.Piece
	for i, pc := range p.list {
		if p.ledger.Is(i, ledger.Sealed) && pc.out != nil {
			list = append(list, hemera.Piece{Index: pc.target.Index, Disk: pc.target.Disk})
		}
	}
	return list
}

// release ends the hold on the sealed pieces: they stay.
func (p *pieces) release() {
	for i, pc := range p.list {
		if pc.out != nil && p.ledger.Is(i, ledger.Sealed) {
			pc.out.Release()
		}
	}
}

// abort removes every piece that is not lost, and waits for that.
func (p *pieces) abort() {
	var wg sync.WaitGroup
	for i, pc := range p.list {
		if pc.out != nil && !p.ledger.Is(i, ledger.Failed) {
			p.head.node.Panics.Go(&wg, "transfer.Abort", piece.Subject(p.head.cap), pc.out.Abort)
		}
	}
	wg.Wait()
}

// refill makes a piece again beside what was found, over what its node may have of it from the process before.
func (p *pieces) refill(ctx context.Context, pc *headPiece, info hemera.SealInfo) error {
	err := p.copySealed(ctx, pc, info)
	if err == nil || pc.local != nil {
		return err
	}
	// The process before may have sealed it: such a piece refuses all changes.
	if p.acceptSealed(ctx, pc, info) == nil {
		return nil
	}
	return err
}

// acceptSealed takes a piece that another node has sealed, if it has the same bytes.
func (p *pieces) acceptSealed(ctx context.Context, pc *headPiece, info hemera.SealInfo) error {
	h := p.head
	r, err := h.node.OpenPeer(ctx, h.permit, piece.Remote{Target: pc.target})
	if err != nil {
		return err
	}
	sealed := &sealedPeer{Reader: r}
	crc, err := piece.Copy(ctx, h.node.Panics, sealed, r, info.FileSize)
	want, known := hemera.FindChecksum(info.Checksums, hemera.CRC32C)
	if err == nil && (r.Size() != info.FileSize || !known || piece.CRC32C(crc) != want) {
		err = errs.New(errs.Corrupt, "transfer.Commit", piece.Subject(h.cap), "the node of another piece has other bytes")
	}
	if err == nil {
		err = p.isSealed(ctx, pc, info)
	}
	if err != nil {
		_ = r.Close()
		return err
	}
	pc.out = sealed
	return nil
}

// isSealed returns nil if the piece at another node is sealed, now or before.
func (p *pieces) isSealed(ctx context.Context, pc *headPiece, info hemera.SealInfo) error {
	out, _, err := p.head.node.Create(ctx, p.head.cap, p.head.permit, pc.target)
	if err == nil {
		defer out.Release()
		err = out.Seal(ctx, info) // answers as before
	}
	if kind := errs.KindOf(err); kind == errs.Exists || kind == errs.Denied { // opened as a sealed one, it refuses
		return nil
	}
	return err
}

// sealedPeer is a piece that was sealed at its node before.
type sealedPeer struct{ piece.Reader }

// WritePages implements piece.Writer: the bytes were compared by who sent them.
func (s *sealedPeer) WritePages([]byte, []uint32, int64) error { return nil }

// Truncate implements piece.Writer.
func (s *sealedPeer) Truncate(int64) error { return nil }

// Clone implements piece.Writer.
func (s *sealedPeer) Clone(context.Context, int64) error {
	return piece.ReadOnly("transfer.ClonePiece", "")
}

// Sync implements piece.Writer.
func (s *sealedPeer) Sync(context.Context) error { return nil }

// Seal implements piece.Writer.
func (s *sealedPeer) Seal(context.Context, hemera.SealInfo) error { return nil }

// Abort implements piece.Writer: it may be a piece of the file.
func (s *sealedPeer) Abort() { _ = s.Close() }

// Release implements piece.Writer.
func (s *sealedPeer) Release() { _ = s.Close() }
