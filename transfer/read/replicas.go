package read

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"hemera/disk"
	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// replicas are the pieces of one file that is open, and their states. They say which piece is read, and report those that are bad.
type replicas struct {
	node   *piece.Node
	cap    *hemera.Capability // not to be changed
	permit *hemera.Permit     // for peers
	base   bool               // the content is the base of an update, which peers have to be told
	usage  piece.Usage
	calls  callCount // the pieces stay open until the last call has ended

	mu   sync.Mutex // guards the fields of the replicas; never held while one is opened or read
	list []*replica // the local ones first, then as the capability prefers
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

// wholePages cuts a partial read back to the end of a page, or to nothing.
func wholePages(off int64, n int) int {
	end := (off + int64(n)) / hemera.PageSize * hemera.PageSize
	return int(max(end-off, 0))
}

// badPage is the page at off of a replica that is bad.
type badPage struct {
	of    *replica
	off   int64
	cause error
}

// patch reads the part of a bad page that p wants from other pieces, by elsewhere, and repairs the page.
func (r *replicas) patch(at badPage, p []byte, sums []uint32, elsewhere func(n int, off int64) ([]byte, error)) (int, error) {
	bad, off, cause := at.of, at.off, at.cause
	r.node.Counters.ChecksumErrors.Add(1)
	start := off / hemera.PageSize * hemera.PageSize
	// The whole page is read, as it is also what the bad one is repaired with.
	page, err := elsewhere(int(min(hemera.PageSize, layout.PieceSize(r.cap.Layout, r.cap.Size, bad.target.Index)-start)), start)
	if err != nil {
		r.node.Found(bad.target, r.piece(bad), cause)
		r.node.Log.Warn("a bad page cannot be served from another piece", "path", r.cap.Path, "trace", r.cap.Trace,
			"disk", bad.target.Disk, "offset", start, "error", cause, "others", err)
		where, them := "a part of it is damaged", "it"
		if !r.cap.Layout.Coded() {
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

// readElsewhere returns n bytes at off of a file whose pieces are all alike, but not from the bad one.
func (r *replicas) readElsewhere(bad *replica, n int, off int64) ([]byte, error) {
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

// usable returns the set of the pieces that are not known to be bad.
func (r *replicas) usable() (set layout.Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.list {
		if o.bad == nil {
			set = set.With(int(o.target.Index))
		}
	}
	return set
}

// pick returns the best replica of a piece that is not in the set, open. It blocks while that one is opened. A replica on a
// stalled disk of this node is used if there is no other.
func (r *replicas) pick(index int, except map[*replica]bool) (*replica, error) {
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
func (r *replicas) best(index int, except map[*replica]bool) (best *replica, opening chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// In the first round disks that are known to be stalled are left out; they are better than nothing in the second.
	var last error
	var waits *replica
	for _, stalledToo := range []bool{false, true} {
		for _, o := range r.list {
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
func (r *replicas) tooFew(cause error) error {
	text := "none of its pieces can be read now"
	if r.cap.Layout.Coded() {
		text = "too few of its pieces can be read now"
	}
	return &errs.Error{Kind: errs.NoReplicas, Op: "transfer.Read", Subject: piece.Subject(r.cap), Text: text, Cause: errs.Unsaid(cause), Remedy: r.remedy()}
}

// remedy returns the advice for the user of a file that its pieces do not give.
func (r *replicas) remedy() string {
	if r.cap.OnTape {
		return "the file is on tape too, and comes back from there in a while: read it again then"
	}
	return "`hemera why " + r.cap.Path + "` says for each piece what to do; if none comes back, restore the file from elsewhere"
}

// open opens a replica whose opening the caller has begun, and records the result.
func (r *replicas) open(o *replica) {
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
func (r *replicas) openPiece(t hemera.Target) (opened replica, err error) {
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
func (r *replicas) piece(o *replica) hemera.PieceID { return piece.ID(r.cap, o.target.Index) }

// stalled reports whether a replica is on a disk of this node that does not answer. The caller holds mu.
func (r *replicas) stalled(o *replica) bool {
	if !r.node.Local(o.target) {
		return false
	}
	if o.store == nil {
		o.store, _ = r.node.Disk(o.target.Disk)
	}
	return o.store != nil && disk.Stalled(o.store)
}

// exclude takes a replica out of use.
func (r *replicas) exclude(o *replica, why error) {
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

// localInUse returns what a piece is read from now, if that is local. It does not wait for one that is being opened.
func (r *replicas) localInUse(index int) disk.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.list {
		if o.is(index) && o.bad == nil && o.src != nil && !r.stalled(o) {
			return o.local
		}
	}
	return nil
}

// localAtOnce does what localInUse does, for a piece that its disk has open, too: opening that waits for no device.
func (r *replicas) localAtOnce(index int) disk.Reader {
	if local := r.localInUse(index); local != nil {
		return local
	}
	r.mu.Lock()
	i := slices.IndexFunc(r.list, func(o *replica) bool {
		return o.is(index) && o.bad == nil && o.src == nil && o.opening == nil && !r.stalled(o) && disk.Holds(o.store, r.piece(o))
	})
	if i < 0 {
		r.mu.Unlock()
		return nil
	}
	r.list[i].opening = make(chan struct{})
	r.mu.Unlock()
	r.open(r.list[i])
	return r.localInUse(index)
}

// after returns the part of sums that belongs to the bytes behind the first n at off, which must end at a page boundary
// unless nothing follows. It keeps nil nil.
func after(sums []uint32, off int64, n int) []uint32 {
	if sums == nil {
		return nil
	}
	return sums[checksum.Fragments(off, n):]
}

// close closes the pieces that are open. No call is in progress, and none begins.
func (r *replicas) close() {
	for _, o := range r.list {
		if o.close != nil {
			_ = o.close()
		}
	}
}
