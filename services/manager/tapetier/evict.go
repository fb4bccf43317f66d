package tapetier

import (
	"context"
	"strconv"

	"hemera"
	"hemera/core/namespace/tapes"
	"hemera/errs"
)

// The last disk copy of a file is removed here and nowhere else in the
// tape tier. The rule is in the transaction that removes it: all copies
// that the storage class asks for are recorded, and nobody who staged the
// file still uses it. A class that nobody knows any more has no number of
// copies, so its files stay on disk.

// evict removes the disk copies of a file that has all its tape copies.
// Unless it is forced, a file that somebody staged and did not release
// stays.
func (t *parts) evict(ctx context.Context, id hemera.FileID, force bool) (int64, error) {
	return t.evictContent(ctx, id, 0, force)
}

// evictContent is evict of one content of a file, or of any with generation 0.
func (t *parts) evictContent(ctx context.Context, id hemera.FileID, gen hemera.Generation, force bool) (int64, error) {
	freed, err := t.Tree.Evict(ctx, id, func(e *hemera.Entry) error {
		if gen != 0 && e.Gen != gen {
			return errs.New(errs.Conflict, "manager.Evict", "fxid:"+id.Hex(), "the file has another content by now")
		}
		subject := "fxid:" + id.Hex()
		if !t.catalogue.Complete(e) {
			return errs.New(errs.Conflict, "manager.Evict", subject, "not all its tape copies are there yet")
		}
		if n := tapes.EvictCounter(e); n > 0 && !force {
			return errs.New(errs.Conflict, "manager.Evict", subject, strconv.Itoa(n)+" requests still use it on disk")
		}
		return nil
	})
	if err == nil && freed > 0 && t.Removed != nil {
		t.Removed()
	}
	return freed, err
}

// Complete reports whether all copies of a file that its storage class asks
// for are on tape.
func (t *stager) Complete(e *hemera.Entry) bool { return t.catalogue.Complete(e) }

// Instead has a file recalled that nobody can read from its disks. What is
// on them is removed, like a copy that is evicted. begun is false where tape
// does not have all copies of this content: nothing changed.
func (t *stager) Instead(ctx context.Context, who hemera.Identity, e hemera.Entry) (begun bool, err error) {
	if !t.Complete(&e) {
		return false, nil
	}
	_, err = t.evictContent(ctx, e.ID, e.Gen, true)
	if err == nil {
		_, err = t.recall(ctx, e, who.UID, groupsOf(who))
	}
	// It was replaced, removed or evicted meanwhile, or it lost a copy.
	if kind := errs.KindOf(err); kind == errs.Conflict || kind == errs.NotFound {
		return false, nil
	}
	if err == nil {
		t.Log.Warn("a file whose disks cannot be read is recalled from tape", "file", e.ID, "pieces", len(e.Pieces))
	}
	return err == nil, err
}

// dropDisks removes the disk copies of files that are archived, where
// their directories ask for it. A failure is none of the report: the copies
// stay until room is needed, or somebody evicts them.
func (t *parts) dropDisks(ctx context.Context, files []hemera.FileID) {
	_ = together(len(files), func(i int) error {
		drop, err := t.dropsAtOnce(ctx, files[i])
		if err == nil && drop {
			_, err = t.evict(ctx, files[i], false)
		}
		if err != nil {
			t.Log.Info("disk copies of an archived file stay for now", "file", files[i], "error", err)
		}
		return nil
	})
}

// dropsAtOnce reports whether the directories above a file ask for its
// disk copies to go when it is archived.
func (t *parts) dropsAtOnce(ctx context.Context, id hemera.FileID) (bool, error) {
	e, _, err := t.Tree.Resolve(ctx, id)
	// The nearest directory that says something decides.
	for err == nil && e.ID != hemera.RootID {
		if e, _, err = t.Tree.Resolve(ctx, e.Parent); err == nil {
			if value := string(e.Xattrs[hemera.AttrDropOnArchive]); value != "" {
				return value == "1", nil
			}
		}
	}
	return false, err
}
