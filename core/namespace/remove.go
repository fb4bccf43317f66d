package namespace

import (
	"context"
	"errors"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/rules/access"
)

// Remove implements hemera.Names.
func (n *Namespace) Remove(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) error {
	if err := n.warm(ctx, who, path); err != nil {
		return err
	}
	return n.update(ctx, func(t *tx) error {
		f, err := t.existing("Remove", who, path)
		if err != nil {
			return err
		}
		switch {
		case f.entry.ID == hemera.RootID:
			return refuse(errs.Invalid, "Remove", path, "the root directory stays")
		case kind == hemera.KindFile && f.entry.IsDir():
			return refuse(errs.IsDirectory, "Remove", path, "it is a directory")
		case kind == hemera.KindDirectory && !f.entry.IsDir():
			return refuse(errs.NotDirectory, "Remove", path, "it is a file")
		}
		if err := permitRemove("Remove", path, who, f.parent(), f.entry); err != nil {
			return err
		}
		t.event(hemera.Event{Kind: hemera.EventRemove, File: f.entry.ID, Path: path, Who: who.Name, Bytes: f.entry.Size})
		return t.unlink("Remove", path, f)
	})
}

// unlink takes the found entry out of the tree; a directory must be empty.
func (t *tx) unlink(op, path string, f found) error {
	e := f.entry
	delta, err := t.weight(e)
	if err != nil {
		return err
	}
	if e.IsDir() {
		if delta != (hemera.TreeTotals{Dirs: 1}) {
			return refuse(errs.NotEmpty, op, path, "the directory still has entries")
		}
		if err := unfit(op, path, e); err != nil {
			return err
		}
		t.remove(schema.IDKey(schema.TableDirectory, e.ID))
	} else {
		if err := errors.Join(t.replacePieces(e), t.charge(f.dirs, e, nil)); err != nil {
			return err
		}
		t.bury(e)
	}
	if schema.Incomplete(e) {
		t.remove(schema.IDKey(schema.TableIncomplete, e.ID))
	}
	t.remove(schema.EntryKey(e.Parent, e.Name))
	t.remove(schema.IDKey(schema.TableLocation, e.ID))
	return t.relist(f.dirs, delta.Negate())
}

// weight is what the entry adds to the totals of the directories above it.
func (t *tx) weight(e *hemera.Entry) (hemera.TreeTotals, error) {
	if !e.IsDir() {
		return hemera.TreeTotals{Files: 1, Bytes: e.Size, Physical: schema.Physical(e)}, nil
	}
	s, err := t.state(e.ID)
	if err != nil {
		return hemera.TreeTotals{}, err
	}
	return s.Tree.Add(hemera.TreeTotals{Dirs: 1}), nil
}

// deep is how many directories are above one another below the entry, at most.
func (t *tx) deep(e *hemera.Entry) (int64, error) {
	if !e.IsDir() {
		return 0, nil
	}
	s, err := t.state(e.ID)
	if err != nil {
		return 0, err
	}
	return min(s.Depth, s.Tree.Dirs), nil
}

// Rename implements hemera.Names.
func (n *Namespace) Rename(ctx context.Context, who hemera.Identity, from, to string) error {
	if err := n.warm(ctx, who, from, to); err != nil {
		return err
	}
	return n.update(ctx, func(t *tx) error {
		return t.rename(who, from, to, func(found, found) error { return nil })
	})
}

// Publish implements hemera.Names.
func (n *Namespace) Publish(ctx context.Context, who hemera.Identity, p hemera.Publication) error {
	if err := n.warm(ctx, who, p.From, p.To); err != nil {
		return err
	}
	return n.update(ctx, func(t *tx) error {
		return t.rename(who, p.From, p.To, func(f, target found) error { return publishable(f, target, p) })
	})
}

// publishable holds the conditions of a publication.
func publishable(f, target found, p hemera.Publication) error {
	switch e := f.entry; {
	case e.IsDir():
		return refuse(errs.IsDirectory, "Publish", p.From, "only files are published")
	case e.Size != p.Size:
		return refuse(errs.Conflict, "Publish", p.From, "it has %d bytes and not %d", e.Size, p.Size)
	case target.entry != nil && !p.Replace && target.entry.ID != e.ID:
		return refuse(errs.Exists, "Publish", p.To, "the name is taken")
	case p.Sum.Kind == hemera.ChecksumNone:
		return nil
	default:
		for _, sum := range e.Checksums {
			if sum.Kind != p.Sum.Kind {
				continue
			}
			if sum != p.Sum {
				return refuse(errs.Conflict, "Publish", p.From, "its checksum is %s and not %s", sum, p.Sum)
			}
			return nil
		}
		return refuse(errs.Unsupported, "Publish", p.From, "its %s is not stored", p.Sum.Kind)
	}
}

