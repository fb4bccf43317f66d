package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"hemera/disk"
	"hemera/rules/layout"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Close seals every piece, moves lost ones to other disks, and commits. Nil: durable and visible.
// A Timeout or Unavailable error means that all is sealed but the manager did not answer within
// [CommitPatience]; the content may be visible, and Close may be called again. After any other
// error nothing is visible and no piece is left, unless an answer to an earlier commit was lost.
// Close again answers as before. Where no client closes, a refusal leaves everything as it is, and Close may be called again.
//
// It is not ended by ctx: a client that goes away in the middle finds the answer when it comes back.
func (w *Writer) Close(ctx context.Context) error {
	w.turn.acquire()
	defer w.turn.release()
	if w.state.phase == ended {
		return w.result
	}
	// What follows must not stop half-way: pieces would be left that nobody knows.
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if w.commit == nil {
		if done, err := w.seal(ctx, false); done || err != nil {
			return w.stop(ctx, err)
		}
	}
	if err := w.unmark(ctx); err != nil {
		return w.await(ctx, err)
	}
	w.setPhase(committing)
	err := w.commit.run(ctx)
	switch {
	case err != nil && errs.Undecided(err):
		return err
	case err != nil && w.commit.request.Left:
		return w.await(ctx, err)
	}
	return w.end(ctx, err)
}

// stop ends a write that could not be sealed, or has nothing to commit. What nobody closes stays where its content is as good as before.
func (w *Writer) stop(ctx context.Context, err error) error {
	if err != nil && w.found != nil {
		return w.leaveFound(err)
	}
	if err == nil || w.head.broken != nil || !w.left.ends {
		return w.end(ctx, err)
	}
	return w.await(ctx, err)
}

// await leaves a write to a person. refused, if not nil, is why it was not committed; await returns it with what can be done.
func (w *Writer) await(ctx context.Context, refused error) error {
	if refused != nil {
		refused = refusal(refused, w.head.cap)
	}
	w.setAwaiting(refused)
	w.markKept(ctx)
	if w.commit != nil && !w.commit.unsure {
		w.commit.asked = time.Time{} // it was answered: that something came in between is for the manager to find
	}
	w.head.keep(ctx, w.state.size)
	w.record()
	return refused
}

// setAwaiting records that a person decides. A write that is not sealed goes on to be in its phase.
func (w *Writer) setAwaiting(refused error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.commit != nil {
		w.state.phase = awaiting
	}
	w.state.refused, w.state.left = refused, true
}

// end records the result; a failed write leaves nothing behind, unless it may be that the manager
// committed it all the same: then its pieces are left to the audit, which knows.
func (w *Writer) end(ctx context.Context, err error) error {
	h := &w.head
	h.node.Files.End(&w.usage)
	w.content.drop()
	if w.base != nil {
		w.base.Close()
	}
	// An answer was lost on the way, so "refused" may be the second of two answers.
	unsure := w.commit != nil && w.commit.unsure || w.found != nil && w.found.footer != nil
	if err != nil && unsure {
		err = mayBeCommitted(err, piece.Subject(h.cap))
	}
	// Recorded before the pieces are removed: what comes meanwhile waits for the turn, and finds the answer.
	w.result = err
	w.setPhase(ended)
	w.unrecord()
	p, _ := w.content.(*pieces)
	switch {
	// After a commit that may have happened nothing is removed: the pieces may be those of the file.
	case err != nil && !unsure:
		w.discard(ctx)
	case p != nil:
		p.release()
	}
	if err != nil && unsure {
		h.node.Log.Warn("a commit was refused after one that may have happened; its pieces are left to the audit",
			"path", h.cap.Path, "fxid", h.cap.File.Hex(), "trace", h.cap.Trace, "error", err)
	}
	w.cancel()
	return err
}

// setPhase records how far the write is. Only the holder of the turn calls it, so it may read the phase without mu.
func (w *Writer) setPhase(p writePhase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.phase = p
}

// mayBeCommitted says of a refused commit that one asked for before may have happened, or happen yet: the request
// whose answer was lost may be anywhere on its way. The client must not take the refusal for a no.
func mayBeCommitted(err error, subject string) error {
	e := &errs.Error{Kind: errs.Unavailable, Op: "transfer.Close", Subject: subject,
		Text: "the commit was refused, but the answer to one before was lost, which may have happened", Cause: err}
	return e.WithRemedy("look whether the file has the content that was written, and write it again if not")
}

