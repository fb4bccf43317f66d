package catalogue

import (
	"slices"
	"strings"
	"testing"

	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TestAReportFollowsTheTape: what is recorded stands right behind the last file, once, in the tape's key; everything else is a Conflict and changes nothing.
func TestAReportFollowsTheTape(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.archived("/single/first", 100)
	next := w.jobs(w.put("/single/next", 200).ID)[0]
	file := func(fseq uint64, member uint32, job tapeapi.Job) tapeapi.Written {
		return tapeapi.Written{Job: job.JobKey, ArchiveID: job.ArchiveID, FSeq: fseq, Member: member, Size: job.Size, Sum: sumOf(job.Size), Bytes: 1}
	}
	first := tapeapi.Job{JobKey: tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: 1}, ArchiveID: e.ArchiveID(), Size: e.Size}
	for _, c := range []struct {
		name   string
		vid    hemera.VID
		key    string
		files  []tapeapi.Written
		refuse errs.Kind
		last   uint64
	}{
		{"a tape that there is not", "A9", "", []tapeapi.Written{file(1, 0, next)}, errs.NotFound, 1},
		{"behind a gap", "A1", "", []tapeapi.Written{file(3, 0, next)}, errs.Conflict, 1},
		{"in place of another file", "A1", "", []tapeapi.Written{file(1, 0, next)}, errs.Conflict, 1},
		{"with a key on a tape without one", "A1", "k", []tapeapi.Written{file(2, 0, next)}, errs.Conflict, 1},
		{"the second of two is behind a gap", "A1", "", []tapeapi.Written{file(2, 0, next), file(4, 0, next)}, errs.Conflict, 1},
		{"again", "A1", "", []tapeapi.Written{file(1, 0, first)}, 0, 1},
		{"again, and one more", "A1", "", []tapeapi.Written{file(1, 0, first), file(2, 0, next)}, 0, 2},
		{"an index behind it", "A1", "", []tapeapi.Written{{FSeq: 3, ArchiveID: 99, Bytes: 5}}, 0, 3},
		{"the index again", "A1", "", []tapeapi.Written{{FSeq: 3, ArchiveID: 99, Bytes: 5}}, 0, 3},
	} {
		_, err := w.cat.Written(t.Context(), Report{VID: c.vid, Key: c.key, Files: c.files, Given: func(tapeapi.JobKey, uint64) bool { return true }})
		if c.refuse != errs.KindOf(err) && err != nil || (c.refuse == 0) != (err == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		if last := w.tape("A1").LastFSeq; last != c.last {
			t.Errorf("%s: the last file is %d", c.name, last)
		}
		w.checked()
	}
	if tape := w.tape("A1"); tape.LastID != 99 || tape.Occupancy != 200+1+5 || tape.Files != 2 || tape.Bytes != 300 {
		t.Errorf("%+v", tape)
	}
	// The first file gives a tape its key.
	third := w.jobs(w.put("/single/third", 10).ID)[0]
	_, err := w.cat.Written(t.Context(), Report{VID: "A2", Key: "k", Files: []tapeapi.Written{file(1, 0, third)}, Given: func(tapeapi.JobKey, uint64) bool { return true }})
	if w.must(err); w.tape("A2").Key != "k" {
		t.Errorf("%+v", w.tape("A2"))
	}
	w.checked()
}

// TestMembersOfAContainerShareItsPlace: they have one fSeq, and the archive id of the tape's end is that of no member.
func TestMembersOfAContainerShareItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.jobs(w.put("/single/a", 10).ID)[0], w.jobs(w.put("/single/b", 20).ID)[0]
	r := Report{VID: "A1", Given: func(tapeapi.JobKey, uint64) bool { return true }, Files: []tapeapi.Written{
		{Job: a.JobKey, ArchiveID: a.ArchiveID, FSeq: 1, Member: 1, Size: 10, Sum: sumOf(10), Bytes: 10},
		{Job: b.JobKey, ArchiveID: b.ArchiveID, FSeq: 1, Member: 2, Size: 20, Sum: sumOf(20), Bytes: 20}}}
	for range 2 {
		out, err := w.cat.Written(t.Context(), r)
		if w.must(err); len(out.Complete) != 2 {
			t.Errorf("%+v", out)
		}
	}
	if tape := w.tape("A1"); tape.LastFSeq != 1 || tape.LastID != 0 || tape.Occupancy != 30 || tape.Files != 2 || len(w.rows("A1")) != 2 {
		t.Errorf("%+v", tape)
	}
	w.checked()
}

