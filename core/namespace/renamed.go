package namespace

import (
	"cmp"
	"context"

	"hemera"
	"hemera/core/namespace/schema"
	"hemera/errs"
	"hemera/rules/access"
)

// A process may rename the new file that it is still writing. The right to write it, which its head has, goes on to
// say the name of the open; so the namespace remembers, by the write's number, the name for its commit. A record ends
// with the commit, or with the refusal of the write, and else when no commit of the write is taken any more. The
// content of a file that is there needs none: it is committed by the file's id, wherever that is.

// RenameWrite implements PendingWrites.
func (n *Namespace) RenameWrite(ctx context.Context, who hemera.Identity, c Commit, path string) error {
	if err := n.lift(ctx, schema.TableRenamed, &n.renames); err != nil {
		return err
	}
	if n.renames.full() {
		return conflict(&c, "too many files that are being written have been renamed")
	}
	again := false
	err := n.update(ctx, func(t *tx) (err error) {
		again, err = t.renameWrite(who, &c, path)
		return err
	})
	if err == nil && !again {
		n.renames.add(1)
	}
	return err
}

// renameWrite reports whether the write was renamed before.
func (t *tx) renameWrite(who hemera.Identity, c *Commit, path string) (again bool, err error) {
	target, err := t.walk("Rename", who, path)
	if err != nil {
		return false, err
	}
	if target.entry != nil {
		return false, refuse(errs.Exists, "Rename", path, "the name is taken")
	}
	dir := target.parent()
	if dir.ID != c.Parent {
		return false, conflict(c, "its directory is another")
	}
	if err := permitRemove("Rename", path, who, dir, &hemera.Entry{Kind: hemera.KindFile, UID: c.UID, GID: c.GID}); err != nil {
		return false, err
	}
	if err := permit("Rename", path, who, dir, access.CreateIn); err != nil {
		return false, err
	}
	if err := newName("Rename", path, target, 0); err != nil {
		return false, err
	}
	if err := t.underWay(c); err != nil {
		return false, err
	}
	was, err := t.renamedTo(c.ID)
	if err != nil {
		return false, err
	}
	if t.isUnused(c.ID) {
		t.remove(schema.IDKey(schema.TableLocation, c.ID)) // so that it no longer is, and the commit looks here
	}
	name := target.name
	t.set(schema.IDKey(schema.TableRenamed, c.ID), &name, schema.EncodeRenamed(t.now.Add(barTime), name))
	return was != "", nil
}

// underWay fails unless the new file may still be committed, and nothing else has its name now.
func (t *tx) underWay(c *Commit) error {
	now, err := t.byID(c.ID)
	if err != nil {
		return err
	}
	other, err := t.entry(c.Parent, c.Name)
	if err != nil {
		return err
	}
	if now != nil || other != nil {
		return conflict(c, "it is committed, or another file has its name")
	}
	return t.notEnded(&Commit{ID: c.ID, Name: c.Name})
}

// renamedTo is the name that a write was given since it began; "" for none.
func (t *tx) renamedTo(number hemera.FileID) (string, error) {
	k := schema.IDKey(schema.TableRenamed, number)
	if value, ok := t.changed(k, t.n.cache.hash(k)); ok {
		if name, ok := value.(*string); ok {
			return *name, nil
		}
		return "", nil
	}
	raw, err := t.n.store.GetMany(t.ctx, [][]byte{k})
	if err != nil {
		return "", errs.Wrap(err, "namespace", "")
	}
	return schema.DecodeRenamed(k, raw[0])
}

// forgetName forgets a name that a write was given, as the write is over.
func (t *tx) forgetName(number hemera.FileID) error {
	name, err := t.renamedTo(number)
	if err == nil && name != "" {
		t.remove(schema.IDKey(schema.TableRenamed, number))
		t.n.renames.add(-1)
	}
	return err
}

// commitRenamed is commitFile, at the name that the file was given last. That is gone through only by commits of
// files that the cache does not know to be as new as their opens left them.
func (t *tx) commitRenamed(c *Commit) (*hemera.Entry, error) {
	name, err := t.renamedTo(c.ID)
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return t.commitFile(c)
	}
	renamed := *c
	renamed.Name = name
	e, err := t.commitFile(&renamed)
	if err == nil {
		err = t.forgetName(c.ID)
	}
	return e, err
}

// NameOf implements PendingWrites.
func (n *Namespace) NameOf(ctx context.Context, c Commit) (string, error) {
	if c.BaseGen != 0 {
		return c.Name, nil
	}
	k := schema.IDKey(schema.TableRenamed, c.ID)
	raw, err := n.store.GetMany(ctx, [][]byte{k})
	if err != nil {
		return "", errs.Wrap(err, "namespace.NameOf", c.Name)
	}
	name, err := schema.DecodeRenamed(k, raw[0])
	if err != nil {
		return "", err
	}
	return cmp.Or(name, c.Name), n.outside(ctx)
}

// renamed looks for new names of writes that are over.
func (c *checker) renamed() error {
	return c.keyed(schema.TableKey(schema.TableRenamed), 10, func(k, raw []byte) error {
		file := schema.IDOf(k)
		if _, err := schema.DecodeRenamed(k, raw); err != nil {
			c.problem("renamed write %d: %v", file, schema.ErrRecord)
			return nil
		}
		var record schema.EntryHeader
		found, err := c.current(&record, file)
		if err == nil && found {
			c.problem("fid %s: it is committed, and a name is kept for its commit", file)
		}
		return err
	})
}
