package tier

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"hemera/rules/policy"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The last disk copy of a file is removed here and nowhere else in the
// tape tier. The rule is in the transaction that removes it: all copies
// that the storage class asks for are on tapes that can be read, and nobody
// who staged the file still uses it. A class that nobody knows any more has no number of
// copies, so its files stay on disk.

// diskCopies are those of files that tape has, too.
type diskCopies struct {
	env       *env
	settings  *settings
	libraries *libraries

	mu       sync.Mutex // guards returned
	returned returned   // tapes whose files may lose their disk copies now
}

// Shelf returns the shelf as of now. It reads the record of each tape, and the keys.
func (t *diskCopies) Shelf(ctx context.Context) (*Shelf, error) {
	known, err := t.env.knownTapes(ctx)
	if err != nil {
		return nil, err
	}
	now := t.settings.now()
	return &Shelf{tapes: known, keys: readKeys(t.env.Secrets, now.Config.Keys), inside: t.libraries.now().cartridges(), settings: now, unread: now.Config.MountCriteria().ReadsBack() > 0, asked: map[string]int{}}, nil
}

// evict removes the disk copies of a file that tape can give back, as the
// shelf says. Unless it is forced, a file that somebody staged and did not
// release stays. Conflict when it stays.
func (t *diskCopies) evict(ctx context.Context, shelf *Shelf, id hemera.FileID, force bool) (int64, error) {
	return t.evictIf(ctx, id, func(e *hemera.Entry) error {
		if err := shelf.missing(e); err != nil {
			return err
		}
		if n := catalogue.EvictCounter(e); n > 0 && !force {
			return errs.New(errs.Conflict, "manager.Evict", "fxid:"+id.Hex(), strconv.Itoa(n)+" requests still use it on disk").
				WithRemedy("it may go once they are released: `hemera tape release PATH`, by their users; they end by themselves, too")
		}
		return nil
	})
}

// evictNow does what evict does, for one file, by the shelf as of now.
func (t *diskCopies) evictNow(ctx context.Context, id hemera.FileID, force bool) (int64, error) {
	shelf, err := t.Shelf(ctx)
	if err != nil {
		return 0, err
	}
	return t.evict(ctx, shelf, id, force)
}

// evictIf removes the disk copies of a file if may returns nil.
func (t *diskCopies) evictIf(ctx context.Context, id hemera.FileID, may func(*hemera.Entry) error) (int64, error) {
	freed, err := t.env.Tree.Evict(ctx, id, may)
	if err == nil && freed > 0 && t.env.Removed != nil {
		t.env.Removed()
	}
	return freed, err
}

// dropDisks removes the disk copies of files that are archived, where
// their directories ask for it. A failure is none of the report: the copies
// stay until room is needed, or somebody evicts them.
func (t *diskCopies) dropDisks(ctx context.Context, files []hemera.FileID) {
	// One for all: there may be many tapes, and files come by the thousand.
	shelf, err := t.Shelf(ctx)
	if err != nil {
		t.env.Log.Warn("disk copies of archived files stay for now", "files", len(files), "error", err)
		return
	}
	_ = t.env.together(len(files), func(i int) error {
		drop, err := t.dropsAtOnce(ctx, files[i])
		if err == nil && drop {
			_, err = t.evict(ctx, shelf, files[i], false)
		}
		if err != nil {
			t.env.Log.Info("disk copies of an archived file stay for now", "file", files[i], "error", err)
		}
		return nil
	})
}

// dropsAtOnce reports whether the disk copies of a file are to go as soon as it is archived: the directories above it say so, or its users do not
// need them any more.
func (t *diskCopies) dropsAtOnce(ctx context.Context, id hemera.FileID) (bool, error) {
	e, _, err := t.env.Tree.Resolve(ctx, id)
	if err == nil && e.Evicted() {
		return false, nil
	}
	if err == nil && e.Xattrs[hemera.AttrReleased] != nil {
		return true, nil
	}
	// The nearest attribute that holds for the file's owner decides.
	var dirs []*hemera.Entry
	for at := e; err == nil && at.ID != hemera.RootID; {
		if at, _, err = t.env.Tree.Resolve(ctx, at.Parent); err == nil {
			dirs = append(dirs, &at)
		}
	}
	slices.Reverse(dirs)
	s, _ := policy.Nearest(dirs, e.UID, hemera.AttrDropOnArchive)
	return string(s.Value) == "1", err
}

