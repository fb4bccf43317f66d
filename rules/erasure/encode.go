package erasure

import (
	"crypto/subtle"
	"fmt"

	"hemera/words/errs"
)

// Encode computes the parity blocks from the data blocks. blocks has one block of each piece, all of the same length
// above zero. It does not change the data blocks. If the blocks do not fit, it fails with Invalid and changes nothing.
func (c *Code) Encode(blocks [][]byte) error {
	const op = "erasure.Encode"
	if err := c.check(op, blocks, Range(0, c.pieces)); err != nil {
		return err
	}
	return errs.As(c.parity.apply(blocks), errs.Internal, op, "")
}

// Update changes parity blocks after a change of one data block, from before to after, of the data piece with the index.
// It needs no other data block. If only a part of a block changes, the caller passes that part of all blocks.
//
// parity has a block of each parity piece. Blocks that are nil or empty are skipped, so that a node can update only its
// own parity. An empty before or after counts as zeros: a file that grows had zeros there. If the blocks do not fit,
// Update fails with Invalid and changes nothing.
func (c *Code) Update(parity [][]byte, index int, before, after []byte) error {
	const op = "erasure.Update"
	length := max(len(before), len(after))
	if length == 0 || len(before) != 0 && len(after) != 0 && len(before) != len(after) {
		return errs.New(errs.Invalid, op, "", fmt.Sprintf("a block of %d bytes became one of %d", len(before), len(after)))
	}
	if err := c.checkChange(op, parity, index, length); err != nil {
		return err
	}
	s := acquireScratch(deltaSize)
	defer s.release()
	for from := 0; from < length; from += deltaSize {
		to := min(from+deltaSize, length)
		delta := difference(s.buffer, before, after, from, to)
		for i, p := range parity {
			if v := c.rows[c.data+i][index]; v != 0 && len(p) != 0 {
				low.GalMulSliceXor(v, delta, p[from:to])
			}
		}
	}
	return nil
}

// Begin fills parity blocks for a row with one data block, of the piece with the index, and zeros elsewhere. It
// overwrites the old content of the parity blocks: unlike [Code.Update], it needs no zeros to begin with.
//
// parity has a block of each parity piece. Blocks that are nil or empty are skipped. If the blocks do not fit, Begin
// fails with Invalid and changes nothing.
func (c *Code) Begin(parity [][]byte, index int, block []byte) error {
	const op = "erasure.Begin"
	if len(block) == 0 {
		return errs.New(errs.Invalid, op, "", "a block has no bytes")
	}
	if err := c.checkChange(op, parity, index, len(block)); err != nil {
		return err
	}
	for from := 0; from < len(block); from += deltaSize {
		to := min(from+deltaSize, len(block))
		for i, p := range parity {
			switch v := c.rows[c.data+i][index]; {
			case len(p) == 0:
			case v == 0:
				clear(p[from:to])
			default:
				low.GalMulSlice(v, block[from:to], p[from:to])
			}
		}
	}
	return nil
}

// checkChange returns Invalid unless parity has the blocks for a change of length bytes of a data piece.
func (c *Code) checkChange(op string, parity [][]byte, index, length int) error {
	switch {
	case index < 0 || index >= c.data:
		return errs.New(errs.Invalid, op, fmt.Sprint(index), "this is not a data piece")
	case len(parity) != c.pieces-c.data:
		return errs.New(errs.Invalid, op, "", fmt.Sprintf("there are %d parity blocks for %d parity pieces", len(parity), c.pieces-c.data))
	}
	for i, p := range parity {
		if len(p) != 0 && len(p) != length {
			return errs.New(errs.Invalid, op, fmt.Sprint(c.data+i), fmt.Sprintf("the parity block has %d bytes, the data %d", len(p), length))
		}
	}
	return nil
}

// difference returns what a change added to a block between from and to. It uses the buffer if it has to compute it.
func difference(buffer, before, after []byte, from, to int) []byte {
	switch {
	case len(before) == 0:
		return after[from:to]
	case len(after) == 0:
		return before[from:to]
	}
	return buffer[:subtle.XORBytes(buffer, before[from:to], after[from:to])]
}

// check returns Invalid unless there is one block for each piece, and those that are needed have one length above zero.
func (c *Code) check(op string, blocks [][]byte, needed Set) error {
	if len(blocks) != c.pieces {
		return errs.New(errs.Invalid, op, "", fmt.Sprintf("there are %d blocks for %d pieces", len(blocks), c.pieces))
	}
	length := -1
	for i := range needed.All() {
		if length < 0 {
			length = len(blocks[i])
		}
		if len(blocks[i]) != length || length == 0 {
			return errs.New(errs.Invalid, op, fmt.Sprint(i), fmt.Sprintf("the block has %d bytes; all have the same length, above zero", len(blocks[i])))
		}
	}
	return nil
}
