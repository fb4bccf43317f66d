package namespace_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// onTape returns a file as the index of a tape has it: content number, of the file with an id.
func onTape(number uint64, file hemera.FileID, path string, fseq uint64) tapeapi.Scanned {
	sum, err := hemera.MakeChecksum(hemera.Adler32, []byte{1, 2, byte(number >> 8), byte(number)})
	if err != nil {
		panic(err)
	}
	return tapeapi.Scanned{Written: tapeapi.Written{ArchiveID: number, FSeq: fseq, Block: 10 * fseq, Size: 100 + int64(number), Sum: sum}, File: file, Path: path,
		Sums: []hemera.Checksum{sum}, Owner: hemera.FileOwner{UID: 1000, GID: 1000, Mode: 0o640}, Mtime: time.Unix(1_700_000_000, 0), Class: "single", Copy: 1}
}

// scanned takes what a scan of a tape found, as the manager does, and says in a word for each file what became of it.
func scanned(t *testing.T, n *namespace.Namespace, vid hemera.VID, dry bool, files ...tapeapi.Scanned) string {
	t.Helper()
	ctx, cat := t.Context(), n.Parts().Tapes
	foreign := true
	if !dry {
		end := tapeapi.End{}
		for _, f := range files {
			end = tapeapi.End{FSeq: max(end.FSeq, f.Written.FSeq), ArchiveID: 1 << 63}
		}
		tape := must[tapeapi.Tape](t)(cat.NoteEnd(ctx, vid, "drive1", end, func() tapeapi.Tape { return tapeapi.Tape{Pool: "A", State: tapeapi.Active} }))
		foreign = tape.Foreign
	}
	f := catalogue.FoundFiles{VID: vid, Foreign: foreign, Who: "ada", DryRun: dry}
	for _, one := range files {
		f.Files = append(f.Files, catalogue.FoundFile{Scanned: one, Layout: hemera.Replica(2), Space: "default"})
	}
	var words []string
	for _, one := range must[[]tapeapi.Taken](t)(cat.TakeFound(ctx, f)) {
		words = append(words, string(one.Outcome))
	}
	if unknown := must[[]tapeapi.Scanned](t)(cat.Unknown(ctx, vid, files)); dry == (len(unknown) == 0) {
		t.Errorf("%d of %d files are not known afterwards", len(unknown), len(files))
	}
	checked(t, n)
	return strings.Join(words, " ")
}

// An empty system gets its files back from tapes that another one wrote, in whatever order they are scanned, and scanning again changes nothing.
func TestFilesComeBackFromTapes(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	second := onTape(7, 7, "/exp/a", 1)
	second.Copy = 2
	member := onTape(9, 9, "/exp/run/m", 3)
	member.Written.Member = 2
	first := []tapeapi.Scanned{member, onTape(8, 8, "/exp/b", 2), onTape(7, 7, "/exp/a", 1)}
	if got := scanned(t, n, "FAR001", true, first...); got != "made made made" {
		t.Fatalf("a dry run: %s", got)
	}
	if _, err := n.Tree.Stat(ctx, system(), "/exp"); errs.KindOf(err) != errs.NotFound {
		t.Errorf("a dry run left something: %v", err)
	}
	if got := scanned(t, n, "FAR001", false, first...); got != "made made made" {
		t.Fatal(got)
	}
	if got := scanned(t, n, "FAR002", false, second); got != "copy" {
		t.Fatal(got)
	}
	if got := scanned(t, n, "FAR001", false, first...); got != "known known known" {
		t.Fatal(got)
	}
	e := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/a"))
	if !e.Evicted() || e.ArchiveID() != 7 || e.Size != 107 || e.UID != 1000 || e.Mode != 0o640 || e.StorageClass() != "single" || !e.Mtime.Equal(time.Unix(1_700_000_000, 0)) ||
		len(e.Tape) != 2 || e.Tape[0].VID != "FAR001" || e.Tape[1].VID != "FAR002" || len(e.Checksums) != 1 || e.Layout != hemera.Replica(2) || e.Gen == 0 {
		t.Errorf("%+v", e)
	}
	if e.ID <= 9 {
		t.Errorf("file %d has a number that is another content's on tape", e.ID)
	}
	m := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/run/m"))
	if len(m.Tape) != 1 || m.Tape[0].Member != 2 || m.Tape[0].FSeq != 3 {
		t.Errorf("%+v", m)
	}
	root := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/"))
	if root.Tree != (hemera.TreeTotals{Files: 3, Dirs: 2, Bytes: 107 + 108 + 109}) {
		t.Errorf("%+v", root.Tree)
	}
	tape := tapeOf(t, n, "FAR001")
	if !tape.Foreign || tape.LastFSeq != 3 || tape.LastID != 1<<63 || tape.Files != 3 || tape.Bytes != root.Tree.Bytes || tape.Labelled.IsZero() {
		t.Errorf("%+v", tape)
	}
	// Removed here, so no other tape brings it back as a file.
	good(t, n.Tree.Remove(ctx, system(), "/exp/b", 0))
	third := onTape(8, 8, "/exp/b", 9)
	third.Copy = 2
	if got := scanned(t, n, "FAR002", false, third); got != "dead" {
		t.Errorf("a copy of a removed file: %s", got)
	}
	if _, err := n.Tree.Stat(ctx, system(), "/exp/b"); errs.KindOf(err) != errs.NotFound {
		t.Errorf("a removed file came back: %v", err)
	}
}

