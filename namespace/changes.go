package namespace

import (
	"context"
	"errors"
	"maps"

	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Removals and commits put what they take away into directories that the system makes: recycle bins, and directories of
// versions. A change cannot make one, because the id of a directory has to be reserved before. So a change that finds
// such a directory missing fails with a missingDir, the directory is made by a change of its own, and the first runs again.

// Neither missingDir nor missingNames reaches a caller. Between the change that makes a directory and the next run of the first one,
// others may have made or removed anything: the run decides again, and may come to another answer.

// missingTries bounds how often a change meets a missing directory: three in a row may be missing, and others may be
// removing empty ones meanwhile.
const missingTries = 16

// changes runs changes that may need more than a transaction gives: directories of the system, names in a directory, or
// what writes under way claim of limits.
type changes struct {
	engine *engine
	claims *accounts.Claims
}

// run does what update does, for changes that may need directories of the system, or names in a directory, and then the
// work that they leave. What they charge to quotas is judged as a whole: OverQuota.
func (c *changes) run(ctx context.Context, fn func(t tx) error) error {
	var work changeWork
	defer work.holding.End()
	for range missingTries {
		err := c.engine.update(ctx, func(t tx) error {
			// The change may run several times.
			work.holding.End()
			work.trims, work.settles = work.trims[:0], accounts.Settlement{}
			work.judge.Reset()
			t.work = &work
			if err := fn(t); err != nil {
				return err
			}
			var err error
			work.holding, err = t.ledger().Decide(c.claims, work.settles)
			return err
		})
		// Neither error can come from anywhere else: both types are of this package.
		dir, ok1 := errors.AsType[*missingDir](err)
		names, ok2 := errors.AsType[*missingNames](err)
		switch {
		case ok1:
			err = makeMissing(ctx, c.engine, dir)
		case ok2:
			err = listNames(ctx, c.engine, names.dir, &work)
		default:
			return finishWork(ctx, c.engine, &work, err)
		}
		if err != nil {
			return err
		}
	}
	return errs.New(errs.Unavailable, "namespace.Update", "", "directories of the system are removed as fast as they are made").WithRemedy("try again")
}

// listNames lists the names of a directory that a change needs.
func listNames(ctx context.Context, n *engine, dir hemera.FileID, work *changeWork) error {
	var names []string
	err := eachEntry(ctx, n.records, dir, func(e *hemera.Entry) error {
		names = append(names, e.Name)
		return nil
	})
	if work.listed == nil {
		work.listed = make(map[hemera.FileID][]string)
	}
	work.listed[dir] = names
	return err
}

// finishWork does what a change left to be done, and returns the error of the change. What cannot be done now is done by
// the next change of the same kind, so it is no error of this one.
func finishWork(ctx context.Context, n *engine, work *changeWork, err error) error {
	if err != nil {
		return err
	}
	for _, w := range work.trims {
		if err := trimVersions(ctx, n, w); err != nil {
			n.log.Warn("old versions of a file were not removed", "directory", w.dir, "error", err)
		}
	}
	return nil
}

// makeMissing makes the directory, unless another caller was faster.
func makeMissing(ctx context.Context, n *engine, m *missingDir) error {
	// The number is lost if another caller was faster, which does no harm.
	id, err := n.numbers.Take(ctx)
	if err != nil {
		return err
	}
	// Nothing can be below an id that nobody has.
	n.records.MarkComplete(schema.EntryKey(hemera.FileID(id), ""))
	return n.update(ctx, func(t tx) error {
		now, err := t.Entry(m.parent, m.name)
		if err != nil || now != nil {
			return err
		}
		return t.bins().makeHidden(m, hemera.FileID(id))
	})
}

// makeHidden makes a directory of the system. It does nothing if its parent is gone: the change that needed it finds out.
func (t binTx) makeHidden(m *missingDir, id hemera.FileID) error {
	e := &hemera.Entry{ID: id, Parent: m.parent, Name: m.name, Kind: hemera.KindDirectory, Mode: m.mode, UID: m.uid, GID: m.gid,
		Mtime: t.Now(), Ctime: t.Now(), Birth: t.Now(), Xattrs: maps.Clone(m.xattrs)}
	var dirs []*hemera.Entry
	path := ""
	if m.parent != 0 {
		parent, err := t.ByID(m.parent)
		if err != nil || parent == nil || !parent.IsDir() {
			return err
		}
		if dirs, path, err = t.Above(parent); err != nil {
			return err
		}
	}
	t.PutEntry(e)
	t.PutLocation(e)
	t.PutDirectory(id, schema.Directory{Mtime: t.Now(), Ctime: t.Now()})
	if len(dirs) == 0 {
		return nil
	}
	if dirs[0].ID == hemera.RootID { // bins are nobody's to follow
		t.Event(hemera.Event{Kind: hemera.EventMkdir, File: id, Path: path + "/" + m.name})
	}
	return errors.Join(t.Relist(dirs, hemera.TreeTotals{Dirs: 1}), t.Deepen(dirs, 0))
}
