package namespace

import (
	"context"
	"errors"

	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A commit makes a write visible. It arrives from the head, perhaps minutes after
// the open, perhaps twice, perhaps after the manager was restarted. What happened to the file, its name and its
// directory in between is decided here, in one transaction:
//
//	 the id has the generation already         the request came again: the same answer
//	 a piece of it waits to be removed         it was committed, and replaced or removed since: Conflict
//	 its number has a tombstone or is barred   it was refused, or is over: Conflict
//	 the file exists                           new content, if the base is current or Force says so
//	 the file is gone, and was the base        Conflict
//	 the file is new                           made in its directory, under its name or the one it was given since
//	 the file takes another's place            see replacing.go
//	 the file, or its directory, is in a bin   Conflict: it was removed
//
// A refusal is made final before it is answered (see refuseForGood), because the head removes the pieces when it
// gets the answer. Where nobody closed the file the head keeps them (Commit.Again), and a person may ask again.

// Commit makes content visible, in one batch with everything that follows from it; the pieces of the
// replaced generation become unlinked. It is idempotent. Conflict when the name is now another file's,
// the file is gone, or its generation is not c.BaseGen.
//
// With Force a write that was opened later replaces an earlier one whatever happened in between. A write that was
// opened earlier and commits after a later one is a Conflict even then, so that generations only grow, and an old
// request that comes again can never bring back pieces that are being removed. What is refused stays refused, whatever
// happens to its name, for as long as the request may come again, unless c.Again says that it may.
func (n *Writes) Commit(ctx context.Context, c Commit) (out hemera.Entry, err error) {
	if err := checkCommit(&c); err != nil {
		return out, err
	}
	if err := n.checkNumbers("Commit", &c); err != nil {
		return out, err
	}
	var e *hemera.Entry
	err = n.changes.run(ctx, func(t tx) (err error) {
		if err := t.checkDiskSet(c.DiskSet); err != nil {
			return err
		}
		e, err = commitTx(t).commit(&c)
		return err
	})
	if errors.Is(err, ErrDiskSet) {
		return out, err
	}
	// An error of the store says nothing about the commit: the head asks again, and finds out.
	if err != nil && !errs.Undecided(err) && !c.Again {
		e, err = n.refuseForGood(ctx, &c, err)
	}
	if err != nil {
		return out, err
	}
	return *e, nil
}

// checkNumbers fails with Invalid for numbers that this store has not given out. They come from capabilities, which this manager signed, perhaps over
// another copy of the store.
func (n *Writes) checkNumbers(op string, c *Commit) error {
	if next := n.engine.numbers.Next(); uint64(c.ID) >= next || uint64(c.Gen) >= next {
		return refuse(errs.Invalid, op, c.Name, "id %d or generation %d was never given out", c.ID, c.Gen)
	}
	return nil
}

// commit returns the entry of the file with the content. The usual case comes first: the id is new, and nothing
// has to be looked up. All others are repeated requests, rewrites, renamed writes, and requests after a restart.
func (t commitTx) commit(c *Commit) (*hemera.Entry, error) {
	now, err := t.ByID(c.ID)
	switch {
	case err != nil:
		return nil, err
	case now != nil && now.Gen == c.Gen:
		return now, c.made(now)
	case now == nil && writeTx(t).isNew(c.ID):
		if c.Replaces != 0 {
			return t.commitReplacing(c)
		}
		return t.commitFile(c)
	}
	if err := t.notUnlinked(c); err != nil {
		return nil, err
	}
	if err := writeTx(t).checkNotEnded(c); err != nil {
		return nil, err
	}
	switch {
	case now != nil:
		return t.commitContent(now, c)
	case c.Replaces != 0:
		return t.commitReplacing(c)
	}
	return t.commitRenamed(c)
}

// notUnlinked refuses a content with a piece that waits to be removed: its file was removed or replaced after the
// commit, and the request came again. To commit it would list a piece that a disk is about to remove.
func (t commitTx) notUnlinked(c *Commit) error {
	for _, p := range c.Pieces {
		gone, err := pieceTx(t).isUnlinked(p.Disk, hemera.PieceID{File: c.ID, Gen: c.Gen, Index: p.Index})
		if err != nil {
			return err
		}
		if gone {
			return conflict(c, "this content was replaced or removed since it was committed")
		}
	}
	return nil
}

// commitContent gives an existing file a new content, wherever the file was moved since the open. Conflict if the
// file has a generation that is neither the base of this write nor, with Force, an older one.
func (t commitTx) commitContent(now *hemera.Entry, c *Commit) (*hemera.Entry, error) {
	switch {
	case now.IsDir():
		return nil, refuse(errs.Invalid, "Commit", "fid:"+c.ID.String(), "it is a directory")
	case c.Gen < now.Gen:
		return nil, conflict(c, "a write that was opened later has been committed")
	case now.Gen != c.BaseGen && !c.Force:
		return nil, conflict(c, "the file was rewritten meanwhile")
	case c.Convert && !converts(now, c):
		return nil, refuse(errs.Corrupt, "Commit", "fid:"+c.ID.String()+" "+now.Name, "a conversion has another content than the file")
	}
	parent, err := t.Parent(now)
	if err != nil {
		return nil, err
	}
	// Another write took its name since the open: to change what is kept of it would lose this write for everybody who reads by name.
	if _, version := recycle.FileOfVersions(parent.Name); version && now.Parent != c.Parent && !c.Convert {
		return nil, conflict(c, "the file was replaced meanwhile, and is kept as a version")
	}
	e := *now // readers may have the old entry; its name and owner stay
	fill(&e, c)
	e.Ctime = t.Now()
	// A conversion carries no attributes and no time: users did not change anything.
	if c.Convert {
		e.Mtime = now.Mtime
	} else {
		e.Xattrs = withoutXattrs(mergeXattrs(now.Xattrs, c.Xattrs), c.XattrsGone)
	}
	if err := pieceTx(t).replace(now); err != nil {
		return nil, err
	}
	return t.commitTo(parent, now, &e, c)
}

// commitFile makes a new file at its parent and name. The parent may have been moved since the open: it is found
// by its id. Conflict if the parent is gone, or another file has the name and does not give way.
func (t commitTx) commitFile(c *Commit) (*hemera.Entry, error) {
	if c.BaseGen != 0 {
		return nil, conflict(c, "the file was removed meanwhile")
	}
	parent, err := t.ByID(c.Parent)
	if err != nil {
		return nil, err
	}
	if parent == nil || !parent.IsDir() { // it is not made again: somebody wanted it gone
		return nil, conflict(c, "its directory was removed meanwhile")
	}
	other, err := t.Entry(parent.ID, c.Name)
	if err != nil {
		return nil, err
	}
	var kept map[string][]byte // attributes that the name keeps
	if other != nil {
		if kept, err = t.giveWay(parent, other, c); err != nil {
			return nil, err
		}
	}
	e := &hemera.Entry{ID: c.ID, Parent: parent.ID, Name: c.Name, Kind: hemera.KindFile,
		Mode: c.Mode, UID: c.UID, GID: c.GID, Birth: t.Now(), Ctime: t.Now(), Xattrs: mergeXattrs(kept, c.Xattrs)}
	fill(e, c)
	t.PutLocation(e)
	return t.commitTo(parent, nil, e, c)
}

// commitRenamed does what commitFile does, under the name that the file was given last. Only commits of files that the cache does not know to be new
// come here.
func (t commitTx) commitRenamed(c *Commit) (*hemera.Entry, error) {
	name, err := writeTx(t).renamedTo(c.ID)
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return t.commitFile(c)
	}
	renamed := *c // the caller's commit keeps the name of the open, for its errors
	renamed.Name = name
	e, err := t.commitFile(&renamed)
	if err == nil {
		err = writeTx(t).forgetName(c.ID)
	}
	return e, err
}

