package transfer

import (
	"context"
	"time"

	"hemera/rules/layout"
	"hemera/transfer/ledger"
	"hemera/transfer/piece"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A pending piece has one owner. What its head makes there, on this node or from another one, is the head's. A client of a
// direct write makes pieces of its own, until the head takes them: to have them proved, or because it makes the piece itself.
// What a client makes is never sealed by it, ends with its capability, and has no more bytes than its write promised.

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

// dismiss ends a client's piece that has left the table. It waits for the call that begins it.
func (e *entry) dismiss() {
	e.once.Do(func() {
		e.err = errs.New(errs.Denied, "transfer.OpenPiece", e.key.piece.String(), "the head of the write has the piece")
	})
	if p, ok := e.work.(*pendingPiece); ok {
		p.take()
	}
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

// ownLocal makes a piece on a disk of this node that of a head here, and takes away what a client has there. The head calls
// the result once the piece is no concern of its any more.
func (t *Pending) ownLocal(c *hemera.Capability, at hemera.Target) (leave func()) {
	place := pieceAt{piece.ID(c, at.Index), at.Disk}
	t.mu.Lock()
	t.local[place]++
	left := t.entries[pendingKey{piece: place.piece, disk: place.disk, nonce: c.Nonce}]
	if left != nil {
		t.remove(left)
	}
	t.mu.Unlock()
	if left != nil {
		left.dismiss()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.local[place]--; t.local[place] == 0 {
			delete(t.local, place)
		}
	}
}

// Dismiss removes what clients made on this node of the pieces of writes that are over. It waits for calls in progress.
func (t *Pending) Dismiss(over []hemera.WriteRef) {
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

// clientMax is how many bytes a client may give one piece. Where a quota bounds the write that is the piece of what was
// announced, which the quota counts since the open.
func clientMax(c *hemera.Capability) int64 {
	if c.SizeMax > 0 {
		return layout.PieceMax(c.Layout, c.Size)
	}
	return hemera.FileSizeMax
}

// dismissClient has the nodes of a write's targets remove what its client has made there. Of a write that its head has bytes
// of there is nothing.
func (h *head) dismissClient(ctx context.Context) {
	if !h.cap.ClientWrites() || h.node.HeadProof == nil {
		return
	}
	for _, t := range h.permit.Targets {
		h.node.Background(h.cap, func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), piece.CallTimeout)
			defer cancel()
			p, token, err := h.node.Remote(h.permit, t)
			if err != nil {
				return
			}
			// A node that cannot be asked removes it when the capability expires.
			p.Adopt = true
			if out, err := h.node.Peers.Create(ctx, p, token); err == nil {
				out.Abort()
			}
		})
	}
}

// renewer is a [piece.Writer] of a client's piece, which ends with its capability.
type renewer interface {
	Renew(ctx context.Context, token string) error
}

// renewClient keeps the pieces of a host that is a client beyond the end of its capability, which is near. What cannot be renewed
// ends, and fails the next write to it.
func (p *pieces) renewClient() {
	h := p.head
	now := time.Now()
	if h.node.HeadProof != nil || h.permit.Expires.IsZero() || h.permit.Expires.Sub(now) > hemera.CapabilityLifetime/4 || now.Before(p.renews) {
		return
	}
	p.renews = now.Add(time.Minute)
	ctx, cancel := context.WithTimeout(h.ctx, piece.CallTimeout)
	defer cancel()
	grant, err := h.writes.Control.Replace(ctx, h.permit, nil)
	var token string
	if err == nil {
		h.permit = grant.Permit
		token, err = grant.Permit.Token()
	}
	if err == nil {
		err = first(p.each(ledger.Live, everyPiece, nil, func(_ int, pc *headPiece) error {
			if r, ok := pc.out.(renewer); ok {
				return r.Renew(ctx, token)
			}
			return nil
		}))
	}
	if err != nil {
		h.node.Log.Info("a capability was not renewed", "path", h.cap.Path, "trace", h.cap.Trace, "error", err)
	}
}
