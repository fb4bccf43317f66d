package namespace

import (
	"context"

	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Resume returns what Prepare found for a write that was begun and is under way, as it is now, for a manager that has no record of it:
// the file that its commit will change or replace, if there is one, with its parent, name and limits. For a new file
// Entry has only the parent and the name that it will have. Of the commit the fields of its capability are used; updates says that the write began as a
// copy of the file. Resume asks for no rights, as those of the open count, and changes nothing. Conflict if the commit would be refused as things
// are: it was made or refused already, or its file was replaced or removed, or its name is taken.
// Invalid if it was opened over another copy of the store.
func (n *Writes) Resume(ctx context.Context, who hemera.Identity, c Commit, updates bool) (p Prepared, err error) {
	if err := n.checkNumbers("Resume", &c); err != nil {
		return p, err
	}
	err = n.engine.view(ctx, func(t tx) (err error) {
		p, err = openTx(t).resume(who, &c, updates)
		return err
	})
	return p, err
}

// resume asks the questions of a commit, in its order.
func (t openTx) resume(who hemera.Identity, c *Commit, updates bool) (p Prepared, err error) {
	now, err := t.ByID(c.ID)
	switch {
	case err != nil:
		return p, err
	case now != nil && now.Gen == c.Gen:
		return p, conflict(c, "it was committed")
	}
	if err := writeTx(t).checkNotEnded(c); err != nil {
		return p, err
	}
	var f found
	switch {
	case now != nil:
		f, err = t.resumed(now, c)
	case c.Replaces != 0:
		if f.entry, err = commitTx(t).replaced(c); err == nil {
			f, err = t.resumedAt(f.entry, f.entry.Parent, f.entry.Name)
		}
	case c.BaseGen != 0:
		err = conflict(c, "the file was removed meanwhile")
	default:
		f, err = t.resumedNew(c)
	}
	if err != nil {
		return p, err
	}
	if f.dirs[0].ID != hemera.RootID {
		return p, conflict(c, "its directory was removed meanwhile")
	}
	p = t.prepared(f, who.UID)
	p.ID, p.Gen = c.ID, c.Gen
	if f.entry == nil {
		p.Entry = hemera.Entry{Parent: f.parent().ID, Name: f.name}
	} else if !updates {
		p.Keeps, p.Versioned = t.keeps(f)
	}
	p.Quota, err = t.standing(f, who)
	return p, err
}

// resumed returns where a file is that gets a new content.
func (t openTx) resumed(now *hemera.Entry, c *Commit) (found, error) {
	switch {
	case now.IsDir():
		return found{}, refuse(errs.Invalid, "Resume", "fid:"+c.ID.String(), "it is a directory")
	case c.Gen < now.Gen, now.Gen != c.BaseGen && !c.Force:
		return found{}, conflict(c, "the file was rewritten meanwhile")
	}
	f, err := t.resumedAt(now, now.Parent, now.Name)
	if err != nil {
		return f, err
	}
	if _, version := recycle.FileOfVersions(f.parent().Name); version && now.Parent != c.Parent {
		return f, conflict(c, "the file was replaced meanwhile, and is kept as a version")
	}
	return f, nil
}

// resumedNew returns where a file is about to be made, under the name that it was given last.
func (t openTx) resumedNew(c *Commit) (found, error) {
	name, err := writeTx(t).renamedTo(c.ID)
	if err != nil {
		return found{}, err
	}
	if name == "" {
		name = c.Name
	}
	other, err := t.Entry(c.Parent, name)
	if err != nil {
		return found{}, err
	}
	// A forced write takes the name of a file that was opened earlier.
	if other != nil && (!c.Force || other.IsDir() || other.ID > c.ID) {
		return found{}, conflict(c, "the name was taken meanwhile")
	}
	return t.resumedAt(nil, c.Parent, name)
}

// resumedAt returns a file, or a name that is none yet, in the directory with the id.
func (t openTx) resumedAt(e *hemera.Entry, parent hemera.FileID, name string) (found, error) {
	dir, err := t.ByID(parent)
	if err != nil {
		return found{}, err
	}
	if dir == nil || !dir.IsDir() {
		return found{}, refuse(errs.Conflict, "Resume", name, "its directory was removed meanwhile")
	}
	dirs, _, err := t.Above(dir)
	return found{dirs: dirs, name: name, entry: e}, err
}
