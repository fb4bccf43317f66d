package transfer

import (
	"errors"
	"io"

	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer/ledger"
	"hemera/words/hemera"
)

// Bytes that were written to the pieces of a coded content, and are not sealed, are read back from the pieces that have
// them, and computed where those are lost. A piece that cannot be read is lost from then on. After a stalled read the
// buffer belongs to the call that is stuck, and the error says so: the next piece is left to the next read.

// read implements spread.
func (y *codedPieces) read(b []byte, sums []uint32, off int64) (int, error) {
	for _, span := range layout.Split(y.layout, off, len(b)) {
		if err := y.readPiece(int(span.Column), b[span.At:span.At+span.Len], span.Off); err != nil {
			return 0, err
		}
	}
	if sums != nil {
		checksum.PageSums(b, off, sums)
	}
	return len(b), nil
}

// nextData implements spread: holes of coded contents are not looked for.
func (y *codedPieces) nextData(off int64) (int64, error) { return off, nil }

// readPiece fills b with what the piece with the index has at off; what was never written is zeros. A data piece that is lost is
// computed from the others.
func (y *codedPieces) readPiece(index int, b []byte, off int64) error {
	for {
		i := y.place(index)
		if y.gone(index) {
			return y.rebuild(index, b, off)
		}
		if y.pieces.ledger.Is(i, ledger.Planned) {
			clear(b)
			return nil
		}
		err := y.readLive(i, b, off)
		if err == nil {
			return nil
		}
		y.pieces.lose(i, err)
		if err := y.pieces.writable("transfer.Read"); err != nil {
			return err
		}
		// Parity is not computed again: it counts as lost.
		if hemera.KeepsBuffers(err) || index >= int(y.pieces.head.cap.Layout.Data) {
			return err
		}
	}
}

// readLive fills b with what a live piece has at off.
func (y *codedPieces) readLive(i int, b []byte, off int64) error {
	src, closeSource, err := y.pieces.open(y.pieces.list[i])
	if err != nil {
		return err
	}
	defer closeSource()
	n, err := src.ReadPages(b, nil, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		clear(b[n:])
		return nil
	}
	return err
}

// place returns the place of the piece with the index in the list; -1 if it never had a target.
func (y *codedPieces) place(index int) int {
	for i, pc := range y.pieces.list {
		if int(pc.target.Index) == index {
			return i
		}
	}
	return -1
}

// gone reports whether what was written to the piece is lost.
func (y *codedPieces) gone(index int) bool {
	i := y.place(index)
	return i < 0 || y.pieces.ledger.Is(i, ledger.Failed)
}

// rebuild computes what a data piece that is lost had at off. It reads the others, whose parity is sent first.
//
// Pieces that are planned were never written to, so they are zeros. One that was lost before it began, and that bytes went
// past since, is not planned again before the close (see ensure): its place stays lost, and is computed here.
func (y *codedPieces) rebuild(index int, b []byte, off int64) error {
	p := y.pieces
	if y.code == nil {
		return p.fail("transfer.Read", p.ledger.Losses())
	}
	if err := y.flush(); err != nil {
		return err
	}
	// Each round loses a piece or ends. Planned pieces count as there, with zeros: no bytes came for them.
	// The plan prefers data pieces, which need no parity to be sent, but the flush above is needed for any.
	blocks := make([][]byte, y.layout.Pieces)
	for {
		var have layout.Set
		for i := range blocks {
			if i != index && !y.gone(i) {
				have = have.With(i)
			}
		}
		plan, err := y.code.Plan(layout.Set(0).With(index), have)
		if err != nil {
			return p.fail("transfer.Read", p.ledger.Losses())
		}
		if err := y.readBlocks(plan.Read(), blocks, len(b), off); err != nil {
			return err
		}
		if !y.intact(plan.Read()) {
			continue // a piece was lost meanwhile; the others may be enough
		}
		blocks[index] = b[:0]
		return plan.Rebuild(blocks)
	}
}

// readBlocks reads n bytes at off of each piece in the set. Pieces that cannot be read are lost; it fails when too few are
// left.
func (y *codedPieces) readBlocks(read layout.Set, blocks [][]byte, n int, off int64) error {
	p := y.pieces
	for i := range read.All() {
		blocks[i] = make([]byte, n)
		// One after the other: this happens after a loss and for bytes that are overwritten, both at once.
		at := y.place(i)
		if p.ledger.Is(at, ledger.Planned) {
			continue // zeros
		}
		if err := y.readLive(at, blocks[i], off); err != nil {
			p.lose(at, err)
			if err := p.writable("transfer.Read"); err != nil {
				return err
			}
		}
	}
	return nil
}

// intact reports whether none of the pieces is lost.
func (y *codedPieces) intact(set layout.Set) bool {
	for i := range set.All() {
		if y.gone(i) {
			return false
		}
	}
	return true
}
