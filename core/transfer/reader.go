package transfer

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"hemera"
	"hemera/core/disk"
	"hemera/errs"
	"hemera/platform/zerocopy"
	"hemera/rules/checksum"
)

// Reader is one committed file, open at a node. It reads the local piece while that is good, and
// any other otherwise: its caller sees an error only when no piece can give a page.
//
// Methods may be called concurrently.
type Reader struct {
	host   *Host
	cap    *hemera.Capability // not to be changed
	permit *hemera.Permit     // for peers
	base   bool               // the content is the base of an update, which peers have to be told

	use    sync.RWMutex // held shared by reads, exclusively by Close
	closed bool

	usage   usage
	mu      sync.Mutex // guards the origins
	origins []*origin  // the local ones first, then as the capability prefers
}

// origin is one piece the file can be read from.
type origin struct {
	target   hemera.Target
	src      source // nil: not open yet
	local    disk.Reader
	store    disk.Store // of a local piece, once asked for
	close    func() error
	bad      error // why it is not used any more
	badPages int
}

// badPagesMax is how many bad pages an origin may have before the file is read elsewhere.
const badPagesMax = 64

// OpenReader opens the file that the capability permits to read. NoReplicas when no piece can be
// opened. An empty file has no piece and always opens.
func (h *Host) OpenReader(c *hemera.Permit) (*Reader, error) {
	r := h.newReader(&c.Capability, c)
	if c.Size > 0 {
		if _, err := r.pick(nil); err != nil {
			return nil, err
		}
	}
	h.uses.begin(&r.usage, r.cap, time.Now())
	return r, nil
}

// newReader reads what the capability says of the file, which is the permit's own or rests on it.
func (h *Host) newReader(c *hemera.Capability, permit *hemera.Permit) *Reader {
	r := &Reader{host: h, cap: c, permit: permit}
	for _, mine := range []bool{true, false} {
		for _, t := range c.Targets {
			if h.local(t) == mine {
				r.origins = append(r.origins, &origin{target: t})
			}
		}
	}
	return r
}

// Info describes the file.
func (r *Reader) Info() hemera.FileInfo {
	return hemera.FileInfo{
		ID: r.cap.File, Gen: r.cap.Gen, Path: r.cap.Path, Size: r.cap.Size,
		Mode: r.cap.Mode, UID: r.cap.Who.UID, GID: r.cap.Who.GID, Sums: r.cap.Sums,
	}
}

// ReadPages reads verified pages, as [hemera.File] says; sums may be nil.
func (r *Reader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	r.use.RLock()
	defer r.use.RUnlock()
	if r.closed {
		return 0, badHandle("transfer.Read", subject(r.cap))
	}
	if err := checkRange("transfer.Read", subject(r.cap), off, 0); err != nil {
		return 0, err
	}
	if off >= r.cap.Size {
		return 0, io.EOF
	}
	var end error
	if int64(len(p)) > r.cap.Size-off {
		p, end = p[:r.cap.Size-off], io.EOF
	}
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

// readSome reads what the best origin can give now: all of p, or what comes before a bad page and
// that page from elsewhere. With a nil error something was read or an origin was ruled out.
func (r *Reader) readSome(p []byte, sums []uint32, off int64) (int, error) {
	o, err := r.pick(nil)
	if err != nil {
		return 0, err
	}
	n, err := o.src.ReadPages(p, sums, off)
	if n == len(p) {
		return n, nil
	}
	n = wholePages(off, n)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		r.rule(o, sizeMismatch("transfer.Read", subject(r.cap), off+int64(n), r.cap.Size))
	case errs.KindOf(err) == errs.Corrupt:
		k, err := r.patch(o, p[n:], after(sums, off, n), off+int64(n), err)
		return n + k, err
	default:
		r.rule(o, err)
	}
	return n, nil
}

// wholePages cuts a partial read back to the end of a page, or to nothing.
func wholePages(off int64, n int) int {
	end := (off + int64(n)) / hemera.PageSize * hemera.PageSize
	return int(max(end-off, 0))
}

// patch reads the part of the bad page at off that p wants from another piece, and repairs the page.
func (r *Reader) patch(o *origin, p []byte, sums []uint32, off int64, cause error) (int, error) {
	r.host.Counters.ChecksumErrors.Add(1)
	start := off / hemera.PageSize * hemera.PageSize
	page := make([]byte, min(hemera.PageSize, r.cap.Size-start))
	if err := r.readElsewhere(o, page, start); err != nil {
		r.host.found(o.target, r.piece(o), cause)
		return 0, &errs.Error{Kind: errs.Corrupt, Op: "transfer.Read", Subject: subject(r.cap),
			Text: "no other piece has the bad page", Cause: cause, Remedy: "`hemera file check` lists the pieces and their state"}
	}
	n := copy(p, page[off-start:])
	if sums != nil {
		sums[0] = checksum.CRC32C(p[:n])
	}
	r.host.Log.Warn("bad page served from another piece", "path", r.cap.Path, "trace", r.cap.Trace,
		"disk", o.target.Disk, "offset", start, "err", cause)
	if o.local != nil {
		r.host.repairPage(o.target, r.piece(o), page, start)
	} else {
		r.host.found(o.target, r.piece(o), cause)
	}
	r.mu.Lock()
	o.badPages++
	tooMany := o.badPages > badPagesMax
	r.mu.Unlock()
	if tooMany {
		r.rule(o, cause)
	}
	return n, nil
}

