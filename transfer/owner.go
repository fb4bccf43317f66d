package transfer

import (
	"time"

	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A pending piece has one owner. A piece that its head makes there, on this node or from another one, is the head's. A
// client of a direct write makes pieces of its own, until the head takes them: to have them proved, or because it makes
// the piece itself. What a client makes is never sealed by it, ends with its capability, and has no more bytes than its
// write promised.

// acquirePiece returns the entry of a piece, held, and begins the piece if it is new. For the head it takes what a client has
// there: with adopt as it is (NotFound if there is nothing), otherwise away. Overloaded at [PendingMax]; Denied for a client where
// the piece is the head's, or cannot be a client's.
func (t *Pending) acquirePiece(c *hemera.Capability, at hemera.Target, adopt, head bool) (*entry, error) {
	const op = "transfer.OpenPiece"
	key := pendingKey{piece: piece.ID(c, at.Index), disk: at.Disk, nonce: c.Nonce}
	if !head && !c.ClientWrites() {
		return nil, errs.New(errs.Denied, op, key.piece.String(), "the head of the write alone writes the pieces of this file")
	}
	t.mu.Lock()
	old := t.entries[key]
	switch {
	case !head && (old != nil && old.head || t.local[pieceAt{key.piece, key.disk}] > 0):
		t.mu.Unlock()
		return nil, errs.New(errs.Denied, op, key.piece.String(), "the head of the write has the piece")
	case !head && t.overLocked(c):
		t.mu.Unlock()
		return nil, errs.New(errs.Denied, op, key.piece.String(), "the write has ended")
	case adopt && (old == nil || old.work == nil): // nothing, or not begun yet
		t.mu.Unlock()
		return nil, errs.New(errs.NotFound, op, key.piece.String(), "no client has begun the piece")
	}
	var left *entry
	if head && old != nil && !old.head {
		left = old
		t.remove(old)
	}
	e, err := t.holdLocked(key)
	if err == nil && (left != nil || old == nil) {
		e.head = head
	}
	if err == nil && adopt && left != nil {
		// The handles of the client are on the entry that has left the table: they count for nothing.
		p := left.work.(*pendingPiece)
		p.adopt()
		e.once.Do(func() { e.work = p })
		left = nil
	}
	if err == nil && !head {
		t.expires(e, c.Expires)
	}
	t.mu.Unlock()
	if left != nil {
		left.dismiss()
	}
	if err != nil {
		return nil, err
	}
	return t.begun(e, func() (work, error) { return beginPiece(t.node, c, at, head) })
}

// expires ends a client's piece at the time, also if a handle holds it; a later time replaces an earlier one. The caller holds mu.
func (t *Pending) expires(e *entry, at time.Time) {
	if at.IsZero() {
		return
	}
	if e.over != nil {
		e.over.Stop()
	}
	e.over = time.AfterFunc(time.Until(at), func() {
		t.node.Panics.Run("transfer.Expire", e.key.piece.String(), func() {
			t.mu.Lock()
			gone := e.gone
			t.remove(e)
			t.mu.Unlock()
			if !gone {
				e.dismiss()
			}
		})
	})
}

// RemoveClientPieces removes what clients made on this node of the pieces of writes that are over. It waits for calls in progress.
func (t *Pending) RemoveClientPieces(over []hemera.WriteRef) {
	var left []*entry
	t.mu.Lock()
	for key, e := range t.entries {
		for _, r := range over {
			if !key.whole && !e.head && key.nonce == r.Nonce && key.piece.File == r.File && key.piece.Gen == r.Gen {
				t.remove(e)
				left = append(left, e)
				break
			}
		}
	}
	t.mu.Unlock()
	for _, e := range left {
		e.dismiss()
	}
}

// overLocked reports whether the write of a capability has ended here, at its head. The caller holds mu.
func (t *Pending) overLocked(c *hemera.Capability) bool {
	key := writeKey(c)
	if t.entries[key] != nil {
		return false
	}
	_, done := t.commits.Get(key)
	_, aborted := t.aborted.Get(key)
	return done || aborted
}

// Take ends this node's pending work on the piece. Later calls of its old head do nothing. It waits for a removal that has
// begun.
func (t *Pending) Take(id hemera.PieceID, on hemera.DiskID) {
	t.mu.Lock()
	var left []*pendingPiece
	for key, e := range t.entries {
		if key.piece == id && key.disk == on && !key.whole {
			t.remove(e)
			if p, ok := e.work.(*pendingPiece); ok {
				left = append(left, p)
			}
		}
	}
	// Outside of the lock of the table, as ending a piece waits for its calls in progress.
	t.mu.Unlock()
	for _, p := range left {
		p.take()
	}
	t.node.Removals.Wait(id, on)
}