// Abort cancels the write: its pieces are removed and its lock at the manager is freed. A write
// that is already committed, or whose commit may have happened, is left as it is.
func (w *Writer) Abort(ctx context.Context) error {
	w.abort(ctx, piece.BadHandle("transfer.Write", piece.Subject(w.head.cap)))
	return nil
}

// abort cancels the write; later calls fail with why.
func (w *Writer) abort(ctx context.Context, why error) {
	// The turn may be held by a call that waits for a peer. Disks return by themselves.
	w.cancel() // frees the holder of the turn, if it waits for a peer
	w.turn.acquire()
	defer w.turn.release()
	if w.state.phase == writing || w.state.phase == awaiting {
		_ = w.end(ctx, w.head.fail(why))
	}
}

// expire ends the write of a client that does not come back, as its node stops: it is closed or removed.
func (w *Writer) expire(ctx context.Context) {
	// Nobody holds the write any more, so this does not change in between.
	if s := w.snapshot(); s.phase == awaiting || s.phase == writing && (s.left || !s.lasts) {
		w.drop(ctx)
		return
	}
	err := w.closeLeft(ctx)
	if err == nil || !w.undecided() {
		return
	}
	w.head.node.Log.Warn("the manager never answered a commit; sealed pieces are left to the audit",
		"path", w.head.cap.Path, "fxid", w.head.cap.File.Hex(), "trace", w.head.cap.Trace, "error", err)
	w.turn.acquire()
	defer w.turn.release()
	w.record() // a person may ask for it again, at the next process
	if p, ok := w.content.(*pieces); ok {
		p.release()
	}
}

// undecided reports whether the commit may or may not have happened.
func (w *Writer) undecided() bool { return w.snapshot().phase == committing }

// discard removes every piece and tells the manager.
func (w *Writer) discard(ctx context.Context) {
	h := &w.head
	if p, ok := w.content.(*pieces); ok {
		p.disown()
		p.abort()
	} else {
		h.dismissClient(ctx)
	}
	// The lock is freed last. Until then the name belongs to this write, so no other can meet its pieces.
	h.node.Counters.Aborts.Add(1)
	h.giveBack(ctx)
}

// giveBack frees the lock of the write at the manager, and what it claims of quotas.
func (h *head) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
	defer cancel()
	if err := h.writes.Control.Abort(ctx, h.permit); err != nil {
		h.node.Log.Info("the manager was not told of an abort", "path", h.cap.Path, "trace", h.cap.Trace, "error", err)
	}
}

// keep frees the lock of the write at the manager; what it claims of quotas stays claimed, as its size takes it.
func (h *head) keep(ctx context.Context, size int64) {
	ctx, cancel := context.WithTimeout(ctx, piece.CallTimeout)
	defer cancel()
	if err := h.writes.Control.Keep(ctx, h.permit, size); err != nil {
		h.node.Log.Info("the manager was not told of a write that is kept", "path", h.cap.Path, "trace", h.cap.Trace, "error", err)
	}
}

// seal brings the write to where only the commit is missing, in w.commit. done: nothing changed,
// so that there is nothing to commit. kept: nobody closed it, and the footers say so.
func (w *Writer) seal(ctx context.Context, kept bool) (done bool, err error) {
	h, size := &w.head, w.state.size
	if h.broken != nil {
		return false, h.broken
	}
	if w.found != nil {
		return false, w.sealFound(ctx)
	}
	if a := w.adopted; a != nil {
		ready(w, a.info, a.pieces)
		return false, nil
	}
	// A client that announced a size has to reach it, or to truncate the file.
	if size < w.least {
		return false, w.incomplete()
	}
	set, removed := splitXattrs(w.Xattrs())
	if h.cap.Access == hemera.AccessUpdate && h.cap.Base != nil && !w.changed && len(set)+len(removed) == 0 {
		w.discard(ctx) // frees the lock; there are no pieces
		return true, nil
	}
	if _, ok := w.content.(baseView); ok { // attributes alone make a new generation too
		if err := w.makeRoom(size, size); err != nil {
			return false, err
		}
	}
	// What was not written in order is read back for the checksums; usually there is nothing to read.
	allowed := w.usage.Bytes.Load()
	if h.cap.Base != nil { // which was written once
		allowed += h.cap.Base.Size
	}
	sums, err := w.sums.Finish(size, pendingSource{w.content}, allowed)
	if err != nil {
		return false, errs.Wrap(err, "transfer.Close", piece.Subject(h.cap))
	}
	sealed, err := w.sealContent(ctx, hemera.SealInfo{FileSize: size, Checksums: sums, Sync: h.cap.Sync, Kept: kept})
	if err != nil { // some pieces may be sealed: it cannot be done a second time
		return false, h.fail(err)
	}
	ready(w, hemera.SealInfo{FileSize: size, Checksums: sums}, sealed)
	w.commit.kept = kept
	return false, nil
}

