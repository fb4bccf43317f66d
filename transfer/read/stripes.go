package read

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/platform/zerocopy"
	"hemera/rules/checksum"
	"hemera/rules/erasure"
	"hemera/rules/layout"
	"hemera/transfer/ahead"
	"hemera/transfer/piece"
	"hemera/transfer/rowcache"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// decodeStep is the number of bytes of a piece that are rebuilt at once: it bounds the memory, which is that times the
// data pieces.
const decodeStep = 256 << 10

// stripes reads a file of a coded layout: each block from the data piece that has it, and what cannot be read so from
// others, by the code. It is the part of a [Reader] that knows columns. Its lock is a leaf.
type stripes struct {
	reader *Reader
	layout hemera.Layout
	rows   *rowcache.Cache // of what is read while a data piece is lost
	copies bool            // the reader makes copies, for which no client waits
	order  []uint8         // of the pieces that copies read, the manager's, which spreads them over the nodes

	// wary: a read was hedged, or an open slow, so another read may be. From then on reads go into memory of the reader's own.
	wary atomic.Bool
	// opens: a piece is opened before a goroutine reads it.
	opens atomic.Bool

	mu   sync.Mutex
	slow [hemera.CodedPiecesMax]int // of each piece, the reads that were hedged and have not returned
}

// Content returns the content of one piece of the reader's file, as it is or rebuilt: what a copy of it is made from.
func (r *Reader) Content(index uint8) piece.Source {
	if r.stripes == nil {
		return r
	}
	return pieceContent{r.stripes, index}
}

// pieceContent is the content of one piece of a coded file.
type pieceContent struct {
	stripes *stripes
	index   uint8
}

// ReadPages implements source. off is that of the piece.
func (c pieceContent) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	r := c.stripes.reader
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
	r := s.reader
	if r.shared.Ahead.Max <= 0 {
		return nil
	}
	var here layout.Set // what is on this node
	for _, o := range r.replicas {
		if r.node.Local(o.target) {
			here = here.With(int(o.target.Index))
		}
	}
	block, data := int64(s.layout.BlockSize), int64(s.layout.Data)
	return ahead.New(ahead.File{
		Size: r.cap.Size, Block: block, Row: block * data, Fetch: s.fetch,
		Here:  func(off int64) bool { return here.Has(int(off / block % data)) },
		Begin: r.calls.Begin, Done: r.calls.Done,
	}, &r.shared.Ahead)
}

// fetch does what read does, for a goroutine that reads ahead.
func (s *stripes) fetch(p []byte, sums []uint32, off int64) error {
	return s.reader.node.Panics.Do("transfer.ReadAhead", piece.Subject(s.reader.cap), func() error { return s.read(p, sums, off) })
}

