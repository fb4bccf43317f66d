package manager

import (
	"context"
	"errors"
	"path"
	"strings"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// hiddenPrefix begins the name that FUSE gives a file which is removed while it is open: no close of it is on its way.
const hiddenPrefix = ".fuse_hidden"

// Move implements hemera.Files.
func (o *ownWrites) Move(ctx context.Context, who hemera.Identity, from, to, process string) error {
	// The zero Prepared with NotFound makes awaitOwn look the name up by its path.
	if !strings.HasPrefix(path.Base(to), hiddenPrefix) {
		o.awaitOwn(ctx, who, &namespace.Prepared{}, hemera.OpenRequest{Path: from, Process: process}, errs.NotFound)
	}
	if moved, err := o.moveOwn(ctx, who, from, to, process); moved || err != nil {
		return err
	}
	return o.names.Rename(ctx, who, from, to)
}

// moveOwn renames what the process is writing, in its directory; false if that cannot be. The lock goes first, so that no
// other write gets the new name meanwhile. The head is told nothing: what its capability names, the commit maps.
func (o *ownWrites) moveOwn(ctx context.Context, who hemera.Identity, from, to, process string) (moved bool, err error) {
	// The usual case is cheap: most renames are of files that are not being written.
	if process == "" || o.pending.size() == 0 || from == "/" || path.Dir(from) != path.Dir(to) {
		return false, nil
	}
	old, w, err := o.ownAt(ctx, who, from, process)
	if err == nil && w != nil {
		// Renames of committed files wait in the decorator of Names; this one does not pass there.
		err = o.cluster.Marks.AwaitCurrent(ctx)
	}
	if err != nil || w == nil {
		return false, err
	}
	// Only within a directory: the commit puts the file into the directory of its capability, whatever its name there.
	target := name{old.parent, path.Base(to)}
	if !o.pending.rename(old, target, w.nonce, o.permitAt(w, to)) {
		return false, nil
	}
	if w.permit.BaseGen != 0 {
		err = o.names.Rename(ctx, who, from, to) // its commit finds the file by its id
	} else {
		err = o.renameWrite(ctx, who, w, old, to)
	}
	if err == nil || errs.Undecided(err) {
		return err == nil, err
	}
	// The namespace refused, so the lock goes back. If the write ended in between there is nothing to move back.
	o.pending.rename(target, old, w.nonce, w.permit)
	if errors.Is(err, errs.Conflict) || errors.Is(err, errs.Exists) {
		// The new name is taken, or the write was committed meanwhile: Rename decides what to do with both.
		return false, nil
	}
	return false, err
}

// renameWrite reserves the new name of a file that is being made, so that its commit puts it there.
func (o *ownWrites) renameWrite(ctx context.Context, who hemera.Identity, w *write, old name, to string) (err error) {
	defer o.ops.begin("Rename").end(&err)
	return o.tree.RenameWrite(ctx, who, namespace.Commit{ID: w.file, Parent: old.parent, Name: old.name, UID: w.who.UID, GID: w.who.GID}, to)
}

// ownAt returns the write under way of the path, if the process began it, and its name.
func (o *ownWrites) ownAt(ctx context.Context, who hemera.Identity, at, process string) (name, *write, error) {
	dir, err := o.tree.Stat(ctx, who, path.Dir(at))
	if err != nil {
		return name{}, nil, err
	}
	n := name{dir.ID, path.Base(at)}
	s := o.pending.lock(n)
	defer s.mu.Unlock()
	return n, s.own(n, who, process), nil
}

// permitAt returns the write's permit for a client that comes by its new path.
func (o *ownWrites) permitAt(w *write, to string) *hemera.Permit {
	c := w.permit.Capability
	c.Path, c.Name = to, path.Base(to)
	return hemera.NewPermit(c, o.cluster.Keys.Ring())
}

// find locks the stripe of the name that the write with the nonce has now, and returns all three; no write if it is over.
func (p *pending) find(n name, nonce uint64) (*stripe, name, *write) {
	for {
		s := p.lock(n)
		if w := s.writes[n]; w != nil && w.nonce == nonce {
			return s, n, w
		}
		// The capability still says the name of the open, so the write is looked for under its newest name.
		now, ok := p.renamed.Load(nonce)
		if !ok || now == n {
			return s, n, nil
		}
		s.mu.Unlock()
		n = now.(name)
	}
}

// rename moves a write to another name, with the permit for it, if it is under way and that name is not being written.
func (p *pending) rename(from, to name, nonce uint64, permit *hemera.Permit) bool {
	s, t := p.lockBoth(from, to)
	defer unlockBoth(s, t)
	w := s.writes[from]
	// The write ended, or the new name is being written: then the caller renames what is committed, or fails.
	if w == nil || w.nonce != nonce || t.writes[to] != nil {
		return false
	}
	// A new record: readers that took the old pointer out of the stripe keep a consistent one.
	moved := *w
	moved.path, moved.permit, moved.ended, moved.renamed = permit.Path, permit, nil, true
	// Not drop: the write continues, with its claim and its counts. Those that wait for the old name are woken.
	p.free(s, from, w)
	t.writes[to] = &moved
	p.processes.add(w.process, to)
	p.renamed.Store(nonce, to)
	return true
}

// lockBoth locks the stripes of two names, which may be one, in one order for all, until unlockBoth. Nothing else holds two.
func (p *pending) lockBoth(a, b name) (s, t *stripe) {
	i, j := p.index(a), p.index(b)
	p.stripes[min(i, j)].mu.Lock()
	if i != j {
		p.stripes[max(i, j)].mu.Lock()
	}
	return &p.stripes[i], &p.stripes[j]
}

// unlockBoth unlocks the stripes that lockBoth locked.
func unlockBoth(s, t *stripe) {
	s.mu.Unlock()
	if t != s {
		t.mu.Unlock()
	}
}

// made says that a name may have been made by a write that is not known under it.
func (p *pending) made(n name) {
	s := p.lock(n)
	defer s.mu.Unlock()
	s.ended = p.ends.Add(1)
}
