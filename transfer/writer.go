package transfer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"hemera/platform/turn"
	"hemera/rules/checksum"
	"hemera/transfer/filesum"
	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Writer is the head of one pending write: it gives every change to the [content], and at close seals that and
// commits. It begins without any piece, so that an empty file costs no disk anything.
//
// Methods may be called concurrently. Those that change or read the content run one after the other, in the order of
// arrival, so that overlapping writes reach every piece in the same order. Info, SetXattr and Xattrs never wait for
// them.
type Writer struct {
	opened time.Time
	cancel context.CancelFunc // frees calls that wait for a peer
	usage  piece.Usage

	turn    turn.Turn // its holder has what follows
	head    head
	content content
	sums    *filesum.Stream
	base    *read.Reader // of an update, until its end; else nil
	changed bool         // the content differs from the base of an update
	least   int64        // a close below this size fails: what was announced, or the client's last truncation
	adopted *adopted     // of a direct write: what its client sealed; nothing but the close, or an abort, comes then
	left    leaving      // what decides when its client does not come back
	commit  *commit      // all is sealed; only the manager's answer is missing
	scratch []uint32
	result  error // of Close, once ended
	// recorded: the node has a record of the write, which is kept.
	recorded bool
	// promised is the node's record that the write was synced; "" if it has none.
	promised string
	found    *found // what an earlier process left; nil if this one began the write

	mu    sync.Mutex // guards what follows, and is never held while anything is waited for
	state writeState
}

// writePhase says how far a write is.
//
//	writing ──▶ committing ──▶ ended
//	   │ ╲         ▲  │          ▲
//	   │  ╲________│__│__________│       aborted, failed, or nothing had changed
//	   ╰────────▶ awaiting ──────╯       dropped, or its time is over
type writePhase uint8

const (
	writing    writePhase = iota // takes changes
	committing                   // all is sealed; only the answer of the manager is missing
	ended                        // committed or aborted; result says which
	awaiting                     // all is sealed, and a person decides: its client did not come back
)

// writeState has the facts of a write that any goroutine may read at any time. The holder of the turn changes it, except
// xattrs.
type writeState struct {
	phase  writePhase
	size   int64     // accepted so far
	lasts  bool      // it is closed, and not removed, if its client does not come back
	left   bool      // a person decides
	found  bool      // as of a sync, by a process after the one that wrote it
	differ int64     // its pages that were written over after that sync; known at the commit
	at     time.Time // of the last change
	mtime  time.Time // of the commit; zero before
	xattrs map[string][]byte
	// refused is the error of the last commit, which a person may ask for again.
	refused error
}

// newWriter begins the write that the capability permits. It touches no disk. ctx gives its values only: the write
// outlives the request that opened it. Denied for a capability to read, Invalid for one without usable targets.
func newWriter(ctx context.Context, h head) (*Writer, error) {
	c := h.cap
	if c.Access != hemera.AccessCreate && c.Access != hemera.AccessUpdate {
		return nil, errs.New(errs.Denied, "transfer.OpenWriter", piece.Subject(c), "the capability is for reading")
	}
	if len(c.Targets) == 0 || len(c.Targets) > hemera.PiecesMax {
		return nil, errs.New(errs.Invalid, "transfer.OpenWriter", piece.Subject(c), "the capability names no usable targets")
	}
	sums, err := filesum.New(c.Checksums)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "transfer.OpenWriter", piece.Subject(c))
	}
	if c.Layout.Coded() {
		if h.code, err = h.node.Codes.Get(c.Layout); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	w := &Writer{opened: now, turn: turn.New(), head: h, sums: sums, least: c.Size, state: writeState{at: now}}
	// The context ends with the abort, not with the request that opened the file.
	w.head.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.content = &inlineContent{head: &w.head}
	if c.Access == hemera.AccessUpdate && c.Base != nil && c.Base.Size > 0 {
		w.base = read.Base(h.node, h.reads, h.permit)
		w.content = baseView{w.base}
		w.state.size = c.Base.Size
		sums.Follow(c, w.base)
	}
	h.node.Files.Begin(&w.usage, c, now)
	return w, nil
}

// snapshot returns what is known of the write now. It waits for nothing.
func (w *Writer) snapshot() writeState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

// Info describes the pending content, or what was committed.
func (w *Writer) Info() hemera.FileInfo {
	s := w.snapshot()
	if s.mtime.IsZero() {
		s.mtime = time.Now()
	}
	return written(w.head.cap, s.size, s.mtime)
}