// ready keeps the commit of sealed pieces for the close. From here on nothing changes the content, and a close that comes
// again sends the same request. The caller has the turn.
func ready(w *Writer, info hemera.SealInfo, sealed []hemera.Piece) {
	// The permit is the last one granted: its targets are where the pieces are now.
	r := hemera.CommitRequest{Permit: w.head.permit, Size: info.FileSize, Checksums: info.Checksums, Pieces: sealed, Mtime: time.Now()}
	r.Xattrs, r.XattrsGone = splitXattrs(w.Xattrs())
	r.Left = w.left.ends
	w.commit = &commit{head: &w.head, request: r}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.phase, w.state.mtime = committing, r.Mtime
}

// sealContent seals the content in pieces, which it returns. An empty content has none.
func (w *Writer) sealContent(ctx context.Context, info hemera.SealInfo) ([]hemera.Piece, error) {
	switch c := w.content.(type) {
	case *inlineContent:
		if c.inlineBuffer == nil {
			return nil, nil
		}
		if err := c.check(); err != nil {
			return nil, err
		}
		// The memory stays until the commit may be made: every planned piece is made from it.
		p := newPieces(&w.head)
		p.whole = c
		p.ledger.Keep()
		w.content = p
	case *pieces:
		if info.FileSize == 0 {
			// A file without bytes needs no pieces. Those that were made for bytes that are gone are removed.
			c.abort()
			w.content = &inlineContent{head: &w.head}
			return nil, nil
		}
	}
	p := w.content.(*pieces)
	if err := p.seal(ctx, info); err != nil {
		return nil, err
	}
	return p.sealedPieces(), nil
}

// incomplete refuses the close of a client that stopped early: some close a file like any other when a time or
// a rate is exceeded, or their source ends early. What was there before stays.
func (w *Writer) incomplete() error {
	return errs.New(errs.Invalid, "transfer.Close", piece.Subject(w.head.cap),
		fmt.Sprintf("%d bytes were announced and %d written: the file is not complete, and nothing of it is kept", w.least, w.state.size)).
		WithRemedy("write the whole file again, or truncate it before the close if it is to be shorter than announced")
}

// splitXattrs returns the attributes that a commit sets, and those that it removes, which are nil in changes.
func splitXattrs(changes map[string][]byte) (set map[string][]byte, removed []string) {
	for name, value := range changes {
		if value == nil {
			removed = append(removed, name)
			continue
		}
		if set == nil {
			set = map[string][]byte{}
		}
		set[name] = value
	}
	return set, removed
}

// seal takes the ledger's steps until a commit may be made of what is sealed.
func (p *pieces) seal(ctx context.Context, info hemera.SealInfo) error {
	if err := p.spread.beginSeal(info.FileSize); err != nil {
		return err
	}
	// Each step changes the ledger, and rounds of replacement are bounded, so this ends.
	for {
		switch p.ledger.Next() {
		case ledger.Seal:
			if err := p.sealLive(ctx, info); err != nil {
				return err
			}
		case ledger.Fill:
			p.fill(ctx, info)
		case ledger.Replace:
			p.replace(ctx, false)
		case ledger.Commit:
			if err := p.proveRest(info); err != nil {
				return err
			}
			if p.ledger.Count(ledger.Failed) > 0 {
				p.head.node.Counters.Short.Add(1)
			}
			if p.whole != nil && p.lost == 0 {
				p.whole.recycle()
			}
			p.drop()
			return nil
		case ledger.Fail:
			return p.short()
		}
	}
}

// sealLive seals every live piece, all at once.
func (p *pieces) sealLive(ctx context.Context, info hemera.SealInfo) error {
	failures := p.each(ledger.Live, everyPiece, nil, func(_ int, pc *headPiece) error { return pc.seal(ctx, p.head.cap.Layout, info) })
	for i, err := range failures {
		switch {
		case !p.ledger.Is(i, ledger.Live):
		case err != nil:
			p.lose(i, err)
		default:
			p.ledger.Sealed(i)
		}
	}
	// With nothing sealed there is nothing to copy from, wherever the manager might offer room.
	if p.ledger.Count(ledger.Sealed) == 0 {
		return p.fail("transfer.Write", p.ledger.Losses())
	}
	return nil
}