// openEarly opens the data piece of a file of one block, which its reader wants next. One of this node is waited for as long as
// the node's patience, so that the read need not wait for it in turn; one of another node comes while the client reads the answer.
func (s *stripes) openEarly() {
	r := s.reader
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
		case <-time.After(r.shared.pace.Patience()): // its disk may hang, and others may give the file
			s.wary.Store(true)
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
			return s.reader.node.Panics.Do("transfer.Read", piece.Subject(s.reader.cap), func() error { return s.readSpans(of, p, sums, off) })
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

// readPiece reads what lies within a piece, from it or rebuilt. Each round reads something or excludes a replica, so this
// ends. After a stalled read p belongs to the call that is stuck, and the error says so.
func (s *stripes) readPiece(index int, p []byte, sums []uint32, off int64) error {
	r := s.reader
	for done := 0; done < len(p); {
		rest, restSums, at := p[done:], after(sums, off, done), off+int64(done)
		// A piece that cannot be read, or is slow, is waited for only if the others are not enough.
		if !s.usable(false).Has(index) {
			if err := s.rebuild(index, rest, restSums, at); err == nil || !s.usable(true).Has(index) {
				return err
			}
		}
		a := s.careful(index, rest, restSums, at)
		from, n, err := a.from, a.n, a.err
		if n == len(rest) {
			return nil
		}
		// Bytes of a page that was read in part are read again with the page.
		if from == nil {
			if wasHedged(err) && hemera.KeepsBuffers(err) {
				return errs.Wrap(err, "transfer.Read", piece.Subject(r.cap))
			}
			continue // it is slow now, or could not be opened
		}
		n = wholePages(at, n)
		switch {
		case err == nil, errors.Is(err, io.EOF):
			r.exclude(from, piece.SizeMismatch("transfer.Read", piece.Subject(r.cap), at+int64(n), layout.PieceSize(s.layout, r.cap.Size, uint8(index))))
		case hemera.KeepsBuffers(err):
			r.exclude(from, err)
			return errs.Wrap(err, "transfer.Read", piece.Subject(r.cap))
		case errs.KindOf(err) == errs.Corrupt:
			if from.local == nil && s.instead(from, rest[n:], after(restSums, at, n), at+int64(n), err) {
				return nil
			}
			k, err := r.patch(from, rest[n:], after(restSums, at, n), at+int64(n), err)
			if err != nil {
				return err
			}
			n += k
		default:
			r.exclude(from, err)
		}
		done += n
	}
	return nil
}

// instead computes a range that a peer has refused because of a bad page somewhere in it, and reports the piece. A peer says
// not which page it is, and page by page the same range would be asked for as often as it has pages before the bad one. It
// reports false if the others are not enough for all of the range: they may be for the bad page.
func (s *stripes) instead(bad *replica, p []byte, sums []uint32, off int64, cause error) bool {
	r := s.reader
	if len(p) <= hemera.PageSize || s.rebuild(int(bad.target.Index), p, sums, off) != nil {
		return false
	}
	r.node.Counters.ChecksumErrors.Add(1)
	r.node.Found(bad.target, r.piece(bad), cause)
	r.node.Log.Warn("bad page served from another piece", "path", r.cap.Path, "trace", r.cap.Trace,
		"disk", bad.target.Disk, "offset", off, "bytes", len(p), "error", cause)
	return true
}

// rebuild computes what lies within a piece from other pieces.
func (s *stripes) rebuild(index int, p []byte, sums []uint32, off int64) error {
	code, err := s.reader.node.Codes.Get(s.layout)
	if err != nil {
		return err
	}
	// A stripe without parity cannot be read without any of its pieces. That the piece itself can be opened is no help: the
	// caller wants what it cannot give, such as a page that is bad.
	if code == nil {
		if _, err := s.reader.pick(index, nil); err != nil {
			return err
		}
		return s.reader.tooFew(errs.New(errs.Corrupt, "transfer.Read", piece.Subject(s.reader.cap), "the layout has no parity"))
	}
	// Steps are read one after the other: the reader's other columns are read at the same time.
	for done := 0; done < len(p); done += decodeStep {
		part := p[done:min(done+decodeStep, len(p))]
		if err := s.rebuildStep(code, index, part, off+int64(done)); err != nil {
			return err
		}
	}
	if sums != nil {
		checksum.PageSums(p, off, sums)
	}
	s.reader.node.Counters.Rebuilt.Add(int64(len(p)))
	return nil
}

// rebuildStep does what rebuild does, for a part that memory is taken for at once. A piece that fails is left out of the
// next round, and one that is slow as long as the others are enough, so this ends.
func (s *stripes) rebuildStep(code *erasure.Code, index int, p []byte, off int64) error {
	var failed, slow layout.Set
	want := layout.Set(0).With(index)
	for {
		patient := false
		plan, err := choosePlan(code, want, s.readable(off, false)&^failed&^slow&^want, s.order)
		if err != nil {
			patient = true
			plan, err = choosePlan(code, want, s.readable(off, true)&^failed&^want, s.order)
		}
		if err != nil {
			return s.reader.tooFew(errs.As(err, errs.NoReplicas, "transfer.Read", piece.Subject(s.reader.cap)))
		}
		blocks := make([][]byte, s.layout.Pieces)
		// The plan reads the fewest pieces: of a local code those of the group.
		bad, late := s.gather(plan.Read(), blocks, len(p), off, patient)
		if bad|late == 0 {
			blocks[index] = p[:0:len(p)]
			err = plan.Rebuild(blocks)
		}
		for i := range (plan.Read() &^ bad &^ late).All() {
			s.reader.shared.spare.Put(blocks[i])
		}
		if bad|late == 0 {
			return err
		}
		failed, slow = failed|bad, slow|late
	}
}

// readable returns the set of the pieces whose bytes from off on can be had, slow ones only if slowToo. A piece that ends
// before off is zeros from there on, whether its disk can be read or not.
func (s *stripes) readable(off int64, slowToo bool) (set layout.Set) {
	set = s.usable(slowToo)
	for i := range s.layout.Pieces {
		if !s.has(i, off) {
			set = set.With(int(i))
		}
	}
	return set
}

// has reports whether the piece has bytes at off or behind. The bytes that it has not are zeros.
func (s *stripes) has(index uint8, off int64) bool {
	return layout.PieceSize(s.layout, s.reader.cap.Size, index) > off
}

// gather reads n bytes at off of each piece in the set, all at once; what lies behind the end of a piece is zeros. It
// returns the pieces that could not be read, and those that were not waited for. Their memory may not be used again.
func (s *stripes) gather(read layout.Set, blocks [][]byte, n int, off int64, patient bool) (bad, late layout.Set) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range read.All() {
		wg.Go(func() {
			// The memory of a read that failed is not used again, as its device may still write to it.
			block := s.reader.shared.spare.Get(n)
			err := s.reader.node.Panics.Do("transfer.Read", piece.Subject(s.reader.cap), func() error { return s.readRaw(i, block, off, patient) })
			mu.Lock()
			defer mu.Unlock()
			blocks[i] = block
			switch {
			case wasHedged(err):
				late = late.With(i)
			case err != nil:
				bad = bad.With(i)
			}
		})
	}
	wg.Wait()
	return bad, late
}