// rename is Rename, if the condition on what is at both names holds. Who may not rename does not learn
// whether it does.
func (t *tx) rename(who hemera.Identity, from, to string, condition func(f, target found) error) error {
	f, err := t.existing("Rename", who, from)
	if err != nil {
		return err
	}
	target, err := t.walk("Rename", who, to)
	if err != nil {
		return err
	}
	if err := movable(f, target, from, to); err != nil {
		return err
	}
	if err := permitRemove("Rename", from, who, f.parent(), f.entry); err != nil {
		return err
	}
	if err := permit("Rename", to, who, target.parent(), access.CreateIn); err != nil {
		return err
	}
	if f.entry.IsDir() && f.parent().ID != target.parent().ID { // its ".." is another then
		if err := permit("Rename", from, who, f.entry, access.CreateIn); err != nil {
			return err
		}
	}
	deep, err := t.deep(f.entry)
	if err == nil {
		err = newName("Rename", to, target, deep)
	}
	if err != nil {
		return err
	}
	if err := condition(f, target); err != nil {
		return err
	}
	if target.entry != nil && target.entry.ID == f.entry.ID {
		return nil
	}
	if target.entry != nil {
		if err := permitRemove("Rename", to, who, target.parent(), target.entry); err != nil {
			return err
		}
		if err := t.unlink("Rename", to, target); err != nil {
			return err
		}
	}
	t.event(hemera.Event{Kind: hemera.EventRename, File: f.entry.ID, Path: from, To: to, Who: who.Name})
	return t.move(f, target, deep)
}

// movable holds the rules of a rename that are not about permission. It is asked under mu, so no
// other rename can turn its answer wrong.
func movable(f, target found, from, to string) error {
	if f.entry.ID == hemera.RootID {
		return refuse(errs.Invalid, "Rename", from, "the root directory stays")
	}
	for _, dir := range target.dirs {
		if dir.ID == f.entry.ID {
			return refuse(errs.Invalid, "Rename", from, "a directory cannot move below itself, to %s", to)
		}
	}
	switch {
	case target.entry == nil || target.entry.ID == f.entry.ID:
		return nil
	case target.entry.IsDir():
		return refuse(errs.IsDirectory, "Rename", to, "the target is a directory")
	case f.entry.IsDir():
		return refuse(errs.NotDirectory, "Rename", to, "a directory cannot replace a file")
	}
	return nil
}

// move gives the entry, with deep directories above one another below it, its new parent and name. The totals of directories above both stay.
func (t *tx) move(f, target found, deep int64) error {
	delta, err := t.weight(f.entry)
	if err != nil {
		return err
	}
	same := 0
	for same < len(f.dirs) && same < len(target.dirs) && f.dirs[same].ID == target.dirs[same].ID {
		same++
	}
	if err := t.rehome(f, target, same); err != nil {
		return err
	}
	if err := t.adjust(f.dirs[same:], delta.Negate()); err != nil {
		return err
	}
	if err := t.adjust(target.dirs[same:], delta); err != nil {
		return err
	}
	if f.entry.IsDir() {
		if err := t.deepen(target.dirs, deep); err != nil {
			return err
		}
	}
	e := *f.entry
	t.remove(schema.EntryKey(e.Parent, e.Name))
	e.Parent, e.Name, e.Ctime = target.parent().ID, target.name, t.now
	t.putEntry(&e)
	t.putPlace(e.ID, schema.LocationOf(&e))
	if err := t.listed(f.parent().ID); err != nil {
		return err
	}
	return t.listed(e.Parent)
}

// warm brings what a change will look at into the cache, so that it does not read the disk while
// it holds up the other changes. What it finds is the change's own business.
func (n *Namespace) warm(ctx context.Context, who hemera.Identity, paths ...string) error {
	for _, path := range paths {
		_, _ = n.look(ctx, func(t *tx) error {
			_, err := t.walk("warm", who, path)
			return err
		})
		if err := ctx.Err(); err != nil {
			return errs.Wrap(err, "namespace", path)
		}
	}
	return nil
}
