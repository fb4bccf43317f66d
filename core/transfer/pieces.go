package transfer

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"hemera"
	"hemera/core/disk"
	"hemera/errs"
	"hemera/rules/checksum"
	"hemera/rules/layout"
)

// pieces is a content that is on disks, one piece a target: every change goes to all live pieces at once, as the
// layout says which of them has which bytes. A piece that fails is lost; the write goes on as long as the others are
// enough to make it again from.
type pieces struct {
	head   *head
	list   []*piece
	ledger ledger
	lost   int            // pieces lost so far
	whole  *inlineContent // all of the content, if it is in memory: pieces are made of it in one call
}

// newPieces plans the pieces of a write; it calls no disk.
func newPieces(h *head) *pieces {
	p := &pieces{head: h, list: make([]*piece, len(h.cap.Targets))}
	p.ledger = newLedger(len(p.list), int(h.cap.PiecesMin), int(h.cap.Layout.Data))
	for i, t := range h.cap.Targets {
		p.list[i] = &piece{target: t}
	}
	return p
}

// create makes the planned pieces, all at once. Targets that cannot even begin are replaced, while there is nothing
// to copy. It fails, and ends the write, when too few pieces are left.
func (p *pieces) create() error {
	// Once is enough here: targets that fail later are replaced at the close, with the content at hand.
	p.createPlanned()
	if p.ledger.Count(failed) > 0 && p.replace(p.head.ctx) {
		p.createPlanned()
	}
	return p.writable("transfer.Write")
}

// createPlanned creates every planned piece, all at once. Those that cannot be created are lost.
func (p *pieces) createPlanned() {
	failures := p.each(planned, nil, func(_ int, pc *piece) error {
		out, local, err := p.head.host.create(p.head.ctx, p.head.cap, p.head.permit, pc.target)
		pc.out, pc.local = out, local
		return err
	})
	for i, err := range failures {
		switch {
		case !p.ledger.Is(i, planned):
		case err != nil:
			p.lose(i, err)
		default:
			p.ledger.Began(i)
		}
	}
}

// each calls do for every piece in the state, all at once, and meanwhile on this goroutine if it is not nil. It
// returns the result of each piece. A peer takes pages without waiting for its disk, so this goroutine sees to one of
// those itself; a disk of this node is waited for on another one while there is something to do beside it.
func (p *pieces) each(which pieceState, meanwhile func(), do func(i int, pc *piece) error) []error {
	// One allocation for the results, and a goroutine for each piece but one; none for a write with one piece.
	failures := make([]error, len(p.list))
	mine := -1
	for i, pc := range p.list {
		if p.ledger.Is(i, which) && (pc.local == nil || meanwhile == nil) {
			mine = i
		}
	}
	var wg sync.WaitGroup
	for i, pc := range p.list {
		if p.ledger.Is(i, which) && i != mine {
			wg.Go(func() { failures[i] = do(i, pc) })
		}
	}
	if meanwhile != nil {
		meanwhile()
	}
	if mine >= 0 {
		failures[mine] = do(mine, p.list[mine])
	}
	wg.Wait()
	return failures
}

// fanOut does the same to every live piece at once. A piece whose call fails is lost. fanOut fails, and ends the
// write, when too few live pieces are left.
func (p *pieces) fanOut(meanwhile func(), do func(i int, pc *piece) error) error {
	for i, err := range p.each(live, meanwhile, do) {
		if err != nil {
			p.lose(i, err)
		}
	}
	return p.writable("transfer.Write")
}

// writable fails, and ends the write, when too few live pieces are left.
func (p *pieces) writable(op string) error {
	if !p.ledger.Writable() {
		return p.fail(op, everyPieceFailed)
	}
	return nil
}

