package namespace_test

import (
	"testing"

	"hemera/namespace"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// undelete brings a content back, by its archive id or by its path.
func undelete(t *testing.T, n *namespace.Namespace, id uint64, was, to string) (hemera.Entry, error) {
	t.Helper()
	cat := n.Parts().Tapes
	rows, err := cat.Removed(t.Context(), id, was)
	if err != nil {
		return hemera.Entry{}, err
	}
	e, err := cat.Undelete(t.Context(), catalogue.Undeletion{Rows: rows, Path: to, Layout: hemera.Replica(2), Space: "default", Who: "ada"})
	checked(t, n)
	return e, err
}

// written archives what waits in both pools.
func written(t *testing.T, n *namespace.Namespace) {
	t.Helper()
	for _, pool := range []string{"A", "B"} {
		_, err := write(t, n, hemera.VID("TAPE"+pool+"1"), queued(t, n, tapeapi.Archive, pool)...)
		good(t, err)
	}
}

// A removed file comes back with all that it had but its disk copies, and is a file like any other.
func TestARemovedFileComesBack(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	was := put(t, n, alice(), "/tape/f", 1000)
	written(t, n)
	good(t, n.Tree.Remove(ctx, alice(), "/tape/f", 0))
	e, err := undelete(t, n, 0, "/tape/f", "/tape/f")
	good(t, err)
	if e.ID != was.ID || e.Gen <= was.Gen || !e.Evicted() || len(e.Tape) != 2 || e.UID != was.UID || e.GID != was.GID || e.Mode != was.Mode || !e.Mtime.Equal(was.Mtime) ||
		e.ArchiveID() != was.ArchiveID() || e.StorageClass() != "double" || len(e.Checksums) != len(was.Checksums) || e.Layout != hemera.Replica(2) {
		t.Errorf("%+v, was %+v", e, was)
	}
	if a := tapeOf(t, n, "TAPEA1"); a.Files != 1 || a.Bytes != 1000 {
		t.Errorf("%+v", a)
	}
	if len(queued(t, n, tapeapi.Archive, "A"))+len(queued(t, n, tapeapi.Archive, "B")) != 0 {
		t.Error("copies that are there are queued")
	}
	_, err = undelete(t, n, was.ArchiveID(), "", "/tape/f")
	wantKind(t, "a file that was not removed", err, errs.NotFound)
	// A write that was begun before the removal must not come over it.
	late := namespace.Commit{ID: was.ID, Gen: was.Gen, Parent: was.Parent, Name: "f", Mode: 0o640, Size: 1000, Layout: was.Layout, Space: was.Space, Sums: was.Checksums, Pieces: was.Pieces}
	_, err = n.Writes.Commit(ctx, late)
	wantKind(t, "a late commit", err, errs.Conflict)
	// And once more: it is a file as others, also to be removed.
	good(t, n.Tree.Remove(ctx, alice(), "/tape/f", 0))
	_, err = undelete(t, n, was.ArchiveID(), "", "/tape/f")
	good(t, err)
}

// What cannot be, and what to do instead: a path that is taken, a content that was replaced, a tape that was reclaimed.
func TestUndeleteRefuses(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	was := put(t, n, alice(), "/tape/f", 1000)
	written(t, n)
	now := put(t, n, alice(), "/tape/f", 2000)
	_, err := undelete(t, n, 0, "/tape/f", "/tape/f")
	wantKind(t, "a path that is taken", err, errs.Exists)
	if errs.RemedyOf(err) == "" {
		t.Error("no remedy")
	}
	_, err = undelete(t, n, 0, "/tape/f", "no path")
	wantKind(t, "no path", err, errs.Invalid)
	_, err = undelete(t, n, 0, "/tape/f", "/tape/f/below")
	wantKind(t, "below a file", err, errs.NotDirectory)
	_, err = undelete(t, n, 0, "/tape/never", "/tape/never")
	wantKind(t, "a path that no file had", err, errs.NotFound)
	// The file has another content now, so the old one is a file of its own, also where directories are missing.
	e, err := undelete(t, n, 0, "/tape/f", "/back/there/f")
	good(t, err)
	if e.ID == was.ID || e.ID == now.ID || e.Size != 1000 || e.ArchiveID() != was.ArchiveID() {
		t.Errorf("%+v", e)
	}
	written(t, n)
	good(t, n.Tree.Remove(ctx, alice(), "/tape/f", 0))
	// One of its two tapes is written from its beginning again: the copy that is missing is queued.
	good(t, n.Parts().Tapes.ChangeTape(ctx, "TAPEB1", func(old *tapeapi.Tape) (*tapeapi.Tape, error) { full := *old; full.Full = true; return &full, nil }))
	good(t, n.Tree.Remove(ctx, system(), "/back/there/f", 0))
	good(t, n.Parts().Tapes.Reclaim(ctx, "TAPEB1", 0))
	e, err = undelete(t, n, 0, "/tape/f", "/tape/f")
	good(t, err)
	if len(e.Tape) != 1 || len(queued(t, n, tapeapi.Archive, "B")) != 1 || len(queued(t, n, tapeapi.Archive, "A")) != 0 {
		t.Errorf("%+v", e)
	}
}

// A copy that moved to another tape comes back from the last one.
func TestUndeleteTakesTheLastCopy(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	good(t, n.Tree.SetXattr(ctx, system(), "/tape", hemera.AttrStorageClass, []byte("single"), false))
	e := put(t, n, alice(), "/tape/f", 1000)
	job := queued(t, n, tapeapi.Archive, "A")[0]
	for _, vid := range []hemera.VID{"TAPEA1", "TAPEA2"} {
		report := catalogue.Report{VID: vid, Drive: "d", Files: []tapeapi.Written{{Job: job.JobKey, ArchiveID: job.ArchiveID, FSeq: 1, Size: 1000}},
			Given: func(tapeapi.JobKey, uint64) bool { return true }}
		must[catalogue.Recorded](t)(n.Parts().Tapes.Written(ctx, report))
	}
	good(t, n.Tree.Remove(ctx, alice(), "/tape/f", 0))
	back, err := undelete(t, n, e.ArchiveID(), "", "/tape/f")
	good(t, err)
	if len(back.Tape) != 1 || back.Tape[0].VID != "TAPEA2" {
		t.Errorf("%+v", back.Tape)
	}
}

// What scans left as dead comes back too, where the admin wants it.
func TestUndeleteOfWhatAScanFound(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	scanned(t, n, "FAR001", false, onTape(20, 5, "/x/f", 2))
	if got := scanned(t, n, "FAR001", false, onTape(5, 5, "/x/f", 1)); got != "dead" {
		t.Fatal(got)
	}
	e, err := undelete(t, n, 5, "", "/x/old")
	good(t, err)
	newest := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/x/f"))
	if e.ArchiveID() != 5 || newest.ArchiveID() != 20 || e.ID == newest.ID || e.Mode != 0o640 {
		t.Errorf("%+v", e)
	}
}