// short is the error of a close that cannot reach the layout's minimum.
// It ends the write: nothing was committed, so the file that was there before stays.
func (p *pieces) short() error {
	return p.fail("transfer.Close", fmt.Sprintf("%d of %d pieces could be sealed, and a close takes %d", p.ledger.Count(ledger.Sealed), len(p.list), p.ledger.Min()))
}

// fill makes the planned pieces, sealed: from the content in memory, all at once, or each from the sealed ones.
func (p *pieces) fill(ctx context.Context, info hemera.SealInfo) {
	fillOne := func(_ int, pc *headPiece) error { return p.put(ctx, pc, info) }
	if p.whole == nil {
		fillOne = func(_ int, pc *headPiece) error { return p.copySealed(ctx, pc, info) }
	}
	if p.again {
		fillOne = func(_ int, pc *headPiece) error { return p.refill(ctx, pc, info) }
	}
	// A piece that cannot be filled is lost, and may be replaced once more.
	for i, err := range p.each(ledger.Planned, everyPiece, nil, fillOne) {
		switch {
		case !p.ledger.Is(i, ledger.Planned):
		case err != nil:
			p.lose(i, err)
		default:
			p.ledger.Sealed(i)
		}
	}
}

// unreadError is that the sealed pieces could not be read to make another.
type unreadError struct{ error }

func (e unreadError) Unwrap() error { return e.error }

// sealedSource tells failures to read sealed pieces from those of what is made of them.
type sealedSource struct{ piece.Source }

// ReadPages implements piece.Source.
func (s sealedSource) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	n, err := s.Source.ReadPages(p, sums, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unreadError{err}
	}
	return n, err
}

// proveRest fails, and ends the write, where a piece was lost for a bad page of the base, was not made again, and the others do not have
// all of its bytes: several pieces of the base have bad pages, and the base itself can be read. Other writes have no base, and cost no read.
func (p *pieces) proveRest(info hemera.SealInfo) error {
	if p.head.cap.Base == nil {
		return nil
	}
	for i, pc := range p.list {
		_, unread := errors.AsType[unreadError](pc.err)
		bad := unread || errs.KindOf(pc.err) == errs.Corrupt
		if !bad || !p.ledger.Is(i, ledger.Failed) {
			continue
		}
		if err := p.prove(pc.target.Index, info); err != nil {
			e := &errs.Error{Kind: errs.Corrupt, Op: "transfer.Close", Subject: piece.Subject(p.head.cap), Cause: err,
				Text: "pages of the file are bad in several pieces, too many for this update; nothing has changed"}
			return p.head.fail(e.WithRemedy("`hemera file verify` repairs what the other pieces allow; or write the whole file again"))
		}
	}
	return nil
}

// prove reads what a lost piece had, as it can be computed from those that are sealed.
func (p *pieces) prove(index uint8, info hemera.SealInfo) error {
	src := p.sealedReader(info)
	defer src.Close()
	size := layout.PieceSize(p.head.cap.Layout, info.FileSize, index)
	w, content := piece.NewWindow(size), src.Content(index)
	for off := int64(0); off < size; off += piece.CopyWindow {
		if err := w.Read(content, off, int(min(piece.CopyWindow, size-off))); err != nil {
			return err
		}
	}
	return nil
}

// sealedReader reads what this write has sealed with the checks of any reader. It is not committed, so its size and sums are those of
// the seal.
func (p *pieces) sealedReader(info hemera.SealInfo) *read.Reader {
	c := *p.head.cap
	c.Targets, c.Size, c.Sums = nil, info.FileSize, info.Checksums
	for i, pc := range p.list {
		if p.ledger.Is(i, ledger.Sealed) && pc.out != nil {
			c.Targets = append(c.Targets, pc.target)
		}
	}
	return read.New(p.head.node, p.head.reads, &c, p.head.permit)
}

// put makes one piece from the content in memory, and seals it.
func (p *pieces) put(ctx context.Context, pc *headPiece, info hemera.SealInfo) error {
	h, content := p.head, p.contentOf(pc)
	if h.node.Local(pc.target) {
		made, err := h.node.PutLocal(h.cap, pc.target, content, info)
		if err == nil {
			pc.out, pc.local = made, made
		}
		return err
	}
	var err error
	if pc.out, pc.local, err = h.node.Create(ctx, h.cap, h.permit, pc.target); err != nil {
		return err
	}
	if err := pc.writePages(content.Data, content.Sums, 0); err != nil {
		return err
	}
	return pc.seal(ctx, h.cap.Layout, info)
}

