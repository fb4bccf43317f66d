package transfer

import (
	"context"
	"errors"
	"io"

	"hemera/disk"
	"hemera/rules/layout"
	"hemera/transfer/filesum"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// copiedPieces is the spread of a layout of copies: each piece has all bytes of the content.
type copiedPieces struct{ pieces *pieces }

// begin makes the planned pieces, all at once. Targets that cannot even begin are replaced, while there is nothing to copy.
func (c copiedPieces) begin() error {
	p := c.pieces
	// Once is enough here: targets that fail later are replaced at the close, with the content at hand.
	p.createPlanned(everyPiece)
	if p.replace(p.head.ctx, true) {
		p.createPlanned(everyPiece)
	}
	return p.writable("transfer.Write")
}

// beginAs implements spread.
func (c copiedPieces) beginAs(base *read.Reader, keep int64) error {
	if err := c.begin(); err != nil {
		return err
	}
	return c.pieces.fillFrom(base, everyPiece, wholeUnits(keep, hemera.PageSize, base))
}

// write sends pages to every live piece. hash, if not nil, is given them meanwhile.
func (c copiedPieces) write(b []byte, sums []uint32, off int64, hash *filesum.Stream) error {
	if i := c.pieces.ledger.Only(); i >= 0 && hash != nil {
		return c.writeOnly(i, b, sums, off, hash)
	}
	// Functions for goroutines are allocated, so a write with one piece makes none.
	return c.writeAll(b, sums, off, hash)
}

// writeAll sends pages to every live piece at once.
func (c copiedPieces) writeAll(b []byte, sums []uint32, off int64, hash *filesum.Stream) error {
	var meanwhile func()
	if hash != nil {
		meanwhile = func() { hash.Wrote(b, sums, off) }
	}
	return c.pieces.fanOut(everyPiece, meanwhile, func(_ int, pc *headPiece) error { return pc.writePages(b, sums, off) })
}

// writeOnly sends pages to the only live piece. A stalled disk of that is an I/O error: asking again is of no use, and stock
// clients begin a copy again for it, at another disk.
func (c copiedPieces) writeOnly(i int, b []byte, sums []uint32, off int64, hash *filesum.Stream) error {
	// With one piece there is nothing to overlap that would be worth a second goroutine.
	hash.Wrote(b, sums, off)
	pc := c.pieces.list[i]
	err := pc.writePages(b, sums, off)
	if err == nil {
		return nil
	}
	if disk.IsStalled(err) {
		err = errs.As(err, errs.IO, "transfer.Disk", pc.target.Disk.String())
	}
	c.pieces.lose(i, err)
	return c.pieces.writable("transfer.Write")
}

// truncate implements spread.
func (c copiedPieces) truncate(size int64) error {
	return c.pieces.fanOut(everyPiece, nil, func(_ int, pc *headPiece) error {
		return pc.resize(layout.PieceSize(c.pieces.head.cap.Layout, size, pc.target.Index))
	})
}

// sync implements spread.
func (c copiedPieces) sync(ctx context.Context) error { return c.pieces.syncLive(ctx) }

// beginSeal has nothing to do: every piece is as long as the content, and what is in memory is the content of each.
func (c copiedPieces) beginSeal(int64) error { return nil }

// read reads from the first piece that can be read. A piece that cannot be read is lost from then on. After a stalled read the
// buffer belongs to the call that is stuck, and the error says so: the next piece is left to the next read.
func (c copiedPieces) read(b []byte, sums []uint32, off int64) (int, error) {
	for {
		src, i, closeSource, err := c.source()
		if err != nil {
			return 0, err
		}
		n, err := src.ReadPages(b, sums, off)
		closeSource()
		if err == nil || errors.Is(err, io.EOF) {
			return n, err
		}
		c.pieces.lose(i, err)
		if err := c.pieces.writable("transfer.Read"); err != nil {
			return 0, err
		}
		// Another copy may have it, but not for a buffer that the stalled call may still write to.
		if hemera.KeepsBuffers(err) {
			return 0, err
		}
	}
}

// nextData implements spread.
func (c copiedPieces) nextData(off int64) (int64, error) {
	src, _, closeSource, err := c.source()
	if err != nil {
		return off, err
	}
	defer closeSource()
	return src.NextData(off)
}

// source returns a live copy to read from, and its number: the local ones first.
func (c copiedPieces) source() (piece.Source, int, func(), error) {
	// Reading a peer back costs a sync and an open there, as what was sent may still be on its way.
	for _, local := range []bool{true, false} {
		for i, pc := range c.pieces.list {
			if !c.pieces.ledger.Is(i, ledger.Live) || (pc.local != nil) != local {
				continue
			}
			src, closeSource, err := c.pieces.open(pc)
			if err != nil {
				c.pieces.lose(i, err)
				continue
			}
			return src, i, closeSource, nil
		}
	}
	return nil, 0, nil, c.pieces.fail("transfer.Read", c.pieces.ledger.Losses())
}
