package catalogue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hemera/namespace/schema"
	"hemera/test/fixture/records"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TestAUserAndAFileHaveBoundsOfRequests: the last one that fits is taken, the next one is not, and one that is there is no new one.
func TestAUserAndAFileHaveBoundsOfRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.archived("/single/f", 100)
	w.evict("/single/f")
	for i := range pinsOfUser {
		_, err := w.recall(e.ID, 1, fmt.Sprintf("a:%d", i))
		w.must(err)
	}
	_, err := w.recall(e.ID, 1, "a:one too many")
	w.kind("one too many of a user", err, errs.Overloaded)
	_, err = w.recall(e.ID, 1, "a:0")
	w.must(err)
	for i := pinsOfUser; i < pinsMax; i++ {
		_, err := w.recall(e.ID, uint32(10+i/pinsOfUser), fmt.Sprintf("b:%d", i))
		w.must(err)
	}
	_, err = w.recall(e.ID, 99, "c:one too many")
	w.kind("one too many of a file", err, errs.Overloaded)
	_, err = w.recall(e.ID, 99, "") // nobody waits for it by name
	w.must(err)
	if n := len(PinsOf(w.Find("/single/f"))); n != pinsMax {
		t.Errorf("%d pins", n)
	}
	w.checked()
}

// TestWhatWaitsIsWithdrawnAndWhatIsThereReleased: neither does the other's work, and the last one that waits ends the recall.
func TestWhatWaitsIsWithdrawnAndWhatIsThereReleased(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	e := w.archived("/single/f", 100)
	w.evict("/single/f")
	for _, r := range []string{"a", "b"} {
		_, err := w.recall(e.ID, 1, r)
		w.must(err)
	}
	if _, released, err := w.cat.Release(ctx, e.ID, Releaser{UID: 1}); released || err != nil {
		t.Errorf("what is not on disk is released: %v", err)
	}
	w.must(w.cat.Withdraw(ctx, e.ID, "x"))
	w.must(w.cat.Withdraw(ctx, e.ID, ""))
	w.must(w.cat.Withdraw(ctx, e.ID, "a"))
	if now := w.Find("/single/f"); !slices.Equal(RequestsOf(now), []string{"b"}) || len(w.jobs(e.ID)) != 1 {
		t.Errorf("%+v, jobs %v", now.Xattrs, w.jobs(e.ID))
	}
	w.must(w.cat.Withdraw(ctx, e.ID, "b"))
	if now := w.Find("/single/f"); len(w.jobs(e.ID)) != 0 || now.Xattrs[hemera.AttrRecallTime] != nil || len(PinsOf(now)) != 0 {
		t.Errorf("%+v, jobs %v", now.Xattrs, w.jobs(e.ID))
	}
	_, err := w.recall(e.ID, 1, "c")
	w.must(err)
	w.arrive("/single/f")
	w.must(w.cat.LetGo(ctx, e.ID)) // not while a request uses it
	if w.Find("/single/f").Xattrs[hemera.AttrReleased] != nil {
		t.Error("a file that is used is let go")
	}
	w.must(w.cat.Withdraw(ctx, e.ID, "c"))
	w.must(w.cat.LetGo(ctx, e.ID))
	if now := w.Find("/single/f"); EvictCounter(now) != 0 || string(now.Xattrs[hemera.AttrReleased]) != "1" {
		t.Errorf("%+v", now.Xattrs)
	}
	// A new request needs the disk copies again.
	now, err := w.recall(e.ID, 1, "d")
	if w.must(err); now.Xattrs[hemera.AttrReleased] != nil || EvictCounter(&now) != 1 {
		t.Errorf("%+v", now.Xattrs)
	}
	plain := w.put("/none/g", 5)
	w.must(w.cat.LetGo(ctx, plain.ID))
	if now, err := w.recall(plain.ID, 1, "e"); err != nil || len(now.Xattrs) != 0 || len(w.Find("/none/g").Xattrs) != 0 {
		t.Errorf("a file that is never on tape: %+v, %v", now.Xattrs, err)
	}
	w.checked()
}

// TestReleaseTellsDamageFromAFileThatIsNotThere.
func TestReleaseTellsDamageFromAFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.archived("/single/f", 100)
	_, _, err := w.cat.Release(t.Context(), 999, Releaser{})
	w.kind("no file", err, errs.NotFound)
	w.Plant(map[string][]byte{string(schema.IDKey(schema.TableLocation, e.ID)): []byte("x")})
	again := records.Reopen(t, w.Engine)
	_, _, err = New(again.Records, again.Numbers, life, w.places).Release(t.Context(), e.ID, Releaser{})
	w.kind("a damaged record", err, errs.Corrupt)
}

