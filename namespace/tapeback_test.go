package namespace_test

import (
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// late returns a content of the lost time, as a tape tells it.
func late(number uint64, file hemera.FileID, path string, fseq uint64) tapeapi.Scanned {
	s := onTape(number, file, path, fseq)
	s.Written.Size = 500
	return s
}

// ended ends a scan of a tape, whose last file is at fseq.
func ended(t *testing.T, n *namespace.Namespace, s catalogue.ScanEnd) tapeapi.Tape {
	t.Helper()
	good(t, n.Parts().Tapes.NoteScanned(t.Context(), s))
	checked(t, n)
	return tapeOf(t, n, s.VID)
}

// wentBack returns a namespace with a file on TAPEA1 that was restored from a backup, and the boundary.
func wentBack(t *testing.T) (*namespace.Namespace, hemera.Entry, namespace.Boundary) {
	t.Helper()
	store := memkv.New()
	n := open(t, store, namespace.Options{})
	setTapes(t, n)
	good(t, n.Tree.SetXattr(t.Context(), system(), "/tape", hemera.AttrStorageClass, []byte("single"), false))
	prepare(t, n, alice(), "/tape/open") // under way when the backup is taken
	e := put(t, n, alice(), "/tape/old", 1000)
	_, err := write(t, n, "TAPEA1", queued(t, n, tapeapi.Archive, "A")...)
	good(t, err)
	taken := time.Now()
	again, b, err := restored(t, store, taken, taken.Add(24*time.Hour))
	good(t, err)
	n = open(t, again, namespace.Options{})
	// Routes are not stored by the namespace.
	n.Parts().Tapes.Adopt(routed(map[string][]string{"single": {"A"}, "double": {"A"}}, 0))
	return n, must[hemera.Entry](t)(n.Tree.Stat(t.Context(), alice(), "/tape/"+e.Name)), b
}

// TestATapeWaitsForAScanAfterARestore: the state is durable and does not end with what the namespace forgets of its restore.
func TestATapeWaitsForAScanAfterARestore(t *testing.T) {
	n, e, b := wentBack(t)
	for _, vid := range []hemera.VID{"TAPEA1", "TAPEA2"} {
		if tapeOf(t, n, vid).Unscanned == "" {
			t.Errorf("%s may be written", vid)
		}
	}
	cat := n.Parts().Tapes
	set := func(vid hemera.VID, change func(*tapeapi.Tape)) {
		good(t, cat.ChangeTape(t.Context(), vid, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
			now := tapeapi.Tape{Pool: "A", State: tapeapi.Active}
			if old != nil {
				now = *old
			}
			change(&now)
			return &now, nil
		}))
	}
	set("LATE01", func(*tapeapi.Tape) {})
	if tapeOf(t, n, "LATE01").Unscanned == "" {
		t.Error("a tape that the backup does not have may be written, whatever is on it")
	}
	good(t, n.Past.ForgetLost(t.Context()))
	for _, vid := range []hemera.VID{"TAPEA1", "LATE01"} {
		if tapeOf(t, n, vid).Unscanned == "" {
			t.Errorf("%s may be written because the restore was forgotten", vid)
		}
	}
	set("TAPEA2", func(now *tapeapi.Tape) { now.Full = true })
	wantKind(t, "a reclaim before the scan", cat.Reclaim(t.Context(), "TAPEA2", 0), errs.Conflict)
	set("NEW001", func(*tapeapi.Tape) {})
	if why := tapeOf(t, n, "NEW001").Unscanned; why != "" {
		t.Errorf("a tape that was added since: %s", why)
	}
	// A tail says nothing of the rest.
	end := tapeapi.End{FSeq: 1, ArchiveID: e.ArchiveID()}
	if tape := ended(t, n, catalogue.ScanEnd{VID: "TAPEA1", End: end, Tail: true}); tape.Unscanned == "" {
		t.Error("a scan of the tail is enough")
	}
	if tape := ended(t, n, catalogue.ScanEnd{VID: "TAPEA1", End: end}); tape.Unscanned != "" || tape.Life != b.To {
		t.Errorf("%+v", tape)
	}
}

