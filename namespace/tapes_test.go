package namespace_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/tape/catalogue"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// withTapes returns a namespace whose class "double" has two copies, in the pools A and B, and "single" one, in A. Tapes TAPEA1 and TAPEB1 are theirs.
func withTapes(t *testing.T) *namespace.Namespace {
	t.Helper()
	n := fresh(t)
	setTapes(t, n)
	return n
}

// setTapes gives a namespace the tapes of withTapes.
func setTapes(t *testing.T, n *namespace.Namespace) {
	t.Helper()
	cat := n.Parts().Tapes
	cat.Adopt(routed(map[string][]string{"single": {"A"}, "double": {"A", "B"}}, 0))
	for vid, pool := range map[string]string{"TAPEA1": "A", "TAPEB1": "B", "TAPEA2": "A"} {
		good(t, cat.ChangeTape(t.Context(), hemera.VID(vid), func(*tapeapi.Tape) (*tapeapi.Tape, error) {
			return &tapeapi.Tape{Pool: tapeapi.PoolName(pool), State: tapeapi.Active}, nil
		}))
	}
	_, err := n.Tree.Mkdir(t.Context(), system(), "/tape", 0o777, true)
	good(t, err)
	good(t, n.Tree.SetXattr(t.Context(), system(), "/tape", hemera.AttrStorageClass, []byte("double"), false))
}

// routed returns settings with classes and the pools of their copies, and the largest size of a file, 0 for any. Requests of alice's group have
// policy "group", recalls of activities the policy of their name, and others the policy "default".
func routed(pools map[string][]string, most int64) *tapeconfig.Settings {
	c := tapeconfig.Config{Classes: map[string]tapeconfig.Class{}, Routes: map[string]tapeconfig.Route{}, Rules: map[string]tapeconfig.Rule{}, Policies: map[string]tapeconfig.Policy{},
		Organisations: map[string]tapeconfig.Organisation{"": {MaxFileSize: tapeconfig.Bytes(most)}}}
	for class, all := range pools {
		c.Classes[class] = tapeconfig.Class{Copies: int64(len(all))}
		for i, pool := range all {
			r := tapeconfig.Route{Class: class, Copy: int64(i + 1), Type: tapeconfig.RouteDefault, Pool: tapeapi.PoolName(pool)}
			c.Routes[r.Name()] = r
		}
	}
	c.Rules["group"] = tapeconfig.Rule{Group: "users", Policy: "group"}
	names := map[uint32]string{0: "root", alice().UID: "alice"}
	for _, user := range names {
		for _, activity := range []string{"reco", "simulation", "r0", "r1"} {
			c.Rules[user+" "+activity] = tapeconfig.Rule{Requester: user, Activity: "^" + activity + "$", Policy: activity}
		}
	}
	return &tapeconfig.Settings{Config: c, Names: tapeconfig.RuleNames{Users: names, Groups: map[uint32]string{alice().GID: "users"}}}
}

// tapeOf returns a tape.
func tapeOf(t *testing.T, n *namespace.Namespace, vid hemera.VID) tapeapi.Tape {
	t.Helper()
	all, err := n.Parts().Tapes.Tapes(t.Context())
	good(t, err)
	for _, tape := range all {
		if tape.VID == vid {
			return tape
		}
	}
	t.Fatalf("no tape %s", vid)
	return tapeapi.Tape{}
}

// queued returns the jobs of a queue, of all users.
func queued(t *testing.T, n *namespace.Namespace, kind tapeapi.JobKind, name string) (out []tapeapi.Job) {
	t.Helper()
	cat := n.Parts().Tapes
	queues, err := cat.Queues(t.Context())
	good(t, err)
	for _, q := range queues {
		if q.Kind == kind && q.Name == name && !q.Failed {
			jobs, err := cat.Jobs(t.Context(), q, 1000, nil)
			good(t, err)
			if int64(len(jobs)) != q.Files {
				t.Errorf("queue %s says %d jobs and has %d", name, q.Files, len(jobs))
			}
			out = append(out, jobs...)
		}
	}
	return out
}