// written describes a content that a capability permitted to write.
func written(c *hemera.Capability, size int64, mtime time.Time) hemera.FileInfo {
	return hemera.FileInfo{
		ID: c.File, Gen: c.Gen, Path: c.Path, Size: size, Mtime: mtime,
		Mode: c.Mode, UID: c.Who.UID, GID: c.Who.GID, Writable: true,
	}
}

// WritePages writes p at off to every live piece. sums, if not nil, are the verified CRC32Cs of p's page fragments.
// A piece that fails is left behind; the write fails, for good, only when too few are left.
func (w *Writer) WritePages(p []byte, sums []uint32, off int64) (err error) {
	w.turn.Wait()
	defer w.turn.Release()
	defer func() { w.answered(err) }()
	if err := w.usable("transfer.Write"); err != nil {
		return err
	}
	if err := piece.CheckRange("transfer.Write", piece.Subject(w.head.cap), off, len(p)); err != nil {
		return err
	}
	if len(p) == 0 {
		return nil
	}
	end := off + int64(len(p))
	if err := w.checkQuota(end); err != nil {
		return err
	}
	// From here on a failure may have changed the content, or ended the write.
	if err := w.makeRoom(max(end, w.state.size), w.state.size); err != nil {
		return err
	}
	if err := w.content.writePages(p, w.pageSums(p, sums, off), off, w.sums); err != nil {
		return err
	}
	// Only what every live piece has accepted counts; a lost piece is made again from the others.
	w.accepted(len(p))
	w.left.wrote(w.head.cap, off, end)
	w.resized(max(w.state.size, end))
	return nil
}

// makeRoom brings the content into a state in which it can be changed and have size bytes. Of what is there only the
// first keep bytes are needed.
func (w *Writer) makeRoom(size, keep int64) error {
	w.changed = true
	switch c := w.content.(type) {
	// A content in memory stays there while it is small and the node has memory for it.
	case *inlineContent:
		if c.grow(size) {
			return nil
		}
		return w.spill(c)
	case baseView:
		return w.copyBase(c, keep)
	}
	return nil
}

// spill moves a content from memory to pieces.
func (w *Writer) spill(c *inlineContent) error {
	p := newPieces(&w.head)
	w.content = p
	defer c.drop()
	if err := p.spread.begin(); err != nil || c.inlineBuffer == nil {
		return err
	}
	if err := c.check(); err != nil {
		return w.head.fail(err)
	}
	return p.spread.write(c.Data, c.Sums, 0, nil)
}

// copyBase makes pieces with the first keep bytes of the base.
func (w *Writer) copyBase(b baseView, keep int64) error {
	p := newPieces(&w.head)
	w.content = p
	if keep == 0 {
		return p.spread.begin()
	}
	return p.spread.beginAs(b.base, keep)
}

// accepted counts bytes that pieces or memory have taken.
func (w *Writer) accepted(n int) {
	w.head.node.Counters.WriteBytes.Add(int64(n))
	w.usage.Bytes.Add(int64(n))
}

// resized records a change of the content, which has size bytes now.
func (w *Writer) resized(size int64) {
	now, lasts := time.Now(), w.lasts(size)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.size, w.state.at, w.state.lasts = size, now, lasts
}

// pageSums returns the sums of p's page fragments, computed if there are none.
func (w *Writer) pageSums(p []byte, sums []uint32, off int64) []uint32 {
	if sums != nil {
		return sums
	}
	n := checksum.Fragments(off, len(p))
	if cap(w.scratch) < n {
		w.scratch = make([]uint32, n)
	}
	sums = w.scratch[:n]
	checksum.PageSums(p, off, sums)
	return sums
}

// Truncate sets the size of the pending content, and so the least size that [Writer.Close] takes: a client may
// announce more than it comes to write, but then has to say so.
func (w *Writer) Truncate(size int64) (err error) {
	w.turn.Wait()
	defer w.turn.Release()
	defer func() { w.answered(err) }()
	return w.resize(size, size)
}

// resize sets the size, and the least size of a close. The caller has the turn.
func (w *Writer) resize(size, least int64) error {
	if err := w.usable("transfer.Truncate"); err != nil {
		return err
	}
	if err := piece.CheckRange("transfer.Truncate", piece.Subject(w.head.cap), size, 0); err != nil {
		return err
	}
	if err := w.checkQuota(size); err != nil {
		return err
	}
	if size != w.state.size {
		if err := w.truncate(size); err != nil {
			return err
		}
	}
	w.least = least
	w.left.covered.Cut(size)
	w.resized(size)
	return nil
}

// truncate changes the size of the content. The base of an update is not copied to be thrown away.
func (w *Writer) truncate(size int64) error {
	if view, ok := w.content.(baseView); ok && size == 0 {
		view.drop()
		w.content = &inlineContent{head: &w.head}
	} else if err := w.makeRoom(size, min(w.state.size, size)); err != nil {
		return err
	}
	w.changed = true
	w.sums.Truncated(size)
	return w.content.truncate(size)
}

