package proof

import (
	"encoding/binary"
	"fmt"
	"slices"

	"hemera/rules/checksum"
	"hemera/rules/erasure"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Provable reports whether the checksums of a content can be told from those of its blocks.
func Provable(kinds []hemera.ChecksumKind) bool {
	return !slices.ContainsFunc(kinds, func(k hemera.ChecksumKind) bool {
		return k != hemera.CRC32C && k != hemera.Adler32 && k != hemera.ChecksumNone
	})
}

// Check compares the sums of all pieces of one content. It is used by one goroutine.
type Check struct {
	layout hemera.Layout
	code   *erasure.Code // nil without parity
	size   int64         // of the file
	have   layout.Set    // pieces that are sealed
	off    int64         // of the part that comes next, in the pieces

	crc   checksum.Appender // of the content so far
	adler uint32
	done  int64 // bytes of the content so far
}

// NewCheck begins the proof of a content of size bytes that has these sealed pieces. Invalid for a layout that is not coded, or
// if a data piece that has bytes is not among them: the checksums of the content could not be told.
func NewCheck(l hemera.Layout, size int64, pieces layout.Set) (*Check, error) {
	const op = "proof.NewCheck"
	if !l.Coded() || size <= 0 {
		return nil, errs.New(errs.Invalid, op, "", fmt.Sprintf("%d bytes of layout %s are not written directly", size, l))
	}
	code, err := layout.Code(l)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, op, "")
	}
	c := &Check{layout: l, code: code, size: size, have: pieces, adler: 1}
	for i := range l.Pieces {
		switch stored := layout.Stored(l, size, i); {
		case stored && i < l.Data && !pieces.Has(int(i)):
			return nil, errs.New(errs.Invalid, op, "", fmt.Sprintf("data piece %d is missing", i)).WithRemedy("write the file through its head node")
		case !stored: // all zeros, which have a sketch of zeros
			c.have = c.have.With(int(i))
		}
	}
	return c, nil
}

// Next returns the part to ask all pieces for; false when all were taken.
func (c *Check) Next() (off, length int64, ok bool) {
	longest := layout.PieceSize(c.layout, c.size, 0)
	return c.off, PartUnits * Unit(c.layout), c.off < longest
}

// Take compares the sums of the part that [Check.Next] named. proofs has a place for each piece. Corrupt if they do not agree,
// or are not those of as many bytes.
func (c *Check) Take(proofs []hemera.PieceProof) error {
	off, length, _ := c.Next()
	end := min(off+length, layout.PieceSize(c.layout, c.size, 0))
	if c.code != nil {
		for unit := 0; off+int64(unit)*Unit(c.layout) < end; unit++ {
			if err := c.unit(proofs, unit); err != nil {
				return err
			}
		}
	}
	if err := c.blocks(proofs, off, end); err != nil {
		return err
	}
	c.off = end
	return nil
}

// unit compares the sketches of one unit.
func (c *Check) unit(proofs []hemera.PieceProof, unit int) error {
	sketches := make([]erasure.Sketch, c.layout.Pieces)
	for i := range sketches {
		if !c.have.Has(i) || !layout.Stored(c.layout, c.size, uint8(i)) {
			continue
		}
		if unit >= len(proofs[i].Sketches) {
			return disagree(fmt.Sprintf("piece %d has fewer sums than bytes", i))
		}
		sketches[i] = proofs[i].Sketches[unit]
	}
	agree, err := c.code.Agrees(sketches, c.have)
	if err == nil && !agree {
		err = disagree(fmt.Sprintf("parity and data differ within the unit at %d of the pieces", c.off+int64(unit)*Unit(c.layout)))
	}
	return err
}

// blocks adds the blocks of a part of the data pieces to the checksums, in the order of the file.
func (c *Check) blocks(proofs []hemera.PieceProof, off, end int64) error {
	block := int64(c.layout.BlockSize)
	for row := 0; off+int64(row)*block < end; row++ {
		for column := range c.layout.Data {
			n := min(block, c.size-c.done)
			if n == 0 {
				return nil
			}
			if row >= len(proofs[column].Blocks) {
				return disagree(fmt.Sprintf("piece %d has fewer sums than blocks", column))
			}
			sums := proofs[column].Blocks[row]
			c.crc.Append(sums.CRC32C, n)
			c.adler = checksum.CombineAdler32(c.adler, sums.Adler32, n)
			c.done += n
		}
	}
	return nil
}

// End compares the checksums of the content with those that were claimed: all must be proved. Corrupt if one is
// another, Invalid for a kind that cannot be proved, or without any.
func (c *Check) End(claimed []hemera.Checksum) error {
	if len(claimed) == 0 {
		return errs.New(errs.Invalid, "proof.End", "", "no checksum was claimed")
	}
	for _, want := range claimed {
		got := hemera.Checksum{Kind: want.Kind}
		switch want.Kind {
		case hemera.CRC32C:
			binary.BigEndian.PutUint32(got.Value[:], c.crc.Sum())
		case hemera.Adler32:
			binary.BigEndian.PutUint32(got.Value[:], c.adler)
		default:
			return errs.New(errs.Invalid, "proof.End", "", want.Kind.String()+" cannot be told from the sums of pieces")
		}
		if got != want {
			return disagree(fmt.Sprintf("the pieces have %s, and %s was claimed", got, want))
		}
	}
	return nil
}

// disagree returns the error of pieces that are not of one content.
func disagree(why string) error {
	return errs.New(errs.Corrupt, "proof.Check", "", "the pieces do not agree: "+why)
}
