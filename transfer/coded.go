package transfer

import (
	"context"

	"hemera/rules/erasure"
	"hemera/rules/layout"
	"hemera/transfer/extents"
	"hemera/transfer/filesum"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// codedPieces is the spread of a coded layout: each block is in one data piece, and parity pieces have what the code makes of a
// row. It keeps the parity in line with the data. It belongs to the holder of the turn, as [pieces] do.
//
// Each change of the data changes the parity of its row in memory, before the data is sent. The parity of a row goes to
// its pieces when the row is full, when memory is short, and before anything reads it. So parity and data, in memory or in
// pieces, agree at every moment, and any loss that the code survives loses nothing of a write under way.
//
// A row that was sent and is written to again is read back. So are bytes that are overwritten: the parity takes the
// difference. Clients that write each byte once, in whatever order of the last rows, cause no reads.
type codedPieces struct {
	pieces *pieces
	layout hemera.Layout
	code   *erasure.Code // nil without parity pieces
	// written has the ranges that were accepted so far, or are about to be: bytes outside are zeros in all pieces.
	written extents.Set
	// rows are those whose parity is in memory, by number. Of the others the pieces have it, up to the last byte.
	rows map[int64]*parityRow
	// turns counts uses of rows, to know the oldest.
	turns uint64
}

// newCodedPieces returns the spread of an empty content.
func newCodedPieces(p *pieces, l hemera.Layout, code *erasure.Code) *codedPieces {
	return &codedPieces{pieces: p, layout: l, code: code, rows: map[int64]*parityRow{}}
}

// begin has nothing to do: pieces of a coded layout are made when the first bytes come for them.
func (y *codedPieces) begin() error { return nil }

// beginAs creates the pieces that have bytes of what is kept. The truncation that follows cuts what ends within a row, which brings the parity in
// line.
func (y *codedPieces) beginAs(base *read.Reader, keep int64) error {
	size := wholeUnits(keep, y.rowBytes(), base)
	var among layout.Set
	for index := range int(y.layout.Pieces) {
		if layout.Stored(y.layout, size, uint8(index)) {
			among = among.With(index)
		}
	}
	if err := y.ensure(among); err != nil {
		return err
	}
	if err := y.pieces.fillFrom(base, among, size); err != nil {
		return err
	}
	y.written.Add(0, size)
	return nil
}

// write sends pages to the pieces that have them, and parity to those that are due. hash, if not nil, is given the pages
// meanwhile.
func (y *codedPieces) write(b []byte, sums []uint32, off int64, hash *filesum.Stream) error {
	y.pieces.renewClient()
	spans := layout.Split(y.layout, off, len(b))
	if err := y.change(spans, b, off); err != nil {
		return err
	}
	// The parity that is due goes out with the data, so a write waits for the slowest piece once.
	rows := y.due()
	var among layout.Set
	for _, span := range spans {
		among = among.With(int(span.Column))
	}
	var meanwhile func()
	if hash != nil {
		meanwhile = func() { hash.Wrote(b, sums, off) }
	}
	return y.send(rows, among, meanwhile, func(pc *headPiece) error { return pc.writeSpans(spans, b, sums, off) })
}

// truncate implements spread.
func (y *codedPieces) truncate(size int64) error {
	if err := y.shrink(size); err != nil {
		return err
	}
	return y.resize(size)
}

// resize gives every live piece its length in a content of size bytes.
func (y *codedPieces) resize(size int64) error {
	return y.pieces.fanOut(everyPiece, nil, func(_ int, pc *headPiece) error {
		want := layout.PieceSize(y.layout, size, pc.target.Index)
		if pc.end == want {
			return nil
		}
		return pc.resize(want)
	})
}

// sync implements spread.
func (y *codedPieces) sync(ctx context.Context) error {
	if err := y.flush(); err != nil {
		return err
	}
	return y.pieces.syncLive(ctx)
}

// flush sends all parity that is in memory.
func (y *codedPieces) flush() error {
	if len(y.rows) == 0 {
		return nil
	}
	return y.send(y.all(), 0, nil, nil)
}

// send has the pieces in the set do what data says, and the parity pieces take the parity of the rows, which are released.
func (y *codedPieces) send(rows []*parityRow, data layout.Set, meanwhile func(), do func(pc *headPiece) error) error {
	among := data
	if len(rows) > 0 {
		among |= erasure.Range(int(y.layout.Data), int(y.layout.Pieces))
	}
	if err := y.ensure(among); err != nil {
		return err
	}
	lost := y.pieces.lost
	err := y.pieces.fanOut(among, meanwhile, func(_ int, pc *headPiece) error {
		if _, isData := layout.Column(y.layout, pc.target.Index); isData {
			return do(pc)
		}
		return y.sendRows(pc, rows)
	})
	// A piece that is lost may be one whose disk is stuck, with a block in its hands.
	y.forget(rows, y.pieces.lost != lost)
	return err
}

// ensure creates those of the pieces that are planned, and replaces targets that cannot begin: nothing was written there.
func (y *codedPieces) ensure(among layout.Set) error {
	p := y.pieces
	if !p.plans(among) {
		return nil
	}
	before := p.ledger.Count(ledger.Failed)
	p.createPlanned(among)
	if p.ledger.Count(ledger.Failed) > before && p.replace(p.head.ctx, true) {
		p.createPlanned(among)
	}
	// What is about to be written goes past the pieces that are lost. If another loss has the manager asked again, a disk
	// that it gives then must not pass for one that nobody has written to.
	for i, pc := range p.list {
		if p.ledger.Is(i, ledger.Failed) {
			pc.began = true
		}
	}
	return p.writable("transfer.Write")
}

// plans reports whether one of the pieces is still to be created.
func (p *pieces) plans(among layout.Set) bool {
	for i, pc := range p.list {
		if among.Has(int(pc.target.Index)) && p.ledger.Is(i, ledger.Planned) {
			return true
		}
	}
	return false
}

// beginSeal implements spread.
func (y *codedPieces) beginSeal(size int64) (err error) {
	p := y.pieces
	if p.whole != nil {
		if p.cut, err = y.cut(p.whole.Data); err != nil {
			return p.head.fail(errs.Wrap(err, "transfer.Close", piece.Subject(p.head.cap)))
		}
	}
	return y.settle(size)
}

// settle gives all pieces the lengths that they have in a file of size bytes, with all parity. Pieces without bytes are
// removed: they are not stored.
func (y *codedPieces) settle(size int64) error {
	if err := y.flush(); err != nil {
		return err
	}
	p := y.pieces
	var stored layout.Set
	for i, pc := range p.list {
		if layout.Stored(y.layout, size, pc.target.Index) {
			stored = stored.With(int(pc.target.Index))
			continue
		}
		// It may have been made for bytes that were cut away since. Its removal waits for a device, and the write does
		// not wait for that.
		if pc.out != nil {
			out := pc.out
			p.head.node.Background(p.head.cap, out.Abort)
		}
		pc.out, pc.local = nil, nil
		p.ledger.Absent(i)
	}
	if p.whole != nil {
		return nil // each piece is made at once, as long as it is to be
	}
	if err := y.ensure(stored); err != nil {
		return err
	}
	return y.resize(size)
}
