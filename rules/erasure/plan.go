package erasure

import (
	"fmt"

	"hemera/words/errs"
)

// Readable reports whether the whole file can be read from these pieces. The answer is exact: it computes the rank of
// their rows.
func (c *Code) Readable(have Set) bool {
	have &= Range(0, c.pieces)
	switch data := Range(0, c.data); {
	case have&data == data:
		return true
	case have.Len() < c.data:
		return false
	}
	var b basis
	c.span(&b, have)
	return b.rank == c.data
}

// Sources returns a set of pieces to read to rebuild the lost one, as few as possible: the others of its group if they
// are all present, else at most as many as there are data pieces. ok is false if the pieces are not enough. No smaller
// set is enough, except in a few cases where coefficients happen to cancel, with two or more groups and more than two
// global parities.
//
// If several sets are possible, Sources chooses the pieces with the lowest indices, which are data. A caller that prefers
// others first passes a smaller have. The lost piece counts as lost even if have contains it.
//
// A piece may have sources even if the file cannot be read: a group rebuilds its own piece independently of the others.
func (c *Code) Sources(lost int, have Set) (read Set, ok bool) {
	if lost < 0 || lost >= c.pieces {
		return 0, false
	}
	have = have.Without(lost) & Range(0, c.pieces)
	for _, sum := range c.sums {
		if others := sum.Without(lost); sum.Has(lost) && have&others == others {
			return others, true
		}
	}
	var b basis
	c.span(&b, have)
	_, read, ok = b.express(&c.rows[lost])
	return read, ok
}

// Plan describes how to compute some pieces from others. It is immutable and safe for concurrent use. One plan serves all
// rows of a file, and all files that lost the same pieces.
type Plan struct {
	code       *Code
	read, want Set
	product    *product
}

// Plan returns a plan to rebuild the wanted pieces from the present ones. Wanted pieces count as lost. It fails with
// NoReplicas if the pieces are not enough, and with Invalid if want is empty or names a piece that the code does not
// have.
func (c *Code) Plan(want, have Set) (*Plan, error) {
	const op = "erasure.Plan"
	all := Range(0, c.pieces)
	if want == 0 || want&^all != 0 {
		return nil, errs.New(errs.Invalid, op, want.String(), fmt.Sprintf("the file has %d pieces", c.pieces))
	}
	have = have & all &^ want
	// The union of the sources of each piece is enough for all of them, and seldom more than they need together.
	var sources Set
	for i := range want.All() {
		read, ok := c.Sources(i, have)
		if !ok {
			return nil, errs.New(errs.NoReplicas, op, fmt.Sprint(i), "the piece cannot be rebuilt from "+have.String())
		}
		sources |= read
	}
	var b basis
	c.span(&b, sources)
	p := &Plan{code: c, want: want}
	var rows []row
	for i := range want.All() {
		coefficients, read, _ := b.express(&c.rows[i]) // its sources are in the basis
		rows = append(rows, coefficients)
		p.read |= read
	}
	matrix := make([][]byte, len(rows))
	for r := range rows {
		for i := range p.read.All() {
			matrix[r] = append(matrix[r], rows[r][i])
		}
	}
	var err error
	if p.product, err = newProduct(matrix, p.read.Len()); err != nil {
		return nil, errs.As(err, errs.Internal, op, "")
	}
	return p, nil
}

// Read returns the pieces that the plan reads.
func (p *Plan) Read() Set { return p.read }

// Want returns the pieces that the plan rebuilds.
func (p *Plan) Want() Set { return p.want }

// Rebuild computes the wanted blocks. blocks has a place for each piece of the code. Those of [Plan.Read] have one length
// above zero; others are ignored. A wanted block is put into the capacity of the slice in its place, whatever its length
// was, or into new memory if that is too small. If the blocks do not fit, Rebuild fails with Invalid and changes nothing.
func (p *Plan) Rebuild(blocks [][]byte) error {
	const op = "erasure.Rebuild"
	if err := p.code.check(op, blocks, p.read); err != nil {
		return err
	}
	s := acquireScratch(0)
	defer s.release()
	views := s.views[:0]
	for i := range p.read.All() {
		views = append(views, blocks[i])
	}
	length := len(views[0])
	for i := range p.want.All() {
		if cap(blocks[i]) < length {
			blocks[i] = make([]byte, length)
		}
		blocks[i] = blocks[i][:length]
		views = append(views, blocks[i])
	}
	return errs.As(p.product.apply(views), errs.Internal, op, "")
}

// Rebuild computes the wanted blocks from the present ones: a block that is nil or empty is not present. Wanted blocks
// that are present stay as they are. [Plan.Rebuild] says where new blocks are put. A caller with more than one row to
// rebuild makes a [Plan].
//
// Rebuild fails with NoReplicas if the present blocks are not enough, and with Invalid if they do not fit the code.
func (c *Code) Rebuild(blocks [][]byte, want Set) error {
	if len(blocks) != c.pieces {
		return c.check("erasure.Rebuild", blocks, 0)
	}
	var have Set
	for i, b := range blocks {
		if len(b) != 0 {
			have = have.With(i)
		}
	}
	if want &^= have; want == 0 {
		return nil
	}
	p, err := c.Plan(want, have)
	if err != nil {
		return errs.Wrap(err, "erasure.Rebuild", "")
	}
	return p.Rebuild(blocks)
}
