package read

import (
	"errors"
	"io"
	"os"
	"time"

	"hemera/platform/zerocopy"
	"hemera/rules/layout"
	"hemera/transfer/ahead"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Reader is one committed file, open at a node. It reads the local piece while that is good, and any other
// otherwise: its caller sees an error only when no piece can give a page.
//
// Methods may be called concurrently. No lock is held while a piece is opened or read, so a piece that is slow to open
// delays only the reads that need it.
type Reader struct {
	pieces  replicas
	stripes *stripes      // of a coded layout; else nil
	ahead   *ahead.Reader // of stripes that are read for a client that may read in order; else nil
}

// Open opens the file that the capability permits to read. NoReplicas when no piece can be
// opened. An empty file has no piece and always opens.
func Open(n *piece.Node, shared *Shared, c *hemera.Permit) (*Reader, error) {
	r := New(n, shared, &c.Capability, c)
	// The first piece is opened here, so that an open fails at once if nothing can be read, and the client asks the
	// manager for what it knows by now.
	// Pieces of a coded file are opened when they are read: which ones are needed depends on where, and a disk that hangs
	// must not delay the others.
	switch {
	case r.stripes != nil:
		if !layout.Readable(c.Layout, c.Size, r.stripes.hedges.usable(true)) {
			return nil, r.pieces.tooFew(nil)
		}
		r.ahead = r.stripes.readAhead()
		r.stripes.openEarly()
	case c.Size > 0:
		if _, err := r.pieces.pick(anyPiece, nil); err != nil {
			return nil, err
		}
	}
	n.Files.Begin(&r.pieces.usage, r.pieces.cap, time.Now())
	return r, nil
}

// OpenForCopy does what Open does, for a reader that makes copies: it reads pieces in the order of the capability's targets, which spreads the reads
// over the nodes, and waits longer for them than clients do.
func OpenForCopy(n *piece.Node, shared *Shared, c *hemera.Permit) (*Reader, error) {
	r, err := Open(n, shared, c)
	if err == nil && r.stripes != nil {
		r.stripes.hedges.copies = true // before anybody reads
		for _, o := range r.pieces.list {
			r.stripes.order = append(r.stripes.order, o.target.Index)
		}
	}
	return r, err
}

// Base returns a reader of the content that an update begins from, which other nodes open by the permit of the update: it names the
// pieces as those of the base. No piece is opened before the first read.
func Base(n *piece.Node, shared *Shared, permit *hemera.Permit) *Reader {
	base := permit.Capability
	base.Gen, base.Size, base.Targets = base.Base.Gen, base.Base.Size, base.Base.Pieces
	r := New(n, shared, &base, permit)
	r.pieces.base = true
	return r
}

// New returns a reader of what the capability says of the file, which is the permit's own or rests on it. No piece is opened before the
// first read.
func New(n *piece.Node, shared *Shared, c *hemera.Capability, permit *hemera.Permit) *Reader {
	r := &Reader{pieces: replicas{node: n, cap: c, permit: permit}}
	if c.Layout.Coded() {
		r.stripes = newStripes(&r.pieces, shared)
	}
	// The manager sends a client to a node that has a piece if it can; that piece needs no network.
	for _, mine := range []bool{true, false} {
		for _, t := range c.Targets {
			if n.Local(t) == mine {
				r.pieces.list = append(r.pieces.list, &replica{target: t})
			}
		}
	}
	return r
}

// Coded reports whether the file has a coded layout.
func (r *Reader) Coded() bool { return r.stripes != nil }

// Name returns the name that errors have for the file.
func (r *Reader) Name() string { return piece.Subject(r.pieces.cap) }

// Size returns the size of the file.
func (r *Reader) Size() int64 { return r.pieces.cap.Size }

// Info describes the file.
func (r *Reader) Info() hemera.FileInfo {
	return hemera.FileInfo{
		ID: r.pieces.cap.File, Gen: r.pieces.cap.Gen, Path: r.pieces.cap.Path, Size: r.pieces.cap.Size,
		Mode: r.pieces.cap.Mode, UID: r.pieces.cap.Who.UID, GID: r.pieces.cap.Who.GID, Sums: r.pieces.cap.Sums, OnTape: r.pieces.cap.OnTape,
	}
}

// ReadPages reads verified pages, as [hemera.File] says; sums may be nil.
func (r *Reader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if !r.pieces.calls.Begin() {
		return 0, piece.BadHandle("transfer.Read", piece.Subject(r.pieces.cap))
	}
	defer r.pieces.calls.Done()
	if err := piece.CheckRange("transfer.Read", piece.Subject(r.pieces.cap), off, 0); err != nil {
		return 0, err
	}
	if off >= r.pieces.cap.Size {
		return 0, io.EOF
	}
	var end error
	if int64(len(p)) > r.pieces.cap.Size-off {
		p, end = p[:r.pieces.cap.Size-off], io.EOF
	}
	if r.stripes != nil {
		if err := r.readStripes(p, sums, off); err != nil {
			return 0, err
		}
		r.sent(int64(len(p)))
		return len(p), end
	}
	// Each round reads something or excludes a replica, so this ends.
	for done := 0; done < len(p); {
		n, err := r.readSome(p[done:], after(sums, off, done), off+int64(done))
		done += n
		if err != nil {
			return done, err
		}
	}
	r.sent(int64(len(p)))
	return len(p), end
}

// Content returns the content of one piece of the reader's file, as it is or rebuilt: what a copy of it is made from.
func (r *Reader) Content(index uint8) piece.Source {
	if r.stripes == nil {
		return r
	}
	return pieceContent{r.stripes, index}
}

// NextData asks the piece in use where data may begin, as hemera.Sparse says.
func (r *Reader) NextData(off int64) (int64, error) {
	if !r.pieces.calls.Begin() {
		return off, piece.BadHandle("transfer.Read", piece.Subject(r.pieces.cap))
	}
	defer r.pieces.calls.Done()
	if r.stripes != nil { // holes of coded files are not looked for
		return off, nil
	}
	o, err := r.pieces.pick(anyPiece, nil)
	if err != nil {
		return off, err
	}
	return o.src.NextData(off)
}

// Allocated returns how many bytes the piece in use takes on its disk; the file's size where that is not known.
func (r *Reader) Allocated() (int64, error) {
	if !r.pieces.calls.Begin() {
		return 0, piece.BadHandle("transfer.Read", piece.Subject(r.pieces.cap))
	}
	defer r.pieces.calls.Done()
	if r.stripes != nil {
		return r.pieces.cap.Size, nil
	}
	o, err := r.pieces.pick(anyPiece, nil)
	if err != nil {
		return r.pieces.cap.Size, nil
	}
	if a, ok := o.src.(hemera.Sparse); ok {
		if n, err := a.Allocated(); err == nil {
			return n, nil
		}
	}
	return r.pieces.cap.Size, nil
}

// readStripes reads what lies within a coded file.
func (r *Reader) readStripes(p []byte, sums []uint32, off int64) error {
	if r.ahead != nil {
		return r.ahead.ReadPages(p, sums, off)
	}
	return r.stripes.read(p, sums, off)
}

// readSome reads what the best replica can give now: all of p, or what comes before a bad page and that page from
// elsewhere. With a nil error something was read or a replica was excluded. If a device does not answer, p belongs to
// the call that is stuck: the replica is excluded and the error says so, and the next read goes elsewhere.
func (r *Reader) readSome(p []byte, sums []uint32, off int64) (int, error) {
	from, err := r.pieces.pick(anyPiece, nil)
	if err != nil {
		return 0, err
	}
	n, err := from.src.ReadPages(p, sums, off)
	if n == len(p) {
		return n, nil
	}
	// A page that was read in part cannot be compared with its checksum.
	n = wholePages(off, n)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		r.pieces.exclude(from, piece.SizeMismatch("transfer.Read", piece.Subject(r.pieces.cap), off+int64(n), r.pieces.cap.Size))
	case hemera.KeepsBuffers(err):
		r.pieces.exclude(from, err)
		return 0, errs.Wrap(err, "transfer.Read", piece.Subject(r.pieces.cap))
	case errs.KindOf(err) == errs.Corrupt:
		elsewhere := func(n int, off int64) ([]byte, error) { return r.pieces.readElsewhere(from, n, off) }
		k, err := r.pieces.patch(badPage{from, off + int64(n), err}, p[n:], after(sums, off, n), elsewhere)
		return n + k, err
	default:
		r.pieces.exclude(from, err)
	}
	return n, nil
}