// write writes jobs to a tape, as a session reports them.
func write(t *testing.T, n *namespace.Namespace, vid hemera.VID, jobs ...tapeapi.Job) (complete []hemera.FileID, err error) {
	t.Helper()
	last := tapeOf(t, n, vid).LastFSeq
	var files []tapeapi.Written
	for i, j := range jobs {
		files = append(files, tapeapi.Written{Job: j.JobKey, ArchiveID: j.ArchiveID, FSeq: last + uint64(i) + 1, Block: 10 * last, Size: j.Size, Bytes: j.Size + 480})
	}
	r := catalogue.Report{VID: vid, Drive: "drive1", Files: files}
	out, err := n.Parts().Tapes.Written(t.Context(), r)
	if err == nil { // the answer was lost, and the report comes again
		_, err = n.Parts().Tapes.Written(t.Context(), r)
	}
	return out.Complete, err
}

// evictWhole evicts a file whose copies are all there.
func evictWhole(n *namespace.Namespace, e hemera.Entry) (int64, error) {
	return n.Pieces.Evict(context.Background(), e.ID, func(now *hemera.Entry) error {
		if !n.Parts().Tapes.Complete(now) {
			return errs.New(errs.Conflict, "test", "", "copies are missing")
		}
		return nil
	})
}

