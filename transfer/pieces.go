package transfer

import (
	"context"
	"slices"
	"sync"
	"time"

	"hemera/disk"
	"hemera/rules/checksum"
	"hemera/rules/layout"
	"hemera/transfer/filesum"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// everyPiece is the set of all pieces.
const everyPiece = ^layout.Set(0)

// pieces is a content that is on disks, one piece a target. Its spread decides which of them has which bytes; every
// change goes to all live pieces that it concerns at once. A piece that fails is lost; the write goes on as long as the
// others are enough to make it again from.
type pieces struct {
	head   *head
	list   []*headPiece
	ledger ledger.Ledger
	lost   int             // pieces lost so far
	left   []hemera.DiskID // disks that pieces were moved away from, the last ones first; at most hemera.PiecesMax
	whole  *inlineContent  // all of the content, if it is in memory: pieces are made of it in one call
	cut    []disk.Content  // of whole, what each piece has, if the layout is coded
	spread spread          // by the layout
	again  bool            // an earlier process made pieces: those that are planned may be there
	renews time.Time       // of a client: not before it asks for a new capability
}

// spread lays the bytes of a content into its pieces: in each of them, or as a code has it. The calls of one content come
// one after the other. They may block on disks and other nodes. After a call that fails for too few pieces the write has
// ended.
type spread interface {
	// begin creates the pieces of an empty content, as far as they are needed before its first bytes.
	begin() error
	// beginAs creates the pieces with the content of the base, as far as the first keep bytes need it.
	beginAs(base *read.Reader, keep int64) error
	// write, truncate, sync, read and nextData are those of content. write without a hash is that of all that was in memory.
	write(b []byte, sums []uint32, off int64, hash *filesum.Stream) error
	truncate(size int64) error
	sync(ctx context.Context) error
	read(b []byte, sums []uint32, off int64) (int, error)
	nextData(off int64) (int64, error)
	// beginSeal gives all pieces the lengths that they are sealed with, or cuts what is in memory as a whole.
	beginSeal(size int64) error
}

// writePages implements content.
func (p *pieces) writePages(b []byte, sums []uint32, off int64, hash *filesum.Stream) error {
	return p.spread.write(b, sums, off, hash)
}

// truncate implements content.
func (p *pieces) truncate(size int64) error { return p.spread.truncate(size) }

// sync implements content.
func (p *pieces) sync(ctx context.Context) error { return p.spread.sync(ctx) }

// readPages implements content.
func (p *pieces) readPages(b []byte, sums []uint32, off int64) (int, error) {
	return p.spread.read(b, sums, off)
}

// nextData implements content.
func (p *pieces) nextData(off int64) (int64, error) { return p.spread.nextData(off) }

// createPlanned creates those of the pieces that are planned, all at once. Those that cannot be created are lost.
func (p *pieces) createPlanned(among layout.Set) {
	failures := p.each(ledger.Planned, among, nil, func(_ int, pc *headPiece) error {
		out, local, err := p.head.node.Create(p.head.ctx, p.head.cap, p.head.permit, pc.target)
		pc.out, pc.local, pc.began = out, local, err == nil
		return err
	})
	for i, err := range failures {
		switch {
		case !p.ledger.Is(i, ledger.Planned) || !among.Has(int(p.list[i].target.Index)):
		case err != nil:
			p.lose(i, err)
		default:
			p.ledger.Began(i)
		}
	}
}

// each calls do for every piece of the set in the state, all at once, and meanwhile on this goroutine if it is not nil. It
// returns the result of each piece. A peer takes pages without waiting for its disk, so this goroutine sees to one of
// those itself; a disk of this node is waited for on another one while there is something to do beside it.
func (p *pieces) each(which ledger.State, among layout.Set, meanwhile func(), do func(i int, pc *headPiece) error) []error {
	// One allocation for the results, and a goroutine for each piece but one; none for a write with one piece.
	failures := make([]error, len(p.list))
	mine := -1
	is := func(i int) bool { return p.ledger.Is(i, which) && among.Has(int(p.list[i].target.Index)) }
	for i, pc := range p.list {
		if is(i) && (pc.local == nil || meanwhile == nil) {
			mine = i
		}
	}
	var wg sync.WaitGroup
	for i, pc := range p.list {
		if is(i) && i != mine {
			wg.Go(func() {
				failures[i] = p.head.node.Panics.Do("transfer.Write", piece.Subject(p.head.cap), func() error { return do(i, pc) })
			})
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

// fanOut does the same to every live piece of the set at once. A piece whose call fails is lost. fanOut fails, and ends the
// write, when too few live pieces are left.
func (p *pieces) fanOut(among layout.Set, meanwhile func(), do func(i int, pc *headPiece) error) error {
	for i, err := range p.each(ledger.Live, among, meanwhile, do) {
		if err != nil {
			p.lose(i, err)
		}
	}
	return p.writable("transfer.Write")
}

// writable fails, and ends the write, when too few live pieces are left. Nothing committed is lost by that.
func (p *pieces) writable(op string) error {
	if !p.ledger.Writable() {
		return p.fail(op, p.ledger.Losses())
	}
	return nil
}

// syncLive makes durable what every live piece has.
func (p *pieces) syncLive(ctx context.Context) error {
	return p.fanOut(everyPiece, nil, func(_ int, pc *headPiece) error { return pc.out.Sync(ctx) })
}

// open opens a live piece to read what was written to it: at another node, after everything that was sent there.
func (p *pieces) open(pc *headPiece) (piece.Source, func(), error) {
	if pc.local != nil {
		return pc.local, func() {}, nil
	}
	h := p.head
	ctx, cancel := context.WithTimeout(h.ctx, piece.CallTimeout)
	defer cancel()
	if err := pc.out.Sync(ctx); err != nil {
		return nil, nil, err
	}
	peer, err := h.node.OpenPeer(ctx, h.permit, piece.Remote{Target: pc.target})
	if err != nil {
		return nil, nil, err
	}
	return peer, func() { _ = peer.Close() }, nil
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
	// A disk that is stalled, or a peer that is gone, must not delay the write that continues without it.
	if pc.local != nil && pc.local.Found() {
		pc.local.Leave()
	} else if out := pc.out; out != nil {
		end := func() {}
		if pc.local != nil {
			end = h.node.Removals.Begin(piece.ID(h.cap, pc.target.Index), pc.target.Disk)
		}
		h.node.Background(h.cap, func() {
			defer end()
			out.Abort()
		})
	}
	// Nothing reaches the piece from here on.
	pc.out, pc.local = nil, nil
	h.node.Log.Warn("piece of a write lost", "path", h.cap.Path, "fxid", h.cap.File.Hex(), "trace", h.cap.Trace,
		"piece", pc.target.Index, "disk", pc.target.Disk, "node", pc.target.Addr, "error", err)
}

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
	remedy := "write the file again; `hemera fs ls` shows which disks are ill"
	if kind == errs.NoSpace { // no disk is ill, and writing again fails again
		remedy = "free room, or add disks: `hemera fs ls` shows what each disk has left"
	}
	return p.head.fail((&errs.Error{Kind: kind, Op: op, Subject: piece.Subject(p.head.cap), Text: text, Cause: cause}).WithRemedy(remedy))
}

// replace asks the manager for other disks in the places of the lost pieces, which are planned again where there is
// one. It reports whether there are any. fresh: only for pieces that never began; nothing has to be made again for them.
func (p *pieces) replace(ctx context.Context, fresh bool) bool {
	h := p.head
	ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
	defer cancel()
	// Bytes of a piece that began are to be made again from the others, for which the close is early enough. Until then its
	// place stays empty: a new piece there would pass for one that nobody has written to.
	var lost []hemera.DiskID
	var places layout.Set
	for i, pc := range p.list {
		if p.ledger.Is(i, ledger.Failed) && !(fresh && pc.began) {
			lost = append(lost, pc.target.Disk)
			places = places.With(int(pc.target.Index))
		}
	}
	if len(lost) == 0 {
		return false
	}
	// A piece that was begun on a disk may be removed there at any time later, also one that came back to it.
	failed := slices.Concat(lost, p.left)
	failed = failed[:min(len(failed), hemera.PiecesMax)]
	grant, err := h.writes.Control.Replace(ctx, h.permit, failed)
	if err != nil {
		p.ledger.Asked(false)
		h.node.Log.Warn("no other disk for lost pieces", "path", h.cap.Path, "trace", h.cap.Trace, "disks", lost, "error", err)
		return false
	}
	// Peers are opened with the new permit from now on: the old one does not name the new targets.
	h.permit = grant.Permit
	found := false
	for i, pc := range p.list {
		if !places.Has(int(pc.target.Index)) {
			continue
		}
		// The replacement stands in the place of the piece. If the target has failed before, there was none.
		for _, t := range h.permit.Targets {
			if t.Index == pc.target.Index && !slices.Contains(failed, t.Disk) {
				p.list[i] = &headPiece{target: t}
				p.ledger.Replaced(i)
				h.node.Counters.Replaced.Add(1)
				found = true
			}
		}
	}
	p.left = failed
	p.ledger.Asked(found)
	h.node.Log.Info("lost pieces moved", "path", h.cap.Path, "trace", h.cap.Trace, "disks", lost)
	return found
}

// headPiece is one piece of a write at its head: where it goes, and the way there. The way is a piece.Writer for local
// pieces too, so that the head treats all alike.
type headPiece struct {
	target hemera.Target
	out    piece.Writer // nil while it is planned, and once it is lost
	local  *piece.Local // out, if the piece is on this node; else nil
	err    error        // why it was lost
	began  bool         // out was there once, or bytes were for it while it was lost: a fresh piece cannot take its place
	end    int64        // how long the piece is, by what was sent to it
	sent   checksum.Parts
	found  bool // an earlier process made it, on a disk of this node
}

// writePages sends pages at an offset of the piece.
func (pc *headPiece) writePages(b []byte, sums []uint32, off int64) error {
	pc.end = max(pc.end, off+int64(len(b)))
	if sums == nil {
		pc.sent.Forget()
	} else {
		pc.sent.Add(off, len(b), sums)
	}
	return pc.out.WritePages(b, sums, off)
}

// resize sets the length of the piece.
func (pc *headPiece) resize(n int64) error {
	pc.end = n
	pc.sent.Cut(n)
	return pc.out.Truncate(n)
}

// seal seals the piece. The node compares what it has with what was sent, where that is known.
func (pc *headPiece) seal(ctx context.Context, l hemera.Layout, info hemera.SealInfo) error {
	if crc, ok := pc.sent.Sum(layout.PieceSize(l, info.FileSize, pc.target.Index)); ok {
		info.Piece = piece.CRC32C(crc)
	}
	return pc.out.Seal(ctx, info)
}

// writeSpans sends those of the spans of b, which is at off in the file, that are of the data piece.
func (pc *headPiece) writeSpans(spans []layout.Span, b []byte, sums []uint32, off int64) error {
	for _, span := range spans {
		if span.Column != pc.target.Index {
			continue
		}
		first := checksum.Fragments(off, span.At)
		last := first + checksum.Fragments(off+int64(span.At), span.Len)
		if err := pc.writePages(b[span.At:span.At+span.Len], sums[first:last], span.Off); err != nil {
			return err
		}
	}
	return nil
}

// first returns the first error of a list.
func first(list []error) error {
	i := slices.IndexFunc(list, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return list[i]
}
