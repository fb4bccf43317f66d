package transfer

import (
	"context"
	"fmt"
	"sync"

	"hemera"
	"hemera/core/disk"
	"hemera/errs"
	"hemera/rules/layout"
)

// seal takes the ledger's steps until a commit may be made of what is sealed.
func (p *pieces) seal(ctx context.Context, info hemera.SealInfo) error {
	// Each step changes the ledger, and rounds of replacement are bounded, so this ends.
	for {
		switch p.ledger.Next() {
		case stepSeal:
			if err := p.sealLive(ctx, info); err != nil {
				return err
			}
		case stepFill:
			p.fill(ctx, info)
		case stepReplace:
			p.replace(ctx)
		case stepCommit:
			if p.ledger.Count(failed) > 0 {
				p.head.host.Counters.Short.Add(1)
			}
			if p.whole != nil && p.lost == 0 {
				p.whole.recycle()
			}
			p.drop()
			return nil
		case stepFail:
			return p.short()
		}
	}
}

// sealLive seals every live piece, all at once.
func (p *pieces) sealLive(ctx context.Context, info hemera.SealInfo) error {
	failures := p.each(live, nil, func(_ int, pc *piece) error { return pc.out.Seal(ctx, info) })
	for i, err := range failures {
		switch {
		case !p.ledger.Is(i, live):
		case err != nil:
			p.lose(i, err)
		default:
			p.ledger.Sealed(i)
		}
	}
	// With nothing sealed there is nothing to copy from, wherever the manager might offer room.
	if p.ledger.Count(sealed) == 0 {
		return p.fail("transfer.Write", everyPieceFailed)
	}
	return nil
}

// short is the error of a close that cannot reach the layout's minimum.
func (p *pieces) short() error {
	// The kind of the first failure decides whether a client tries again.
	done := p.ledger.Count(sealed)
	if done == 0 {
		return p.fail("transfer.Close", everyPieceFailed)
	}
	return p.fail("transfer.Close", fmt.Sprintf("%d of %d pieces could be sealed, and a close takes %d", done, len(p.list), p.ledger.min))
}

// fill makes the planned pieces, sealed: from the content in memory, all at once, or each from the sealed ones.
func (p *pieces) fill(ctx context.Context, info hemera.SealInfo) {
	fillOne := func(_ int, pc *piece) error { return p.put(ctx, pc, info) }
	if p.whole == nil {
		fillOne = func(_ int, pc *piece) error { return p.copySealed(ctx, pc, info) }
	}
	// A piece that cannot be filled is lost, and may be replaced once more.
	for i, err := range p.each(planned, nil, fillOne) {
		switch {
		case !p.ledger.Is(i, planned):
		case err != nil:
			p.lose(i, err)
		default:
			p.ledger.Sealed(i)
		}
	}
}

// put makes one piece from the content in memory, and seals it.
func (p *pieces) put(ctx context.Context, pc *piece, info hemera.SealInfo) error {
	h, content := p.head, p.whole
	if h.host.local(pc.target) {
		return p.putLocal(pc, info)
	}
	var err error
	if pc.out, pc.local, err = h.host.create(ctx, h.cap, h.permit, pc.target); err != nil {
		return err
	}
	if err := pc.writeSpans(h.cap.Layout, content.data, content.sums, 0); err != nil {
		return err
	}
	return pc.out.Seal(ctx, info)
}

// putLocal makes one piece on a disk of this node, in one call that leaves nothing behind when it fails.
func (p *pieces) putLocal(pc *piece, info hemera.SealInfo) error {
	store, err := p.head.host.store(pc.target)
	if err != nil {
		return err
	}
	c, whole := p.head.cap, disk.Content{Data: p.whole.data, Sums: p.whole.sums}
	made := &diskPiece{store: store, id: pieceID(c, pc.target.Index)}
	// Put removes what it began when it fails, so there is no writer to abort.
	made.ended.Store(true)
	stat, err := disk.Put(store, made.id, createOptions(c, pc.target.Index), whole, info)
	if err != nil {
		return err
	}
	if err := checkSealed(stat, info); err != nil {
		made.Abort()
		return err
	}
	pc.out, pc.local = made, made
	return nil
}

// copySealed makes one piece from those that are sealed, and seals it.
func (p *pieces) copySealed(ctx context.Context, pc *piece, info hemera.SealInfo) error {
	h := p.head
	if layout.Needed(h.cap.Layout) > 1 {
		return errs.New(errs.Unsupported, "transfer.Close", subject(h.cap), "a lost piece of this layout is left to repair")
	}
	// A reader of what this write has sealed: not committed, so its size and sums are those of the seal.
	c := *h.cap
	c.Targets, c.Size, c.Sums = nil, info.FileSize, info.Checksums
	for i, other := range p.list {
		if p.ledger.Is(i, sealed) {
			c.Targets = append(c.Targets, other.target)
		}
	}
	// It reads with the checks of any reader, so what it copies is what was sealed.
	src := h.host.newReader(&c, h.permit)
	defer src.Close()
	var err error
	if pc.out, pc.local, err = h.host.create(ctx, h.cap, h.permit, pc.target); err != nil {
		return err
	}
	if _, err := copyPages(ctx, pc.out, src, info.FileSize); err != nil {
		return err
	}
	return pc.out.Seal(ctx, info)
}

// sealedPieces lists the sealed pieces, for the commit.
func (p *pieces) sealedPieces() []hemera.Piece {
	var list []hemera.Piece
	for i, pc := range p.list {
		if p.ledger.Is(i, sealed) {
			list = append(list, hemera.Piece{Index: pc.target.Index, Disk: pc.target.Disk})
		}
	}
	return list
}

// release ends the hold on the sealed pieces: they stay.
func (p *pieces) release() {
	for i, pc := range p.list {
		if pc.out != nil && p.ledger.Is(i, sealed) {
			pc.out.Release()
		}
	}
}

// abort removes every piece that is not lost, and waits for that.
func (p *pieces) abort() {
	var wg sync.WaitGroup
	for i, pc := range p.list {
		if pc.out != nil && !p.ledger.Is(i, failed) {
			wg.Go(pc.out.Abort)
		}
	}
	wg.Wait()
}
