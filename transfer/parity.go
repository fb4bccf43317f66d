package transfer

import (
	"cmp"
	"slices"

	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/words/hemera"
)

const (
	// parityRowsMax is the number of rows whose parity a write keeps, before it sends that of the oldest.
	parityRowsMax = 8
	// parityStep is the number of bytes of parity that are sent at once: as many as connections send at once.
	parityStep = 512 << 10
)

// rowBytes returns the number of bytes of the file in a row.
func (y *codedPieces) rowBytes() int64 { return int64(y.layout.Data) * int64(y.layout.BlockSize) }

// change brings the parity in line with the bytes b, which are about to be written at off, in these spans. It reads pieces only where
// something is overwritten, or a row was sent before.
func (y *codedPieces) change(spans []layout.Span, b []byte, off int64) error {
	if err := y.replaced(spans, off, b); err != nil {
		return err
	}
	y.written.Add(off, off+int64(len(b)))
	return nil
}

// replaced changes the parity of spans of what is at off, which are those of b from now on, or zeros if b is nil.
func (y *codedPieces) replaced(spans []layout.Span, off int64, b []byte) error {
	if y.code == nil {
		return nil
	}
	// All is read before anything changes: a column that is lost is computed from parity and data, which agree until then.
	before := make([][]byte, len(spans))
	for i, span := range spans {
		var err error
		if before[i], err = y.before(off+int64(span.At), span.Len); err != nil {
			return err
		}
	}
	for i, span := range spans {
		var after []byte
		if b != nil {
			after = b[span.At : span.At+span.Len]
		}
		if err := y.update(span, before[i], after); err != nil {
			return err
		}
	}
	return nil
}

// update changes the parity of one span. Nil is zeros.
func (y *codedPieces) update(span layout.Span, before, after []byte) error {
	if before == nil && after == nil {
		return nil
	}
	block := int64(y.layout.BlockSize)
	row := y.row(span.Off / block)
	from := span.Off % block
	to := from + int64(span.Len)
	if err := y.readRow(row, from, to); err != nil {
		return err
	}
	parts := make([][]byte, len(row.Blocks))
	for i, b := range row.Blocks {
		if b != nil {
			parts[i] = b[from:to]
		}
	}
	// Most rows are written once, from their begin: then no block is cleared, and none is read for its first data.
	begin := before == nil && row.IsNew(from, to)
	row.Touch(from, to, begin)
	if begin {
		return y.code.Begin(parts, int(span.Column), after)
	}
	return y.code.Update(parts, int(span.Column), before, after)
}

// before returns n bytes of the content at off, nil if they are zeros that were never written.
func (y *codedPieces) before(off int64, n int) ([]byte, error) {
	if !y.written.Touches(off, off+int64(n)) {
		return nil, nil
	}
	for {
		b, lost := make([]byte, n), y.pieces.lost
		_, err := y.read(b, nil, off)
		// The piece that is stuck is lost, and the next read goes elsewhere. If none was lost, the write has failed before, for a
		// piece that is stuck: each round loses a piece or ends.
		if !hemera.KeepsBuffers(err) || y.pieces.lost == lost {
			return b, err
		}
	}
}

// row returns the parity of the row with the number: from memory, or without any change. What its pieces have of it is read by readRow.
func (y *codedPieces) row(number int64) *parityRow {
	y.turns++
	if row, ok := y.rows[number]; ok {
		row.Used = y.turns
		return row
	}
	// The parity of a row that was not written is zeros, which need not be read.
	row := &parityRow{Number: number, Blocks: make([][]byte, y.layout.Parity()), Used: y.turns}
	row.Sent = y.written.Touches(number*y.rowBytes(), (number+1)*y.rowBytes())
	for i := range row.Blocks {
		if !y.gone(int(y.layout.Data) + i) {
			row.Blocks[i] = y.pieces.head.writes.parity.Get(int(y.layout.BlockSize))
		}
	}
	y.rows[number] = row
	return row
}

// readRow reads parity of a row that was sent back, for a change of the range. A change of a few bytes reads a few pages.
func (y *codedPieces) readRow(row *parityRow, from, to int64) error {
	for _, part := range row.Lacks(from, to, int64(y.layout.BlockSize)) {
		if err := y.readParity(row, part[0], part[1]); err != nil {
			return err
		}
		row.HasRead(part)
	}
	return nil
}

