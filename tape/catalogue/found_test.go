package catalogue

import (
	"strings"
	"testing"
	"time"

	"hemera/namespace/accounts"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// scanned returns a file on a tape, as a scan tells of it.
func scanned(id hemera.FileID, archiveID, fseq uint64, p string) FoundFile {
	return FoundFile{Layout: hemera.Replica(1), Space: "default", Scanned: tapeapi.Scanned{File: id, Path: p, Class: "double", Copy: 1, Sums: []hemera.Checksum{sumOf(100)},
		Owner: hemera.FileOwner{UID: 5, GID: 6, Mode: 0o640}, Mtime: time.Unix(1_600_000_000, 0).UTC(), Written: tapeapi.Written{ArchiveID: archiveID, FSeq: fseq, Size: 100}}}
}

// foundCase is one file that a scan finds, and what becomes of it.
type foundCase struct {
	name    string
	foreign bool
	make    func(w *world) FoundFile
	want    tapeapi.Outcome
	why     string
	copies  int // of the file at /double/f afterwards; -1: no file
}

// foundCases returns the cases of files on tapes of this system and, if foreign, of another one.
func foundCases() []foundCase {
	lost := func(w *world) { w.places.lost = func(hemera.PieceID, time.Time) bool { return true } }
	const far = 1 << 40
	return []foundCase{
		{"a file of another system", true, func(*world) FoundFile { return scanned(far, far+1, 1, "/double/f") }, tapeapi.TookMade, "", 1},
		{"a path that is taken", true, func(w *world) FoundFile { w.put("/double/f", 7); return scanned(far, far+1, 1, "/double/f") }, tapeapi.TookDead, "another file has its path", 0},
		{"a path below a file", true, func(w *world) FoundFile { w.put("/double/x", 7); return scanned(far, far+1, 1, "/double/x/y") }, tapeapi.TookLost, "", -1},
		{"no path", true, func(*world) FoundFile { return scanned(far, far+1, 1, "") }, tapeapi.TookLost, "", -1},
		{"a path that cannot be", true, func(*world) FoundFile { return scanned(far, far+1, 1, "/double/../f") }, tapeapi.TookLost, "", -1},
		{"no size", true, func(*world) FoundFile { f := scanned(far, far+1, 1, "/double/f"); f.Written.Size = 0; return f }, tapeapi.TookNot, "", -1},
		{"no archive id", true, func(*world) FoundFile { return scanned(far, 0, 1, "/double/f") }, tapeapi.TookNot, "", -1},
		{"a mode that cannot be", true, func(*world) FoundFile { f := scanned(far, far+1, 1, "/double/f"); f.Owner.Mode = 0o10000; return f }, tapeapi.TookNot, "", -1},
		{"two checksums of a kind", true, func(*world) FoundFile {
			f := scanned(far, far+1, 1, "/double/f")
			f.Sums = append(f.Sums, sumOf(1))
			return f
		}, tapeapi.TookNot, "", -1},
		{"of this system, with no removal known", false, func(w *world) FoundFile { n := w.Take(); return scanned(hemera.FileID(n), n, 1, "/double/f") }, tapeapi.TookDead, "no removal is known", -1},
		{"of this system, which lost it", false, func(w *world) FoundFile { lost(w); n := w.Take(); return scanned(hemera.FileID(n), n, 1, "/double/f") }, tapeapi.TookMade, "", 1},
		{"the second copy of a file", false, func(w *world) FoundFile {
			e := w.put("/double/f", 100)
			return scanned(e.ID, e.ArchiveID(), 1, "/elsewhere")
		}, tapeapi.TookCopy, "", 1},
		{"of another size than the file's", false, func(w *world) FoundFile {
			e := w.put("/double/f", 100)
			f := scanned(e.ID, e.ArchiveID(), 1, "/double/f")
			f.Written.Size = 101
			return f
		}, tapeapi.TookDead, "another content", 0},
		{"of another checksum than the file's", false, func(w *world) FoundFile {
			e := w.put("/double/f", 100)
			f := scanned(e.ID, e.ArchiveID(), 1, "/double/f")
			f.Sums = []hemera.Checksum{sumOf(5)}
			return f
		}, tapeapi.TookDead, "another content", 0},
		{"an older content of a file", false, func(w *world) FoundFile {
			e := w.put("/double/f", 100)
			w.replace("/double/f", 50)
			return scanned(e.ID, uint64(e.ID), 1, "/double/f")
		}, tapeapi.TookDead, "the file has another content now", 0},
		{"a newer content of a file", false, func(w *world) FoundFile {
			e := w.put("/double/f", 50)
			return scanned(e.ID, w.Take(), 1, "/double/f")
		}, tapeapi.TookDead, "may be newer", 0},
		{"a newer content of a file on tape only", false, func(w *world) FoundFile {
			e := w.archived("/double/f", 50)
			w.evict("/double/f")
			return scanned(e.ID, w.Take(), 2, "/double/f")
		}, tapeapi.TookMade, "", 1},
		{"the number of a directory", false, func(w *world) FoundFile { d := w.Mkdir("/d"); return scanned(d.ID, uint64(d.ID), 1, "/double/f") }, tapeapi.TookDead, "a directory", -1},
		{"what the catalogue has", false, func(w *world) FoundFile {
			e := w.archived("/double/f", 100)
			return scanned(e.ID, e.ArchiveID(), 1, "/double/f")
		}, tapeapi.TookKnown, "", 2},
		{"something else than the catalogue has at the place", false, func(w *world) FoundFile {
			e := w.archived("/double/f", 100)
			return scanned(e.ID, w.Take(), 1, "/double/f")
		}, tapeapi.TookDiffers, "archive id", 2},
		{"a copy that the file has on another tape", false, func(w *world) FoundFile {
			e := w.archived("/double/f", 100)
			return scanned(e.ID, e.ArchiveID(), 5, "/double/f")
		}, tapeapi.TookDead, "another tape", 2},
	}
}

// TestWhatAScanFindsBecomesAFileOnlyWhereThatIsSure walks through the cases of one file on a tape of this system or of another one.
func TestWhatAScanFindsBecomesAFileOnlyWhereThatIsSure(t *testing.T) {
	t.Parallel()
	for _, c := range foundCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := c.make(w)
			if c.foreign {
				w.alter("A1", func(tape *tapeapi.Tape) { tape.Foreign = true })
			}
			_, err := w.cat.NoteEnd(t.Context(), "A1", "d", tapeapi.End{FSeq: f.Written.FSeq}, nil)
			w.must(err)
			found := FoundFiles{VID: "A1", Foreign: c.foreign, Who: "admin", Files: []FoundFile{f}, DryRun: true}
			before := w.Find("/double/f")
			out, err := w.cat.TakeFound(t.Context(), found)
			w.must(err)
			if dry := out[0].Outcome; dry != c.want || (w.Find("/double/f") == nil) != (before == nil) {
				t.Errorf("it would be %s", dry)
			}
			found.DryRun = false
			out, err = w.cat.TakeFound(t.Context(), found)
			if w.must(err); len(out) != 1 || out[0].Outcome != c.want || !strings.Contains(out[0].Why, c.why) {
				t.Errorf("%+v, want %s: %s", out, c.want, c.why)
			}
			copies := -1
			if e := w.Find("/double/f"); e != nil {
				copies = len(e.Tape)
			}
			if copies != c.copies {
				t.Errorf("the file has %d copies: %+v", copies, w.Find("/double/f"))
			}
			inferred := int64(0)
			for _, row := range w.rows("A1") {
				if row.Dead != nil && row.Dead.Inferred {
					inferred++
				}
			}
			if w.tape("A1").Inferred != inferred {
				t.Errorf("%d inferred rows, the tape says %d", inferred, w.tape("A1").Inferred)
			}
			again, err := w.cat.TakeFound(t.Context(), found)
			if w.must(err); c.want != tapeapi.TookNot && c.want != tapeapi.TookDiffers && again[0].Outcome != tapeapi.TookKnown {
				t.Errorf("again: %+v", again)
			}
			w.checked()
		})
	}
}

