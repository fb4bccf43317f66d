package namespace

import (
	"context"

	"hemera/namespace/schema"
	"hemera/rules/access"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A process may rename the new file that it is still writing. The head's capability still has the name of the open, so
// the namespace remembers the name for the commit, by the number of the write. The record ends with the commit, with
// the refusal of the write, or when the manager takes no commit of the write any more. A write that replaces the
// content of an existing file needs no such record: its commit finds the file by id.

// RenameWrite makes the commit of a new file that was begun use the last name of the path, which must be free and
// in the file's directory. Of the commit, ID, Parent, Name as it is now, UID and GID are used. Conflict when the file is
// committed, or refused for good, when Name or the directory is another's by now, or too many are renamed; Exists, Denied.
func (n *Writes) RenameWrite(ctx context.Context, who hemera.Identity, c Commit, path string) error {
	if err := expire(ctx, n.engine, schema.TableRenamed, &n.ended.renamed); err != nil {
		return err
	}
	if n.ended.renamed.full() {
		return conflict(&c, "too many files that are being written have been renamed")
	}
	again := false // renamed before: the record is replaced, and counted already
	err := n.engine.update(ctx, func(t tx) (err error) {
		again, err = t.writes().rename(who, &c, path)
		return err
	})
	if err == nil && !again {
		n.ended.renamed.add(1)
	}
	return err
}

// rename reports whether the write was renamed before.
func (t writeTx) rename(who hemera.Identity, c *Commit, path string) (again bool, err error) {
	target, err := tx(t).walk("Rename", who, path)
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
	if err := newName("Rename", path, target, hemera.KindFile, 0); err != nil {
		return false, err
	}
	if err := t.checkPending(c); err != nil {
		return false, err
	}
	was, err := t.renamedTo(c.ID)
	if err != nil {
		return false, err
	}
	t.notNew(c.ID)
	name := target.name
	t.Set(schema.IDKey(schema.TableRenamed, c.ID), &name, schema.EncodeRenamed(t.Now().Add(writeLifetime), name))
	return was != "", nil
}

// checkPending fails unless the new file may still be committed, and nothing else has its name now.
func (t writeTx) checkPending(c *Commit) error {
	now, err := t.ByID(c.ID)
	if err != nil {
		return err
	}
	other, err := t.Entry(c.Parent, c.Name)
	if err != nil {
		return err
	}
	if now != nil || other != nil {
		return conflict(c, "it is committed, or another file has its name")
	}
	return t.checkNotEnded(&Commit{ID: c.ID, Name: c.Name})
}

// NameOf returns the name that the commit would give its file now.
func (n *Writes) NameOf(ctx context.Context, c Commit) (string, error) {
	if c.BaseGen != 0 {
		return c.Name, nil
	}
	k := schema.IDKey(schema.TableRenamed, c.ID)
	raw, err := n.engine.records.Engine().GetMany(ctx, [][]byte{k})
	if err != nil {
		return "", errs.Wrap(err, "namespace.NameOf", c.Name)
	}
	name := c.Name
	if raw[0] != nil {
		renamed, err := schema.DecodeRenamed(k, raw[0])
		if err != nil {
			return "", schema.Damaged(k, err)
		}
		name = *renamed
	}
	return name, n.engine.records.Settle(ctx)
}