// A content goes to all tapes of its class, from disk, back to disk, and away; nothing is evicted before all its copies are durable.
func TestTheLifeOfAnArchivedFile(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	cat := n.Parts().Tapes
	e := put(t, n, alice(), "/tape/f", 1000)
	if e.ArchiveID() == 0 || e.StorageClass() != "double" {
		t.Fatalf("%+v", e)
	}
	a, b := queued(t, n, tapeapi.Archive, "A"), queued(t, n, tapeapi.Archive, "B")
	if len(a) != 1 || len(b) != 1 || a[0].Copy != 1 || b[0].Copy != 2 {
		t.Fatalf("%+v %+v", a, b)
	}
	if _, err := evictWhole(n, e); !errors.Is(err, errs.Conflict) {
		t.Errorf("evicted without a copy: %v", err)
	}
	complete, err := write(t, n, "TAPEA1", a...)
	if err != nil || len(complete) != 0 {
		t.Fatalf("%v, %v", complete, err)
	}
	if _, err := evictWhole(n, e); !errors.Is(err, errs.Conflict) {
		t.Errorf("evicted with one copy of two: %v", err)
	}
	if complete, err = write(t, n, "TAPEB1", b...); err != nil || len(complete) != 1 || complete[0] != e.ID {
		t.Fatalf("%v, %v", complete, err)
	}
	checked(t, n)
	if freed, err := evictWhole(n, e); err != nil || freed != 2000 {
		t.Fatalf("freed %d, %v", freed, err)
	}
	e = must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/f"))
	if !e.Evicted() || len(e.Tape) != 2 {
		t.Fatalf("%+v", e)
	}
	checked(t, n)
	// Two requests; the first is withdrawn.
	first := func(e *hemera.Entry) (hemera.TapeCopy, error) { return e.Tape[1], nil }
	for _, id := range []string{"r1", "r2", "r2"} {
		must[hemera.Entry](t)(cat.Recall(ctx, catalogue.RecallRequest{File: e.ID, Request: id, UID: 1000, Choose: first}))
	}
	good(t, cat.Withdraw(ctx, e.ID, "r1"))
	jobs := queued(t, n, tapeapi.Recall, "TAPEB1")
	if len(jobs) != 1 || jobs[0].From.VID != "TAPEB1" {
		t.Fatalf("%+v", jobs)
	}
	good(t, cat.ChangeJob(ctx, jobs[0].JobKey, func(j tapeapi.Job, now time.Time) *tapeapi.Job {
		j.Attempts, j.Error, j.After = j.Attempts+1, "the drive is dirty", now.Add(time.Minute)
		return &j
	}))
	e = must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/f"))
	if string(e.Xattrs[hemera.AttrRecallError]) != "the drive is dirty" || string(e.Xattrs[hemera.AttrRecallIDs]) != "r2" {
		t.Errorf("%q", e.Xattrs)
	}
	checked(t, n)
	// It comes back as a conversion would.
	p, _, err := n.Writes.PrepareConversion(ctx, e.ID, e.Gen)
	good(t, err)
	e = must[hemera.Entry](t)(n.Writes.Commit(ctx, namespace.Commit{ID: e.ID, Gen: p.Gen, BaseGen: e.Gen, Convert: true, Parent: e.Parent, Name: "f", Mode: e.Mode,
		Size: e.Size, Layout: e.Layout, Space: e.Space, Sums: e.Checksums, Pieces: []hemera.Piece{{Index: 0, Disk: 5}, {Index: 1, Disk: 6}}}))
	if len(e.Pieces) != 2 || len(e.Tape) != 2 || catalogue.EvictCounter(&e) != 1 || catalogue.RequestsOf(&e) != nil || len(queued(t, n, tapeapi.Recall, "TAPEB1")) != 0 {
		t.Fatalf("%+v", e)
	}
	checked(t, n)
	var released bool
	if e, released, err = cat.Release(ctx, e.ID, catalogue.Releaser{UID: 1000}); err != nil || !released || catalogue.EvictCounter(&e) != 0 {
		t.Errorf("%+v, %v, %v", e, released, err)
	}
	// Replaced: the old content is dead on its tapes, the new one is queued under another number.
	was := e.ArchiveID()
	e = put(t, n, alice(), "/tape/f", 10)
	if e.ArchiveID() == was || len(e.Tape) != 0 || len(queued(t, n, tapeapi.Archive, "A")) != 1 {
		t.Errorf("%+v", e)
	}
	dead := must[[]tapeapi.File](t)(cat.Files(ctx, "TAPEA1", 0, 10, true))
	if len(dead) != 1 || dead[0].Dead == nil || dead[0].Dead.Path != "/tape/f" || tapeOf(t, n, "TAPEA1").Files != 0 {
		t.Errorf("%+v", dead)
	}
	good(t, n.Tree.Remove(ctx, alice(), "/tape/f", 0))
	if left := queued(t, n, tapeapi.Archive, "A"); len(left) != 0 {
		t.Errorf("a removed file is queued: %+v", left)
	}
	wantKind(t, "a tape that is not full", cat.Reclaim(ctx, "TAPEA1", 0), errs.Conflict)
	good(t, cat.ChangeTape(ctx, "TAPEA1", func(old *tapeapi.Tape) (*tapeapi.Tape, error) { full := *old; full.Full = true; return &full, nil }))
	good(t, cat.Reclaim(ctx, "TAPEA1", 0))
	if tape := tapeOf(t, n, "TAPEA1"); tape.LastFSeq != 0 || tape.Full || tape.Occupancy != 0 {
		t.Errorf("%+v", tape)
	}
	checked(t, n)
}

