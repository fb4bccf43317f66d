package transfer

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"hemera/rules/layout"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/transfer/proof"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// prover is a [piece.Writer] of an offered piece that can prove what it has.
type prover interface {
	Prove(ctx context.Context, q hemera.ProofRequest) (hemera.PieceProof, error)
}

var _ hemera.DirectFile = (*writeHandle)(nil)

// Adopt implements [hemera.DirectFile].
func (h *writeHandle) Adopt(ctx context.Context, info hemera.SealInfo, list []hemera.Piece) error {
	return adoption{h.writer, info, list}.run(ctx)
}

// Replacement implements [hemera.DirectFile]. The pieces that the client seals are of the new permit from now on.
func (h *writeHandle) Replacement(ctx context.Context, failed []hemera.DiskID) (string, error) {
	w := h.writer
	if err := w.turn.Acquire(ctx); err != nil {
		return "", errs.Wrap(err, "transfer.Replace", piece.Subject(w.head.cap))
	}
	defer w.turn.Release()
	if err := w.usable("transfer.Replace"); err != nil {
		return "", err
	}
	// The manager decides, as for a write through this head: the client only says which disks failed it.
	ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
	defer cancel()
	grant, err := w.head.writes.Control.Replace(ctx, w.head.permit, failed)
	if err != nil {
		return "", err
	}
	w.head.permit = grant.Permit
	return grant.Permit.Token()
}

// adoption gives a pending write its content from pieces that its client has made and offers. The client may be wrong, or lie: what is committed is
// what the nodes prove.
type adoption struct {
	write  *Writer
	info   hemera.SealInfo // as the client says
	pieces []hemera.Piece
}

// run takes the pieces, has them proved, seals them, and leaves the commit to the close. Until a piece is taken the write is as
// it was. From then on the pieces belong to this head, which commits or removes them.
func (a adoption) run(ctx context.Context) error {
	if err := a.write.turn.Acquire(ctx); err != nil {
		return errs.Wrap(err, "transfer.Adopt", piece.Subject(a.write.head.cap))
	}
	defer a.write.turn.Release()
	if a.write.adopted != nil {
		return a.again()
	}
	if err := a.write.usable("transfer.Adopt"); err != nil {
		return err
	}
	if err := a.suits(); err != nil {
		return err
	}
	check, err := proof.NewCheck(a.write.head.cap.Layout, a.info.FileSize, layout.Indexes(a.pieces))
	if err != nil {
		return errs.Wrap(err, "transfer.Adopt", piece.Subject(a.write.head.cap))
	}
	ctx = context.WithoutCancel(ctx) // it must not stop half-way
	p := newPieces(&a.write.head)
	a.write.content = p
	if err = a.open(ctx, p); err == nil {
		err = a.prove(ctx, p, check)
	}
	if err == nil {
		err = a.seal(ctx, p)
	}
	if err != nil {
		return a.write.end(ctx, a.write.head.fail(errs.Wrap(err, "transfer.Adopt", piece.Subject(a.write.head.cap))))
	}
	a.write.left = leaving{} // only the close of its client decides
	// The size counts for everybody who asks about the write, and for its quota, like one that was written here.
	a.write.resized(a.info.FileSize)
	// Not before the close: a client that goes away now leaves a write that is aborted, like any other.
	a.write.adopted = &adopted{a.info, a.pieces}
	return nil
}

// again answers a client that asks once more, as it lost the answer.
func (a adoption) again() error {
	had := a.write.adopted
	if had.info.FileSize == a.info.FileSize && slices.Equal(had.info.Checksums, a.info.Checksums) && slices.Equal(had.pieces, a.pieces) {
		return nil
	}
	return errs.New(errs.Conflict, "transfer.Adopt", piece.Subject(a.write.head.cap), "other pieces were adopted for this write")
}

// suits refuses what cannot be the content of this write, or cannot be proved.
func (a adoption) suits() error {
	c := a.write.head.cap
	const op = "transfer.Adopt"
	// A write with bytes at its head would have two contents, and an update would have its base nowhere.
	switch inline, ok := a.write.content.(*inlineContent); {
	case c.Access != hemera.AccessCreate || !c.Layout.Coded() || !ok || inline.inlineBuffer != nil || a.write.state.size != 0:
		return errs.New(errs.Unsupported, op, piece.Subject(c), "only a new content of a coded layout, without a byte at its head, is taken from its pieces")
	case !proof.Provable(c.Checksums):
		return errs.New(errs.Unsupported, op, piece.Subject(c), "a checksum of the file cannot be told from its pieces").WithRemedy("write the file through its head node")
	case a.info.FileSize < a.write.least:
		return errs.New(errs.Invalid, op, piece.Subject(c), fmt.Sprintf("%d bytes were announced, and the pieces are of %d", a.write.least, a.info.FileSize))
	}
	// The namespace gets the checksums that its policy asks for, and CRC32C as from any head.
	for _, kind := range append(slices.Clone(c.Checksums), hemera.CRC32C) {
		if _, ok := hemera.FindChecksum(a.info.Checksums, kind); !ok && kind != hemera.ChecksumNone {
			return errs.New(errs.Invalid, op, piece.Subject(c), "the "+kind.String()+" of the content is missing")
		}
	}
	return a.write.checkQuota(a.info.FileSize)
}

