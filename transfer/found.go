package transfer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"hemera/disk"
	"hemera/transfer/filesum"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A head tells a client that its bytes are durable, and then it ends: by a kill, or with its machine. The disk has the
// bytes and their checksums as of the sync, and the node has a record of the write, which the sync made before it was acknowledged. So the
// next process finds the write, and keeps it for a person, unless the end came in the close: its client has heard of the lost connection, and may have written
// elsewhere since. It finds copies on its own disks. One is enough: the others are made from it at the commit. A
// coded write has one piece at most at its head; of that nothing is found (docs/formats/kept.md).
//
// Nothing removes what was found but a person and the end of its time: a commit that fails, for whatever reason, leaves it.

// errNothingFound says that no disk of the node has anything of a write.
var errNothingFound = errors.New("no disk has what was synced of it")

// find takes over what local disks have of the write. It fails if they have nothing, with errNothingFound if every disk was asked. The caller has the
// turn, or nobody else has the Writer.
func (w *Writer) find() error {
	h := &w.head
	if h.cap.Layout.Coded() {
		return errs.New(errs.Unsupported, "transfer.Restore", piece.Subject(h.cap), "a coded write ends with its head")
	}
	p, f := newPieces(h), &found{}
	if w.found != nil {
		f.lost = w.found.lost
	}
	p.again = true
	size, away := int64(-1), error(nil)
	for i, pc := range p.list {
		if slices.Contains(f.lost, pc.target.Disk) {
			pc.began = true
			p.ledger.Fail(i)
			continue
		}
		if !h.node.Local(pc.target) {
			continue // made from what is here
		}
		store, err := h.node.Store(pc.target)
		if err == nil {
			size, err = p.find(i, store, f, size)
		}
		if err != nil && errs.KindOf(err) != errs.NotFound || store == nil {
			away = err
		}
	}
	if size < 0 {
		if away == nil {
			away = errNothingFound
		}
		return away
	}
	// A footer has the content of the close. Pieces as of the sync are made again from it.
	for i := range p.list {
		if f.footer != nil && p.ledger.Is(i, ledger.Live) {
			p.plan(i)
		}
	}
	sums, err := filesum.New(h.cap.Checksums)
	if err != nil {
		return errs.As(err, errs.Invalid, "transfer.Restore", piece.Subject(h.cap))
	}
	w.content, w.found, w.sums, w.changed, w.least = p, f, sums, true, size
	w.left.ends = true
	w.usage.Bytes.Store(size)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.size, w.state.left, w.state.found = size, true, f.footer == nil
	return nil
}

// find takes over a piece on a disk of this node. It returns the size of the content, which is size if other pieces have it already.
func (p *pieces) find(i int, store disk.Store, f *found, size int64) (int64, error) {
	h, pc := p.head, p.list[i]
	local, stat, err := h.node.FindLocal(store, h.cap, pc.target)
	if err != nil {
		return size, err
	}
	pc.out, pc.local, pc.found = local, local, true
	if stat != nil {
		p.ledger.Sealed(i)
		f.sealed = stat.Sealed
		f.footer = &hemera.SealInfo{FileSize: stat.FileSize, Checksums: stat.Checksums, Sync: h.cap.Sync}
		return stat.FileSize, nil
	}
	pc.began = true
	pc.sent.Forget()
	p.ledger.Began(i)
	if size >= 0 && (f.footer != nil || local.Size() != size) { // the end came between their syncs
		p.plan(i)
		return size, nil
	}
	return local.Size(), nil
}

// plan has a piece be made again from others, over what is there of it.
func (p *pieces) plan(i int) {
	pc := p.list[i]
	if pc.local != nil {
		pc.local.Leave()
	}
	p.list[i] = &headPiece{target: pc.target}
	p.ledger.Fail(i)
	p.ledger.Replaced(i)
}

// proveFound compares what was found with its checksums, before it is sealed. Of several copies the ones count that match best. It returns
// how many pages of those do not match: the client wrote over them after the sync.
func (p *pieces) proveFound() (unproved int64, err error) {
	best := int64(-1)
	pages := make([]int64, len(p.list))
	var failure error
	for i, pc := range p.list {
		if !p.ledger.Is(i, ledger.Live) {
			continue
		}
		if pages[i], err = disk.ProveAll(pc.local.Writer); err != nil {
			failure = err
			p.plan(i)
		} else if best < 0 || pages[i] < best {
			best = pages[i]
		}
	}
	if best < 0 {
		return 0, cmp.Or(failure, errNothingFound)
	}
	// Those that differ may differ from each other: one of them is the content.
	one := false
	for i := range p.list {
		if !p.ledger.Is(i, ledger.Live) {
			continue
		}
		if pages[i] != best || best > 0 && one {
			p.plan(i)
		}
		one = true
	}
	return best, nil
}

// sealFound seals what was found. The caller has the turn.
func (w *Writer) sealFound(ctx context.Context) error {
	h, p := &w.head, w.content.(*pieces)
	log := h.node.Log.With("path", h.cap.Path, "fxid", h.cap.File.Hex(), "user", h.cap.Who.Name, "trace", h.cap.Trace)
	if w.found.footer == nil {
		unproved, err := p.proveFound()
		if err != nil {
			return errs.Wrap(err, "transfer.Commit", piece.Subject(h.cap))
		}
		if unproved > 0 {
			log.Warn("a write that was found has pages that its client wrote over after the last sync: they are taken as they are", "pages", unproved)
		}
		w.mu.Lock()
		w.state.differ = unproved
		w.mu.Unlock()
		sums, err := w.sums.Finish(w.state.size, pendingSource{w.content}, w.state.size)
		if err != nil {
			return errs.Wrap(err, "transfer.Commit", piece.Subject(h.cap))
		}
		w.found.footer = &hemera.SealInfo{FileSize: w.state.size, Checksums: sums, Sync: h.cap.Sync}
	}
	if err := p.seal(ctx, *w.found.footer); err != nil {
		return err
	}
	ready(w, *w.found.footer, p.sealedPieces())
	w.commit.unsure = true // the process before may have asked for it
	return nil
}

// leaveFound leaves what was found as it is after a commit that failed before it was asked for. The caller has the turn.
func (w *Writer) leaveFound(err error) error {
	w.head.broken = nil
	if p, ok := w.content.(*pieces); ok {
		for _, pc := range p.list {
			if pc.found {
				continue
			}
			if pc.out != nil {
				pc.out.Abort()
			}
			if pc.began {
				w.found.lost = append(w.found.lost, pc.target.Disk)
			}
		}
		p.letGo()
	}
	err = refusal(err, w.head.cap)
	if again := w.find(); again != nil {
		err = errors.Join(err, again)
	}
	w.setAwaiting(err)
	return err
}

// letGo ends the use of pieces that were found, and leaves them on their disks.
func (p *pieces) letGo() {
	for _, pc := range p.list {
		if pc.local != nil && pc.local.Found() {
			pc.local.Leave()
		}
	}
}

// disown has pieces that were found be removed like others, as their write is dropped.
func (p *pieces) disown() {
	for _, pc := range p.list {
		if pc.local != nil {
			pc.local.Disown()
		}
	}
}