// TestAScanBringsBackWhatWasWrittenAfterTheBackup: files of lost numbers are made, newer contents of files that are there are kept.
func TestAScanBringsBackWhatWasWrittenAfterTheBackup(t *testing.T) {
	n, e, b := wentBack(t)
	lost := b.To - 1000
	got := scanned(t, n, "TAPEA1", false, late(lost+2, e.ID, "/tape/old", 4), late(lost+1, hemera.FileID(lost+1), "/tape/new", 3), late(lost, 0, "", 2))
	if got != "dead made lost" {
		t.Fatal(got)
	}
	made := must[hemera.Entry](t)(n.Tree.Stat(t.Context(), system(), "/tape/new"))
	if !made.Evicted() || made.ID != hemera.FileID(lost+1) {
		t.Errorf("%+v", made)
	}
	if tape := tapeOf(t, n, "TAPEA1"); tape.Inferred != 1 {
		t.Errorf("%d files whose removal nobody knows", tape.Inferred)
	}
	good(t, n.Past.ForgetLost(t.Context()))
	if got := scanned(t, n, "TAPEA1", false, late(lost+5, hemera.FileID(lost+5), "/tape/late", 6)); got != "dead" {
		t.Fatal(got)
	}
	tape := ended(t, n, catalogue.ScanEnd{VID: "TAPEA1", End: tapeapi.End{FSeq: 6, ArchiveID: lost + 5}})
	if tape.Inferred != 2 || tape.Unscanned != "" {
		t.Errorf("%+v", tape)
	}
	cat := n.Parts().Tapes
	contents, next, err := cat.Inferred(t.Context(), "TAPEA1", 0)
	good(t, err)
	if len(contents) != 2 || next != 6 || contents[1][0].Dead.Path != "/tape/late" {
		t.Fatalf("%+v, %d", contents, next)
	}
	_, err = cat.Undelete(t.Context(), catalogue.Undeletion{Rows: contents[1], Path: "/tape/late", Layout: hemera.Replica(2), Space: "default", Who: "ada"})
	good(t, err)
	checked(t, n)
	if tape := tapeOf(t, n, "TAPEA1"); tape.Inferred != 1 {
		t.Errorf("%d after one came back", tape.Inferred)
	}
}

// TestAReclaimLosesNothingThatOnlyAScanCallsRemoved.
func TestAReclaimLosesNothingThatOnlyAScanCallsRemoved(t *testing.T) {
	n := withTapes(t)
	gone := put(t, n, alice(), "/tape/gone", 1000)
	good(t, n.Tree.Remove(t.Context(), alice(), "/tape/gone", 0))
	cat := n.Parts().Tapes
	good(t, cat.ChangeTape(t.Context(), "TAPEA1", func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		now := *old
		now.Full, now.Labelled = true, time.Unix(1, 0)
		return &now, nil
	}))
	if got := scanned(t, n, "TAPEA1", false, onTape(gone.ArchiveID(), gone.ID, "/tape/gone", 2)); got != "dead" {
		t.Fatal(got)
	}
	wantKind(t, "a reclaim", cat.Reclaim(t.Context(), "TAPEA1", 0), errs.NotEmpty)
	good(t, cat.Reclaim(t.Context(), "TAPEA1", 1))
	if tape := tapeOf(t, n, "TAPEA1"); tape.Inferred != 0 || tape.ReclaimedFSeq != 2 || tape.LastFSeq != 0 {
		t.Errorf("%+v", tape)
	}
}