// giveWay removes another file from the name that the commit is for, if the open asked for that (Force) and the
// other file was opened earlier: ids are in the order of opens. It returns the attributes that the name keeps.
func (t commitTx) giveWay(parent, other *hemera.Entry, c *Commit) (map[string][]byte, error) {
	if !c.Force || other.IsDir() || other.ID > c.ID {
		return nil, conflict(c, "the name was taken meanwhile")
	}
	dirs, path, err := t.Above(parent)
	if err != nil {
		return nil, err
	}
	t.Event(hemera.Event{Kind: hemera.EventRemove, File: other.ID, Path: path + "/" + other.Name, Who: c.Who, Bytes: other.Size})
	return versionTx(t).replaced("Commit", path+"/"+other.Name, c.Who, found{dirs: dirs, name: other.Name, entry: other})
}

// refuseForGood makes a refusal final: the head removes the pieces when it gets the answer, and the same request,
// which may be on its way a second time, must not find a free name or room under a quota later. It
// returns why, or the file if the other request was faster. While the refusal cannot be made durable, the
// commit is undecided: Unavailable.
func (n *Writes) refuseForGood(ctx context.Context, c *Commit, why error) (out *hemera.Entry, err error) {
	n.ended.refused.Add(1)
	err = n.engine.update(ctx, func(t tx) error {
		now, err := t.ByID(c.ID)
		if err != nil {
			return err
		}
		if now != nil && now.Gen == c.Gen {
			if c.made(now) == nil {
				out = now
			}
			return nil
		}
		return t.writes().end(c.number())
	})
	switch {
	case err != nil:
		return nil, errs.As(err, errs.Unavailable, "namespace.Commit", c.Name)
	case out != nil:
		return out, nil
	}
	return nil, why
}

// Discard makes later commits of a write fail. It returns false if the file has the write's content now.
// Of the commit it uses ID, Gen, BaseGen and Replaces.
func (n *Writes) Discard(ctx context.Context, c Commit) (bool, error) {
	n.ended.refused.Add(1)
	discarded := false // set by the last run of the change, which may run several times
	err := n.engine.update(ctx, func(t tx) error {
		now, err := t.ByID(c.ID)
		if discarded = err == nil && (now == nil || now.Gen != c.Gen); !discarded {
			return err
		}
		return t.writes().end(c.number())
	})
	return discarded && err == nil, err
}
