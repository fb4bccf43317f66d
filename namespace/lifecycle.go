package namespace

import (
	"context"
	"time"

	"hemera/rules/lifecycle"
	"hemera/rules/policy"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Rules themselves are attributes, which the namespace only stores: rules/lifecycle reads them, and the background work
// follows them. Here is what needs a transaction of its own: a removal that must hit exactly what was decided on, and the day
// of the last access, which is written for many files at once and is no change that a user made.

// Lifecycle makes the changes of the lifecycle rules of directories: files that expire, and when files were read.
type Lifecycle struct {
	engine *engine
	tree   *Tree
	past   *Past // says when rules remove nothing
}

// RuleAttributes returns the sys.* attributes in force. Of a file, own are those that hold for it. Of a directory, own are those
// that hold for files of its owner in it, and all those that hold for files of every owner. NotFound.
func (n *Lifecycle) RuleAttributes(ctx context.Context, id hemera.FileID) (own, all map[string][]byte, err error) {
	err = n.engine.view(ctx, func(t tx) error {
		e, err := t.ByID(id)
		if err != nil {
			return err
		}
		if e == nil {
			return absent("RuleAttributes", id)
		}
		dir := e
		if !e.IsDir() {
			if dir, err = t.Parent(e); err != nil {
				return err
			}
		}
		dirs, _, err := t.Above(dir)
		own, all = policy.InForce(dirs, e.UID).Sys, policy.OfAdmins(dirs)
		return err
	})
	return own, all, err
}

// RemoveDue removes the file at the path as [Tree.Remove] does, if a rule that is in force now still says so: where there is a
// recycle bin for it, it goes there. A rule acts as its setter, so RemoveDue fails with Denied where a user who set it may not
// remove the file. Since is since when accesses are noted. Conflict if the path has another file, or the file another content,
// than what was decided on, or no rule removes it any more. Unavailable once a restored namespace does not know which rules and
// accesses there were after the backup, until ForgetLost.
func (n *Lifecycle) RemoveDue(ctx context.Context, path string, was hemera.Entry, since time.Time) error {
	if n.past.Restored() {
		return refuse(errs.Unavailable, "Expire", path, "the namespace went back: rules remove nothing until hemera ns rebuild forget")
	}
	return n.tree.remove(ctx, hemera.SystemIdentity(), path, hemera.KindFile, func(t tx, op, path, who string, f found) error {
		// In the transaction of the removal: nothing can come between the look and the act.
		if f.entry.ID != was.ID || f.entry.Gen != was.Gen || !f.entry.Mtime.Equal(was.Mtime) {
			return refuse(errs.Conflict, op, path, "the file was changed or replaced meanwhile")
		}
		rules := lifecycle.Of(policy.InForce(f.dirs, f.entry.UID).Sys)
		if !rules.Decide(*f.entry, since, t.Now()).Expire {
			return refuse(errs.Conflict, op, path, "no rule removes it any more")
		}
		said, _ := rules.Statements()
		if s, ok := policy.Nearest(f.dirs, f.entry.UID, said.Attr); ok && !s.By.Admin {
			if err := permitRemove(op, path, hemera.Identity{UID: s.By.UID}, f.parent(), f.entry); err != nil {
				return err
			}
		}
		return t.retire(op, path, who, f)
	})
}

const (
	// accessBatch is the number of files that get their day of access in one change.
	accessBatch = 64
	// accessRoom bounds the bytes of attributes of a file for that: larger records are not written for it.
	accessRoom = 4 << 10
)

// NoteAccess writes the day on which files were read to their attributes, of those for which a rule in force asks, and that have
// no such day or an earlier one. It changes no times and makes no events. Files that are gone are no error.
func (n *Lifecycle) NoteAccess(ctx context.Context, day string, files []hemera.FileID) error {
	// Small batches, so that other changes do not wait for one that is about thousands of files.
	for len(files) > 0 {
		batch := files[:min(len(files), accessBatch)]
		files = files[len(batch):]
		note := func(t tx, write bool) error {
			for _, id := range batch {
				if err := noteAccess(t, id, day, write); err != nil {
					return err
				}
			}
			return nil
		}
		// First without writing, so that the leader finds everything in the cache.
		if _, err := n.engine.look(ctx, func(t tx) error { return note(t, false) }); err != nil {
			return err
		}
		if err := n.engine.update(ctx, func(t tx) error { return note(t, true) }); err != nil {
			return err
		}
	}
	return nil
}

// noteAccess notes the day on which the file was read, as package lifecycle writes days. Without write it only looks.
func noteAccess(t tx, id hemera.FileID, day string, write bool) error {
	// Days are compared as texts: a note of an earlier day may come late, and is dropped.
	e, err := t.ByID(id)
	if err != nil || e == nil || e.IsDir() || string(e.Xattrs[lifecycle.AttrAccess]) >= day {
		return err
	}
	parent, err := t.ByID(e.Parent)
	if err != nil || parent == nil {
		return err
	}
	dirs, _, err := t.Above(parent)
	if err != nil {
		return err
	}
	// The rules may have changed since the file was read, or the file may have been moved. A rule of a user who is no admin asks
	// for the user's own files alone.
	asked := lifecycle.Of(policy.InForce(dirs, e.UID).Sys).NeedAccess()
	// The record is written again as a whole, and its room in a batch is bounded.
	room := 0
	for name, value := range e.Xattrs {
		room += len(name) + len(value)
	}
	if !asked || !write || room > accessRoom || len(e.Xattrs) >= hemera.XattrsMax {
		return nil
	}
	// A copy, as the entry is shared. Nothing else of it changes: not its ctime, and no event is logged.
	noted := *e
	noted.Xattrs = mergeXattrs(e.Xattrs, map[string][]byte{lifecycle.AttrAccess: []byte(day)})
	t.PutEntry(&noted)
	return nil
}