// returned are tapes that can be read again, or were read back, and whose files were not all looked at since, by VID. Their records say the same
// ([tapeapi.Tape.ReturnFSeq]), so that a restart forgets none.
type returned map[hemera.VID]look

// look is the progress of the look at the files of a tape.
type look struct {
	times uint64 // that the tape came back: [tapeapi.Tape.Returns]
	after uint64 // fSeq of the last one that was looked at
}

// noteReturned begins to look at the files of tapes that came back.
func (t *diskCopies) noteReturned(ctx context.Context) error {
	all, err := t.env.catalogue.Tapes(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range all {
		tape := &all[i]
		now, there := t.returned[tape.VID]
		if tape.ReturnFSeq > 0 && (!there || now.times < tape.Returns) {
			t.returned[tape.VID] = look{tape.Returns, tape.ReturnFSeq - 1}
		}
	}
	return nil
}

// dropTime bounds a turn, as mounts of lost servers wait for it.
const dropTime = 2 * time.Second

// dropBehind does what dropReturned does, behind a report whose answer does not depend on it.
func (t *diskCopies) dropBehind(ctx context.Context) {
	if err := t.dropReturned(ctx); err != nil {
		t.env.Log.Warn("disk copies of archived files stay for now", "error", err)
	}
}

// nextReturned returns a tape whose files are to be looked at, and the progress of that; "" if no tape is left. One that no library has reported
// waits: no disk copy goes for it before.
func (t *diskCopies) nextReturned() (vid hemera.VID, at look) {
	inside := t.libraries.now().cartridges()
	t.mu.Lock()
	defer t.mu.Unlock()
	for vid, at := range t.returned {
		if _, is := inside[vid]; is {
			return vid, at
		}
	}
	return "", look{}
}

// dropReturned removes the disk copies that stayed because a tape could not be
// read, or was not read back, where their directories or users ask for it, when that is over.
func (t *diskCopies) dropReturned(ctx context.Context) error {
	for end := t.env.Now().Add(dropTime); t.env.Now().Before(end); {
		vid, at := t.nextReturned()
		if vid == "" {
			return nil
		}
		files, err := t.env.catalogue.Files(ctx, vid, at.after, taskPage, false)
		if err != nil {
			return err
		}
		if t.dropDisks(ctx, idsOf(files)); len(files) == 0 {
			if err := t.env.catalogue.Returned(ctx, vid, at.times); err != nil {
				return err
			}
		}
		t.mu.Lock()
		// It may have come back once more meanwhile, and begins again then.
		if now, there := t.returned[vid]; there && now == at {
			if delete(t.returned, vid); len(files) > 0 {
				t.returned[vid] = look{at.times, files[len(files)-1].FSeq}
			}
		}
		t.mu.Unlock()
	}
	return nil
}

// countAsRead notes that the files of a tape before fSeq next were read back, or count as such: disk copies may go that waited for it.
func (t *diskCopies) countAsRead(ctx context.Context, vid hemera.VID, next uint64) error {
	if err := t.env.catalogue.ReadBack(ctx, vid, next); err != nil {
		return err
	}
	return t.noteReturned(ctx)
}

// Tell says in an entry that leaves the manager whether its copies on tape were not read back yet, and are to be. What is not known is not on tape.
func (t *diskCopies) Tell(ctx context.Context, e *hemera.Entry) {
	if len(e.Tape) == 0 || len(e.Pieces) == 0 || t.settings.now().Config.MountCriteria().ReadsBack() == 0 {
		return
	}
	unread, err := t.env.catalogue.Unread(ctx, e)
	e.TapeUnread = unread || err != nil
}