// readRaw fills b with what a piece has at off, read from the piece itself. It does not rebuild anything. A patient read waits
// for a slow piece.
func (s *stripes) readRaw(index int, b []byte, off int64, patient bool) error {
	r := s.reader
	there := min(max(layout.PieceSize(s.layout, r.cap.Size, uint8(index))-off, 0), int64(len(b)))
	clear(b[there:])
	if there == 0 {
		return nil
	}
	read := s.hedged
	if patient {
		read = s.try
	}
	for {
		a := read(index, b[:there], nil, off)
		switch {
		case int64(a.n) == there:
			return nil
		case a.from == nil: // it cannot be opened, or others may be sooner
			return a.err
		case a.err == nil, errors.Is(a.err, io.EOF):
			a.err = piece.SizeMismatch("transfer.Read", piece.Subject(r.cap), off+int64(a.n), off+there)
		case errs.KindOf(a.err) == errs.Corrupt: // its other pages may be good
			r.node.Counters.ChecksumErrors.Add(1)
			r.node.Found(a.from.target, r.piece(a.from), a.err)
			return a.err
		}
		r.exclude(a.from, a.err)
		if hemera.KeepsBuffers(a.err) {
			return a.err
		}
	}
}

// splice puts verified pages of one block into a pipe, if the piece that has it is open on this node.
func (s *stripes) splice(pipe *zerocopy.Pipe, off, n int64) int64 {
	// The bytes behind the end of the block are on another disk, and left to the next call.
	span := layout.Split(s.layout, off, 1)[0]
	local := s.reader.localInUse(int(span.Column))
	if local == nil {
		return 0
	}
	block := int64(s.layout.BlockSize)
	return local.Splice(pipe, span.Off, min(n, block-off%block))
}
