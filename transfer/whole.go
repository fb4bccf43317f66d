package transfer

import (
	"hemera/disk"
	"hemera/rules/checksum"
	"hemera/rules/layout"
)

// cut returns what each piece of a content has that is in memory as a whole.
func (y *codedPieces) cut(data []byte) ([]disk.Content, error) {
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
func (y *codedPieces) encodeRow(pieces []disk.Content, off, n int64) error {
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