// open takes the offered pieces of the list, all at once. It fails if one of them is not a target of the write, or cannot be
// opened, or if they are too few for a commit. Those of this node are asked through its own door, as the others are: it was
// there that the client opened them.
func (a adoption) open(ctx context.Context, p *pieces) error {
	h := &a.write.head
	p.ledger.SetMin(layout.Required(h.cap.Layout, a.info.FileSize, h.cap.PiecesMin))
	// By the permit as it is now: the client may have had targets replaced.
	for i, t := range h.permit.Targets {
		p.list[i] = &headPiece{target: t}
		switch {
		case !layout.Stored(h.cap.Layout, a.info.FileSize, t.Index):
			p.ledger.Absent(i)
		case !slices.Contains(a.pieces, hemera.Piece{Index: t.Index, Disk: t.Disk}):
			p.ledger.Fail(i)
		}
	}
	if n := p.ledger.Count(ledger.Planned); n != len(a.pieces) || n < p.ledger.Min() {
		return errs.New(errs.Invalid, "transfer.Adopt", piece.Subject(h.cap),
			fmt.Sprintf("%d of the %d pieces are targets of the write, and a commit takes %d", n, len(a.pieces), p.ledger.Min()))
	}
	if err := a.renew(ctx); err != nil {
		return err
	}
	failures := p.each(ledger.Planned, everyPiece, nil, func(_ int, pc *headPiece) (err error) {
		ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
		defer cancel()
		at, token, err := h.node.Remote(h.permit, pc.target)
		if err != nil {
			return err
		}
		at.Adopt = true
		pc.out, err = h.node.Peers.Create(ctx, at, token)
		return errs.Wrap(err, "transfer.Adopt", pc.target.Addr)
	})
	// Those that could be opened are this head's even if others could not: they are removed with the write.
	for i, pc := range p.list {
		if pc.out != nil {
			p.ledger.Sealed(i)
		}
	}
	return first(failures)
}

// renew gets a permit that nodes take now. Other heads open their pieces at the beginning; a client may have taken longer than
// its capability opens anything.
func (a adoption) renew(ctx context.Context) error {
	h := &a.write.head
	if time.Until(h.permit.Expires) < hemera.CapabilityLifetime/4 {
		ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
		defer cancel()
		grant, err := h.writes.Control.Replace(ctx, h.permit, nil)
		if err != nil {
			return err
		}
		h.permit = grant.Permit
	}
	return nil
}

// seal seals the pieces, which were proved.
func (a adoption) seal(ctx context.Context, p *pieces) error {
	info := a.info
	info.Sync = a.write.head.cap.Sync
	return first(p.each(ledger.Sealed, everyPiece, nil, func(_ int, pc *headPiece) error {
		if pc.out == nil { // it has no bytes
			return nil
		}
		return pc.out.Seal(ctx, info)
	}))
}

// prove has the nodes prove their pieces, a part of each at once, and compares.
func (a adoption) prove(ctx context.Context, p *pieces, check *proof.Check) error {
	q := hemera.ProofRequest{Seal: a.info}
	// Drawn after the pieces were sealed: a client that knew the key could make pieces that pass.
	_, _ = rand.Read(q.Key[:])
	for {
		var more bool
		if q.Off, q.Length, more = check.Next(); !more {
			return check.End(a.info.Checksums)
		}
		// One part of all pieces after the other, so that what waits here is small, whatever the size of the file.
		proofs := make([]hemera.PieceProof, a.write.head.cap.Layout.Pieces)
		failures := p.each(ledger.Sealed, everyPiece, nil, func(_ int, pc *headPiece) (err error) {
			if pc.out == nil { // it has no bytes
				return nil
			}
			by, ok := pc.out.(prover)
			if !ok {
				return errs.New(errs.Unsupported, "transfer.Adopt", pc.target.Addr, "the piece cannot be proved there")
			}
			proofs[pc.target.Index], err = by.Prove(ctx, q)
			return err
		})
		if err := first(failures); err != nil {
			return err
		}
		if err := check.Take(proofs); err != nil {
			return err
		}
	}
}
