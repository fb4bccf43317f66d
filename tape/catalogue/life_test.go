package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// history makes random calls to a world, and knows which files there are.
type history struct {
	*world
	r     *rapid.T
	paths []string
}

func (h *history) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(h.r, what) }

// file returns one of the files, false if there is none.
func (h *history) file() (string, *hemera.Entry, bool) {
	if len(h.paths) == 0 {
		return "", nil, false
	}
	p := h.paths[h.pick("file", len(h.paths))]
	return p, h.Find(p), true
}

// step makes one call. What it may not do is refused, and must leave no trace.
func (h *history) step(i int) {
	ctx := h.tb.Context()
	what := h.pick("what", 14)
	if what == 0 || len(h.paths) == 0 {
		p := fmt.Sprintf("/%s/%d", []string{"single", "double", "odd", "none"}[h.pick("dir", 4)], i)
		h.put(p, int64(h.pick("size", 4)*100))
		h.paths = append(h.paths, p)
		return
	}
	p, e, _ := h.file()
	request := fmt.Sprintf("r:%d", h.pick("request", 3))
	uid := uint32(1 + h.pick("uid", 2))
	switch what {
	case 1:
		h.remove(p)
		h.paths = slices.DeleteFunc(h.paths, func(o string) bool { return o == p })
	case 2:
		if len(e.Pieces) > 0 {
			h.replace(p, int64(1+h.pick("size", 9)))
		}
	case 3, 4, 5: // a session writes some of what waits, and reports it twice
		h.session()
	case 6:
		if h.cat.Complete(e) && len(e.Pieces) > 0 && len(PinsOf(e)) == 0 {
			h.evict(p)
		}
	case 7:
		_, err := h.recall(e.ID, uid, request)
		h.must(err)
	case 8:
		h.must(h.cat.Withdraw(ctx, e.ID, request))
	case 9:
		_, _, err := h.cat.Release(ctx, e.ID, Releaser{UID: uid})
		h.must(err)
	case 10:
		if e.Evicted() && slices.ContainsFunc(h.jobs(e.ID), func(j tapeapi.Job) bool { return j.Kind == tapeapi.Recall }) {
			h.arrive(p)
		}
	case 11:
		for _, j := range h.jobs(e.ID) {
			h.must(h.cat.ChangeJob(ctx, j.JobKey, func(j tapeapi.Job, now time.Time) *tapeapi.Job {
				j.Attempts, j.Error, j.Failed, j.After = j.Attempts+1, "no drive", j.Attempts > 1, now.Add(time.Duration(j.Attempts)*time.Hour)
				return &j
			}))
		}
	case 12:
		h.lose(e)
	case 13:
		h.keep(e)
	}
}

// session writes up to some of the jobs that wait for a pool to one of its tapes.
func (h *history) session() {
	vid := []string{"A1", "A2", "B1"}[h.pick("tape", 3)]
	queues, err := h.cat.Queues(h.tb.Context())
	h.must(err)
	var jobs []tapeapi.Job
	for _, q := range queues {
		if q.Kind == tapeapi.Archive && q.Name == vid[:1] && !q.Failed {
			some, err := h.cat.Jobs(h.tb.Context(), q, 1+h.pick("jobs", 3), nil)
			h.must(err)
			jobs = append(jobs, some...)
		}
	}
	if h.pick("stale", 4) == 0 && len(jobs) > 0 { // a content that is gone, or never was
		jobs[0].ArchiveID += 1000
	}
	_, err = h.written(hemera.VID(vid), jobs...)
	h.must(err)
}

// lose loses a copy: it cannot be read back, or a scan shows that its tape ends before it.
func (h *history) lose(e *hemera.Entry) {
	if len(e.Tape) == 0 {
		return
	}
	c := e.Tape[h.pick("copy", len(e.Tape))]
	if h.pick("how", 2) == 0 {
		_, err := h.cat.DropCopy(h.tb.Context(), tapeapi.File{TapeCopy: c, File: e.ID, ArchiveID: e.ArchiveID()}, "it cannot be read")
		h.must(err)
		return
	}
	h.alter(c.VID, func(t *tapeapi.Tape) { t.Doubt = "a mount was lost" })
	h.must(h.cat.NoteScanned(h.tb.Context(), ScanEnd{VID: c.VID, End: tapeapi.End{FSeq: c.FSeq - 1, ArchiveID: 1}, Believe: true}))
}

// keep asks again for copies, which changes nothing where they are there or queued; or takes jobs back that are not needed.
func (h *history) keep(e *hemera.Entry) {
	ctx := h.tb.Context()
	if h.pick("how", 2) == 0 {
		if _, _, err := h.cat.AddCopies(ctx, []hemera.FileID{e.ID, 12345}); err != nil {
			h.r.Fatal(err)
		}
		return
	}
	var keys []tapeapi.JobKey
	for _, j := range h.jobs(e.ID) {
		if j.Kind == tapeapi.Archive {
			keys = append(keys, j.JobKey)
		}
	}
	if removed, err := h.cat.Dequeue(ctx, keys); err != nil || removed > 0 {
		h.r.Fatalf("%d jobs are taken back whose copies are missing, %v", removed, err)
	}
}

