package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"hemera/disk"
	"hemera/platform/zerocopy"
	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer/ahead"
	"hemera/transfer/piece"
	"hemera/transfer/rowcache"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Reader is one committed file, open at a node. It reads the local piece while that is good, and any other
// otherwise: its caller sees an error only when no piece can give a page.
//
// Methods may be called concurrently. No lock is held while a piece is opened or read, so a piece that is slow to open
// delays only the reads that need it.
type Reader struct {
	node   *piece.Node
	shared *Shared
	cap    *hemera.Capability // not to be changed
	permit *hemera.Permit     // for peers
	base   bool               // the content is the base of an update, which peers have to be told
	usage  piece.Usage
	calls  callCount // the pieces stay open until the last call has ended

	stripes *stripes      // of a coded layout; else nil
	ahead   *ahead.Reader // of stripes that are read for a client that may read in order; else nil

	mu       sync.Mutex // guards the fields of replicas; never held while one is opened or read
	replicas []*replica // the local ones first, then as the capability prefers
}

// replica is one piece that the file can be read from.
//
//	unopened ──▶ opening ──▶ open ──▶ bad
//	                 ╲_______________▲
type replica struct {
	target   hemera.Target
	store    disk.Store    // of a local piece, once asked for
	opening  chan struct{} // while one call opens the piece: closed when it has tried
	src      piece.Source  // once it is open; does not change then
	local    disk.Reader   // src, if the piece is on this node; else nil
	close    func() error
	bad      error // why it is not used any more
	badPages int
}

// badPagesMax is the number of bad pages of a replica after which the file is read elsewhere.
const badPagesMax = 64

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
		if !layout.Readable(c.Layout, c.Size, r.stripes.usable(true)) {
			return nil, r.tooFew(nil)
		}
		r.ahead = r.stripes.readAhead()
		r.stripes.openEarly()
	case c.Size > 0:
		if _, err := r.pick(anyPiece, nil); err != nil {
			return nil, err
		}
	}
	n.Files.Begin(&r.usage, r.cap, time.Now())
	return r, nil
}

