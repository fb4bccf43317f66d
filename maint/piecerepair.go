package maint

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"hemera/maint/move"
	"hemera/rules/place"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// badPiecesMax bounds the bad pieces that wait to be repaired. A piece beyond the bound is found again, by the next
	// read, scrub or audit. 64 Ki names are some megabytes: enough for a disk whose every file is bad to be repaired
	// piece by piece.
	badPiecesMax = 1 << 16
	// repairsAtOnce bounds the repairs under way. Each reads a whole piece.
	repairsAtOnce = 8
)

// pieceRepairer repairs single pieces that a read, a scrub or an audit found bad. It repairs a piece in its place or, where that
// fails, makes it elsewhere. A piece leaves its file only when a good one takes its place.
type pieceRepairer struct {
	base   *base
	broken *broken

	mu      sync.Mutex
	waiting []hemera.BadPiece        // oldest first
	known   map[hemera.BadPiece]bool // waiting or being repaired
	running int                      // at most repairsAtOnce
}

// newPieceRepairer makes a repairer with an empty queue.
func newPieceRepairer(b *base, k *broken) *pieceRepairer {
	return &pieceRepairer{base: b, broken: k, known: map[hemera.BadPiece]bool{}}
}

// repairSoon queues pieces that a read, a scrub or an audit found bad, to be verified and repaired. It does not wait. It leaves out a piece that
// waits already, or for which there is no room, and reports whether all had room.
func (h *pieceRepairer) repairSoon(bad ...hemera.BadPiece) bool {
	all := h.add(bad)
	if len(bad) > 0 {
		h.base.Wake()
	}
	return all
}

// unjudged counts the pieces that wait to be repaired, or are being, without those that are broken.
func (h *pieceRepairer) unjudged() (count int) {
	h.mu.Lock()
	// Copied, since IsBroken takes another lock: no lock is held over it.
	list := slices.Collect(maps.Keys(h.known))
	h.mu.Unlock()
	for _, b := range list {
		if !h.broken.IsBroken(b) {
			count++
		}
	}
	return count
}

// add queues bad pieces, each once. It reports whether all had room.
func (h *pieceRepairer) add(bad []hemera.BadPiece) (all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range bad {
		if h.known[b] {
			continue
		}
		// The rest of the list is dropped without a note: the reader, scrub or audit that found it will find it again.
		if len(h.known) >= badPiecesMax {
			return false
		}
		h.known[b] = true
		h.waiting = append(h.waiting, b)
	}
	return true
}

// queued reports whether a piece waits to be repaired, or is being.
func (h *pieceRepairer) queued(b hemera.BadPiece) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[b]
}

// listJobs implements jobLister. The kind "heal" is the name that the command line and the metrics have for it.
func (h *pieceRepairer) listJobs(context.Context) (list []adminapi.JobStatus, err error) {
	if s, show := h.status(); show {
		list = append(list, s)
	}
	return list, nil
}

// status returns the work as a job, and false when the queue is empty.
func (h *pieceRepairer) status() (adminapi.JobStatus, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := adminapi.JobStatus{Kind: adminapi.JobHeal, State: adminapi.JobWaiting, FilesLeft: int64(len(h.known))}
	if h.running > 0 {
		s.State = adminapi.JobRunning
	}
	return s, len(h.known) > 0
}

func (h *pieceRepairer) Name() string { return "heal" }

// Step begins repairs while there is room for more, each in a goroutine of its own.
func (h *pieceRepairer) Step(ctx context.Context) (time.Duration, error) {
	// Once an hour those that nothing good was left for are tried again with the rest.
	h.add(h.broken.due(h.base.Cluster.View(), h.base.Now()))
	for _, b := range h.take() {
		h.base.Panics.Go(&h.base.group, "maint.RepairPiece", b.Piece.String(), func() {
			err := h.base.Panics.Do("maint.RepairPiece", b.Piece.String(), func() error { return h.repair(ctx, b) })
			// Locked is not a failure: another piece of the file is being moved, and this one's turn comes in the next step.
			if err != nil && ctx.Err() == nil && !errors.Is(err, errs.Locked) {
				h.base.Log.Error("a bad piece is not repaired", "piece", b.Piece.String(), "disk", b.Disk, "error", err)
			}
			h.done(b)
			if errors.Is(err, errs.Locked) {
				h.add([]hemera.BadPiece{b}) // for the next step
			}
		})
	}
	return stallRest, nil
}

// take returns what may begin now.
func (h *pieceRepairer) take() []hemera.BadPiece {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Oldest first, whatever disk they are on.
	n := min(repairsAtOnce-h.running, len(h.waiting))
	list := slices.Clone(h.waiting[:n])
	h.waiting = h.waiting[n:]
	h.running += n
	return list
}

// done ends the repair of a piece, and makes way for the next.
func (h *pieceRepairer) done(b hemera.BadPiece) {
	h.mu.Lock()
	// From now on the same piece may be reported again.
	delete(h.known, b)
	h.running--
	more := len(h.waiting) > 0
	h.mu.Unlock()
	if more {
		h.base.Wake()
	}
}