// TestATapeThatWasWrittenAgainAfterTheBackup: the tape is believed, where other copies or disks give the files that the catalogue had on it.
func TestATapeThatWasWrittenAgainAfterTheBackup(t *testing.T) {
	n, e, b := wentBack(t)
	lost := b.To - 1000
	// It has its disk copies.
	if got := scanned(t, n, "TAPEA1", false, late(lost, hemera.FileID(lost), "/tape/new", 1)); got != "made" {
		t.Fatal(got)
	}
	now := must[hemera.Entry](t)(n.Tree.Stat(t.Context(), alice(), "/tape/old"))
	if len(now.Tape) != 0 || len(queued(t, n, tapeapi.Archive, "A")) != 1 {
		t.Errorf("%+v", now)
	}
	if tape := ended(t, n, catalogue.ScanEnd{VID: "TAPEA1", End: tapeapi.End{FSeq: 1, ArchiveID: lost}}); tape.Unscanned != "" || tape.LastFSeq != 1 || tape.LastID != lost {
		t.Errorf("%+v", tape)
	}
	// Its only copy is kept, and moves when the tape that has it now is scanned.
	n, e, b = wentBack(t)
	_, err := n.Pieces.Evict(t.Context(), e.ID, func(*hemera.Entry) error { return nil })
	good(t, err)
	lost = b.To - 1000
	if got := took(t, n, "TAPEA1", late(lost, hemera.FileID(lost), "/tape/new", 1)); got != "differs" {
		t.Fatal(got)
	}
	if tape := ended(t, n, catalogue.ScanEnd{VID: "TAPEA1", End: tapeapi.End{FSeq: 1, ArchiveID: lost}, Differs: 1}); tape.Unscanned == "" {
		t.Errorf("%+v", tape)
	}
	elsewhere := onTape(e.ArchiveID(), e.ID, "/tape/old", 1)
	elsewhere.Written.Size, elsewhere.Sums = e.Size, e.Checksums
	if got := scanned(t, n, "TAPEA2", false, elsewhere); got != "copy" {
		t.Fatal(got)
	}
	if got := scanned(t, n, "TAPEA1", false, late(lost, hemera.FileID(lost), "/tape/new", 1)); got != "made" {
		t.Fatal(got)
	}
	now = must[hemera.Entry](t)(n.Tree.Stat(t.Context(), alice(), "/tape/old"))
	if len(now.Tape) != 1 || now.Tape[0].VID != "TAPEA2" {
		t.Errorf("%+v", now)
	}
}

// took takes a file and expects nothing of what is known afterwards.
func took(t *testing.T, n *namespace.Namespace, vid hemera.VID, f tapeapi.Scanned) string {
	t.Helper()
	taken, err := n.Parts().Tapes.TakeFound(t.Context(), catalogue.FoundFiles{VID: vid, Who: "ada", Files: []catalogue.FoundFile{
		{Scanned: f, Layout: hemera.Replica(2), Space: "default"}}})
	good(t, err)
	checked(t, n)
	return string(taken[0].Outcome)
}

// TestATapeThatEndsEarlier: files behind its end are forgotten only when an admin says so.
func TestATapeThatEndsEarlier(t *testing.T) {
	n, _, _ := wentBack(t)
	if tape := ended(t, n, catalogue.ScanEnd{VID: "TAPEA1"}); tape.Unscanned == "" || tape.LastFSeq != 1 || tape.Files != 1 {
		t.Errorf("%+v", tape)
	}
	if tape := ended(t, n, catalogue.ScanEnd{VID: "TAPEA1", Believe: true}); tape.Unscanned != "" || tape.LastFSeq != 0 || tape.Files != 0 {
		t.Errorf("%+v", tape)
	}
}

// TestAWriteThatWasOpenAtABackup has a number from before it. The time of its content says that it may be lost, and one of long before was
// removed, as far as anybody knows.
func TestAWriteThatWasOpenAtABackup(t *testing.T) {
	n, e, b := wentBack(t)
	open, removed := late(uint64(e.ID)-1, e.ID-1, "/tape/open", 2), late(uint64(e.ID)-1, e.ID-1, "/tape/open", 3)
	open.Mtime, removed.Mtime = b.Taken.Add(time.Minute), b.Taken.Add(-48*time.Hour)
	if got := scanned(t, n, "TAPEA1", false, removed, open); got != "dead made" {
		t.Error(got)
	}
	checked(t, n)
}