// writePages implements content. A stalled disk of the only piece is an I/O error: asking again is of no use, and
// stock clients begin a copy again for it, at another disk.
func (p *pieces) writePages(b []byte, sums []uint32, off int64, hash *streamSums) error {
	i := p.ledger.Only()
	if i < 0 {
		return p.send(b, sums, off, hash)
	}
	// With one piece there is nothing to overlap that would be worth a second goroutine.
	hash.wrote(b, sums, off)
	pc := p.list[i]
	err := pc.writeSpans(p.head.cap.Layout, b, sums, off)
	if err == nil {
		return nil
	}
	if disk.IsStalled(err) {
		err = errs.As(err, errs.IO, "transfer.Disk", pc.target.Disk.String())
	}
	p.lose(i, err)
	return p.writable("transfer.Write")
}

// send sends pages to every live piece. hash, if not nil, is given them meanwhile.
func (p *pieces) send(b []byte, sums []uint32, off int64, hash *streamSums) error {
	var meanwhile func()
	if hash != nil {
		meanwhile = func() { hash.wrote(b, sums, off) }
	}
	return p.fanOut(meanwhile, func(_ int, pc *piece) error { return pc.writeSpans(p.head.cap.Layout, b, sums, off) })
}

// truncate implements content.
func (p *pieces) truncate(size int64) error {
	return p.fanOut(nil, func(_ int, pc *piece) error {
		return pc.out.Truncate(layout.PieceSize(p.head.cap.Layout, size, pc.target.Index))
	})
}

// sync implements content.
func (p *pieces) sync(ctx context.Context) error {
	return p.fanOut(nil, func(_ int, pc *piece) error { return pc.out.Sync(ctx) })
}

