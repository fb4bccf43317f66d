package read

import (
	"golang.org/x/sync/errgroup"

	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// A reader that lacks a data piece needs the others twice: for their own bytes, and to compute those that are lost. Most
// clients read a file from its begin to its end, so it keeps what it read of a row until all of the row was read. Then a row
// costs as many blocks as a healthy one. Short reads, which are within a part of a block, take only what they need.

// strip returns the length of the range of the pieces that is kept as one; the last one is shorter.
func (s *stripes) strip() int64 { return min(decodeStep, int64(s.layout.BlockSize)) }

// wanted returns the data pieces with bytes at off or behind that are not this node's, and as lost those data pieces that
// cannot be read, or are slow. This node's own pieces cost little to read again.
func (s *stripes) wanted(off int64) (wanted, lost layout.Set) {
	usable := s.hedges.usable(false)
	for i := range s.layout.Data {
		switch {
		case !s.has(i, off):
		case !usable.Has(int(i)):
			wanted, lost = wanted.With(int(i)), lost.With(int(i))
		case s.pieces.localInUse(int(i)) == nil:
			wanted = wanted.With(int(i))
		}
	}
	return wanted, lost
}

// readColumn does what readPiece does, for a reader of the file, which is likely to read the rest of the row, too.
func (s *stripes) readColumn(index int, p []byte, sums []uint32, off int64) error {
	strip, end := s.strip(), layout.PieceSize(s.layout, s.pieces.cap.Size, uint8(index))
	if s.layout.Parity() == 0 || int64(len(p)) < strip && off+int64(len(p)) < end {
		return s.readPiece(index, p, sums, off)
	}
	wanted, lost := s.wanted(off)
	if lost == 0 || !wanted.Has(index) {
		return s.readPiece(index, p, sums, off)
	}
	for done := 0; done < len(p); {
		at := off + int64(done)
		part := p[done:min(int64(len(p)), int64(done)+strip-at%strip)]
		var partSums []uint32
		if sums != nil {
			partSums = after(sums, off, done)[:checksum.Fragments(at, len(part))]
		}
		whole := at%strip == 0 && int64(len(part)) == min(strip, end-at)
		if !whole || !s.readKept(index, part, partSums, at, wanted) {
			if err := s.readPiece(index, part, partSums, at); err != nil {
				return err
			}
		}
		done += len(part)
	}
	return nil
}

// readKept reads what one piece has in a strip, by way of what is kept. It reports false after a failure, which readPiece
// knows more of.
func (s *stripes) readKept(index int, p []byte, sums []uint32, at int64, wanted layout.Set) bool {
	data, err := s.block(index, at)
	if err != nil {
		return false
	}
	copy(p, data)
	if sums != nil {
		checksum.PageSums(p, at, sums)
	}
	s.rows.Take(at, index, wanted)
	return true
}

// block returns what a piece has in the strip at an offset, and zeros behind its end: as it is, or computed. Blocks that are
// computed have numbers of their own, so that one which is computed only ever waits for some that are read.
func (s *stripes) block(index int, at int64) ([]byte, error) {
	if s.hedges.usable(false).Has(index) {
		return s.raw(index, at)
	}
	return s.rows.Block(at, hemera.PiecesMax+index, int(s.strip()), func(b []byte) error { return s.decode(index, b, at) })
}

// raw does what block does, for a piece that is read from its disk.
func (s *stripes) raw(index int, at int64) ([]byte, error) {
	return s.rows.Block(at, index, int(s.strip()), func(b []byte) error { return s.readRaw(index, b, at, false) })
}

// decode computes a block from others of its strip. It does not try again: readPiece does.
func (s *stripes) decode(index int, b []byte, at int64) error {
	code, err := s.pieces.node.Codes.Get(s.layout)
	if err != nil {
		return err
	}
	lost := layout.Set(0).With(index)
	plan, err := code.Plan(lost, s.readable(at, false)&^lost)
	if err != nil {
		return err
	}
	blocks := make([][]byte, s.layout.Pieces)
	if err := s.gatherKept(plan.Read(), blocks, at); err != nil {
		return err
	}
	blocks[index] = b[:0]
	if err := plan.Rebuild(blocks); err != nil {
		return err
	}
	s.pieces.node.Counters.Rebuilt.Add(int64(len(b)))
	return nil
}

// gatherKept has the blocks of the pieces in the set, all read at once.
func (s *stripes) gatherKept(read layout.Set, blocks [][]byte, at int64) error {
	var group errgroup.Group
	for i := range read.All() {
		group.Go(func() error {
			return s.pieces.node.Panics.Do("transfer.Read", piece.Subject(s.pieces.cap), func() (err error) {
				blocks[i], err = s.raw(i, at)
				return err
			})
		})
	}
	return group.Wait()
}