// What users may not do to the attributes of the system, and what a directory with an unknown class does.
func TestAttributesOfTapesAreTheSystems(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	put(t, n, alice(), "/tape/f", 10)
	for _, name := range []string{hemera.AttrArchiveID, hemera.AttrRecallIDs, hemera.AttrEvictCounter, hemera.AttrStorageClass} {
		wantKind(t, name, n.Tree.SetXattr(ctx, system(), "/tape/f", name, []byte("1"), false), errs.Denied)
		wantKind(t, name, n.Tree.RemoveXattr(ctx, system(), "/tape/f", name), errs.Denied)
	}
	good(t, n.Tree.SetXattr(ctx, system(), "/tape", hemera.AttrStorageClass, []byte("gone"), false))
	e := put(t, n, alice(), "/tape/g", 10)
	if e.ArchiveID() == 0 || e.Xattrs[hemera.AttrArchiveError] == nil {
		t.Errorf("%+v", e)
	}
	good(t, n.Tree.SetXattr(ctx, system(), "/tape", hemera.AttrStorageClass, []byte(catalogue.NoClass), false))
	if e := put(t, n, alice(), "/tape/h", 10); e.ArchiveID() != 0 {
		t.Errorf("%+v", e)
	}
	if e := put(t, n, alice(), "/tape/empty", 0); e.ArchiveID() != 0 {
		t.Errorf("%+v", e)
	}
	// Reports that cannot be true.
	j := queued(t, n, tapeapi.Archive, "A")[0]
	report := func(vid hemera.VID, fseq uint64, size int64, given func(tapeapi.JobKey, uint64) bool) (catalogue.Recorded, error) {
		return n.Parts().Tapes.Written(ctx, catalogue.Report{VID: vid, Drive: "d", Given: given,
			Files: []tapeapi.Written{{Job: j.JobKey, ArchiveID: j.ArchiveID, FSeq: fseq, Size: size}}})
	}
	_, err := report("TAPEA1", 2, 10, nil)
	wantKind(t, "a gap", err, errs.Conflict)
	_, err = report("NOTAPE", 1, 10, nil)
	wantKind(t, "an unknown tape", err, errs.NotFound)
	// It is on tape, and no copy of the file, which still waits to be archived.
	none := func(tapeapi.JobKey, uint64) bool { return false }
	for fseq, size := range []int64{11, 10} {
		out, err := report("TAPEA1", uint64(fseq+1), size, none)
		good(t, err)
		if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/f")); len(e.Tape) != 0 || len(out.Complete) != 0 || (len(out.Unfit) == 1) != (size == 11) {
			t.Errorf("size %d became a copy, or is not told of: %+v, %+v", size, out, e)
		}
		if left := queued(t, n, tapeapi.Archive, "A"); len(left) != 1 || left[0].Size != 10 {
			t.Errorf("size %d: %+v", size, left)
		}
	}
	checked(t, n)
}

// Whatever happens in whatever order: each file that is to be archived has all its copies, or a job for each one that is missing.
func TestNoCopyIsForgotten(t *testing.T) {
	for seed := range uint64(20) {
		n, ctx, rnd := withTapes(t), t.Context(), rand.New(rand.NewPCG(seed, 1))
		for range 150 {
			path := fmt.Sprintf("/tape/f%d", rnd.IntN(5))
			switch rnd.IntN(6) {
			case 0, 1:
				put(t, n, alice(), path, int64(rnd.IntN(100)))
			case 2:
				if err := n.Tree.Remove(ctx, alice(), path, 0); err != nil && !errors.Is(err, errs.NotFound) {
					t.Fatal(err)
				}
			case 3, 4:
				pool := string(rune('A' + rnd.IntN(2)))
				jobs := queued(t, n, tapeapi.Archive, pool)
				_, err := write(t, n, hemera.VID("TAPE"+pool+"1"), jobs[:min(len(jobs), rnd.IntN(4))]...)
				good(t, err)
			case 5:
				if e, err := n.Tree.Stat(ctx, system(), path); err == nil {
					if _, err := evictWhole(n, e); err == nil && e.Size > 0 && len(e.Pieces) > 0 && len(e.Tape) != 2 {
						t.Fatalf("seed %d: %s was evicted with %d copies", seed, path, len(e.Tape))
					}
				}
			}
		}
		waiting := map[hemera.FileID]int{}
		for _, pool := range []string{"A", "B"} {
			for _, j := range queued(t, n, tapeapi.Archive, pool) {
				waiting[j.File]++
			}
		}
		good(t, n.Tree.List(ctx, system(), "/tape", func(e hemera.Entry) error {
			if e.Size > 0 && len(e.Tape)+waiting[e.ID] != 2 {
				t.Errorf("seed %d: %s has %d copies and %d jobs", seed, e.Name, len(e.Tape), waiting[e.ID])
			}
			return nil
		}))
		checked(t, n)
	}
}