// checkQuota refuses what would make the content larger than a quota lets it become. Bytes that are there already stay.
func (w *Writer) checkQuota(end int64) error {
	sizeMax := w.head.cap.SizeMax
	if sizeMax <= 0 || end <= max(sizeMax, w.state.size) {
		return nil
	}
	return errs.New(errs.OverQuota, "transfer.Write", piece.Subject(w.head.cap), fmt.Sprintf("a quota lets the file have %d bytes", sizeMax)).
		WithRemedy("remove files, or ask for a larger quota; `xrdfs query space` shows what is left")
}

// ReadPages reads the pending content back.
func (w *Writer) ReadPages(p []byte, sums []uint32, off int64) (int, error) {
	w.turn.Wait()
	defer w.turn.Release()
	if err := w.usable("transfer.Read"); err != nil {
		return 0, err
	}
	if err := piece.CheckRange("transfer.Read", piece.Subject(w.head.cap), off, 0); err != nil {
		return 0, err
	}
	size := w.state.size
	if off >= size {
		return 0, io.EOF
	}
	// Contents are asked for bytes within the size only: pieces may be longer for a moment, after a failed truncation.
	short := int64(len(p)) > size-off
	if short {
		p = p[:size-off]
	}
	n, err := w.content.readPages(p, sums, off)
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// SetXattr keeps an attribute for the commit; nil removes it.
func (w *Writer) SetXattr(name string, value []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.xattrs == nil {
		w.state.xattrs = map[string][]byte{}
	}
	w.state.xattrs[name] = value
}

// Xattrs returns a copy of the changes kept so far; nil is a removal.
func (w *Writer) Xattrs() map[string][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.state.xattrs)
}

// usable refuses use after the end of the write.
func (w *Writer) usable(op string) error {
	switch {
	case w.head.broken != nil:
		return w.head.broken
	case w.state.phase != writing, w.adopted != nil, w.found != nil:
		return piece.BadHandle(op, piece.Subject(w.head.cap))
	}
	return nil
}

// setPhase records how far the write is. Only the holder of the turn calls it, so it may read the phase without mu.
func (w *Writer) setPhase(p writePhase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.phase = p
}

// setAwaiting records that a person decides. A write that is not sealed stays in its phase.
func (w *Writer) setAwaiting(refused error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.commit != nil {
		w.state.phase = awaiting
	}
	w.state.refused, w.state.left = refused, true
}

// undecided reports whether the commit may or may not have happened.
func (w *Writer) undecided() bool { return w.snapshot().phase == committing }

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

// lasts reports whether the write, of the size, is closed if its client does not come back. The caller has the turn.
func (w *Writer) lasts(size int64) bool {
	return w.left.synced && size >= w.least || !w.left.failed && w.left.complete(w.head.cap.Size, size)
}

// answered takes note of what a client is told. The caller has the turn.
func (w *Writer) answered(err error) {
	if err != nil {
		w.left.failed = true
	}
	if lasts := w.lasts(w.state.size); lasts != w.state.lasts {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.state.lasts = lasts
	}
}

// lasting reports whether the write is to be closed when its time is over: it lasts, or its commit may have happened.
func (w *Writer) lasting() bool {
	s := w.snapshot()
	return s.phase == committing || s.phase == writing && s.lasts && !s.left
}

// synced reports whether a sync of the write was acknowledged.
func (w *Writer) synced() bool {
	w.turn.Wait()
	defer w.turn.Release()
	return w.left.synced
}

// awaits reports whether a person decides about the write.
func (w *Writer) awaits() bool {
	s := w.snapshot()
	return s.phase == awaiting || s.phase == writing && s.left
}

// worthKeeping reports whether there is something that a person may want: bytes that came to this head. Those of a direct write
// did not, and its client says that it failed.
func (w *Writer) worthKeeping() bool {
	s := w.snapshot()
	return s.phase == writing && !s.left && s.size > 0 && w.usage.Bytes.Load() > 0 && !w.head.cap.Convert
}

// adopted is the content of a direct write, once its pieces are proved.
type adopted struct {
	info   hemera.SealInfo
	pieces []hemera.Piece
}

// found has what the process before left of a write.
type found struct {
	// footer is set if a piece is sealed: the process ended in a close, whose commit may have happened.
	footer *hemera.SealInfo
	sealed time.Time // when, as the footer says
	// lost are the disks where this process began a piece that failed: it may be removed there at any time.
	lost []hemera.DiskID
}