// What comes back counts in quotas and totals, also above a limit, and again when it was removed and undeleted.
func TestWhatComesBackCountsInQuotas(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	_, err := n.Tree.Mkdir(ctx, system(), "/exp", 0o777, true)
	good(t, err)
	key := hemera.QuotaKey{Path: "/exp", Kind: hemera.QuotaUser, ID: 1000}
	good(t, n.Quotas.SetQuota(ctx, system(), key, hemera.QuotaAmount{Files: 1, Bytes: 150}))
	counted(t, n)
	of := func() hemera.QuotaAmount {
		t.Helper()
		for _, row := range must[[]hemera.QuotaRow](t)(n.Quotas.Quotas(ctx, system(), "/exp")) {
			if row.Kind == hemera.QuotaUser && row.ID == 1000 {
				return row.Used
			}
		}
		t.Fatal("no account")
		return hemera.QuotaAmount{}
	}
	scanned(t, n, "FAR001", false, onTape(8, 8, "/exp/b", 2), onTape(7, 7, "/exp/a", 1))
	if got := of(); got != (hemera.QuotaAmount{Files: 2, Bytes: 215}) {
		t.Errorf("%+v", got)
	}
	good(t, n.Tree.Remove(ctx, system(), "/exp/a", 0))
	if got := of(); got != (hemera.QuotaAmount{Files: 1, Bytes: 108}) {
		t.Errorf("%+v", got)
	}
	_, err = undelete(t, n, 0, "/exp/a", "/exp/a")
	good(t, err)
	if got := of(); got != (hemera.QuotaAmount{Files: 2, Bytes: 215}) {
		t.Errorf("%+v", got)
	}
}

// Of several contents of a path, or of a file, the newest one is the file, whatever the order in which they are found.
func TestTheNewestContentOnTapeIsTheFile(t *testing.T) {
	// File 5 was written three times, the last time under another name; file 6 took the name that it had.
	contents := []tapeapi.Scanned{onTape(5, 5, "/x/f", 1), onTape(20, 5, "/x/f", 2), onTape(30, 5, "/x/g", 3), onTape(40, 40, "/x/f", 4), onTape(50, 40, "/x/f", 5)}
	for seed := range uint64(20) {
		n, ctx, rnd := fresh(t), t.Context(), rand.New(rand.NewPCG(seed, 1))
		for i := range rnd.Perm(len(contents)) {
			// Each on a tape of its own, so that the order is free.
			scanned(t, n, hemera.VID(fmt.Sprintf("FAR%03d", i)), false, contents[i])
		}
		f, g := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/x/f")), must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/x/g"))
		if f.ArchiveID() != 50 || g.ArchiveID() != 30 {
			t.Errorf("seed %d: /x/f is %d, /x/g is %d", seed, f.ArchiveID(), g.ArchiveID())
		}
		if x := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/x")); x.Tree.Files != 2 {
			t.Errorf("seed %d: %d files", seed, x.Tree.Files)
		}
	}
}