// readParity fills a range of the blocks with what the pieces have. It fails when too few pieces are left.
func (y *codedPieces) readParity(row *parityRow, from, to int64) error {
	for i, b := range row.Blocks {
		if b == nil {
			continue
		}
		index := int(y.layout.Data) + i
		// A piece that was lost since is not asked: it would be computed, and all rows be sent for that.
		if y.gone(index) || y.readPiece(index, b[from:to], row.Number*int64(y.layout.BlockSize)+from) != nil {
			row.Blocks[i] = nil // its piece is lost now; the block may belong to a call that is stuck
			y.pieces.head.writes.parity.Lose(int64(y.layout.BlockSize))
			if err := y.pieces.writable("transfer.Write"); err != nil {
				return err
			}
		}
	}
	return nil
}

// due returns the rows whose parity is to be sent with the next write: those that are full, the oldest where there are
// too many, and all of them where the node's memory for parity is used up.
func (y *codedPieces) due() (rows []*parityRow) {
	short := y.pieces.head.writes.parity.Short()
	for _, row := range y.rows {
		// A full row seldom changes again; another may, and would be read back for it.
		start := row.Number * y.rowBytes()
		oldest := len(y.rows) > parityRowsMax && row.Used+parityRowsMax <= y.turns
		if short || oldest || y.written.Covers(start, start+y.rowBytes()) {
			rows = append(rows, row)
		}
	}
	return inOrder(rows)
}

// inOrder sorts rows by number, so that disks write forwards and few ranges are kept apart for the seal.
func inOrder(rows []*parityRow) []*parityRow {
	slices.SortFunc(rows, func(a, b *parityRow) int { return cmp.Compare(a.Number, b.Number) })
	return rows
}

// forget releases rows: their parity was sent, or is not needed any more. Their memory is used again unless a call that is
// stuck may read it.
func (y *codedPieces) forget(rows []*parityRow, stuck bool) {
	for _, row := range rows {
		delete(y.rows, row.Number)
		for _, b := range row.Blocks {
			if b != nil {
				y.pieces.head.writes.parity.Put(b, !stuck)
			}
		}
	}
}

// all lists all rows that are in memory.
func (y *codedPieces) all() (rows []*parityRow) {
	for _, row := range y.rows {
		rows = append(rows, row)
	}
	return inOrder(rows)
}

// shrink brings the parity in line with a content that is about to be cut to size bytes.
func (y *codedPieces) shrink(size int64) error {
	// Rows behind the new end are gone, and so is their parity: the pieces are cut after this.
	last := size / y.rowBytes()
	var beyond []*parityRow
	for _, row := range y.rows {
		if row.Number > last || row.Number == last && size%y.rowBytes() == 0 {
			beyond = append(beyond, row)
		}
	}
	y.forget(beyond, false)
	end := (last + 1) * y.rowBytes()
	if size%y.rowBytes() != 0 {
		// In one step, up to the last byte that was written: what lies between is zeros, and stays so.
		if parts := y.written.Within(size, end); len(parts) > 0 {
			if err := y.replaced(layout.Split(y.layout, size, int(parts[len(parts)-1].To-size)), size, nil); err != nil {
				return err
			}
		}
	}
	y.written.Cut(size)
	return nil
}

// sendRows sends a parity piece the parts of its blocks that were changed.
func (y *codedPieces) sendRows(pc *headPiece, rows []*parityRow) error {
	var sums [parityStep/hemera.PageSize + 1]uint32
	for _, row := range rows {
		block := row.Blocks[pc.target.Index-y.layout.Data]
		start := row.Number * int64(y.layout.BlockSize)
		// From a page's begin, as row.From is, so that the piece need not put a checksum together.
		for from := row.From; from < row.To && block != nil; {
			b := block[from:min(row.To, from+parityStep)]
			n := checksum.PageSums(b, from, sums[:])
			if err := pc.writePages(b, sums[:n], start+from); err != nil {
				return err
			}
			from += int64(len(b))
		}
	}
	return nil
}
