package maint

import (
	"context"
	"slices"
	"sync"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// brokenMax bounds the broken pieces that are remembered.
	// A piece beyond the bound is repaired as often as it is found, but `hemera status` does not count its file.
	brokenMax = 1 << 16
	// brokenRest is the interval at which all of them are tried again. A disk that comes back has those tried at once
	// that it may help.
	brokenRest = time.Hour
)

// broken keeps the pieces on good disks that are known to be bad and had no good source for a repair. They are stored, since
// only a read of all data would find them again.
type broken struct {
	base *base // for the stored list and the log

	mu      sync.Mutex
	pieces  map[hemera.BadPiece]bool // as stored, or about to be
	version uint64                   // grows with each change of pieces; a census compares it to learn that its count is outdated
	again   time.Time                // when repair is tried again
	calm    time.Time                // until then disks that come are those of nodes that register with a new manager
	asked   []hemera.DiskID          // disks that could be read at the last look
}

// Load reads what is stored of broken pieces. It must run before Run.
func (k *broken) Load(ctx context.Context) error {
	list, err := k.base.Findings.BrokenPieces(ctx, brokenMax)
	if err != nil {
		return errs.Wrap(err, "maint.Load", "")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pieces = map[hemera.BadPiece]bool{}
	for _, b := range list {
		k.pieces[b] = true
	}
	k.version++
	k.again, k.calm = k.base.Now().Add(brokenRest), k.base.Now().Add(k.base.lostAfter())
	return nil
}

// Broken returns the pieces that are known to be bad and cannot be repaired, by disk and file. A file may have been
// removed or rewritten since. The version changes with the list.
func (k *broken) Broken() (list []hemera.BadPiece, version uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for b := range k.pieces {
		list = append(list, b)
	}
	slices.SortFunc(list, func(x, y hemera.BadPiece) int { return slices.Compare(sortKey(x), sortKey(y)) })
	return list, k.version
}

// sortKey orders broken pieces by disk, file, generation and index.
func sortKey(b hemera.BadPiece) []uint64 {
	return []uint64{uint64(b.Disk), uint64(b.Piece.File), uint64(b.Piece.Gen), uint64(b.Piece.Index)}
}

// IsBroken reports whether a piece is known to be bad, and cannot be repaired.
func (k *broken) IsBroken(b hemera.BadPiece) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pieces[b]
}

// due returns the broken pieces when it is time to try again: once an hour, and when one more disk can be read.
func (k *broken) due(view *hemera.View, now time.Time) (list []hemera.BadPiece) {
	var asked []hemera.DiskID
	for _, d := range view.Disks {
		if d.Readable() {
			asked = append(asked, d.ID)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	back := slices.ContainsFunc(asked, func(id hemera.DiskID) bool { return !slices.Contains(k.asked, id) })
	k.asked = asked
	if now.Before(k.again) && (now.Before(k.calm) || !back) {
		return nil
	}
	k.again = now.Add(brokenRest)
	for p := range k.pieces {
		list = append(list, p)
	}
	return list
}

// setBroken remembers, or forgets, that a piece cannot be repaired.
func (k *broken) setBroken(ctx context.Context, b hemera.BadPiece, is bool) {
	if !is {
		k.base.setbacks.forget(b.Piece)
	}
	k.mu.Lock()
	// The lock is not held over the store, so the look and the change are two steps.
	known, full := k.pieces[b], len(k.pieces) >= brokenMax
	k.mu.Unlock()
	if known == is || is && full {
		return
	}
	if err := k.base.Findings.MarkBroken(ctx, b, is); err != nil {
		// It is remembered in memory all the same: until the next start the status is right.
		k.base.Log.Error("what is known of a bad piece is not stored", "piece", b.Piece.String(), "disk", b.Disk, "broken", is, "error", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version++; !is {
		delete(k.pieces, b)
		return
	}
	if k.pieces == nil {
		k.pieces = map[hemera.BadPiece]bool{}
	}
	k.pieces[b] = true
}
