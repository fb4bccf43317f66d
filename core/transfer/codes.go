package transfer

import (
	"sync"

	"hemera"
	"hemera/core/disk"
	"hemera/errs"
	"hemera/rules/checksum"
	"hemera/rules/erasure"
	"hemera/rules/layout"
)

// codes keeps the codes that a node has used: making one costs more than coding a small file. The zero value is ready.
type codes struct {
	mu    sync.Mutex
	known map[hemera.Layout]*erasure.Code
}

// codesMax bounds how many codes are kept.
const codesMax = 64

// get returns the code of a layout, nil for one without parity of its own. Invalid for a layout that is not valid.
func (c *codes) get(l hemera.Layout) (*erasure.Code, error) {
	// Blocks of all sizes have the same code, as it works on each byte by itself.
	l.BlockSize = hemera.BlockSizeDefault
	c.mu.Lock()
	code, ok := c.known[l]
	c.mu.Unlock()
	if ok {
		return code, nil
	}
	// Two callers may make the same code at once; either is kept.
	code, err := layout.Code(l)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "transfer.Open", l.String())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= codesMax {
		c.known = map[hemera.Layout]*erasure.Code{}
	}
	c.known[l] = code
	return code, nil
}

// cut returns what each piece of a content has that is in memory as a whole.
func (y *parity) cut(data []byte) ([]disk.Content, error) {
	l, size := y.layout, int64(len(data))
	pieces := make([]disk.Content, l.Pieces)
	for i := range pieces {
		pieces[i].Data = make([]byte, layout.PieceSize(l, size, uint8(i)))
	}
	for _, span := range layout.Split(l, 0, len(data)) {
		copy(pieces[span.Column].Data[span.Off:], data[span.At:span.At+span.Len])
	}
	// Row by row, as the last one is shorter in the pieces and as long as its longest block for the code.
	block := int64(l.BlockSize)
	for start := int64(0); y.code != nil && start < int64(len(pieces[0].Data)); start += block {
		if err := y.encodeRow(pieces, start, min(block, int64(len(pieces[0].Data))-start)); err != nil {
			return nil, err
		}
	}
	// The sums that the content came with are of pages of the file; data pages keep theirs, but parity has none.
	for i := range pieces {
		pieces[i].Sums = make([]uint32, checksum.Fragments(0, len(pieces[i].Data)))
		checksum.PageSums(pieces[i].Data, 0, pieces[i].Sums)
	}
	return pieces, nil
}

// encodeRow computes n bytes of the parity at an offset of the pieces.
func (y *parity) encodeRow(pieces []disk.Content, off, n int64) error {
	blocks := make([][]byte, len(pieces))
	// All blocks of a row have one length for the code.
	for i := range blocks {
		have := pieces[i].Data[min(off, int64(len(pieces[i].Data))):min(off+n, int64(len(pieces[i].Data)))]
		if blocks[i] = have; int64(len(have)) < n { // the zeros that sizes imply
			blocks[i] = append(make([]byte, 0, n), have...)[:n]
		}
	}
	if err := y.code.Encode(blocks); err != nil {
		return err
	}
	// A local parity may be shorter than a global one.
	for i := int(y.layout.Data); i < len(pieces); i++ {
		copy(pieces[i].Data[min(off, int64(len(pieces[i].Data))):], blocks[i])
	}
	return nil
}