// TestASecondTapeAddsToTheFilesOfTheFirst: of another system the number says which contents are one file, and what was removed since is not made again.
func TestASecondTapeAddsToTheFilesOfTheFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const far = 1 << 40
	take := func(vid hemera.VID, f FoundFile) tapeapi.Taken {
		t.Helper()
		_, err := w.cat.NoteEnd(t.Context(), vid, "d", tapeapi.End{FSeq: f.Written.FSeq}, nil)
		w.must(err)
		out, err := w.cat.TakeFound(t.Context(), FoundFiles{VID: vid, Foreign: true, Files: []FoundFile{f}})
		w.must(err)
		return out[0]
	}
	second, third := scanned(far, far, 1, "/other"), scanned(far, far, 2, "/other")
	second.Copy, third.Copy = 2, 3
	if first := take("A1", scanned(far, far, 1, "/double/f")); first.Outcome != tapeapi.TookMade {
		t.Errorf("%+v", first)
	}
	if out := take("B1", second); out.Outcome != tapeapi.TookCopy || len(w.Find("/double/f").Tape) != 2 || w.Find("/other") != nil {
		t.Errorf("%+v", out)
	}
	if e := w.Find("/double/f"); e.UID != 5 || e.Mode != 0o640 || e.Size != 100 || !e.Evicted() || e.StorageClass() != "double" {
		t.Errorf("%+v", e)
	}
	w.remove("/double/f")
	if out := take("B1", third); out.Outcome != tapeapi.TookDead || out.Why != "it was removed since" {
		t.Errorf("%+v", out)
	}
	w.checked()
}