// TestWhatIsNotTheContentIsADeadFile: the tape has it, no entry gets the copy, its job goes on waiting, and the report says why.
func TestWhatIsNotTheContentIsADeadFile(t *testing.T) {
	t.Parallel()
	given := func(tapeapi.JobKey, uint64) bool { return true }
	for _, c := range []struct {
		name  string
		alter func(w *world, f *tapeapi.Written, r *Report)
		why   string
		unfit int // contents that were not the file's, though its job waits
		waits int // jobs
	}{
		{"another size", func(_ *world, f *tapeapi.Written, _ *Report) { f.Size++ }, "another size", 1, 1},
		{"another checksum", func(_ *world, f *tapeapi.Written, _ *Report) { f.Sum = sumOf(7) }, "another checksum", 1, 1},
		{"a file that was removed", func(w *world, _ *tapeapi.Written, _ *Report) { w.remove("/single/f") }, "removed or replaced", 0, 0},
		{"a content that was replaced", func(w *world, _ *tapeapi.Written, _ *Report) { w.replace("/single/f", 5) }, "removed or replaced", 0, 1},
		{"a job that no session was given", func(_ *world, _ *tapeapi.Written, r *Report) {
			r.Given = func(tapeapi.JobKey, uint64) bool { return false }
		}, "no session was given", 0, 1},
		{"a job of another kind", func(_ *world, f *tapeapi.Written, _ *Report) { f.Job.Kind = tapeapi.Verify }, "no session was given", 0, 1},
		{"a session of before the start, on a tape of another pool", func(_ *world, _ *tapeapi.Written, r *Report) { r.Given, r.VID = nil, "B1" }, "no session was given", 0, 1},
	} {
		w := newWorld(t)
		e := w.put("/single/f", 100)
		j := w.jobs(e.ID)[0]
		f := tapeapi.Written{Job: j.JobKey, ArchiveID: j.ArchiveID, FSeq: 1, Size: 100, Sum: sumOf(100), Bytes: 1}
		r := Report{VID: "A1", Given: given}
		c.alter(w, &f, &r)
		r.Files = []tapeapi.Written{f}
		out, err := w.cat.Written(t.Context(), r)
		w.must(err)
		rows := w.rows(r.VID)
		if len(rows) != 1 || rows[0].Dead == nil || !strings.Contains(rows[0].Dead.Why, c.why) || len(out.Unfit) != c.unfit || len(out.Complete) != 0 || w.tape(r.VID).Files != 0 {
			t.Errorf("%s: rows %+v, %+v", c.name, rows, out)
		}
		waits := slices.DeleteFunc(w.jobs(e.ID), func(j tapeapi.Job) bool { return j.Kind != tapeapi.Archive })
		if len(waits) != c.waits {
			t.Errorf("%s: jobs %+v", c.name, waits)
		}
		w.checked()
	}
	// Of a session of before the start a job is believed that waits for its tape's pool.
	w := newWorld(t)
	j := w.jobs(w.put("/single/f", 100).ID)[0]
	out, err := w.cat.Written(t.Context(), Report{VID: "A1", Files: []tapeapi.Written{{Job: j.JobKey, ArchiveID: j.ArchiveID, FSeq: 1, Size: 100, Sum: sumOf(100)}}})
	if err != nil || len(out.Complete) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestACopyTakesThePlaceOfOneWithItsNumber, also on the same tape: the old row dies, and counts follow.
func TestACopyTakesThePlaceOfOneWithItsNumber(t *testing.T) {
	t.Parallel()
	for _, vid := range []hemera.VID{"A1", "A2"} {
		w := newWorld(t)
		e := w.archived("/double/f", 100)
		j := tapeapi.Job{JobKey: tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: 1}, ArchiveID: e.ArchiveID(), Size: 100}
		out, err := w.written(vid, j)
		w.must(err)
		now := w.Find("/double/f")
		if len(now.Tape) != 2 || now.Tape[0].VID != vid || now.Tape[0].FSeq != w.tape(vid).LastFSeq || now.Tape[1] != e.Tape[1] || len(out.Complete) != 1 {
			t.Errorf("%s: %+v, was %+v", vid, now.Tape, e.Tape)
		}
		if old := w.rows("A1")[0]; old.Dead == nil || w.tape(vid).Files != 1 || w.tape("A1").Files+w.tape("A2").Files != 1 {
			t.Errorf("%s: %+v, %+v", vid, old, w.tape(vid))
		}
		w.checked()
	}
}

