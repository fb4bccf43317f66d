package transfer

import (
	"hemera/rules/erasure"
	"hemera/rules/layout"
	"hemera/transfer/ledger"
	"hemera/transfer/parityrow"
)

// everyPiece is the set of all pieces.
const everyPiece = ^layout.Set(0)

// write sends pages to the pieces that have them, and parity to those that are due. hash, if not nil, is given the pages
// meanwhile.
func (y *parity) write(b []byte, sums []uint32, off int64, hash *streamSums) error {
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
		meanwhile = func() { hash.wrote(b, sums, off) }
	}
	return y.send(rows, among, meanwhile, func(pc *piece) error { return pc.writeSpans(spans, b, sums, off) })
}

// flush sends all parity that is in memory.
func (y *parity) flush() error {
	if len(y.rows) == 0 {
		return nil
	}
	return y.send(y.all(), 0, nil, nil)
}

// send has the pieces in the set do what data says, and the parity pieces take the parity of the rows, which are released.
func (y *parity) send(rows []*parityrow.Row, data layout.Set, meanwhile func(), do func(pc *piece) error) error {
	among := data
	if len(rows) > 0 {
		among |= erasure.Range(int(y.layout.Data), int(y.layout.Pieces))
	}
	if err := y.ensure(among); err != nil {
		return err
	}
	lost := y.pieces.lost
	err := y.pieces.fanOut(among, meanwhile, func(_ int, pc *piece) error {
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
func (y *parity) ensure(among layout.Set) error {
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

// settle gives all pieces the lengths that they have in a file of size bytes, with all parity. Pieces without bytes are
// removed: they are not stored.
func (y *parity) settle(size int64) error {
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
		// It may have been made for bytes that were cut away since. Removing it waits for a device, and nobody waits for that.
		if pc.out != nil {
			out := pc.out
			p.head.host.background(p.head.cap, out.Abort)
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
	return p.resize(size)
}

// resize gives every live piece its length in a file of size bytes.
func (p *pieces) resize(size int64) error {
	return p.fanOut(everyPiece, nil, func(_ int, pc *piece) error {
		want := layout.PieceSize(p.head.cap.Layout, size, pc.target.Index)
		if p.parity != nil && pc.end == want {
			return nil
		}
		pc.end = want
		pc.sent.Cut(want)
		return pc.out.Truncate(want)
	})
}

// rebuild computes what a data piece that is lost had at off. It reads the others, whose parity is sent first.
//
// Pieces that are planned were never written to, so they are zeros. One that was lost before it began, and that bytes went
// past since, is not planned again before the close (see ensure): its place stays lost, and is computed here.
func (y *parity) rebuild(index int, b []byte, off int64) error {
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
			if i != index && !y.back().gone(i) {
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
func (y *parity) readBlocks(read layout.Set, blocks [][]byte, n int, off int64) error {
	p := y.pieces
	for i := range read.All() {
		blocks[i] = make([]byte, n)
		// One after the other: this happens after a loss and for bytes that are overwritten, both at once.
		at := y.back().at(i)
		if p.ledger.Is(at, ledger.Planned) {
			continue // zeros
		}
		if err := y.back().live(at, blocks[i], off); err != nil {
			p.lose(at, err)
			if err := p.writable("transfer.Read"); err != nil {
				return err
			}
		}
	}
	return nil
}

// intact reports whether none of the pieces is lost.
func (y *parity) intact(set layout.Set) bool {
	for i := range set.All() {
		if y.back().gone(i) {
			return false
		}
	}
	return true
}
