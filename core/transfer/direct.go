package transfer

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"hemera"
	"hemera/core/transfer/proof"
	"hemera/errs"
	"hemera/rules/layout"
)

// prover is a [PeerWriter] of a sealed piece that can prove what it has.
type prover interface {
	Prove(ctx context.Context, q hemera.ProofRequest) (hemera.PieceProof, error)
}

var _ hemera.DirectFile = (*Writer)(nil)

// Adopt implements [hemera.DirectFile]. The pieces of this node are asked through its own door, as the others are: they were
// opened there by the client.
func (w *Writer) Adopt(ctx context.Context, info hemera.SealInfo, list []hemera.Piece) error {
	w.turn.acquire()
	defer w.turn.release()
	if c := w.commit; c != nil { // its answer was lost
		if c.request.Size == info.FileSize && slices.Equal(c.request.Checksums, info.Checksums) && slices.Equal(c.request.Pieces, list) {
			return nil
		}
		return errs.New(errs.Conflict, "transfer.Adopt", subject(w.head.cap), "other pieces were adopted for this write")
	}
	if err := w.usable("transfer.Adopt"); err != nil {
		return err
	}
	if err := w.adoptable(info); err != nil {
		return err
	}
	check, err := proof.NewCheck(w.head.cap.Layout, info.FileSize, layout.Indexes(list))
	if err != nil {
		return errs.Wrap(err, "transfer.Adopt", subject(w.head.cap))
	}
	info.Sync = w.head.cap.Sync
	// What was begun must not stop half-way: from here on the pieces are this head's, to commit or to remove.
	ctx = context.WithoutCancel(ctx)
	p := newPieces(&w.head)
	w.content = p
	if err = p.adopt(ctx, info.FileSize, list); err == nil {
		err = p.prove(ctx, check, info)
	}
	if err != nil {
		return w.end(ctx, w.head.fail(errs.Wrap(err, "transfer.Adopt", subject(w.head.cap))))
	}
	w.resized(info.FileSize)
	w.ready(info, list)
	return nil
}

// adoptable refuses what cannot be the content of this write, or cannot be proved.
func (w *Writer) adoptable(info hemera.SealInfo) error {
	c := w.head.cap
	const op = "transfer.Adopt"
	switch inline, ok := w.content.(*inlineContent); {
	case c.Access != hemera.AccessCreate || !c.Layout.Coded() || !ok || inline.inlineBuffer != nil || w.state.size != 0:
		return errs.New(errs.Unsupported, op, subject(c), "only a new content of a coded layout, without a byte at its head, is taken from its pieces")
	case !proof.Provable(c.Checksums):
		return errs.New(errs.Unsupported, op, subject(c), "a checksum of the file cannot be told from its pieces").WithRemedy("write the file through its head node")
	case info.FileSize < w.least:
		return errs.New(errs.Invalid, op, subject(c), fmt.Sprintf("%d bytes were announced, and the pieces are of %d", w.least, info.FileSize))
	}
	for _, kind := range append(slices.Clone(c.Checksums), hemera.CRC32C) {
		if _, ok := hemera.FindChecksum(info.Checksums, kind); !ok && kind != hemera.ChecksumNone {
			return errs.New(errs.Invalid, op, subject(c), "the "+kind.String()+" of the content is missing")
		}
	}
	return w.checkQuota(info.FileSize)
}

// Replacement implements [hemera.DirectFile].
func (w *Writer) Replacement(ctx context.Context, failed []hemera.DiskID) (string, error) {
	w.turn.acquire()
	defer w.turn.release()
	if err := w.usable("transfer.Replace"); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	grant, err := w.head.host.Control.Replace(ctx, w.head.permit, failed)
	if err != nil {
		return "", err
	}
	w.head.permit = grant.Permit
	return grant.Permit.Token()
}

// adopt opens the sealed pieces of the list, which have to be targets of the write, all at once. It fails if one of them is
// not, or cannot be opened, or if they are too few for a commit.
func (p *pieces) adopt(ctx context.Context, size int64, list []hemera.Piece) error {
	p.ledger.min = layout.Required(p.head.cap.Layout, size, p.head.cap.PiecesMin)
	for i, t := range p.head.permit.Targets {
		p.list[i] = &piece{target: t}
		switch {
		case !layout.Stored(p.head.cap.Layout, size, t.Index):
			p.ledger.Absent(i)
		case !slices.Contains(list, hemera.Piece{Index: t.Index, Disk: t.Disk}):
			p.ledger.Fail(i)
		}
	}
	if n := p.ledger.Count(planned); n != len(list) || n < p.ledger.min {
		return errs.New(errs.Invalid, "transfer.Adopt", subject(p.head.cap),
			fmt.Sprintf("%d of %d pieces are targets of the write, and a commit takes %d", n, len(list), p.ledger.min))
	}
	token, err := p.head.permit.Token()
	if err != nil {
		return err
	}
	failures := p.each(planned, everyPiece, nil, func(_ int, pc *piece) (err error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		pc.out, err = p.head.host.Peers.Create(ctx, pc.target, token)
		return errs.Wrap(err, "transfer.Adopt", pc.target.Addr)
	})
	for i, pc := range p.list {
		if pc.out != nil {
			p.ledger.Sealed(i)
		}
	}
	return firstOf(failures)
}

// prove has all pieces proved, a part of each at once, and compares.
func (p *pieces) prove(ctx context.Context, check *proof.Check, info hemera.SealInfo) error {
	q := hemera.ProofRequest{Seal: info}
	// Drawn after the pieces were sealed: a client that knew the key could make pieces that pass.
	_, _ = rand.Read(q.Key[:])
	for {
		var more bool
		if q.Off, q.Length, more = check.Next(); !more {
			return check.End(info.Checksums)
		}
		proofs := make([]hemera.PieceProof, p.head.cap.Layout.Pieces)
		failures := p.each(sealed, everyPiece, nil, func(_ int, pc *piece) (err error) {
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
		if err := firstOf(failures); err != nil {
			return err
		}
		if err := check.Take(proofs); err != nil {
			return err
		}
	}
}

// firstOf returns the first error of a list.
func firstOf(list []error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}
