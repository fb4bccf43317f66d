package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/test/fixture/records"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TestPeopleDoNotChangeWhatATapeHolds: counts and ends stay, whatever a change says; a tape with files is not removed, and a new label on an empty
// tape makes it one
// of this life.
func TestPeopleDoNotChangeWhatATapeHolds(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.archived("/single/f", 100)
	was := w.tape("A1")
	w.must(w.cat.ChangeTape(ctx, "A1", func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		return &tapeapi.Tape{VID: "other", Pool: "Z", Files: 99, Bytes: 99, LastFSeq: 99, LastID: 99, Occupancy: 99, Life: 99, Inferred: 9, UnreadFSeq: 9, ReclaimedFSeq: 9, Comment: "mine"}, nil
	}))
	want := was
	want.Pool, want.Comment, want.State, want.WrittenBy = "Z", "mine", "", ""
	want.Labelled, want.Written = time.Time{}, time.Time{}
	if got := w.tape("A1"); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	if w.tape("other").VID != "" {
		t.Error("the change made another tape")
	}
	gone := func(*tapeapi.Tape) (*tapeapi.Tape, error) { return nil, nil }
	w.kind("a tape with a file", w.cat.ChangeTape(ctx, "A1", gone), errs.NotEmpty)
	w.remove("/single/f")
	w.kind("a tape with a removed file", w.cat.ChangeTape(ctx, "A1", gone), errs.NotEmpty)
	w.must(w.cat.ChangeTape(ctx, "A2", gone))
	w.must(w.cat.ChangeTape(ctx, "A2", gone))
	if w.tape("A2").VID != "" {
		t.Error("the tape is still there")
	}
	w.kind("a name that is too long", w.cat.ChangeTape(ctx, "A1234567", gone), errs.NotFound)
	w.kind("a change that says no", w.cat.ChangeTape(ctx, "A1", func(*tapeapi.Tape) (*tapeapi.Tape, error) { return nil, errs.New(errs.Denied, "test", "", "no") }), errs.Denied)
	w.checked()
}

// TestATapeOfAnotherLifeWaitsForAScan: it is not reclaimed, and a label on a tape without files, or a scan, makes it one of this life.
func TestATapeOfAnotherLifeWaitsForAScan(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	label := func(vid hemera.VID, at time.Time) uint64 {
		w.must(w.cat.ChangeTape(ctx, vid, func(old *tapeapi.Tape) (*tapeapi.Tape, error) { fresh := *old; fresh.Labelled = at; return &fresh, nil }))
		return w.tape(vid).Life
	}
	w.archived("/single/f", 100)
	for _, vid := range []hemera.VID{"A1", "A2"} {
		w.alter(vid, func(tape *tapeapi.Tape) { tape.Life, tape.ReclaimedFSeq = life-1, 4 })
		if w.tape(vid).Unscanned == "" {
			t.Errorf("%s does not wait", vid)
		}
	}
	if l := label("A2", records.Now()); l != life-1 {
		t.Errorf("the same label makes it a tape of life %d", l)
	}
	if l := label("A2", records.Now().Add(time.Second)); l != life || w.tape("A2").ReclaimedFSeq != 0 || w.tape("A2").Unscanned != "" {
		t.Errorf("a new label: life %d, %+v", l, w.tape("A2"))
	}
	if l := label("A1", records.Now().Add(time.Second)); l != life-1 {
		t.Errorf("a label on a tape with files makes it a tape of life %d", l)
	}
	w.remove("/single/f")
	w.alter("A1", func(tape *tapeapi.Tape) { tape.Full = true })
	w.kind("a reclaim", w.cat.Reclaim(ctx, "A1", 0), errs.Conflict)
	w.must(w.cat.NoteScanned(ctx, ScanEnd{VID: "A1", End: tapeapi.End{FSeq: 1, ArchiveID: 8}}))
	if tape := w.tape("A1"); tape.Unscanned != "" || tape.Life != life || tape.LastID != 8 {
		t.Errorf("%+v", tape)
	}
	w.must(w.cat.Reclaim(ctx, "A1", 0))
	// While files may be lost, a new tape may have them.
	w.places.restored = true
	w.must(w.cat.ChangeTape(ctx, "A3", func(*tapeapi.Tape) (*tapeapi.Tape, error) { return &tapeapi.Tape{}, nil }))
	if w.tape("A3").Unscanned == "" {
		t.Error("a tape that is added after a restore does not wait")
	}
	w.checked()
}