// readPages implements content: from a local piece, and from another node's if no local one is left. A piece that
// cannot be read is lost. After a stalled read, p belongs to the call that is stuck, so the next piece is left to the
// next read.
func (p *pieces) readPages(b []byte, sums []uint32, off int64) (int, error) {
	done := 0
	for _, span := range layout.Split(p.head.cap.Layout, off, len(b)) {
		n, err := p.readSpan(span, b[done:done+span.Len], after(sums, off, done))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// readSpan reads one span from the first piece that has its column and can be read.
func (p *pieces) readSpan(span layout.Span, b []byte, sums []uint32) (int, error) {
	for {
		src, i, closeSource, err := p.source(span.Column)
		if err != nil {
			return 0, err
		}
		n, err := src.ReadPages(b, sums, span.Off)
		closeSource()
		if err == nil || errors.Is(err, io.EOF) {
			return n, err
		}
		p.lose(i, err)
		if err := p.writable("transfer.Read"); err != nil {
			return 0, err
		}
		if hemera.KeepsBuffers(err) {
			return 0, err
		}
	}
}

// nextData implements content. Holes are told of contents with one column.
func (p *pieces) nextData(off int64) (int64, error) {
	if p.head.cap.Layout.Coded() {
		return off, nil
	}
	src, _, closeSource, err := p.source(0)
	if err != nil {
		return off, err
	}
	defer closeSource()
	return src.NextData(off)
}

// source returns a live piece with the column, to read from, and its number: the local ones first.
func (p *pieces) source(column uint8) (source, int, func(), error) {
	// Reading a peer back costs a sync and an open there, as what was sent may still be on its way.
	for _, local := range []bool{true, false} {
		for i, pc := range p.list {
			has, isData := layout.Column(p.head.cap.Layout, pc.target.Index)
			if !p.ledger.Is(i, live) || !isData || has != column || (pc.local != nil) != local {
				continue
			}
			if local {
				return pc.local, i, func() {}, nil
			}
			r, err := p.openPeer(pc)
			if err != nil {
				p.lose(i, err)
				continue
			}
			return r, i, func() { _ = r.Close() }, nil
		}
	}
	return nil, 0, nil, p.fail("transfer.Read", everyPieceFailed)
}

// openPeer opens another node's pending piece, with everything that was sent to it.
func (p *pieces) openPeer(pc *piece) (PeerReader, error) {
	ctx, cancel := context.WithTimeout(p.head.ctx, callTimeout)
	defer cancel()
	if err := pc.out.Sync(ctx); err != nil {
		return nil, err
	}
	return p.head.host.openPeer(ctx, p.head.permit, RemotePiece{Target: pc.target})
}

// drop releases the content in memory, if there is one.
func (p *pieces) drop() {
	if p.whole != nil {
		p.whole.drop()
	}
}

// lose records that a piece is lost; its node removes what is there of it, in the background.
func (p *pieces) lose(i int, err error) {
	h, pc := p.head, p.list[i]
	p.ledger.Fail(i)
	p.lost++
	pc.err = err
	// A disk that is stalled, or a peer that is gone, must not delay the write that goes on without it.
	if out := pc.out; out != nil {
		end := func() {}
		if pc.local != nil {
			end = h.host.removals.begin(pieceID(h.cap, pc.target.Index), pc.target.Disk)
		}
		h.host.work.Go(func() {
			defer end()
			out.Abort()
		})
	}
	// Nothing reaches the piece from here on.
	pc.out, pc.local = nil, nil
	h.host.Log.Warn("piece of a write lost", "path", h.cap.Path, "fxid", h.cap.File.Hex(), "trace", h.cap.Trace,
		"piece", pc.target.Index, "disk", pc.target.Disk, "node", pc.target.Addr, "error", err)
}

// everyPieceFailed is why a write ends before its close.
const everyPieceFailed = "every piece of the write failed"

// fail ends the write for good: too few pieces hold its content, or none. The cause is the first failure of a piece.
func (p *pieces) fail(op, text string) error {
	// The first failure is most likely the cause of the others, and its kind is what a client acts on.
	var cause error
	for _, pc := range p.list {
		if pc.err != nil {
			cause = pc.err
			break
		}
	}
	kind := errs.Unavailable
	if cause != nil {
		kind = errs.KindOf(cause)
	}
	return p.head.fail((&errs.Error{Kind: kind, Op: op, Subject: subject(p.head.cap), Text: text, Cause: cause}).
		WithRemedy("write the file again; `hemera fs ls` shows which disks are ill"))
}

// replace asks the manager for other disks in the places of the lost pieces, which are planned again where there is
// one. It reports whether there are any.
func (p *pieces) replace(ctx context.Context) bool {
	h := p.head
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var lost []hemera.DiskID
	for i, pc := range p.list {
		if p.ledger.Is(i, failed) {
			lost = append(lost, pc.target.Disk)
		}
	}
	grant, err := h.host.Control.Replace(ctx, h.permit, lost)
	if err != nil {
		p.ledger.Asked(false)
		h.host.Log.Warn("no other disk for lost pieces", "path", h.cap.Path, "trace", h.cap.Trace, "disks", lost, "error", err)
		return false
	}
	// Peers are opened with the new permit from now on: the old one does not name the new targets.
	h.permit = grant.Permit
	found := false
	for i, pc := range p.list {
		if !p.ledger.Is(i, failed) {
			continue
		}
		// The replacement stands in the place of the piece. If the target is the same, there was none.
		for _, t := range h.permit.Targets {
			if t.Index == pc.target.Index && t.Disk != pc.target.Disk {
				p.list[i] = &piece{target: t}
				p.ledger.Replaced(i)
				h.host.Counters.Replaced.Add(1)
				found = true
			}
		}
	}
	p.ledger.Asked(found)
	h.host.Log.Info("lost pieces moved", "path", h.cap.Path, "trace", h.cap.Trace, "disks", lost)
	return found
}

// source reads pages of one piece, verified; it is what content is copied from.
type source interface {
	ReadPages(p []byte, sums []uint32, off int64) (int, error)
	// NextData is as in [hemera.Sparse].
	NextData(off int64) (int64, error)
}

// piece is one piece of a write at its head: where it goes, and the way there. The way is a PeerWriter for local
// pieces too, so that the head treats all alike.
type piece struct {
	target hemera.Target
	out    PeerWriter // nil while it is planned, and once it is lost
	local  *diskPiece // out, if the piece is on this node; else nil
	err    error      // why it was lost
}

// writeSpans sends those of the pages at off that the layout gives to the piece.
func (pc *piece) writeSpans(l hemera.Layout, b []byte, sums []uint32, off int64) error {
	if !l.Coded() { // a copy has them all
		return pc.out.WritePages(b, sums, off)
	}
	column, isData := layout.Column(l, pc.target.Index)
	if !isData {
		return errs.New(errs.Unsupported, "transfer.Write", l.String(), "parity is not written")
	}
	for _, span := range layout.Split(l, off, len(b)) {
		if span.Column != column {
			continue
		}
		first := checksum.Fragments(off, span.At)
		last := first + checksum.Fragments(off+int64(span.At), span.Len)
		if err := pc.out.WritePages(b[span.At:span.At+span.Len], sums[first:last], span.Off); err != nil {
			return err
		}
	}
	return nil
}

// diskPiece is a pending piece on a disk in the shape of a peer's.
//
// A disk.Writer must not be called again after a seal or an abort. As the abort of a lost piece runs in the background,
// ended says whether one of them was begun.
type diskPiece struct {
	disk.Writer
	store disk.Store
	id    hemera.PieceID
	ended atomic.Bool // sealed or aborted: the Writer must not be used again
}

// Sync makes the pending piece durable.
func (p *diskPiece) Sync(context.Context) error { return p.Writer.Sync() }

// Seal seals the piece and compares what the disk kept with what the head counted.
func (p *diskPiece) Seal(_ context.Context, s hemera.SealInfo) error {
	// A seal that fails has removed the piece as well.
	p.ended.Store(true)
	stat, err := p.Writer.Seal(s)
	if err != nil {
		return err
	}
	return checkSealed(stat, s)
}

// Abort removes the piece, sealed or not.
func (p *diskPiece) Abort() {
	// A writer that has sealed or aborted must not be called again; the piece may be there under its name all the same.
	if !p.ended.Swap(true) {
		_ = p.Writer.Abort()
	}
	_ = p.store.Remove(p.id)
}

// Release implements PeerWriter: nothing is held.
func (p *diskPiece) Release() {}

// checkSealed refuses a sealed piece that does not have all of its part of the file.
func checkSealed(stat hemera.PieceStat, s hemera.SealInfo) error {
	if want := layout.PieceSize(stat.Layout, s.FileSize, stat.ID.Index); stat.Size != want {
		return sizeMismatch("transfer.Seal", stat.ID.String(), stat.Size, want)
	}
	return nil
}

// create begins one piece where its target says. local is out for a piece on this node.
func (h *Host) create(ctx context.Context, c *hemera.Capability, permit *hemera.Permit, t hemera.Target) (out PeerWriter, local *diskPiece, err error) {
	if h.local(t) {
		local, err = h.createLocal(c, t)
		if err != nil {
			return nil, nil, err
		}
		return local, local, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	token, err := permit.Token()
	if err != nil {
		return nil, nil, err
	}
	out, err = h.Peers.Create(ctx, t, token)
	if err != nil {
		return nil, nil, errs.Wrap(err, "transfer.CreatePiece", t.Addr)
	}
	return out, nil, nil
}

// createLocal begins a piece on a disk of this node.
func (h *Host) createLocal(c *hemera.Capability, t hemera.Target) (*diskPiece, error) {
	store, err := h.store(t)
	if err != nil {
		return nil, err
	}
	id := pieceID(c, t.Index)
	w, err := store.Create(id, createOptions(c, t.Index))
	if err != nil {
		return nil, err
	}
	return &diskPiece{Writer: w, store: store, id: id}, nil
}

// createOptions returns how a disk begins the piece with the index. The size hint lets it refuse at once what has no
// room, and reserve the space.
func createOptions(c *hemera.Capability, index uint8) disk.CreateOptions {
	// Nothing is reserved for an update of what may have holes.
	return disk.CreateOptions{Path: c.Path, Layout: c.Layout, SizeHint: layout.PieceSize(c.Layout, c.Size, index), Sparse: c.Base != nil}
}