// readElsewhere fills p from any origin but the one given.
func (r *Reader) readElsewhere(not *origin, p []byte, off int64) error {
	tried := map[*origin]bool{not: true}
	for {
		o, err := r.pick(tried)
		if err != nil {
			return err
		}
		if err = readFull(o.src, p, nil, off); err == nil {
			return nil
		}
		tried[o] = true
		if errs.KindOf(err) == errs.Corrupt {
			r.host.Counters.ChecksumErrors.Add(1)
			r.host.found(o.target, r.piece(o), err)
			continue
		}
		r.rule(o, err)
	}
}

// pick returns the best origin that is not in the set, open. One on a disk of this node that hangs is for
// when there is no other.
func (r *Reader) pick(not map[*origin]bool) (*origin, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last error
	for _, patient := range []bool{false, true} {
		for _, o := range r.origins {
			if o.bad != nil {
				last = o.bad
			}
			if not[o] || o.bad != nil || !patient && r.hangs(o) {
				continue
			}
			if o.src != nil {
				return o, nil
			}
			if err := r.open(o); err != nil {
				o.bad, last = err, err
				r.host.found(o.target, r.piece(o), err)
				r.host.Log.Warn("piece cannot be read", "path", r.cap.Path, "trace", r.cap.Trace,
					"disk", o.target.Disk, "node", o.target.Addr, "err", err)
				continue
			}
			return o, nil
		}
	}
	return nil, &errs.Error{Kind: errs.NoReplicas, Op: "transfer.Read", Subject: subject(r.cap),
		Text: "no piece can be read", Cause: last, Remedy: "`hemera file check` lists the pieces and their state"}
}

// piece is the one at an origin.
func (r *Reader) piece(o *origin) hemera.PieceID { return pieceID(r.cap, o.target.Index) }

// hangs reports whether an origin is on a disk of this node that does not answer. It is called with mu held.
func (r *Reader) hangs(o *origin) bool {
	if !r.host.local(o.target) {
		return false
	}
	if o.store == nil {
		o.store, _ = r.host.Disk(o.target.Disk)
	}
	return hangs(o.store)
}

// rule takes an origin out of use.
func (r *Reader) rule(o *origin, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.bad == nil {
		o.bad = why
		r.host.found(o.target, r.piece(o), why)
		r.host.Counters.Switches.Add(1)
		r.host.Log.Warn("read goes on at another piece", "path", r.cap.Path, "trace", r.cap.Trace,
			"disk", o.target.Disk, "node", o.target.Addr, "err", why)
	}
}

func (h *Host) openPeer(ctx context.Context, permit *hemera.Permit, p RemotePiece) (PeerReader, error) {
	token, err := permit.Token()
	if err != nil {
		return nil, err
	}
	return h.Peers.Open(ctx, p, token)
}

// open opens an origin's piece and refuses one of another size, generation or content.
func (r *Reader) open(o *origin) error {
	if !r.host.local(o.target) {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		remote, err := r.host.openPeer(ctx, r.permit, RemotePiece{o.target, r.base})
		if err != nil {
			return err
		}
		if remote.Size() != r.cap.Size {
			_ = remote.Close()
			return sizeMismatch("transfer.Read", subject(r.cap), remote.Size(), r.cap.Size)
		}
		o.src, o.close = remote, remote.Close
		r.usage.disk.Store(uint32(o.target.Disk))
		return nil
	}
	local, err := r.host.openPiece(r.cap, o.target)
	if err != nil {
		return err
	}
	o.src, o.local, o.close = local, local, local.Close
	r.usage.disk.Store(uint32(o.target.Disk))
	return nil
}

// Verified offers a file for sendfile, as [disk.Reader] does, when the piece in use is local.
func (r *Reader) Verified(off, n int64) (*os.File, bool) {
	r.use.RLock()
	defer r.use.RUnlock()
	if local := r.inUse(); local != nil {
		return local.Verified(off, n)
	}
	return nil, false
}

// Splice puts verified pages into a pipe, as [disk.Reader] does, when the piece in use is local.
func (r *Reader) Splice(pipe *zerocopy.Pipe, off, n int64) int64 {
	r.use.RLock()
	defer r.use.RUnlock()
	if local := r.inUse(); local != nil {
		n = local.Splice(pipe, off, n)
		r.sent(n)
		return n
	}
	return 0
}

// sent counts bytes that go to the client.
func (r *Reader) sent(n int64) {
	r.host.Counters.ReadBytes.Add(n)
	r.usage.bytes.Add(n)
}

// inUse is the piece that is read, if it is local and the file open. It is called with use held.
func (r *Reader) inUse() disk.Reader {
	if r.closed {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.origins {
		if o.bad == nil && o.src != nil && !r.hangs(o) {
			return o.local
		}
	}
	return nil
}

// Close ends all use; it waits for reads in progress and never fails.
func (r *Reader) Close() {
	r.use.Lock()
	defer r.use.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	r.host.uses.end(&r.usage)
	for _, o := range r.origins {
		if o.close != nil {
			_ = o.close()
		}
	}
}