// TestReclaimRefusesWhatWouldLose and forgets the rest, in as many batches as there are.
func TestReclaimRefusesWhatWouldLose(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.kind("a tape that there is not", w.cat.Reclaim(ctx, "A9", 0), errs.NotFound)
	w.archived("/single/f", 100)
	w.alter("A1", func(tape *tapeapi.Tape) { tape.Full = true })
	w.kind("a tape with a file", w.cat.Reclaim(ctx, "A1", 0), errs.NotEmpty)
	w.remove("/single/f")
	w.alter("A1", func(tape *tapeapi.Tape) { tape.Full = false })
	w.kind("a tape that is not full", w.cat.Reclaim(ctx, "A1", 0), errs.Conflict)
	w.alter("A1", func(tape *tapeapi.Tape) { tape.Full, tape.Doubt = true, "a mount was lost" })
	w.kind("a tape in doubt", w.cat.Reclaim(ctx, "A1", 0), errs.Conflict)
	w.alter("A1", func(tape *tapeapi.Tape) { tape.Doubt, tape.Inferred, tape.UnreadFSeq, tape.Key = "", 2, 1, "k" })
	w.kind("a tape with files that only a scan calls removed", w.cat.Reclaim(ctx, "A1", 1), errs.NotEmpty)
	w.must(w.cat.Reclaim(ctx, "A1", 2))
	if tape := w.tape("A1"); len(w.rows("A1")) != 0 || tape.LastFSeq != 0 || tape.Occupancy != 0 || tape.Full || tape.Inferred != 0 || tape.ReclaimedFSeq != 1 || tape.Key != "" || tape.UnreadFSeq != 0 {
		t.Errorf("%+v", tape)
	}
	w.kind("again", w.cat.Reclaim(ctx, "A1", 0), errs.Conflict)
	// More rows than one batch takes, which are all of indexes that were removed.
	for _, rows := range []int{999, 1000, 1001} {
		var files []tapeapi.Written
		for i := range rows {
			files = append(files, tapeapi.Written{Job: tapeapi.JobKey{File: 1, Kind: tapeapi.Archive, Copy: 1}, ArchiveID: 5, FSeq: uint64(i + 1)})
		}
		_, err := w.cat.Written(ctx, Report{VID: "A2", Files: files})
		w.must(err)
		w.alter("A2", func(tape *tapeapi.Tape) { tape.Full = true })
		if w.must(w.cat.Reclaim(ctx, "A2", 0)); len(w.rows("A2")) != 0 || w.tape("A2").Full || w.tape("A2").ReclaimedFSeq != uint64(rows) {
			t.Errorf("%d rows: %d are left, %+v", rows, len(w.rows("A2")), w.tape("A2"))
		}
	}
	w.checked()
}

// TestALostMountLeavesDoubt where it may have written, once; the first reason stays.
func TestALostMountLeavesDoubt(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	writes := Mount{ID: 1, Drive: "d", VID: "A1", Kind: tapeapi.MountWork, Job: tapeapi.Archive}
	ended, reads, other := writes, writes, writes
	ended.Ended, reads.Job, other.Kind = true, tapeapi.Recall, tapeapi.MountWork+1
	for _, m := range []Mount{ended, reads, other, {ID: 9, VID: "A9", Kind: tapeapi.MountWork, Job: tapeapi.Archive}} {
		w.must(w.cat.PutMount(ctx, m))
		w.must(w.cat.LeaveMount(ctx, m, "lost"))
		if w.tape("A1").Doubt != "" || w.tape("A9").VID != "" {
			t.Errorf("%+v leaves doubt", m)
		}
	}
	w.must(w.cat.PutMount(ctx, writes))
	second := writes
	second.ID = 2
	w.must(w.cat.PutMount(ctx, second, 1))
	if mounts, err := w.cat.Mounts(ctx); err != nil || len(mounts) != 1 || mounts[0] != second {
		t.Errorf("%+v, %v", mounts, err)
	}
	w.must(w.cat.LeaveMount(ctx, second, "first"))
	w.must(w.cat.LeaveMount(ctx, second, "again"))
	if mounts, err := w.cat.Mounts(ctx); err != nil || len(mounts) != 0 || w.tape("A1").Doubt != "first" {
		t.Errorf("%+v, %v, %+v", mounts, err, w.tape("A1"))
	}
}