// TestReadingBackGoesForward: what was written waits from its first file on, and reading back never goes back; a tape that was read to its end waits no more.
func TestReadingBackGoesForward(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.archived("/double/old", 100)
	write := func(p string) {
		j := w.jobs(w.put(p, 10).ID)[0]
		_, err := w.cat.Written(ctx, Report{VID: "A1", ReadBack: true, Given: func(tapeapi.JobKey, uint64) bool { return true },
			Files: []tapeapi.Written{{Job: j.JobKey, ArchiveID: j.ArchiveID, FSeq: w.tape("A1").LastFSeq + 1, Size: 10, Sum: sumOf(10)}}})
		w.must(err)
	}
	unread := func(p string, want bool) {
		t.Helper()
		if is, err := w.cat.Unread(ctx, w.Find(p)); is != want || err != nil {
			t.Errorf("%s: unread is %t, %v; tape %+v", p, is, err, w.tape("A1"))
		}
	}
	write("/single/2")
	write("/single/3")
	if tape := w.tape("A1"); tape.UnreadFSeq != 2 || tape.Returns != 0 {
		t.Errorf("%+v", tape)
	}
	unread("/single/2", true)
	unread("/double/old", false)
	for _, c := range []struct{ next, unread, back, returns uint64 }{{1, 2, 0, 0}, {2, 2, 0, 0}, {3, 3, 2, 1}, {2, 3, 2, 1}, {4, 0, 2, 2}, {9, 0, 2, 2}} {
		w.must(w.cat.ReadBack(ctx, "A1", c.next))
		if tape := w.tape("A1"); tape.UnreadFSeq != c.unread || tape.ReturnFSeq != c.back || tape.Returns != c.returns {
			t.Errorf("read back to %d: unread from %d, returns from %d, %d times", c.next, tape.UnreadFSeq, tape.ReturnFSeq, tape.Returns)
		}
	}
	unread("/single/3", false)
	// Looked at, but the tape came back once more since.
	w.must(w.cat.Returned(ctx, "A1", 1))
	if w.tape("A1").ReturnFSeq != 2 {
		t.Error("an old look ends the note")
	}
	w.must(w.cat.Returned(ctx, "A1", 2))
	if w.tape("A1").ReturnFSeq != 0 {
		t.Error("the note stays")
	}
	// One copy that was read is enough, and a file without disk copies waits for nothing.
	w.alter("A1", func(tape *tapeapi.Tape) { tape.UnreadFSeq = 1 })
	unread("/double/old", false)
	w.alter("B1", func(tape *tapeapi.Tape) { tape.UnreadFSeq = 1 })
	unread("/double/old", true)
	w.evict("/double/old")
	unread("/double/old", false)
	// A scan has moved the end back to before what waited, and the tape is written again.
	w.alter("A1", func(tape *tapeapi.Tape) { tape.LastFSeq, tape.UnreadFSeq = 7, 9 })
	if write("/single/8"); w.tape("A1").UnreadFSeq != 8 {
		t.Errorf("unread from %d", w.tape("A1").UnreadFSeq)
	}
	if write("/single/9"); w.tape("A1").UnreadFSeq != 8 {
		t.Errorf("unread from %d", w.tape("A1").UnreadFSeq)
	}
	// What moves the note back is the smaller fSeq.
	tape := tapeapi.Tape{}
	for _, c := range []struct{ from, want uint64 }{{5, 5}, {7, 5}, {2, 2}} {
		if Return(&tape, c.from); tape.ReturnFSeq != c.want {
			t.Errorf("return from %d: %d", c.from, tape.ReturnFSeq)
		}
	}
	w.checked()
}