// OpenForCopy does what Open does, for a reader that makes copies: it reads pieces in the order of the capability's targets, which spreads the reads
// over the nodes, and waits longer for them than clients do.
func OpenForCopy(n *piece.Node, shared *Shared, c *hemera.Permit) (*Reader, error) {
	r, err := Open(n, shared, c)
	if err == nil && r.stripes != nil {
		r.stripes.copies = true // before anybody reads
		for _, o := range r.replicas {
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
	r.base = true
	return r
}

// New returns a reader of what the capability says of the file, which is the permit's own or rests on it. No piece is opened before the
// first read.
func New(n *piece.Node, shared *Shared, c *hemera.Capability, permit *hemera.Permit) *Reader {
	r := &Reader{node: n, shared: shared, cap: c, permit: permit}
	if c.Layout.Coded() {
		r.stripes = &stripes{reader: r, layout: c.Layout, rows: rowcache.New(&shared.rows)}
	}
	// The manager sends a client to a node that has a piece if it can; that piece needs no network.
	for _, mine := range []bool{true, false} {
		for _, t := range c.Targets {
			if n.Local(t) == mine {
				r.replicas = append(r.replicas, &replica{target: t})
			}
		}
	}
	return r
}

// Coded reports whether the file has a coded layout.
func (r *Reader) Coded() bool { return r.stripes != nil }

// Name returns the name that errors have for the file.
func (r *Reader) Name() string { return piece.Subject(r.cap) }

// Size returns the size of the file.
func (r *Reader) Size() int64 { return r.cap.Size }

// Info describes the file.
func (r *Reader) Info() hemera.FileInfo {
	return hemera.FileInfo{
		ID: r.cap.File, Gen: r.cap.Gen, Path: r.cap.Path, Size: r.cap.Size,
		Mode: r.cap.Mode, UID: r.cap.Who.UID, GID: r.cap.Who.GID, Sums: r.cap.Sums, OnTape: r.cap.OnTape,
	}
}

// ReadPages reads verified pages, as [hemera.File] says; sums may be nil.
func (r *Reader) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	if !r.calls.Begin() {
		return 0, piece.BadHandle("transfer.Read", piece.Subject(r.cap))
	}
	defer r.calls.Done()
	if err := piece.CheckRange("transfer.Read", piece.Subject(r.cap), off, 0); err != nil {
		return 0, err
	}
	if off >= r.cap.Size {
		return 0, io.EOF
	}
	var end error
	if int64(len(p)) > r.cap.Size-off {
		p, end = p[:r.cap.Size-off], io.EOF
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

// NextData asks the piece in use where data may begin, as hemera.Sparse says.
func (r *Reader) NextData(off int64) (int64, error) {
	if !r.calls.Begin() {
		return off, piece.BadHandle("transfer.Read", piece.Subject(r.cap))
	}
	defer r.calls.Done()
	if r.stripes != nil { // holes of coded files are not looked for
		return off, nil
	}
	o, err := r.pick(anyPiece, nil)
	if err != nil {
		return off, err
	}
	return o.src.NextData(off)
}

// Allocated returns how many bytes the piece in use takes on its disk; the file's size where that is not known.
func (r *Reader) Allocated() (int64, error) {
	if !r.calls.Begin() {
		return 0, piece.BadHandle("transfer.Read", piece.Subject(r.cap))
	}
	defer r.calls.Done()
	if r.stripes != nil {
		return r.cap.Size, nil
	}
	o, err := r.pick(anyPiece, nil)
	if err != nil {
		return r.cap.Size, nil
	}
	if a, ok := o.src.(hemera.Sparse); ok {
		if n, err := a.Allocated(); err == nil {
			return n, nil
		}
	}
	return r.cap.Size, nil
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
	from, err := r.pick(anyPiece, nil)
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
		r.exclude(from, piece.SizeMismatch("transfer.Read", piece.Subject(r.cap), off+int64(n), r.cap.Size))
	case hemera.KeepsBuffers(err):
		r.exclude(from, err)
		return 0, errs.Wrap(err, "transfer.Read", piece.Subject(r.cap))
	case errs.KindOf(err) == errs.Corrupt:
		k, err := r.patch(from, p[n:], after(sums, off, n), off+int64(n), err)
		return n + k, err
	default:
		r.exclude(from, err)
	}
	return n, nil
}

// wholePages cuts a partial read back to the end of a page, or to nothing.
func wholePages(off int64, n int) int {
	end := (off + int64(n)) / hemera.PageSize * hemera.PageSize
	return int(max(end-off, 0))
}

// patch reads the part of the bad page at off that p wants from another piece, and repairs the page.
func (r *Reader) patch(bad *replica, p []byte, sums []uint32, off int64, cause error) (int, error) {
	r.node.Counters.ChecksumErrors.Add(1)
	start := off / hemera.PageSize * hemera.PageSize
	// The whole page is read, as it is also what the bad one is repaired with.
	page, err := r.readElsewhere(bad, int(min(hemera.PageSize, layout.PieceSize(r.cap.Layout, r.cap.Size, bad.target.Index)-start)), start)
	if err != nil {
		r.node.Found(bad.target, r.piece(bad), cause)
		r.node.Log.Warn("a bad page cannot be served from another piece", "path", r.cap.Path, "trace", r.cap.Trace,
			"disk", bad.target.Disk, "offset", start, "error", cause, "others", err)
		where, them := "a part of it is damaged", "it"
		if r.stripes == nil {
			where, them = fmt.Sprintf("its bytes from %d to %d are damaged", start, min(start+hemera.PageSize, r.cap.Size)), "them"
		}
		return 0, &errs.Error{Kind: errs.Corrupt, Op: "transfer.Read", Subject: piece.Subject(r.cap), Cause: errs.Unsaid(cause),
			Text: where + " on disk " + bad.target.Disk.String() + ", and no other piece can give " + them + " now", Remedy: r.remedy()}
	}
	n := copy(p, page[off-start:])
	if sums != nil {
		sums[0] = checksum.CRC32C(p[:n])
	}
	r.node.Log.Warn("bad page served from another piece", "path", r.cap.Path, "trace", r.cap.Trace,
		"disk", bad.target.Disk, "offset", start, "error", cause)
	if bad.local != nil {
		r.node.RepairPage(bad.target, r.piece(bad), page, start)
	} else {
		r.node.Found(bad.target, r.piece(bad), cause)
	}
	r.mu.Lock()
	bad.badPages++
	tooMany := bad.badPages > badPagesMax
	r.mu.Unlock()
	if tooMany {
		r.exclude(bad, cause)
	}
	return n, nil
}

// readElsewhere returns n bytes at off of the piece that a replica is, but not from that replica.
func (r *Reader) readElsewhere(bad *replica, n int, off int64) ([]byte, error) {
	if r.stripes != nil {
		p := make([]byte, n)
		return p, r.stripes.rebuild(int(bad.target.Index), p, nil, off)
	}
	except := map[*replica]bool{bad: true}
	for {
		from, err := r.pick(anyPiece, except)
		if err != nil {
			return nil, err
		}
		p := make([]byte, n) // a new one each time, as a call that is stuck may have the one before
		if err = piece.ReadFull(from.src, p, nil, off); err == nil {
			return p, nil
		}
		except[from] = true
		if errs.KindOf(err) == errs.Corrupt {
			r.node.Counters.ChecksumErrors.Add(1)
			r.node.Found(from.target, r.piece(from), err)
			continue
		}
		r.exclude(from, err)
	}
}

// anyPiece stands for the index of a piece where all are alike.
const anyPiece = -1

// is reports whether the replica is of the piece with the index.
func (o *replica) is(index int) bool { return index == anyPiece || index == int(o.target.Index) }

// pick returns the best replica of a piece that is not in the set, open. It blocks while that one is opened. A replica on a
// stalled disk of this node is used if there is no other.
func (r *Reader) pick(index int, except map[*replica]bool) (*replica, error) {
	// A replica whose opening failed is bad, so each round waits, returns or takes one away.
	for {
		best, opening, err := r.best(index, except)
		switch {
		case err != nil:
			return nil, err
		case opening != nil: // by another call
			<-opening
		case best.src != nil:
			return best, nil
		default:
			r.open(best)
		}
	}
}

// best returns the best replica of a piece that is not in the set. One that is open is better than one that another call is
// opening, which closes the channel when it has tried. If it returns neither, the caller has to open the replica.
func (r *Reader) best(index int, except map[*replica]bool) (best *replica, opening chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// In the first round disks that are known to be stalled are left out; they are better than nothing in the second.
	var last error
	var waits *replica
	for _, stalledToo := range []bool{false, true} {
		for _, o := range r.replicas {
			if !o.is(index) {
				continue
			}
			if o.bad != nil {
				last = o.bad
			}
			if except[o] || o.bad != nil || !stalledToo && r.stalled(o) {
				continue
			}
			switch {
			case o.src != nil:
				return o, nil, nil
			case o.opening == nil && waits == nil:
				o.opening = make(chan struct{})
				return o, nil, nil
			case waits == nil:
				waits = o
			}
		}
		if waits != nil {
			return waits, waits.opening, nil
		}
	}
	return nil, nil, r.tooFew(last)
}

// tooFew returns the error of a read that no piece is left for.
func (r *Reader) tooFew(cause error) error {
	text := "none of its pieces can be read now"
	if r.stripes != nil {
		text = "too few of its pieces can be read now"
	}
	return &errs.Error{Kind: errs.NoReplicas, Op: "transfer.Read", Subject: piece.Subject(r.cap), Text: text, Cause: errs.Unsaid(cause), Remedy: r.remedy()}
}

// remedy returns the advice for the user of a file that its pieces do not give.
func (r *Reader) remedy() string {
	if r.cap.OnTape {
		return "the file is on tape too, and comes back from there in a while: read it again then"
	}
	return "`hemera why " + r.cap.Path + "` says for each piece what to do; if none comes back, restore the file from elsewhere"
}

// open opens a replica whose opening the caller has begun, and records the result.
func (r *Reader) open(o *replica) {
	opened, err := r.openPiece(o.target)
	r.mu.Lock()
	if err != nil {
		o.bad = err
	} else {
		o.src, o.local, o.close = opened.src, opened.local, opened.close
	}
	close(o.opening)
	o.opening = nil
	r.mu.Unlock()
	if err == nil {
		r.usage.Disk.Store(uint32(o.target.Disk))
		return
	}
	r.node.Found(o.target, r.piece(o), err)
	r.node.Log.Warn("piece cannot be read", "path", r.cap.Path, "trace", r.cap.Trace,
		"disk", o.target.Disk, "node", o.target.Addr, "error", err)
}

// openPiece opens the piece at a target and refuses one of another size, generation or content.
func (r *Reader) openPiece(t hemera.Target) (opened replica, err error) {
	if r.node.Local(t) {
		local, err := r.node.OpenSealed(r.cap, t)
		if err != nil {
			return opened, err
		}
		return replica{src: local, local: local, close: local.Close}, nil
	}
	// The opening serves all reads of the file, so it does not end with the one that began it.
	ctx, cancel := context.WithTimeout(context.Background(), piece.CallTimeout)
	defer cancel()
	remote, err := r.node.OpenPeer(ctx, r.permit, piece.Remote{Target: t, Base: r.base})
	if err != nil {
		return opened, err
	}
	// A peer compares the footer itself. This finds a peer that has another generation under the name.
	if want := layout.PieceSize(r.cap.Layout, r.cap.Size, t.Index); remote.Size() != want {
		_ = remote.Close()
		return opened, piece.SizeMismatch("transfer.Read", piece.Subject(r.cap), remote.Size(), want)
	}
	return replica{src: remote, close: remote.Close}, nil
}

// piece names the piece that a replica is.
func (r *Reader) piece(o *replica) hemera.PieceID { return piece.ID(r.cap, o.target.Index) }

// stalled reports whether a replica is on a disk of this node that does not answer. The caller holds mu.
func (r *Reader) stalled(o *replica) bool {
	if !r.node.Local(o.target) {
		return false
	}
	if o.store == nil {
		o.store, _ = r.node.Disk(o.target.Disk)
	}
	return o.store != nil && disk.Stalled(o.store)
}

// exclude takes a replica out of use.
func (r *Reader) exclude(o *replica, why error) {
	r.mu.Lock()
	first := o.bad == nil
	if first {
		o.bad = why
	}
	r.mu.Unlock()
	if first {
		r.node.Found(o.target, r.piece(o), why)
		r.node.Counters.Switches.Add(1)
		r.node.Log.Warn("read goes on at another piece", "path", r.cap.Path, "trace", r.cap.Trace,
			"disk", o.target.Disk, "node", o.target.Addr, "error", why)
	}
}

// Lend implements [hemera.Lender].
func (r *Reader) Lend(off, n int64) hemera.Loan {
	if r.ahead == nil || !r.calls.Begin() {
		return hemera.Loan{}
	}
	defer r.calls.Done()
	loan := r.ahead.Lend(off, n)
	r.sent(int64(len(loan.Data)))
	return loan
}

// Verified offers a file for sendfile, as [disk.Reader] does, if the piece in use is local.
func (r *Reader) Verified(off, n int64) (*os.File, bool) {
	if !r.calls.Begin() {
		return nil, false
	}
	defer r.calls.Done()
	// The offsets of a coded file are not those of its pieces.
	if r.stripes != nil {
		return nil, false
	}
	if local := r.localInUse(anyPiece); local != nil {
		return local.Verified(off, n)
	}
	return nil, false
}

// Splice puts verified pages into a pipe, as [disk.Reader] does, if the piece in use is local.
func (r *Reader) Splice(pipe *zerocopy.Pipe, off, n int64) int64 {
	if !r.calls.Begin() {
		return 0
	}
	defer r.calls.Done()
	if r.stripes != nil {
		if n = r.stripes.splice(pipe, off, n); r.ahead != nil && n > 0 {
			r.ahead.Passed(off, n)
		}
	} else if local := r.localInUse(anyPiece); local != nil {
		n = local.Splice(pipe, off, n)
	} else {
		return 0
	}
	r.sent(n)
	return n
}

// sent counts bytes that go to the client.
func (r *Reader) sent(n int64) {
	r.node.Counters.ReadBytes.Add(n)
	r.usage.Bytes.Add(n)
}

// localInUse returns what a piece is read from now, if that is local. It does not wait for one that is being opened.
func (r *Reader) localInUse(index int) disk.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.replicas {
		if o.is(index) && o.bad == nil && o.src != nil && !r.stalled(o) {
			return o.local
		}
	}
	return nil
}

// localAtOnce does what localInUse does, for a piece that its disk has open, too: opening that waits for no device.
func (r *Reader) localAtOnce(index int) disk.Reader {
	if local := r.localInUse(index); local != nil {
		return local
	}
	r.mu.Lock()
	i := slices.IndexFunc(r.replicas, func(o *replica) bool {
		return o.is(index) && o.bad == nil && o.src == nil && o.opening == nil && !r.stalled(o) && disk.Holds(o.store, r.piece(o))
	})
	if i < 0 {
		r.mu.Unlock()
		return nil
	}
	r.replicas[i].opening = make(chan struct{})
	r.mu.Unlock()
	r.open(r.replicas[i])
	return r.localInUse(index)
}

// Close ends all use; it waits for calls in progress and never fails. It does not wait for reads that were hedged: what
// they use is closed when they return.
func (r *Reader) Close() {
	if !r.calls.Stop() {
		return
	}
	r.node.Files.End(&r.usage)
	fetches := false
	if r.ahead != nil {
		fetches = r.ahead.Busy()
		r.ahead.Close()
	}
	if fetches || r.stripes != nil && (r.stripes.opens.Load() || r.stripes.waits()) {
		r.node.Background(r.cap, r.closeReplicas)
		return
	}
	r.closeReplicas()
}

// closeReplicas does the second half of Close, which may run in the background: only hedged reads are still under way. It waits for the last call,
// after which nothing opens a replica, and closes what is open.
func (r *Reader) closeReplicas() {
	r.calls.Wait()
	if r.stripes != nil {
		r.stripes.rows.Close()
	}
	for _, o := range r.replicas {
		if o.close != nil {
			_ = o.close()
		}
	}
}

// after returns the part of sums that belongs to the bytes behind the first n at off, which must end at a page boundary
// unless nothing follows. It keeps nil nil.
func after(sums []uint32, off int64, n int) []uint32 {
	if sums == nil {
		return nil
	}
	return sums[checksum.Fragments(off, n):]
}
