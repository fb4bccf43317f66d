package namespace

import (
	"context"

	"hemera/rules/access"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Removal and renaming, which is removal of what was at the target and a move. Both first read what they will
// touch in a view (warm), so that the leader finds it in the cache: while a change reads the disk, all
// others wait.

// Remove implements hemera.Names: it removes a file, or an empty directory that has no limits. It moves to the recycle bin
// that is for it, else a file's pieces become unlinked in the same batch. kind, if not 0, is what the entry must be.
// NotFound, NotEmpty, IsDirectory, NotDirectory, Denied.
func (n *Tree) Remove(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) error {
	return n.remove(ctx, who, path, kind, tx.retire)
}

// remove finds the entry, and has out take it out of the tree.
func (n *Tree) remove(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind, out func(t tx, op, path, who string, f found) error) error {
	if err := n.engine.warm(ctx, who, path); err != nil {
		return err
	}
	return n.changes.run(ctx, func(t tx) error {
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
		t.Event(hemera.Event{Kind: hemera.EventRemove, File: f.entry.ID, Path: path, Who: who.Name, Bytes: f.entry.Size})
		return out(t, "Remove", path, who.Name, f)
	})
}

// Rename implements hemera.Names. A file at the target is replaced; a directory there is not. What is below a
// directory moves with it, and nothing below is looked at: the cost is that of the depth, not of the tree.
func (n *Tree) Rename(ctx context.Context, who hemera.Identity, from, to string) error {
	if err := n.engine.warm(ctx, who, from, to); err != nil {
		return err
	}
	return n.changes.run(ctx, func(t tx) error {
		return t.rename(who, from, to, func(found, found) error { return nil })
	})
}

// Publish implements hemera.Names: a rename on conditions, in one change. A copy tool uses it to give a complete
// file its name.
func (n *Tree) Publish(ctx context.Context, who hemera.Identity, p hemera.Publication) error {
	if err := n.engine.warm(ctx, who, p.From, p.To); err != nil {
		return err
	}
	return n.changes.run(ctx, func(t tx) error {
		return t.rename(who, p.From, p.To, func(f, target found) error { return publishable(f, target, p) })
	})
}

// publishable checks the conditions of a publication: Conflict if size or checksum differ, Exists if the target
// may not be replaced.
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

// rename does what Rename does, if the condition on the entries at both names holds. Permissions are checked first, so
// that a caller without the right to rename does not learn whether the condition holds.
func (t tx) rename(who hemera.Identity, from, to string, condition func(f, target found) error) error {
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
	depth, err := t.Depth(f.entry)
	if err == nil {
		err = newName("Rename", to, target, f.entry.Kind, depth)
	}
	if err != nil {
		return err
	}
	if err := condition(f, target); err != nil {
		return err
	}
	if target.entry != nil && target.entry.ID == f.entry.ID {
		return nil // onto itself: POSIX says that nothing happens
	}
	// Looked up before anything moves: it is where the file is now.
	versions, err := versionTx(t).of(f)
	if err != nil {
		return err
	}
	if target.entry != nil {
		if err := permitRemove("Rename", to, who, target.parent(), target.entry); err != nil {
			return err
		}
		if f.entry, err = t.replaceTarget(to, who.Name, f.entry, target, versions != nil); err != nil {
			return err
		}
	}
	t.Event(hemera.Event{Kind: hemera.EventRename, File: f.entry.ID, Path: from, To: to, Who: who.Name})
	if err := t.move(f, target, depth); err != nil || versions == nil {
		return err
	}
	return versionTx(t).follow(versions, f.dirs, target)
}

// replaceTarget takes away what is at the target of a rename, and returns the entry that is renamed. A file that brings no
// versions along gets those of the name, and what was there is kept among them.
func (t tx) replaceTarget(to, who string, e *hemera.Entry, target found, versions bool) (*hemera.Entry, error) {
	if versions {
		return e, t.retire("Rename", to, who, target)
	}
	kept, err := versionTx(t).replaced("Rename", to, who, target)
	if err != nil {
		return nil, err
	}
	// A link that leads nowhere must not hide the one that the name brings.
	moved := *withoutVersions(e)
	moved.Xattrs = mergeXattrs(moved.Xattrs, kept)
	return &moved, nil
}

// movable holds the rules of a rename that are not about permission. Its result stays right until the rename is
// made: changes are made one after the other.
func movable(f, target found, from, to string) error {
	if f.entry.ID == hemera.RootID {
		return refuse(errs.Invalid, "Rename", from, "the root directory stays")
	}
	// By id and not by path: a path may reach the same directory by another name before the rename is made.
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