// TestARecallIsOneJob: the sooner policy wins, one that failed begins again, and a file that cannot come tells those who wait.
func TestARecallIsOneJob(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	e := w.archived("/double/f", 100)
	w.evict("/double/f")
	ask := func(uid uint32, sooner bool, copied int) tapeapi.Job {
		t.Helper()
		_, err := w.cat.Recall(ctx, RecallRequest{File: e.ID, Request: fmt.Sprint("r", uid), UID: uid, Choose: func(e *hemera.Entry) (hemera.TapeCopy, error) { return e.Tape[copied], nil },
			Sooner: func(policy string, _ *tapeapi.Job) bool { return sooner && policy == "second" }})
		w.must(err)
		jobs := w.jobs(e.ID)
		if len(jobs) != 1 {
			t.Fatalf("%+v", jobs)
		}
		return jobs[0]
	}
	if j := ask(1, false, 0); j.Policy != "first" || j.Queue != "A1" {
		t.Errorf("%+v", j)
	}
	if j := ask(2, false, 1); j.Policy != "first" || j.Queue != "A1" || j.UID != 1 {
		t.Errorf("a later policy wins: %+v", j)
	}
	if j := ask(2, true, 1); j.Policy != "second" || j.Queue != "A1" {
		t.Errorf("%+v", j)
	}
	w.must(w.cat.FailRecall(ctx, e.ID, "no"))
	if w.Find("/double/f").Xattrs[hemera.AttrRecallError] != nil {
		t.Error("a recall that waits is cancelled")
	}
	key := tapeapi.JobKey{File: e.ID, Kind: tapeapi.Recall, Copy: 1}
	w.must(w.cat.ChangeJob(ctx, key, func(j tapeapi.Job, _ time.Time) *tapeapi.Job { j.Failed, j.Error = true, "bad tape"; return &j }))
	if string(w.Find("/double/f").Xattrs[hemera.AttrRecallError]) != "bad tape" {
		t.Errorf("%+v", w.Find("/double/f").Xattrs)
	}
	if j := ask(1, false, 1); j.Failed || j.Queue != "B1" || j.Copy != 2 || w.Find("/double/f").Xattrs[hemera.AttrRecallError] != nil {
		t.Errorf("a failed one begins again: %+v", j)
	}
	w.must(w.cat.ChangeJob(ctx, tapeapi.JobKey{File: e.ID, Kind: tapeapi.Recall, Copy: 2}, func(tapeapi.Job, time.Time) *tapeapi.Job { return nil }))
	w.must(w.cat.FailRecall(ctx, e.ID, "all tapes are bad"))
	now := w.Find("/double/f")
	if string(now.Xattrs[hemera.AttrRecallError]) != "all tapes are bad" || len(PinsOf(now)) != 0 || now.Xattrs[hemera.AttrRecallTime] != nil {
		t.Errorf("%+v", now.Xattrs)
	}
	w.must(w.cat.FailRecall(ctx, e.ID, "again")) // nobody waits
	if string(w.Find("/double/f").Xattrs[hemera.AttrRecallError]) != "all tapes are bad" {
		t.Error("what nobody waits for gets another error")
	}
	w.checked()
}

// TestWhatWaitedForDiskIsDoneOnArrival: archive jobs that were put off until the file is on disk go on, those that failed keep their pause.
func TestWhatWaitedForDiskIsDoneOnArrival(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	e := w.put("/double/f", 100)
	_, err := w.written("B1", w.jobs(e.ID)[1])
	w.must(err)
	for _, c := range []struct {
		waits  string
		failed bool
		hurry  bool
	}{{"it is not on disk", false, true}, {"", false, false}, {"it is not on disk", true, false}} {
		w.evict("/double/f")
		key := tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: 1}
		later := records.Now().Add(time.Hour)
		w.must(w.cat.ChangeJob(ctx, key, func(j tapeapi.Job, _ time.Time) *tapeapi.Job {
			j.Waits, j.Failed, j.After = c.waits, c.failed, later
			return &j
		}))
		w.arrive("/double/f")
		j, err := w.cat.Job(ctx, key)
		if w.must(err); j.After.IsZero() != c.hurry || (j.Waits == "") != (c.hurry || c.waits == "") {
			t.Errorf("%+v: %+v", c, j)
		}
		w.checked()
	}
}

