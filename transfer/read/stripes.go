package read

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"hemera/rules/checksum"
	"hemera/rules/erasure"
	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/transfer/rowcache"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// decodeStep is the number of bytes of a piece that are rebuilt at once: it bounds the memory, which is that times the
// data pieces.
const decodeStep = 256 << 10

// stripes reads a file of a coded layout: each block from the data piece that has it, and what cannot be read so from others, by the
// code. It is the part of a [Reader] that knows columns.
type stripes struct {
	pieces *replicas
	shared *Shared
	layout hemera.Layout
	hedges hedger
	rows   *rowcache.Cache // of what is read while a data piece is lost
	order  []uint8         // of the pieces that copies read, the manager's, which spreads them over the nodes
	opens  atomic.Bool     // a piece is opened before a goroutine reads it
}

// newStripes makes the columns of a file that is open.
func newStripes(pieces *replicas, shared *Shared) *stripes {
	l := pieces.cap.Layout
	return &stripes{pieces: pieces, shared: shared, layout: l, hedges: hedger{pieces: pieces, shared: shared, layout: l}, rows: rowcache.New(&shared.rows)}
}

// readPiece reads what lies within a piece, from it or rebuilt. Each round reads something or excludes a replica, so this
// ends. After a stalled read p belongs to the call that is stuck, and the error says so.
func (s *stripes) readPiece(index int, p []byte, sums []uint32, off int64) error {
	r := s.pieces
	for done := 0; done < len(p); {
		rest, restSums, at := p[done:], after(sums, off, done), off+int64(done)
		// A piece that cannot be read, or is slow, is waited for only if the others are not enough.
		if !s.hedges.usable(false).Has(index) {
			if err := s.rebuild(index, rest, restSums, at); err == nil || !s.hedges.usable(true).Has(index) {
				return err
			}
		}
		a := s.hedges.careful(index, rest, restSums, at)
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
			k, err := r.patch(badPage{from, at + int64(n), err}, rest[n:], after(restSums, at, n), func(n int, off int64) ([]byte, error) {
				page := make([]byte, n)
				return page, s.rebuild(index, page, nil, off)
			})
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
	r := s.pieces
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
	code, err := s.pieces.node.Codes.Get(s.layout)
	if err != nil {
		return err
	}
	// A stripe without parity cannot be read without any of its pieces. That the piece itself can be opened is no help: the
	// caller wants what it cannot give, such as a page that is bad.
	if code == nil {
		if _, err := s.pieces.pick(index, nil); err != nil {
			return err
		}
		return s.pieces.tooFew(errs.New(errs.Corrupt, "transfer.Read", piece.Subject(s.pieces.cap), "the layout has no parity"))
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
	s.pieces.node.Counters.Rebuilt.Add(int64(len(p)))
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
			return s.pieces.tooFew(errs.As(err, errs.NoReplicas, "transfer.Read", piece.Subject(s.pieces.cap)))
		}
		blocks := make([][]byte, s.layout.Pieces)
		// The plan reads the fewest pieces: of a local code those of the group.
		bad, late := s.gather(plan.Read(), blocks, len(p), off, patient)
		if bad|late == 0 {
			blocks[index] = p[:0:len(p)]
			err = plan.Rebuild(blocks)
		}
		for i := range (plan.Read() &^ bad &^ late).All() {
			s.shared.spare.Put(blocks[i])
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
	set = s.hedges.usable(slowToo)
	for i := range s.layout.Pieces {
		if !s.has(i, off) {
			set = set.With(int(i))
		}
	}
	return set
}

// has reports whether the piece has bytes at off or behind. The bytes that it has not are zeros.
func (s *stripes) has(index uint8, off int64) bool {
	return layout.PieceSize(s.layout, s.pieces.cap.Size, index) > off
}

// gather reads n bytes at off of each piece in the set, all at once; what lies behind the end of a piece is zeros. It
// returns the pieces that could not be read, and those that were not waited for. Their memory may not be used again.
func (s *stripes) gather(read layout.Set, blocks [][]byte, n int, off int64, patient bool) (bad, late layout.Set) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range read.All() {
		wg.Go(func() {
			// The memory of a read that failed is not used again, as its device may still write to it.
			block := s.shared.spare.Get(n)
			err := s.pieces.node.Panics.Do("transfer.Read", piece.Subject(s.pieces.cap), func() error { return s.readRaw(i, block, off, patient) })
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
	r := s.pieces
	there := min(max(layout.PieceSize(s.layout, r.cap.Size, uint8(index))-off, 0), int64(len(b)))
	clear(b[there:])
	if there == 0 {
		return nil
	}
	read := s.hedges.hedged
	if patient {
		read = s.hedges.try
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