// Lend implements [hemera.Lender].
func (r *Reader) Lend(off, n int64) hemera.Loan {
	if r.ahead == nil || !r.pieces.calls.Begin() {
		return hemera.Loan{}
	}
	defer r.pieces.calls.Done()
	loan := r.ahead.Lend(off, n)
	r.sent(int64(len(loan.Data)))
	return loan
}

// Verified offers a file for sendfile, as [disk.Reader] does, if the piece in use is local.
func (r *Reader) Verified(off, n int64) (*os.File, bool) {
	if !r.pieces.calls.Begin() {
		return nil, false
	}
	defer r.pieces.calls.Done()
	// The offsets of a coded file are not those of its pieces.
	if r.stripes != nil {
		return nil, false
	}
	if local := r.pieces.localInUse(anyPiece); local != nil {
		return local.Verified(off, n)
	}
	return nil, false
}

// Splice puts verified pages into a pipe, as [disk.Reader] does, if the piece in use is local.
func (r *Reader) Splice(pipe *zerocopy.Pipe, off, n int64) int64 {
	if !r.pieces.calls.Begin() {
		return 0
	}
	defer r.pieces.calls.Done()
	if r.stripes != nil {
		if n = r.stripes.splice(pipe, off, n); r.ahead != nil && n > 0 {
			r.ahead.Passed(off, n)
		}
	} else if local := r.pieces.localInUse(anyPiece); local != nil {
		n = local.Splice(pipe, off, n)
	} else {
		return 0
	}
	r.sent(n)
	return n
}

// sent counts bytes that go to the client.
func (r *Reader) sent(n int64) {
	r.pieces.node.Counters.ReadBytes.Add(n)
	r.pieces.usage.Bytes.Add(n)
}

// Close ends all use; it waits for calls in progress and never fails. It does not wait for reads that were hedged: what
// they use is closed when they return.
func (r *Reader) Close() {
	if !r.pieces.calls.Stop() {
		return
	}
	r.pieces.node.Files.End(&r.pieces.usage)
	fetches := false
	if r.ahead != nil {
		fetches = r.ahead.Busy()
		r.ahead.Close()
	}
	if fetches || r.stripes != nil && (r.stripes.opens.Load() || r.stripes.hedges.waits()) {
		r.pieces.node.Background(r.pieces.cap, r.closeReplicas)
		return
	}
	r.closeReplicas()
}

// closeReplicas does the second half of Close, which may run in the background: only hedged reads are still under way. It waits for the last call,
// after which nothing opens a replica, and closes what is open.
func (r *Reader) closeReplicas() {
	r.pieces.calls.Wait()
	if r.stripes != nil {
		r.stripes.rows.Close()
	}
	r.pieces.close()
}