// Lists that are read page by page leave nothing out: many jobs of one instant, and a container whose members do not fit on a page.
func TestPagesLeaveNothingOut(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	cat := n.Parts().Tapes
	const files = 1100 // more than a page of the order of jobs
	var verify []tapeapi.Job
	var members []tapeapi.Written
	for i := range files {
		e := put(t, n, alice(), fmt.Sprintf("/tape/f%d", i), 10)
		verify = append(verify, tapeapi.Job{JobKey: tapeapi.JobKey{File: e.ID, Kind: tapeapi.Verify, Copy: 1}, ArchiveID: e.ArchiveID(),
			Queue: "TAPEA1", Size: 10, Asked: time.Unix(1_700_000_000, 0)})
		members = append(members, tapeapi.Written{Job: tapeapi.JobKey{File: e.ID, Kind: tapeapi.Archive, Copy: 1}, ArchiveID: e.ArchiveID(),
			FSeq: 1, Member: uint32(i + 1), Size: 10})
	}
	good(t, cat.Requeue(ctx, verify))
	if jobs := must[[]tapeapi.Job](t)(cat.Jobs(ctx, catalogue.Queue{Kind: tapeapi.Verify, Name: "TAPEA1"}, 10*files, nil)); len(jobs) != files {
		t.Errorf("%d of %d jobs are listed", len(jobs), files)
	}
	must[catalogue.Recorded](t)(cat.Written(ctx, catalogue.Report{VID: "TAPEA1", Drive: "d", Files: members}))
	if rows := must[[]tapeapi.File](t)(cat.Files(ctx, "TAPEA1", 0, 100, false)); len(rows) != files {
		t.Errorf("%d of %d members are listed", len(rows), files)
	}
	checked(t, n)
}

// Jobs keep the mount policy that they were queued with, and the sums of a user are one queue whatever the policies.
func TestQueuesKnowTheirPolicies(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	cat := n.Parts().Tapes
	queue := func(kind tapeapi.JobKind, failed bool, want ...string) {
		t.Helper()
		checked(t, n)
		for _, q := range must[[]catalogue.Queue](t)(cat.Queues(ctx)) {
			if q.Kind != kind || q.Failed != failed || q.Name == "B" {
				continue
			}
			if int(q.Files) != 3 || q.Bytes != 30 || !slices.Equal(q.Policies, want) {
				t.Errorf("%+v, want policies %q", q, want)
			}
			return
		}
		t.Errorf("no queue of %s, failed %t", kind, failed)
	}
	activity := map[hemera.FileID]string{}
	for i, name := range []string{"", "reco", "simulation"} {
		activity[put(t, n, alice(), fmt.Sprintf("/tape/f%d", i), 10).ID] = name
	}
	queue(tapeapi.Archive, false, "group")
	for _, pool := range []string{"A", "B"} {
		must[[]hemera.FileID](t)(write(t, n, hemera.VID("TAPE"+pool+"1"), queued(t, n, tapeapi.Archive, pool)...))
	}
	for id, name := range activity {
		must[int64](t)(evictWhole(n, hemera.Entry{ID: id}))
		r := catalogue.RecallRequest{File: id, UID: 1000, Activity: name, Choose: func(e *hemera.Entry) (hemera.TapeCopy, error) { return e.Tape[0], nil }}
		must[hemera.Entry](t)(cat.Recall(ctx, r))
		r.Activity = "another" // the file waits already
		must[hemera.Entry](t)(cat.Recall(ctx, r))
	}
	queue(tapeapi.Recall, false, tapeconfig.DefaultName, "reco", "simulation")
	jobs := queued(t, n, tapeapi.Recall, "TAPEA1")
	for _, j := range jobs {
		if j.Policy != cmp.Or(activity[j.File], tapeconfig.DefaultName) {
			t.Errorf("%+v", j)
		}
		good(t, cat.ChangeJob(ctx, j.JobKey, func(j tapeapi.Job, _ time.Time) *tapeapi.Job {
			j.Failed = true
			return &j
		}))
	}
	queue(tapeapi.Recall, true, tapeconfig.DefaultName, "reco", "simulation")
	for i := range jobs {
		good(t, n.Tree.Remove(ctx, system(), fmt.Sprintf("/tape/f%d", i), hemera.KindFile))
	}
	if left := must[[]catalogue.Queue](t)(cat.Queues(ctx)); len(left) != 0 {
		t.Errorf("no jobs, and %+v", left)
	}
	checked(t, n)
}

