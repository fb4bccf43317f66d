package proof

import (
	"errors"
	"fmt"
	"io"

	"hemera/rules/checksum"
	"hemera/rules/erasure"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// unitMin is the least number of bytes that one sketch is of.
	unitMin = 1 << 20
	// PartUnits is the number of units in a request, so that a node answers within seconds from any disk.
	PartUnits = 32
)

// Unit returns the number of bytes of each piece in one sketch: whole blocks.
func Unit(l hemera.Layout) int64 {
	block := int64(l.BlockSize)
	return block * max(1, unitMin/block)
}

// Pages reads verified pages of a sealed piece, as [hemera.Handle] does.
type Pages interface {
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
}

// Of returns the sums of the part of a piece that the request asks for. It reads that part once, a unit at a time. Invalid for
// a part that is not of units, or longer than a request may be; else it fails as the reads do.
func Of(src Pages, l hemera.Layout, index uint8, q hemera.ProofRequest) (hemera.PieceProof, error) {
	const op = "proof.Of"
	if !l.Coded() || q.Off < 0 || q.Off%Unit(l) != 0 || q.Length <= 0 || q.Length > PartUnits*Unit(l) {
		return hemera.PieceProof{}, errs.New(errs.Invalid, op, "", fmt.Sprintf("%d bytes at %d are no units of layout %s", q.Length, q.Off, l))
	}
	t := taker{layout: l, index: index, size: q.Seal.FileSize}
	if l.Pieces > l.Data {
		var err error
		if t.sketcher, err = erasure.NewSketcher(q.Key); err != nil {
			return hemera.PieceProof{}, err
		}
	}
	// Piece 0 is the longest: what it has, others have, or zeros.
	longest := layout.PieceSize(l, t.size, 0)
	buf := make([]byte, min(Unit(l), max(0, longest-q.Off)))
	sums := make([]uint32, checksum.Fragments(0, len(buf)))
	for end := min(longest, q.Off+q.Length); q.Off < end; q.Off += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), end-q.Off)]
		if err := t.take(src, buf, sums, q.Off); err != nil {
			return hemera.PieceProof{}, err
		}
	}
	return t.proof, nil
}

// taker computes the sums of a piece, unit by unit.
type taker struct {
	layout   hemera.Layout
	index    uint8
	size     int64             // of the file
	sketcher *erasure.Sketcher // nil without parity
	proof    hemera.PieceProof
}

// take adds the sums of the unit at off.
func (t *taker) take(src Pages, buf []byte, sums []uint32, off int64) error {
	have := min(int64(len(buf)), max(0, layout.PieceSize(t.layout, t.size, t.index)-off))
	if have > 0 {
		// A read of the rest of a piece may say that it is the end.
		if n, err := src.ReadPages(buf[:have], sums, off); int64(n) < have || err != nil && !errors.Is(err, io.EOF) {
			return errs.Wrap(err, "proof.Of", "")
		}
	}
	clear(buf[have:])
	if _, isData := layout.Column(t.layout, t.index); isData {
		t.blocks(buf[:have], sums)
	}
	if t.sketcher == nil {
		return nil
	}
	sketch, err := t.sketcher.Sketch(buf)
	t.proof.Sketches = append(t.proof.Sketches, sketch)
	return err
}

// blocks adds the sums of the blocks in p, whose pages have the sums.
func (t *taker) blocks(p []byte, sums []uint32) {
	for len(p) > 0 {
		block := p[:min(len(p), int(t.layout.BlockSize))]
		// The CRC of a block costs no pass over it: it is put together from those of its pages, which were compared.
		var crc checksum.Appender
		pages := checksum.Fragments(0, len(block))
		for i, sum := range sums[:pages] {
			crc.Append(sum, int64(min(hemera.PageSize, len(block)-i*hemera.PageSize)))
		}
		t.proof.Blocks = append(t.proof.Blocks, hemera.BlockSums{CRC32C: crc.Sum(), Adler32: checksum.UpdateAdler32(1, block)})
		p, sums = p[len(block):], sums[pages:]
	}
}
