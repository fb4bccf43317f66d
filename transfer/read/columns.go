package read

import (
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/platform/zerocopy"
	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer/ahead"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// A read of a coded file goes to the columns that have its bytes, several at once. readColumn reads of one of them.

// pieceContent is the content of one piece of a coded file.
type pieceContent struct {
	stripes *stripes
	index   uint8
}

// ReadPages implements source. off is that of the piece.
func (c pieceContent) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	r := c.stripes.pieces
	if !r.calls.Begin() {
		return 0, piece.BadHandle("transfer.Read", piece.Subject(r.cap))
	}
	defer r.calls.Done()
	size := layout.PieceSize(c.stripes.layout, r.cap.Size, c.index)
	if off >= size {
		return 0, io.EOF
	}
	var end error
	if int64(len(p)) > size-off {
		p, end = p[:size-off], io.EOF
	}
	if err := c.stripes.readPiece(int(c.index), p, sums, off); err != nil {
		return 0, err
	}
	return len(p), end
}

// NextData implements source: holes are not looked for.
func (c pieceContent) NextData(off int64) (int64, error) { return off, nil }

// readAhead returns what reads ahead of a caller, nil where the node does not.
func (s *stripes) readAhead() *ahead.Reader {
	r := s.pieces
	if s.shared.Ahead.Max <= 0 {
		return nil
	}
	var here layout.Set // what is on this node
	for _, o := range r.list {
		if r.node.Local(o.target) {
			here = here.With(int(o.target.Index))
		}
	}
	block, data := int64(s.layout.BlockSize), int64(s.layout.Data)
	return ahead.New(ahead.File{
		Size: r.cap.Size, Block: block, Row: block * data, Fetch: s.fetch,
		Here:  func(off int64) bool { return here.Has(int(off / block % data)) },
		Begin: r.calls.Begin, Done: r.calls.Done,
	}, &s.shared.Ahead)
}

// fetch does what read does, for a goroutine that reads ahead.
func (s *stripes) fetch(p []byte, sums []uint32, off int64) error {
	return s.pieces.node.Panics.Do("transfer.ReadAhead", piece.Subject(s.pieces.cap), func() error { return s.read(p, sums, off) })
}

// openEarly opens the data piece of a file of one block, which its reader wants next. One of this node is waited for as long as
// the node's patience, so that the read need not wait for it in turn; one of another node comes while the client reads the answer.
func (s *stripes) openEarly() {
	r := s.pieces
	if r.cap.Size == 0 || r.cap.Size > int64(s.layout.BlockSize) || r.localAtOnce(0) != nil || !r.calls.Begin() {
		return
	}
	s.opens.Store(true)
	opened := make(chan struct{})
	r.node.Background(r.cap, func() {
		defer func() {
			s.opens.Store(false)
			close(opened)
			r.calls.Done()
		}()
		_, _ = r.pick(0, nil) // a read meets the error again
	})
	if slices.ContainsFunc(r.cap.Targets, func(t hemera.Target) bool { return t.Index == 0 && r.node.Local(t) }) {
		select {
		case <-opened:
		case <-time.After(s.shared.pace.Patience()): // its disk may hang, and others may give the file
			s.hedges.wary.Store(true)
		}
	}
}

// read reads what lies within the file, from several pieces at once. After an error p has anything.
func (s *stripes) read(p []byte, sums []uint32, off int64) error {
	// Most small reads are within a block.
	if block := int64(s.layout.BlockSize); block > 0 && off/block == (off+int64(len(p))-1)/block {
		number := off / block
		at := number/int64(s.layout.Data)*block + off%block
		return s.readColumn(int(number%int64(s.layout.Data)), p, sums, at)
	}
	spans := layout.Split(s.layout, off, len(p))
	columns := map[uint8][]layout.Span{}
	for _, span := range spans {
		columns[span.Column] = append(columns[span.Column], span)
	}
	if len(columns) == 1 {
		return s.readSpans(spans, p, sums, off)
	}
	// As many goroutines as columns, at most the data pieces of the layout. They end with the call.
	var group errgroup.Group
	for _, of := range columns {
		group.Go(func() error {
			return s.pieces.node.Panics.Do("transfer.Read", piece.Subject(s.pieces.cap), func() error { return s.readSpans(of, p, sums, off) })
		})
	}
	return group.Wait()
}

// readSpans reads spans of one column into their places in p, which is at off in the file.
func (s *stripes) readSpans(spans []layout.Span, p []byte, sums []uint32, off int64) error {
	for _, span := range spans {
		var part []uint32
		if sums != nil {
			first := checksum.Fragments(off, span.At)
			part = sums[first : first+checksum.Fragments(off+int64(span.At), span.Len)]
		}
		if err := s.readColumn(int(span.Column), p[span.At:span.At+span.Len], part, span.Off); err != nil {
			return err
		}
	}
	return nil
}

// splice puts verified pages of one block into a pipe, if the piece that has it is open on this node.
func (s *stripes) splice(pipe *zerocopy.Pipe, off, n int64) int64 {
	// The bytes behind the end of the block are on another disk, and left to the next call.
	span := layout.Split(s.layout, off, 1)[0]
	local := s.pieces.localInUse(int(span.Column))
	if local == nil {
		return 0
	}
	block := int64(s.layout.BlockSize)
	return local.Splice(pipe, span.Off, min(n, block-off%block))
}