// broken says which promise of the catalogue does not hold, "" if all do.
func (h *history) broken() string {
	if bad := h.problems(); bad != "" {
		return bad
	}
	copies := map[string]int{"single": 1, "double": 2, "odd": 1}
	for _, p := range h.paths {
		e, jobs := h.Find(p), map[tapeapi.JobKind][]tapeapi.Job{}
		for _, j := range h.jobs(e.ID) {
			if j.ArchiveID != e.ArchiveID() {
				return fmt.Sprintf("%s: %+v is for another content", p, j)
			}
			jobs[j.Kind] = append(jobs[j.Kind], j)
		}
		class := strings.Split(p, "/")[1]
		for number := range uint8(copies[class]) {
			n := number + 1
			has := slices.ContainsFunc(e.Tape, func(c hemera.TapeCopy) bool { return c.Number == n })
			waits := slices.ContainsFunc(jobs[tapeapi.Archive], func(j tapeapi.Job) bool { return j.Copy == n })
			if has == waits && e.Size > 0 {
				return fmt.Sprintf("%s: copy %d is there: %t, and waits: %t", p, n, has, waits)
			}
		}
		if wanted := class != "none"; (e.ArchiveID() != 0) != wanted || e.Size == 0 && len(jobs[tapeapi.Archive]) > 0 {
			return fmt.Sprintf("%s: %+v, jobs %v", p, e, jobs)
		}
		pins, waiting := PinsOf(e), RequestsOf(e)
		if EvictCounter(e) != len(pins)-len(waiting) || len(waiting) > 0 && !e.Evicted() || e.Evicted() && len(waiting) != len(pins) {
			return fmt.Sprintf("%s: pins %v, waiting %v, counter %d, evicted %t", p, pins, waiting, EvictCounter(e), e.Evicted())
		}
		if len(waiting) > 0 && len(jobs[tapeapi.Recall]) == 0 || len(jobs[tapeapi.Recall]) > 1 || !e.Evicted() && len(jobs[tapeapi.Recall]) > 0 {
			return fmt.Sprintf("%s: %v wait, jobs %v", p, waiting, jobs)
		}
	}
	return ""
}

// TestNoContentAndNoRequestIsForgotten makes random calls, as sessions, users and admins make them, and compares all records and promises after each: each
// copy that a class asks for is there or waits, no job is of another content, requests that wait have a job, pins are counted.
func TestNoContentAndNoRequestIsForgotten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		h := &history{world: newWorld(t), r: r}
		for i := range rapid.IntRange(1, 25).Draw(r, "steps") {
			h.step(i)
			if bad := h.broken(); bad != "" {
				r.Fatal(bad)
			}
		}
	})
}

// TestAFileGoesToTapeAndComesBack: a file is evictable once all its copies are there, waits for a recall, is kept on disk by the request that wanted it,
// and leaves dead rows behind.
func TestAFileGoesToTapeAndComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.put("/double/f", 300)
	jobs := w.jobs(e.ID)
	if len(jobs) != 2 || jobs[0].Queue != "A" || jobs[1].Queue != "B" || jobs[0].Policy != "first" || jobs[0].ArchiveID != e.ArchiveID() || e.StorageClass() != "double" {
		t.Fatalf("%+v", jobs)
	}
	out, err := w.written("A1", jobs[0])
	w.must(err)
	if e = *w.Find("/double/f"); len(out.Complete) != 0 || len(e.Tape) != 1 || w.cat.Complete(&e) {
		t.Errorf("complete with one copy: %+v, %+v", out, e.Tape)
	}
	out, err = w.written("B1", jobs[1])
	w.must(err)
	if e = *w.Find("/double/f"); len(out.Complete) != 1 || !w.cat.Complete(&e) || len(w.jobs(e.ID)) != 0 {
		t.Errorf("not complete with both: %+v, %+v", out, e.Tape)
	}
	w.evict("/double/f")
	if e, err = w.recall(e.ID, 2, "r:1"); err != nil || !slices.Equal(RequestsOf(&e), []string{"r:1"}) || EvictCounter(&e) != 0 {
		t.Errorf("%+v, %v", e.Xattrs, err)
	}
	if j := w.jobs(e.ID); len(j) != 1 || j[0].Kind != tapeapi.Recall || j[0].Queue != "A1" || *j[0].From != e.Tape[0] || j[0].UID != 2 {
		t.Errorf("%+v", j)
	}
	w.arrive("/double/f")
	if e = *w.Find("/double/f"); len(w.jobs(e.ID)) != 0 || len(RequestsOf(&e)) != 0 || EvictCounter(&e) != 1 || e.Xattrs[hemera.AttrRecallTime] != nil {
		t.Errorf("%+v, jobs %v", e.Xattrs, w.jobs(e.ID))
	}
	for _, c := range []struct {
		by       Releaser
		released bool
	}{{Releaser{UID: 1}, false}, {Releaser{UID: 2}, true}, {Releaser{UID: 2}, false}} {
		if _, ok, err := w.cat.Release(t.Context(), e.ID, c.by); ok != c.released || err != nil {
			t.Errorf("%+v: %t, %v", c.by, ok, err)
		}
	}
	w.remove("/double/f")
	for _, vid := range []hemera.VID{"A1", "B1"} {
		if rows := w.rows(vid); len(rows) != 1 || rows[0].Dead == nil || rows[0].Dead.Path != "/double/f" || rows[0].Dead.UID != 1 || w.tape(vid).Files != 0 || w.tape(vid).Occupancy != 400 {
			t.Errorf("%+v, %+v", rows, w.tape(vid))
		}
	}
	_, err = w.recall(e.ID, 1, "r:2")
	w.kind("a recall of what is gone", err, errs.NotFound)
	w.checked()
}