// TestJobsOfTapesAreForContentsThatAreThere: what is asked for all files of a tape passes over those that were replaced; what is taken back leaves
// jobs of copies that are missing.
func TestJobsOfTapesAreForContentsThatAreThere(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	e := w.archived("/double/f", 100)
	verify := func(archiveID uint64, file hemera.FileID) tapeapi.Job {
		return tapeapi.Job{JobKey: tapeapi.JobKey{File: file, Kind: tapeapi.Verify, Copy: 1}, ArchiveID: archiveID, Queue: "A1", Size: 100, From: &e.Tape[0]}
	}
	w.must(w.cat.Requeue(ctx, []tapeapi.Job{verify(e.ArchiveID()+1, e.ID), verify(e.ArchiveID(), 999)}))
	if len(w.jobs(e.ID)) != 0 || w.Count(schema.TableJob) != 0 {
		t.Errorf("%+v", w.jobs(e.ID))
	}
	first := verify(e.ArchiveID(), e.ID)
	first.Attempts = 3
	w.must(w.cat.Requeue(ctx, []tapeapi.Job{first}))
	w.must(w.cat.Requeue(ctx, []tapeapi.Job{verify(e.ArchiveID(), e.ID)}))
	if j := w.jobs(e.ID); len(j) != 1 || j[0].Attempts != 3 {
		t.Errorf("%+v", j)
	}
	if n, left, err := w.cat.AddCopies(ctx, []hemera.FileID{e.ID}); n != 0 || left != 0 || err != nil {
		t.Errorf("%d, %d, %v", n, left, err)
	}
	// Its class is removed meanwhile.
	gone := w.archived("/single/f", 100)
	// The class has a copy more now.
	w.cat.Adopt(settings(map[string][]string{"double": {"A", "B", "C"}}, 10)) // a limit of sizes that came later is not for it
	for _, want := range []int{1, 0} {
		if n, left, err := w.cat.AddCopies(ctx, []hemera.FileID{gone.ID, e.ID, e.ID + 1000}); n != want || left != 1 || err != nil {
			t.Errorf("%d, want %d, %d are left, %v", n, want, left, err)
		}
	}
	keys := []tapeapi.JobKey{{File: e.ID, Kind: tapeapi.Verify, Copy: 1}, {File: e.ID, Kind: tapeapi.Archive, Copy: 3}, {File: 999, Kind: tapeapi.Verify, Copy: 1}}
	if n, err := w.cat.Dequeue(ctx, keys); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if j := w.jobs(e.ID); len(j) != 1 || j[0].Copy != 3 || j[0].Kind != tapeapi.Archive {
		t.Errorf("%+v", j)
	}
	w.checked()
}

// TestArchiveQueuesWhatIsMissing and says what cannot be.
func TestArchiveQueuesWhatIsMissing(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	archive := func(p, class string) (int, error) { return w.cat.Archive(ctx, w.Find(p).ID, class) }
	_, err := archive("/single", "single")
	w.kind("a directory", err, errs.Invalid)
	w.put("/none/f", 10)
	if n, err := archive("/none/f", "double"); n != 2 || err != nil || w.Find("/none/f").StorageClass() != "double" {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := archive("/none/f", "single"); n != 2 || err != nil || w.Find("/none/f").StorageClass() != "double" {
		t.Errorf("again, with another class: %d, %v", n, err)
	}
	w.archive("/none/f")
	_, err = archive("/none/f", "double")
	w.kind("all copies are there", err, errs.Exists)
	w.put("/none/empty", 0)
	if n, err := archive("/none/empty", "double"); n != 0 || err != nil || !w.Find("/none/empty").OnTape() {
		t.Errorf("an empty file: %d, %v", n, err)
	}
	_, err = archive("/none/empty", "double")
	w.kind("an empty file again", err, errs.Exists)
	w.put("/odd/f", 10)
	if n, err := archive("/odd/f", "single"); n != 1 || err != nil || w.Find("/odd/f").StorageClass() != "single" || len(w.jobs(w.Find("/odd/f").ID)) != 1 {
		t.Errorf("a file that was held: %d, %v", n, err)
	}
	w.checked()
	w.cat.Adopt(nil)
	_, err = archive("/odd/f", "single")
	w.kind("without tapes", err, errs.Unsupported)
}

// TestAttributesOfTapesBelongToTheContent: a name keeps its own, and gets those of the content.
func TestAttributesOfTapesBelongToTheContent(t *testing.T) {
	t.Parallel()
	name := map[string][]byte{"user.x": []byte("name"), hemera.AttrArchiveID: []byte("1"), hemera.AttrRecallError: []byte("old")}
	content := &hemera.Entry{Xattrs: map[string][]byte{"user.x": []byte("content"), "user.y": []byte("y"), hemera.AttrArchiveID: []byte("2")}}
	got := Attributes(name, content)
	if len(got) != 2 || string(got["user.x"]) != "name" || string(got[hemera.AttrArchiveID]) != "2" {
		t.Errorf("%q", got)
	}
	// A new content where nothing asks for tapes begins without them.
	w := newWorld(t)
	w.archived("/single/f", 10)
	w.must(w.Move("/single/f", "/none/f"))
	e := w.replace("/none/f", 20)
	if e.ArchiveID() != 0 || len(e.Tape) != 0 || len(e.Xattrs) != 0 {
		t.Errorf("%+v", e)
	}
	w.checked()
}