// TestUnknownKeepsTheOrder: what the catalogue has under the same number is left out.
func TestUnknownKeepsTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.archived("/single/f", 100)
	all := []tapeapi.Scanned{scanned(1, 99, 1, "").Scanned, scanned(e.ID, e.ArchiveID(), 1, "").Scanned, scanned(1, 98, 2, "").Scanned}
	out, err := w.cat.Unknown(t.Context(), "A1", all)
	if w.must(err); len(out) != 2 || out[0].Written.ArchiveID != 99 || out[1].Written.ArchiveID != 98 {
		t.Errorf("%+v", out)
	}
}

// TestWhatWasRemovedComesBack: as it was, where it is wanted, with all copies that are left; and is refused where that is not possible.
func TestWhatWasRemovedComesBack(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	older := w.archived("/double/f", 100)
	w.remove("/double/f")
	e := w.archived("/double/f", 200)
	w.remove("/double/f")
	removed := func(id uint64, p string) []tapeapi.File {
		t.Helper()
		rows, err := w.cat.Removed(ctx, id, p)
		w.must(err)
		return rows
	}
	undelete := func(rows []tapeapi.File, p string) (hemera.Entry, error) {
		return w.cat.Undelete(ctx, Undeletion{Rows: rows, Path: p, Layout: hemera.Replica(1), Space: "default", Who: "admin"})
	}
	rows := removed(e.ArchiveID(), "")
	if len(rows) != 2 || rows[0].ArchiveID != e.ArchiveID() || len(removed(older.ArchiveID(), "")) != 2 {
		t.Errorf("%+v", rows)
	}
	_, err := w.cat.Removed(ctx, 0, "/double/never")
	w.kind("a path that never was", err, errs.NotFound)
	_, err = undelete(rows, "")
	w.kind("no path", err, errs.Invalid)
	_, err = undelete(rows, "/double/../f")
	w.kind("a bad path", err, errs.Invalid)
	w.put("/double/taken", 1)
	_, err = undelete(rows, "/double/taken")
	w.kind("a path that is taken", err, errs.Exists)
	out, err := undelete(rows, "/new/dir/f")
	if w.must(err); out.ID != e.ID || out.ArchiveID() != e.ArchiveID() || out.Size != 200 || len(out.Tape) != 2 || !out.Evicted() || out.UID != 1 || out.Mode != 0o640 || w.Find("/new/dir/f") == nil {
		t.Errorf("%+v", out)
	}
	_, err = undelete(rows, "/double/again")
	w.kind("a content that a file has", err, errs.Conflict)
	w.checked()
	// Of the older content one tape was reclaimed: its copy is queued, and is written once the file is on disk.
	w.alter("B1", func(tape *tapeapi.Tape) { tape.Full = true })
	if err := w.cat.Reclaim(ctx, "B1", 0); errs.KindOf(err) != errs.NotEmpty {
		t.Errorf("a tape with a file is reclaimed: %v", err)
	}
	w.remove("/new/dir/f")
	w.must(w.cat.Reclaim(ctx, "B1", 0))
	out, err = undelete(removed(older.ArchiveID(), ""), "/double/f")
	if w.must(err); len(out.Tape) != 1 || len(w.jobs(out.ID)) != 1 || w.jobs(out.ID)[0].Copy != 2 {
		t.Errorf("%+v, jobs %+v", out.Tape, w.jobs(out.ID))
	}
	w.checked()
}