// TestAScanEndsTheDoubt: with what the tape has, unless the catalogue has other files on it.
func TestAScanEndsTheDoubt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		s     ScanEnd
		doubt string
		last  uint64
		rows  int
	}{
		{"all is there", ScanEnd{End: tapeapi.End{FSeq: 2, ArchiveID: 77}}, "", 2, 2},
		{"the tape has more", ScanEnd{End: tapeapi.End{FSeq: 5, ArchiveID: 77}}, "", 5, 2},
		{"other content", ScanEnd{End: tapeapi.End{FSeq: 2}, Differs: 3}, "other content at 3 places", 2, 2},
		{"it ends earlier", ScanEnd{End: tapeapi.End{FSeq: 1, ArchiveID: 77}}, "ends at file 1", 2, 2},
		{"it ends earlier, and is believed: the file behind is on disk", ScanEnd{End: tapeapi.End{FSeq: 1, ArchiveID: 77}, Believe: true}, "", 1, 1},
		{"it ends earlier, and is believed: the only copy is kept", ScanEnd{End: tapeapi.End{FSeq: 0}, Believe: true}, "ends at file 0", 2, 1},
		{"the tail alone", ScanEnd{End: tapeapi.End{FSeq: 2, Bytes: 11}, Tail: true}, "", 2, 2},
		{"as it was reclaimed", ScanEnd{Looked: true}, "", 2, 2},
	} {
		w := newWorld(t)
		w.archived("/single/only", 100)
		w.evict("/single/only")
		w.archived("/single/disk", 200)
		used := w.tape("A1").Occupancy
		w.alter("A1", func(tape *tapeapi.Tape) { tape.Doubt = "lost" })
		c.s.VID = "A1"
		for range 2 { // it may be called again
			w.must(w.cat.NoteScanned(t.Context(), c.s))
		}
		tape := w.tape("A1")
		if !strings.Contains(tape.Doubt, c.doubt) || c.doubt == "" && tape.Doubt != "" || tape.LastFSeq != c.last || len(w.rows("A1")) != c.rows || tape.Occupancy != used+c.s.End.Bytes {
			t.Errorf("%s: %+v, %d rows", c.name, tape, len(w.rows("A1")))
		}
		if w.Find("/single/only").Tape == nil {
			t.Errorf("%s: the only copy is lost", c.name)
		}
		if disk := w.Find("/single/disk"); (len(disk.Tape) == 0) != (len(w.jobs(disk.ID)) == 1) {
			t.Errorf("%s: copies %v, jobs %v", c.name, disk.Tape, w.jobs(disk.ID))
		}
		w.checked()
	}
}

// TestTheEndOfATapeMovesForward: a scan adds a tape, tells where it ends and who wrote it, and never moves the end back.
func TestTheEndOfATapeMovesForward(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	made := func() tapeapi.Tape { return tapeapi.Tape{VID: "wrong", Pool: "A"} }
	for _, c := range []struct {
		vid     hemera.VID
		end     tapeapi.End
		last    uint64
		foreign bool
	}{
		{"NEW", tapeapi.End{FSeq: 3, ArchiveID: 30, Bytes: 10}, 3, true},
		{"NEW", tapeapi.End{FSeq: 2, ArchiveID: 20, Bytes: 5}, 3, true},
		{"NEW", tapeapi.End{FSeq: 4, ArchiveID: 40, Bytes: 12}, 4, true},
		{"BLANK", tapeapi.End{}, 0, false},
		{"A1", tapeapi.End{FSeq: 1, ArchiveID: 5}, 1, false}, // this system labelled it
	} {
		out, err := w.cat.NoteEnd(ctx, c.vid, "d", c.end, made)
		w.must(err)
		if tape := w.tape(c.vid); tape.LastFSeq != c.last || tape.Foreign != c.foreign || tape.VID != c.vid || out.LastFSeq != c.last || tape.ReadBy != "d" || tape.Labelled.IsZero() {
			t.Errorf("%+v: %+v", c, tape)
		}
	}
	if tape := w.tape("NEW"); tape.LastID != 40 || tape.Occupancy != 12 {
		t.Errorf("%+v", tape)
	}
}