// TestACopyThatCannotBeReadBackIsWrittenAgain, as long as the file is on disk and has that very copy.
func TestACopyThatCannotBeReadBackIsWrittenAgain(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	e := w.archived("/double/f", 100)
	row := w.rows("A1")[0]
	for _, c := range []struct {
		name  string
		alter func(r *tapeapi.File)
	}{
		{"another content", func(r *tapeapi.File) { r.ArchiveID++ }},
		{"another place", func(r *tapeapi.File) { r.FSeq++ }},
		{"a file that there is not", func(r *tapeapi.File) { r.File = 999 }},
	} {
		r := row
		if c.alter(&r); true {
			if dropped, err := w.cat.DropCopy(ctx, r, "bad"); dropped || err != nil {
				t.Errorf("%s: %t, %v", c.name, dropped, err)
			}
		}
	}
	for _, want := range []bool{true, false} {
		if dropped, err := w.cat.DropCopy(ctx, row, "bad"); dropped != want || err != nil {
			t.Errorf("%t, %v", dropped, err)
		}
		now, jobs := w.Find("/double/f"), w.jobs(e.ID)
		if len(now.Tape) != 1 || now.Tape[0].Number != 2 || len(jobs) != 1 || jobs[0].Copy != 1 || string(now.Xattrs[hemera.AttrArchiveError]) != "bad" || w.rows("A1")[0].Dead == nil {
			t.Errorf("%+v, jobs %+v", now, jobs)
		}
		w.checked()
	}
	w.evict("/double/f")
	if dropped, err := w.cat.DropCopy(ctx, w.rows("B1")[0], "bad"); dropped || err != nil {
		t.Errorf("the only copy is dropped: %t, %v", dropped, err)
	}
	w.checked()
}

// TestWhatNoPoolTakesIsHeldUntilOneDoes: by its class or its size, in one job that has failed; it is queued when the settings take it, and says what
// is next when
// they still do not.
func TestWhatNoPoolTakesIsHeldUntilOneDoes(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.cat.Adopt(settings(map[string][]string{"single": {"A"}, "double": {"A", "B"}}, 1000))
	odd, large := w.put("/odd/f", 10), w.put("/double/f", 1001)
	if fits := w.put("/double/g", 1000); len(w.jobs(fits.ID)) != 2 {
		t.Errorf("a file of the largest size: %+v", w.jobs(fits.ID))
	}
	for _, c := range []struct {
		e     hemera.Entry
		queue string
		size  bool
	}{{odd, "odd", false}, {large, "double", true}} {
		j := w.jobs(c.e.ID)
		if len(j) != 1 || !j[0].Failed || !isHeld(&j[0]) {
			t.Fatalf("%+v", j)
		}
		if class, size, held := HeldBy(j[0].Queue); class != c.queue || size != c.size || !held || len(c.e.Xattrs[hemera.AttrArchiveError]) == 0 {
			t.Errorf("%q: %q, %t, %t", j[0].Queue, class, size, held)
		}
	}
	release := func(want int) {
		t.Helper()
		queues, err := w.cat.Queues(ctx)
		w.must(err)
		n := 0
		for _, q := range queues {
			if _, _, held := HeldBy(q.Name); held {
				some, next, err := w.cat.ReleaseHeld(ctx, q, nil)
				if w.must(err); next != nil {
					t.Errorf("a page of %d jobs is not the last", q.Files)
				}
				n += some
			}
		}
		if n != want {
			t.Errorf("%d released, want %d", n, want)
		}
		w.checked()
	}
	release(0)
	unrouted := settings(map[string][]string{"double": {"A", "B"}}, 1000)
	unrouted.Config.Classes["odd"] = tapeconfig.Class{Copies: 1}
	w.cat.Adopt(unrouted)
	was := w.jobs(odd.ID)[0]
	release(0)
	if is := w.jobs(odd.ID)[0]; is.Error == was.Error || !is.Asked.Equal(was.Asked) || string(w.Find("/odd/f").Xattrs[hemera.AttrArchiveError]) != is.Error {
		t.Errorf("%+v, was %+v", is, was)
	}
	w.cat.Adopt(settings(map[string][]string{"double": {"A", "B"}, "odd": {"B"}}, 2000))
	release(2)
	if j := w.jobs(odd.ID); len(j) != 1 || j[0].Queue != "B" || j[0].Failed || w.Find("/odd/f").Xattrs[hemera.AttrArchiveError] != nil {
		t.Errorf("%+v, %+v", j, w.Find("/odd/f").Xattrs)
	}
	if j := w.jobs(large.ID); len(j) != 2 {
		t.Errorf("%+v", j)
	}
	for _, queue := range []string{"A", "class", ""} {
		if _, _, held := HeldBy(queue); held {
			t.Errorf("%q is of held contents", queue)
		}
	}
}