// contentOf returns what a piece has of the content in memory.
func (p *pieces) contentOf(pc *headPiece) disk.Content {
	if p.cut != nil {
		return p.cut[pc.target.Index]
	}
	return disk.Content{Data: p.whole.Data, Sums: p.whole.Sums}
}

// copySealed makes one piece from those that are sealed, and seals it.
func (p *pieces) copySealed(ctx context.Context, pc *headPiece, info hemera.SealInfo) error {
	h := p.head
	src := p.sealedReader(info)
	defer src.Close()
	var err error
	if pc.out, pc.local, err = h.node.Create(ctx, h.cap, h.permit, pc.target); err != nil {
		return err
	}
	pc.began = true
	if p.again {
		if err := pc.out.Truncate(0); err != nil {
			return err
		}
	}
	crc, err := piece.Copy(ctx, h.node.Panics, pc.out, sealedSource{src.Content(pc.target.Index)}, layout.PieceSize(h.cap.Layout, info.FileSize, pc.target.Index))
	if err != nil {
		return err
	}
	info.Piece = piece.CRC32C(crc)
	return pc.out.Seal(ctx, info)
}

// sealedPieces lists the sealed pieces, for the commit.
func (p *pieces) sealedPieces() []hemera.Piece {
	var list []hemera.Piece
	for i, pc := range p.list {
		if p.ledger.Is(i, ledger.Sealed) && pc.out != nil {
			list = append(list, hemera.Piece{Index: pc.target.Index, Disk: pc.target.Disk})
		}
	}
	return list
}

// release ends the hold on the sealed pieces: they stay.
func (p *pieces) release() {
	for i, pc := range p.list {
		if pc.out != nil && p.ledger.Is(i, ledger.Sealed) {
			pc.out.Release()
		}
	}
}

// abort removes every piece that is not lost, and waits for that.
func (p *pieces) abort() {
	var wg sync.WaitGroup
	for i, pc := range p.list {
		if pc.out != nil && !p.ledger.Is(i, ledger.Failed) {
			p.head.node.Panics.Go(&wg, "transfer.Abort", piece.Subject(p.head.cap), pc.out.Abort)
		}
	}
	wg.Wait()
}

// commit is the last step of a write: the request, and what is known of its fate.
type commit struct {
	head    *head
	request hemera.CommitRequest
	asked   time.Time // when the manager was asked first
	unsure  bool      // the manager may have committed without this node having heard of it
	kept    bool      // the footers say that it is kept: see mark
}

// run asks the manager until it answers or [CommitPatience] ends.
func (c *commit) run(ctx context.Context) error {
	node, file := c.head.node, c.head.cap
	deadline := time.Now().Add(c.head.writes.patience())
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if err := c.tooLate(); err != nil {
			return err
		}
		err := c.ask(ctx)
		if err == nil {
			node.Counters.Commits.Add(1)
			return nil
		}
		// From the first lost answer on, no refusal is certain to mean that nothing was committed.
		c.unsure = c.unsure || errs.Undecided(err)
		if !errs.Undecided(err) || time.Now().Add(pause).After(deadline) {
			return errs.Wrap(err, "transfer.Commit", piece.Subject(file))
		}
		node.Log.Info("commit waits for the manager", "path", file.Path, "trace", file.Trace, "error", err)
		time.Sleep(pause)
	}
}

// ask is one attempt to commit. A manager in another process may not answer; in this one nothing is
// lost on the way, and asking again would wait for the same.
func (c *commit) ask(ctx context.Context) error {
	if !c.request.Permit.Local() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, piece.CallTimeout)
		defer cancel()
	}
	return c.head.writes.Control.Commit(ctx, c.request)
}

// askedAgain is how long after it was asked for a commit may be asked for again. The manager remembers for an
// hour that a new file was removed, so that a late request does not bring it back without its content.
const askedAgain = 30 * time.Minute

// tooLate refuses to ask again when so much time has gone by, perhaps in one moment: the process stood still.
func (c *commit) tooLate() error {
	now := time.Now()
	if c.asked.IsZero() {
		c.asked = now
	}
	// A machine that was suspended sees it on the wall clock only.
	if waited := max(now.Sub(c.asked), now.Round(0).Sub(c.asked.Round(0))); waited > askedAgain {
		return errs.New(errs.Conflict, "transfer.Commit", piece.Subject(c.head.cap), fmt.Sprintf("the manager was asked for it %s ago", waited.Round(time.Second)))
	}
	return nil
}