// TestRequestsAreWhole: all files of a request come back in their order, however many records they are in; part of one is not there; those that are
// gone leave nothing.
func TestRequestsAreWhole(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	long := strings.Repeat("p", 100<<10)
	for _, c := range []struct {
		files  int
		path   string
		parts  int
		stored int64 // bytes at least
	}{{0, "", 0, 10}, {1, "/a", 1, 20}, {1000, "/a", 1, 1000}, {1001, "/a", 2, 1000}, {2000, "/a", 2, 2000}, {5, long, 3, 500 << 10}, {2, long + long + long, 2, 600 << 10}} {
		s := Stage{ID: "r", UID: 3, Made: records.Now(), Idle: true}
		for i := range c.files {
			s.Files = append(s.Files, StagedFile{Path: c.path, File: hemera.FileID(i)})
		}
		if n := len(partsOf(s.Files)); n != c.parts {
			t.Errorf("%d files of %d bytes: %d parts", c.files, len(c.path), n)
		}
		w.must(w.cat.PutStage(ctx, s))
		w.must(w.cat.PutStage(ctx, Stage{ID: "r2", Files: s.Files[:min(1, len(s.Files))]}))
		got, err := w.cat.Stage(ctx, "r")
		if w.must(err); !slices.Equal(got.Files, s.Files) || got.Count != c.files || got.UID != 3 || !got.Idle {
			t.Errorf("%d files: %d came back, %+v", c.files, len(got.Files), got.Count)
		}
		all, err := w.cat.Stages(ctx)
		if w.must(err); len(all) != 2 || all[0].ID != "r" || all[1].ID != "r2" || all[0].Bytes < c.stored || all[1].Bytes > 700+int64(len(c.path)) || len(all[0].Files) != 0 {
			t.Errorf("%d files: %+v", c.files, all)
		}
		w.must(w.cat.RemoveStage(ctx, s))
		_, err = w.cat.Stage(ctx, "r")
		w.kind("a removed request", err, errs.NotFound)
		if got, err := w.cat.Stage(ctx, "r2"); err != nil || len(got.Files) != min(1, c.files) {
			t.Errorf("the neighbour has %d files, %v", len(got.Files), err)
		}
	}
	for _, id := range []string{"", strings.Repeat("x", 201)} {
		w.kind("an id of a wrong length", w.cat.PutStage(ctx, Stage{ID: id}), errs.Invalid)
		_, err := w.cat.Stage(ctx, id)
		w.kind("an id of a wrong length", err, errs.NotFound)
	}
	w.must(w.cat.PutStage(ctx, Stage{ID: strings.Repeat("x", 200)}))
}

// TestJobsComeInTheOrderOfTheirTime: those that may be done first, past those that a session has already, page by page; queues say how many there
// are, since when, and with which
// policies.
func TestJobsComeInTheOrderOfTheirTime(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	var jobs []tapeapi.Job
	at := func(hours int) time.Time { return records.Now().Add(time.Duration(hours) * time.Hour) }
	for i, hours := range []int{5, 1, 9, 3} {
		e := w.put(fmt.Sprintf("/single/%d", i), 10)
		w.must(w.cat.ChangeJob(ctx, tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: 1}, func(j tapeapi.Job, _ time.Time) *tapeapi.Job {
			j.After, j.Failed = at(hours), i == 2
			jobs = append(jobs, j)
			return &j
		}))
	}
	q := Queue{Kind: tapeapi.Archive, Name: "A", UID: 1}
	list := func(limit int, take func(tapeapi.JobKey) bool) (out []hemera.FileID) {
		all, err := w.cat.Jobs(ctx, q, limit, take)
		w.must(err)
		for _, j := range all {
			out = append(out, j.File)
		}
		return out
	}
	if got := list(10, nil); !slices.Equal(got, []hemera.FileID{jobs[1].File, jobs[3].File, jobs[0].File}) {
		t.Errorf("%v", got)
	}
	if got := list(2, func(k tapeapi.JobKey) bool { return k.File != jobs[1].File }); !slices.Equal(got, []hemera.FileID{jobs[3].File, jobs[0].File}) {
		t.Errorf("past one that is taken: %v", got)
	}
	queues, err := w.cat.Queues(ctx)
	if w.must(err); len(queues) != 2 || queues[0].Files != 3 || queues[0].Bytes != 30 || !queues[0].Oldest.Equal(at(1)) || queues[0].Failed || !queues[1].Failed || !queues[1].Oldest.Equal(at(9)) {
		t.Errorf("%+v", queues)
	}
	alter := func(i int, alter func(j *tapeapi.Job)) {
		w.must(w.cat.ChangeJob(ctx, jobs[i].JobKey, func(j tapeapi.Job, _ time.Time) *tapeapi.Job { alter(&j); return &j }))
		queues, err = w.cat.Queues(ctx)
		w.must(err)
	}
	if alter(0, func(j *tapeapi.Job) { j.Policy = "other" }); len(queues) != 2 || !slices.Equal(queues[0].Policies, []string{"first", "other"}) || queues[0].Files != 3 {
		t.Errorf("%+v", queues)
	}
	if alter(1, func(j *tapeapi.Job) { j.UID = 2 }); len(queues) != 3 || queues[0].Files != 2 || queues[1].UID != 2 || queues[1].Files != 1 || !queues[1].Oldest.Equal(at(1)) {
		t.Errorf("%+v", queues)
	}
	w.checked()
}