// TestOfTwoDeadRowsOfACopyTheLaterOneComesBack, in whichever order they are found.
func TestOfTwoDeadRowsOfACopyTheLaterOneComesBack(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		w := newWorld(t)
		e := w.archived("/single/f", 100)
		_, err := w.written("A2", tapeapi.Job{JobKey: tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: 1}, ArchiveID: e.ArchiveID(), Size: 100})
		w.must(err)
		w.remove("/single/f")
		rows := []tapeapi.File{w.rows("A1")[0], w.rows("A2")[0]}
		later := 1
		if first {
			later = 0
		}
		w.change(func(_ accounts.Ledger, txn Txn) error {
			row, dead := rows[later], *rows[later].Dead
			dead.Removed = dead.Removed.Add(time.Hour)
			row.Dead = &dead
			txn.putFile(&row)
			return nil
		})
		out, err := w.cat.Undelete(t.Context(), Undeletion{Rows: rows, Path: "/single/f", Layout: hemera.Replica(1), Space: "default"})
		if w.must(err); len(out.Tape) != 1 || out.Tape[0] != rows[later].TapeCopy {
			t.Errorf("%+v", out.Tape)
		}
		w.checked()
	}
}

// TestTheLatestRowIsOneWithAPath, and of those the one that died last.
func TestTheLatestRowIsOneWithAPath(t *testing.T) {
	t.Parallel()
	row := func(n uint64, p string, hours int) tapeapi.File {
		return tapeapi.File{ArchiveID: n, Dead: &tapeapi.DeadFile{Path: p, Removed: time.Unix(int64(hours)*3600, 0)}}
	}
	for _, c := range []struct {
		rows []tapeapi.File
		want uint64
	}{
		{[]tapeapi.File{row(1, "/a", 1), row(2, "/a", 2)}, 2},
		{[]tapeapi.File{row(1, "/a", 2), row(2, "/a", 1)}, 1},
		{[]tapeapi.File{row(1, "/a", 1), row(2, "", 2)}, 1},
		{[]tapeapi.File{row(1, "", 3), row(2, "/b", 1), row(3, "", 4)}, 2},
	} {
		if got := Latest(c.rows); got.ArchiveID != c.want {
			t.Errorf("%+v: %d", c.rows, got.ArchiveID)
		}
	}
}

// TestPathsThatCanBeMade have no name that an entry cannot have, and no more of them than a path may.
func TestPathsThatCanBeMade(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("/d", hemera.DepthMax)
	for p, want := range map[string]int{"/a": 1, "/a/b": 2, "": 0, "/": 0, "a": 0, "/a/": 0, "//a": 0, "/a/../b": 0, "/a/./b": 0, "/a\x00": 0,
		deep: hemera.DepthMax, deep + "/d": 0, "/" + strings.Repeat("x", hemera.NameMax): 1, "/" + strings.Repeat("x", hemera.NameMax+1): 0} {
		if len(p) > hemera.PathMax {
			want = 0
		}
		if got := namesOf(p); len(got) != want {
			t.Errorf("%.20q of %d bytes: %d names, want %d", p, len(p), len(got), want)
		}
	}
}

// FuzzPathsOfTapes: a path that a tape tells is taken only if each of its names is one that an entry can have.
func FuzzPathsOfTapes(f *testing.F) {
	for _, p := range []string{"/a/b", "//", "/a/..", "/\xff", "/a?b"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		names := namesOf(p)
		if names == nil {
			return
		}
		for _, name := range names {
			if err := hemera.CheckName(name); err != nil || len(name) > hemera.NameMax {
				t.Errorf("%q: %v", name, err)
			}
		}
		if "/"+strings.Join(names, "/") != p {
			t.Errorf("%q is %q", p, names)
		}
	})
}