// A version that takes the place of a file brings what tapes have of it, and its jobs.
func TestARestoredVersionIsArchived(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	good(t, n.Tree.SetXattr(ctx, system(), "/tape", "sys.versioning", []byte("10"), false))
	old := put(t, n, alice(), "/tape/f", 1000)
	good(t, n.Tree.SetXattr(ctx, alice(), "/tape/f", "user.of", []byte("name"), false))
	now := put(t, n, alice(), "/tape/f", 2000)
	if old.ID == now.ID || old.ArchiveID() == now.ArchiveID() {
		t.Fatalf("nothing was kept: %+v %+v", old, now)
	}
	// On a tape of its own, so that the two differ in what tapes have.
	for _, j := range queued(t, n, tapeapi.Archive, "A") {
		if j.File == now.ID {
			must[[]hemera.FileID](t)(write(t, n, "TAPEA1", j))
		}
	}
	var names []string
	good(t, n.Tree.List(ctx, system(), "/tape/.sys.v#.f", func(e hemera.Entry) error { names = append(names, e.Name); return nil }))
	if len(names) != 1 {
		t.Fatal(names)
	}
	good(t, n.Bins.RestoreVersion(ctx, alice(), "/tape/f", names[0]))
	back := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/f"))
	if back.ID != old.ID || back.ArchiveID() != old.ArchiveID() || string(back.Xattrs["user.of"]) != "name" {
		t.Errorf("%+v", back)
	}
	checked(t, n)
	for _, pool := range []string{"A", "B"} {
		for _, j := range queued(t, n, tapeapi.Archive, pool) {
			must[[]hemera.FileID](t)(write(t, n, hemera.VID("TAPE"+pool+"1"), j))
		}
	}
	if back = must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/f")); len(back.Tape) != 2 {
		t.Errorf("copies %+v", back.Tape)
	}
	checked(t, n)
}

// A piece that is made while its file is evicted is not the file's: one of too few pieces would hide the tape copies from readers.
func TestACopyThatMeetsAnEviction(t *testing.T) {
	n := withTapes(t)
	c := prepare(t, n, alice(), "/tape/coded")
	c.Size, c.Layout = 3<<20, hemera.ReedSolomon(2, 1)
	e := must[hemera.Entry](t)(n.Writes.Commit(t.Context(), c))
	for _, pool := range []string{"A", "B"} {
		for _, j := range queued(t, n, tapeapi.Archive, pool) {
			must[[]hemera.FileID](t)(write(t, n, hemera.VID("TAPE"+pool+"1"), j))
		}
	}
	must[int64](t)(evictWhole(n, e))
	err := n.Pieces.MovePieces(t.Context(), namespace.PieceMove{File: e.ID, Gen: e.Gen, Add: []hemera.Piece{{Index: 2, Disk: 3}}})
	if errs.KindOf(err) != errs.Conflict {
		t.Errorf("got %v", err)
	}
	if e = stat(t, n, "/tape/coded"); !e.Evicted() {
		t.Errorf("%+v", e)
	}
	checked(t, n)
}