// What users have is never overwritten by what is on tape.
func TestFilesStayWhatTheyAre(t *testing.T) {
	n, ctx := fresh(t), t.Context()
	_, err := n.Tree.Mkdir(ctx, system(), "/exp/dir", 0o777, true)
	good(t, err)
	good(t, n.Tree.SetMode(ctx, system(), "/exp", 0o777))
	mine := put(t, n, alice(), "/exp/f", 10)
	inTheWay := put(t, n, alice(), "/exp/file", 10)
	bad := onTape(503, 503, "not/a/path", 3)
	labels := tapeapi.Scanned{Written: tapeapi.Written{ArchiveID: 504, FSeq: 4, Block: 40, Size: 9}}
	lying := onTape(505, 505, "/exp/l", 5)
	lying.Owner.Mode = 1 << 20
	got := scanned(t, n, "FAR001", true, onTape(500, 500, "/exp/f", 1), lying)
	if got != "dead not" {
		t.Errorf("dry: %s", got)
	}
	got = scanned(t, n, "FAR001", false, onTape(500, 500, "/exp/f", 1), onTape(501, 501, "/exp/dir", 2), onTape(502, 502, "/exp/file/below", 6), bad, labels)
	if got != "dead lost lost lost lost" {
		t.Errorf("%s", got)
	}
	for path, was := range map[string]hemera.Entry{"/exp/f": mine, "/exp/file": inTheWay} {
		if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), path)); e.ID != was.ID || e.Size != 10 {
			t.Errorf("%s: %+v", path, e)
		}
	}
	for i, number := range map[int]uint64{2: 501, 6: 502, 3: 503, 4: 504} {
		e := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), fmt.Sprintf("/lost+found/tape/FAR001/%d", i)))
		if e.ArchiveID() != number || !e.Evicted() {
			t.Errorf("%+v", e)
		}
	}
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/lost+found/tape/FAR001/4")); e.Mode != 0o600 || e.UID != 0 || e.StorageClass() != "default" {
		t.Errorf("labels only: %+v", e)
	}
	_, err = n.Tree.Stat(ctx, alice(), "/lost+found/tape/FAR001/4")
	wantKind(t, "a stranger in /lost+found", err, errs.Denied)
	// The other copy, which only labels tell of, has the archive id and nothing else.
	labels.Written.FSeq = 77
	if got := scanned(t, n, "FAR002", false, labels); got != "copy" {
		t.Errorf("another copy of labels: %s", got)
	}
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/lost+found/tape/FAR001/4")); len(e.Tape) != 2 || e.Tape[1].Number != 2 {
		t.Errorf("%+v", e.Tape)
	}
	// The same number with another size is something else.
	labels.Written.FSeq, labels.Written.Size = 78, 10
	if got := scanned(t, n, "FAR002", false, labels); got != "dead" {
		t.Errorf("another content: %s", got)
	}
	// The place on tape is taken by another archive id: nothing is changed.
	f := catalogue.FoundFiles{VID: "FAR002", Foreign: true, Files: []catalogue.FoundFile{{Scanned: onTape(900, 900, "/exp/n", 77), Layout: hemera.Replica(1)}}}
	if taken := must[[]tapeapi.Taken](t)(n.Parts().Tapes.TakeFound(ctx, f)); taken[0].Outcome != tapeapi.TookDiffers {
		t.Errorf("%+v", taken)
	}
	checked(t, n)
}

// On a tape of this system, what was removed since is dead, what a crash kept from the catalogue is a copy, and jobs for it end.
func TestAScanOfAnOwnTape(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	good(t, n.Tree.SetXattr(ctx, system(), "/tape", hemera.AttrStorageClass, []byte("single"), false))
	e := put(t, n, alice(), "/tape/f", 1000)
	gone := put(t, n, alice(), "/tape/gone", 1000)
	jobs := queued(t, n, tapeapi.Archive, "A")
	_, err := write(t, n, "TAPEA1", jobs...)
	good(t, err)
	late := put(t, n, alice(), "/tape/late", 1000)
	good(t, n.Tree.Remove(ctx, alice(), "/tape/gone", 0))
	tell := func(e hemera.Entry, fseq uint64, path string) tapeapi.Scanned {
		s := onTape(e.ArchiveID(), e.ID, path, fseq)
		s.Written.Size, s.Sums = e.Size, e.Checksums
		return s
	}
	if got := scanned(t, n, "TAPEA1", false, tell(late, 3, "/tape/late"), tell(gone, 2, "/tape/gone"), tell(e, 1, "/tape/f")); got != "copy known known" {
		t.Fatal(got)
	}
	if tape := tapeOf(t, n, "TAPEA1"); tape.Foreign || tape.LastFSeq != 3 || tape.Files != 2 {
		t.Errorf("%+v", tape)
	}
	if left := queued(t, n, tapeapi.Archive, "A"); len(left) != 0 {
		t.Errorf("a copy that was found is still to be written: %+v", left)
	}
	// A file of this system that nobody has any more, and a copy that is elsewhere already.
	lost := put(t, n, alice(), "/tape/lost", 1000)
	good(t, n.Tree.Remove(ctx, alice(), "/tape/lost", 0))
	if got := scanned(t, n, "TAPEA1", false, tell(lost, 5, "/tape/lost"), tell(e, 4, "/tape/f")); got != "dead dead" {
		t.Error(got)
	}
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/f")); len(e.Tape) != 1 || e.Tape[0].FSeq != 1 {
		t.Errorf("%+v", e)
	}
}

