package transfer

import (
	"context"

	"hemera/transfer/piece"
	"hemera/transfer/read"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Open opens the whole file that is permitted, at its head or where it is read.
func (t *Pending) Open(ctx context.Context, c *hemera.Permit, o hemera.NodeOpen) (hemera.File, error) {
	if c.Access == hemera.AccessRead {
		r, err := read.Open(t.node, t.reads, c)
		if err != nil {
			return nil, err
		}
		return read.NewFile(r), nil
	}
	e, done, err := t.acquireWrite(&c.Capability, o.Truncate, func() (work, error) { return newWriter(ctx, t.head(c)) })
	if err != nil {
		return nil, err
	}
	if done != nil {
		return newCommittedHandle(done.info(&c.Capability)), nil
	}
	// The work of a whole key is a Writer always.
	h := &writeHandle{writer: e.work.(*Writer), table: t, entry: e}
	h.open.Store(true)
	opened, err := begun(h, o.Truncate)
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// holder is a handle on what is pending.
type holder interface {
	End(ctx context.Context, how hemera.Ending) error
	restart() error
}

// begun returns a new handle, its content emptied if empty is set.
func begun[H holder](h H, empty bool) (H, error) {
	if empty {
		if err := h.restart(); err != nil {
			_ = h.End(context.Background(), hemera.EndDetach)
			var none H
			return none, err
		}
	}
	return h, nil
}

// continues reports whether a client that does not empty the file has written before: one that makes a file empties
// it first. The opens that begin and continue an update are alike; but an update that was granted before this process
// had its first lease may have begun with the process before.
func (t *Pending) continues(c *hemera.Capability) bool {
	return c.Access == hemera.AccessCreate || c.Epoch != 0 && c.Epoch < t.born()
}

// lostWrite refuses to continue a write whose earlier content is not here.
func lostWrite(op string, c *hemera.Capability, why string) error {
	return errs.New(errs.Conflict, op, piece.Subject(c), why+": the write was aborted, its content is lost").
		WithRemedy("write the file again from its beginning")
}

// OpenPiece opens one piece of the file on this node, for the head of its write, which has proved that it is, for a client
// that writes it, or for a reader. With a capability for writing it begins the piece, or comes back to it while pending; a
// sealed piece opens for reading, at the head alone. Denied when the capability has no such piece on this node, and for a
// client where it is the head's.
func (t *Pending) OpenPiece(c hemera.Capability, o hemera.PieceOpen, head bool) (hemera.PieceHandle, error) {
	// The base is sealed and committed, so the permit to write the update is one to read it.
	if o.Base {
		if c.Base == nil {
			return nil, errs.New(errs.Invalid, "transfer.OpenPiece", piece.Subject(&c), "the capability has no base")
		}
		base := c
		base.Gen, base.Size, base.Targets = c.Base.Gen, c.Base.Size, c.Base.Pieces
		return t.openSealed(&base, o.Index)
	}
	if c.Access == hemera.AccessRead {
		return t.openSealed(&c, o.Index)
	}
	target, err := t.node.Target(&c, o.Index)
	if err != nil {
		return nil, err
	}
	e, err := t.acquirePiece(&c, target, o.Adopt, head)
	// The piece is sealed already: its head comes back to read it, or asks again for an answer that was lost.
	if errs.KindOf(err) == errs.Exists && head {
		return t.openOwn(&c, target)
	}
	if err != nil {
		return nil, err
	}
	h := &pieceHandle{pendingPiece: e.work.(*pendingPiece), table: t, entry: e, head: head}
	h.open.Store(true)
	opened, err := begun(h, o.Truncate)
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// openSealed opens a committed piece for reading.
func (t *Pending) openSealed(c *hemera.Capability, index uint8) (hemera.PieceHandle, error) {
	target, err := t.node.Target(c, index)
	if err != nil {
		return nil, err
	}
	r, err := t.node.OpenSealed(c, target)
	if err != nil {
		t.node.Found(target, piece.ID(c, index), err)
		return nil, err
	}
	return newSealedHandle(t.node, r, c, target), nil
}

// openOwn opens the sealed piece of a write that is not committed yet: its size is not known to
// the capability.
func (t *Pending) openOwn(c *hemera.Capability, target hemera.Target) (hemera.PieceHandle, error) {
	store, err := t.node.Store(target)
	if err != nil {
		return nil, err
	}
	r, err := store.Open(piece.ID(c, target.Index))
	if err != nil {
		return nil, err
	}
	return &ownHandle{newSealedHandle(t.node, r, c, target), store}, nil
}

// acquireWrite does what acquire does, for a client's write, which the client empties if startsOver is set. What is
// decided is decided at one moment: acquireWrite returns what was committed if the write has ended so, and fails with
// Conflict if the client would continue a write that is not here.
func (t *Pending) acquireWrite(c *hemera.Capability, startsOver bool, begin func() (work, error)) (*entry, *committed, error) {
	key, continues := writeKey(c), t.continues(c)
	if startsOver {
		t.makeWay(key)
	}
	t.mu.Lock()
	// An entry that is there continues, whatever was remembered of an earlier one.
	if t.entries[key] == nil {
		if done, ok := t.commits.Get(key); ok {
			t.mu.Unlock()
			return nil, &done, nil
		}
		_, aborted := t.aborted.Get(key)
		if !startsOver && (aborted || continues) {
			t.mu.Unlock()
			return nil, nil, lostWrite("transfer.Open", c, "the pending write is not here any more")
		}
	} else if t.entries[key].kept {
		t.mu.Unlock()
		return nil, nil, keptWrite(c)
	}
	e, err := t.holdLocked(key)
	t.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	e, err = t.begun(e, begin)
	return e, nil, err
}

// keptWrite refuses a client that comes back too late to continue.
func keptWrite(c *hemera.Capability) error {
	return errs.New(errs.Conflict, "transfer.Open", piece.Subject(c), "its client was away too long: what was written is kept, and not committed").
		WithRemedy("write the file again from its beginning, or see `hemera open ls`")
}