// repair verifies one piece and makes it good, in its place or elsewhere. It returns nil when that is done, or when no
// file has the piece. A piece that stays bad is remembered as broken.
func (h *pieceRepairer) repair(ctx context.Context, b hemera.BadPiece) error {
	e := h.base
	from, held := h.sources(ctx, b)
	if held {
		return nil
	}
	var entry hemera.Entry
	err := e.Panics.Do("maint.RepairPiece", b.Piece.String(), func() (err error) {
		entry, err = h.inPlace(ctx, b)
		return err
	})
	switch {
	// Conflict: no file has the piece any more, so nothing is bad. Either way the list is put right.
	case err == nil, errors.Is(err, errs.Conflict):
		h.broken.setBroken(ctx, b, false)
		return nil
	case ctx.Err() != nil, errors.Is(err, errs.Locked), errors.Is(err, errs.Unavailable): // a disk that is away is a matter of repair
		return err
	}
	drop := hemera.Piece{Index: b.Piece.Index, Disk: b.Disk}
	// The disk cannot rewrite it, or has no good source for a page. A new piece elsewhere is made only of verified pages.
	_, elsewhere := e.mover.Relocate(ctx, entry, move.Spec{Index: drop.Index, Drop: []hemera.Piece{drop}, Avoid: []hemera.DiskID{b.Disk}})
	switch {
	case elsewhere == nil:
		h.broken.setBroken(ctx, b, false)
		return nil
	case errors.Is(elsewhere, errs.Conflict):
		return nil
	case errors.Is(elsewhere, errs.Locked): // another piece of the file is made just now: its turn comes
		return elsewhere
	// Only when both ways failed, and the first because of the data: a full or busy cluster proves nothing.
	case isBad(err):
		e.setbacks.add(b.Piece, from, err, e.Now())
		h.broken.setBroken(ctx, b, true)
	case errs.KindOf(err) == errs.Internal: // a defect, which says nothing of the piece
		e.setbacks.add(b.Piece, from, err, e.Now())
	}
	return errors.Join(err, elsewhere)
}

// sources returns the pieces of the file that can be asked now. It returns held for a broken piece if the rest of the file was not
// enough for it lately, or if its repair failed by a defect: reads find such a piece again and again.
func (h *pieceRepairer) sources(ctx context.Context, b hemera.BadPiece) (from []hemera.Piece, held bool) {
	e := h.base
	entry, _, err := e.Files.Resolve(ctx, b.Piece.File)
	if err != nil || !has(entry, b.Piece, b.Disk) {
		return nil, false // the repair says what there is to say
	}
	from = readable(e.Cluster.View(), entry)
	last, held := e.setbacks.holds(b.Piece, from, e.Now())
	return from, held && (h.broken.IsBroken(b) || errs.KindOf(last.err) == errs.Internal)
}

// inPlace has the piece's own node verify it, and repair it from the file's other pieces. Conflict when no
// file has the piece there; Locked while another of the file's pieces is being moved.
func (h *pieceRepairer) inPlace(ctx context.Context, b hemera.BadPiece) (hemera.Entry, error) {
	e, subject := h.base, "fxid:"+b.Piece.File.Hex()
	if !e.mover.LockFile(b.Piece.File) {
		return hemera.Entry{}, errs.New(errs.Locked, "maint.RepairPiece", subject, "another piece of the file is being moved")
	}
	defer e.mover.UnlockFile(b.Piece.File)
	entry, path, err := e.Files.Resolve(ctx, b.Piece.File)
	if errors.Is(err, errs.NotFound) || err == nil && !has(entry, b.Piece, b.Disk) {
		return entry, errs.New(errs.Conflict, "maint.RepairPiece", subject, "no file has the piece")
	}
	if err != nil {
		return entry, err
	}
	// Read after the lock, so that no piece of the file moves between this picture and the order.
	view := e.Cluster.View()
	d, ok := view.Disk(b.Disk)
	if !ok || !d.Readable() {
		return entry, errs.New(errs.Unavailable, "maint.RepairPiece", subject, "disk "+b.Disk.String()+" cannot be asked")
	}
	others := slices.DeleteFunc(slices.Clone(entry.Pieces), func(p hemera.Piece) bool { return p.Disk == b.Disk })
	m := move.Plan{Entry: entry, Path: path, Sources: place.Order(view, others, "", nil, 0),
		Add: hemera.Target{Index: b.Piece.Index, Disk: b.Disk, Node: d.Node}}
	order, err := e.mover.CopyOrder(m)
	if err != nil {
		return entry, err
	}
	// The order is a copy's with another kind: the same sources and the same right to read them.
	order.Kind = hemera.OrderRepair
	r, err := e.Orders.Do(ctx, d.Node, order)
	if err != nil {
		return entry, err
	}
	if r.Bytes > 0 {
		e.Log.Warn("a bad piece was repaired", "path", path, "piece", b.Piece.String(), "disk", b.Disk, "bytes", r.Bytes)
	}
	if now, _, err := e.Files.Resolve(ctx, b.Piece.File); errors.Is(err, errs.NotFound) || err == nil && !has(now, b.Piece, b.Disk) {
		// The file went meanwhile, and the piece may have been made after its removal.
		_, _ = e.Orders.Do(ctx, d.Node, hemera.Order{Kind: hemera.OrderRemove, Disk: b.Disk, Piece: b.Piece})
	}
	return entry, nil
}