// A rebuild from disks and a scan of tapes find the same files, whichever comes first.
func TestARebuildAndAScanMeet(t *testing.T) {
	store := memkv.New()
	first, err := namespace.Open(t.Context(), store, namespace.Options{})
	good(t, err)
	good(t, first.Close())
	w, err := store.Acquire(t.Context(), "test")
	good(t, err)
	_, err = namespace.Restored(t.Context(), store, w, time.Unix(0, 0), time.Now())
	good(t, err)
	n, err := namespace.Open(t.Context(), store, namespace.Options{})
	good(t, err)
	ctx := t.Context()
	adopt := func(s tapeapi.Scanned, gen hemera.Generation) namespace.Adopted {
		t.Helper()
		return must[namespace.Adopted](t)(n.Recovery.Adopt(ctx, namespace.Adoption{ID: s.File, Gen: gen, Path: s.Path, Mode: 0o640, UID: 1000, GID: 1000, Size: s.Written.Size,
			Layout: hemera.Replica(1), Space: "default", Sums: s.Sums, Pieces: []hemera.Piece{{Disk: 3}}, Mtime: s.Mtime}))
	}
	// Disks first. The content was recalled once, so its pieces have another generation than the archive id.
	a := onTape(300_007, 300_007, "/exp/a", 1)
	adopt(a, 300_099)
	if got := scanned(t, n, "FAR001", false, a); got != "copy" {
		t.Errorf("disks first: %s", got)
	}
	e := must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/a"))
	if e.ID != a.File || e.ArchiveID() != a.Written.ArchiveID || len(e.Tape) != 1 || len(e.Pieces) != 1 {
		t.Errorf("%+v", e)
	}
	// Tape first: the file has its id at once, and gets its pieces.
	b := onTape(300_008, 300_008, "/exp/b", 2)
	if got := scanned(t, n, "FAR001", false, b); got != "made" {
		t.Errorf("tape first: %s", got)
	}
	if e = must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/b")); e.ID != b.File || e.Gen != 1 {
		t.Errorf("%+v", e)
	}
	for _, gen := range []hemera.Generation{1, 300_100} {
		adopt(b, gen)
		e = must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/b"))
		if len(e.Pieces) != 1 || len(e.Tape) != 1 || e.ArchiveID() != b.Written.ArchiveID || e.Layout != hemera.Replica(1) {
			t.Errorf("%+v", e)
		}
		checked(t, n)
	}
	// A content on disk that is newer than that on tape: the file has it, and the tape's is dead.
	c := onTape(300_009, 300_009, "/exp/c", 3)
	scanned(t, n, "FAR001", false, c)
	newer := c
	newer.Written.Size, newer.Sums = 5, onTape(1, 1, "", 1).Sums
	adopt(newer, 300_200)
	if e = must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/c")); e.Size != 5 || len(e.Tape) != 0 {
		t.Errorf("%+v", e)
	}
	// An older one leaves the file as it is.
	d := onTape(300_300, 300_010, "/exp/d", 4)
	scanned(t, n, "FAR001", false, d)
	older := d
	older.Written.Size, older.Sums = 5, onTape(1, 1, "", 1).Sums
	adopt(older, 1)
	if e = must[hemera.Entry](t)(n.Tree.Stat(ctx, system(), "/exp/d")); !e.Evicted() || e.ArchiveID() != 300_300 {
		t.Errorf("%+v", e)
	}
	checked(t, n)
	good(t, n.Close())
}
