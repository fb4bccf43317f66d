package tier

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Grants are made one by one, when a session is about to open the file,
// and not with the list of jobs: a capability lives for an hour, and a
// file may wait longer than that for its turn.

// giver gives mounts their jobs, and grants for them.
type giver struct {
	env       *env
	inventory *inventory
	mounts    *mounts
	recalls   *recalls
}

// TapeJobs gives a mount its next jobs. The caller has checked the lease.
func (t *giver) TapeJobs(ctx context.Context, node hemera.NodeID, want tapeapi.JobsRequest) (reply tapeapi.JobsReply, err error) {
	m := t.mounts.of(node, want.Mount)
	if m == nil {
		return reply, errs.New(errs.NotFound, "tier.TapeJobs", "", "the mount is not known here: the manager was started since").
			WithRemedy("end the session")
	}
	want.Files, want.Bytes = min(cmp.Or(want.Files, jobsMax), jobsMax), min(cmp.Or(want.Bytes, bytesMax), bytesMax)
	if m.back != nil {
		return t.readBackJobs(ctx, m, want)
	}
	if ends, err := t.turnIsOver(ctx, m); err != nil || ends {
		reply.Last = true
		return reply, err
	}
	jobs, err := t.pick(ctx, m, want)
	if err != nil {
		return reply, err
	}
	disks := map[hemera.FileID]hemera.DiskID{}
	// What labels, indexes and checks need comes from the entry as it is
	// now.
	for _, j := range jobs {
		work, err := t.env.work(ctx, j)
		if errors.Is(err, errs.Conflict) || errors.Is(err, errs.NotFound) {
			// The content went away between its commit and now. Its job should
			// have gone with it; this is the second net.
			if err := t.env.catalogue.ChangeJob(ctx, j.JobKey, void); err != nil {
				return reply, err
			}
			t.mounts.release(m, j.JobKey)
			continue
		}
		if err != nil {
			return reply, err
		}
		if work.Kind == tapeapi.Archive && !work.onDisk {
			if err := t.toDiskFirst(ctx, m, j); err != nil {
				return reply, err
			}
			continue
		}
		if !t.mounts.reserve(m, work) {
			t.mounts.release(m, j.JobKey)
			continue
		}
		disks[j.File] = work.disk
		reply.Jobs = append(reply.Jobs, work.Work)
	}
	if m.kind == tapeapi.Recall || m.kind == tapeapi.Verify || m.kind == tapeapi.Repack {
		slices.SortFunc(reply.Jobs, func(a, b tapeapi.Work) int { return comparePlaces(a.From, b.From) })
	}
	if m.kind == tapeapi.Archive {
		t.spread(m, reply.Jobs, disks)
	}
	reply.Last = len(reply.Jobs) == 0
	return reply, nil
}

// diskWait is after what time an archive job whose file is on tape only
// is looked at again; it is done at once when the file arrives.
const diskWait = 30 * time.Second

// toDiskFirst has a file recalled that is to be archived once more, by a
// repack, and puts the job off until it may be there. A file that cannot be
// brought to disk fails its own job and no others.
func (t *giver) toDiskFirst(ctx context.Context, m *mount, j tapeapi.Job) error {
	defer t.mounts.release(m, j.JobKey)
	known, err := t.env.knownTapes(ctx)
	if err != nil {
		return err
	}
	e, _, err := t.env.Tree.Resolve(ctx, j.File)
	if errs.KindOf(err) == errs.NotFound {
		return t.env.catalogue.ChangeJob(ctx, j.JobKey, void)
	}
	if err != nil {
		return err
	}
	why, err := t.unreadable(ctx, known, &e, j)
	if err != nil {
		return err
	}
	if why == "" {
		if _, err := t.recalls.recallFrom(ctx, known, catalogue.RecallRequest{File: e.ID, UID: j.UID}); err != nil {
			return err
		}
		t.env.wake.ring()
	}
	return t.env.catalogue.ChangeJob(ctx, j.JobKey, func(j tapeapi.Job, now time.Time) *tapeapi.Job {
		if j.After, j.Waits = now.Add(diskWait), "the file is on tape only, and comes to disk first"; why != "" {
			j.Failed, j.Error, j.After, j.Waits = true, why, time.Time{}, ""
		}
		return &j
	})
}

// unreadable says why a file that an archive job needs on disk does not come
// there until somebody acts; "" where it may.
func (t *giver) unreadable(ctx context.Context, known map[hemera.VID]tapeapi.Tape, e *hemera.Entry, j tapeapi.Job) (string, error) {
	if _, err := t.recalls.chooseCopy(known, nil)(e); err != nil {
		return errs.Reason(err, "fxid:"+e.ID.Hex()), nil
	}
	// Asked again, a recall that has failed would begin again, for ever.
	for _, c := range e.Tape {
		r, err := t.env.catalogue.Job(ctx, tapeapi.JobKey{File: e.ID, Kind: tapeapi.Recall, Copy: c.Number})
		if err != nil {
			return "", err
		}
		if r != nil && r.Failed && j.Waits != "" {
			return "it does not come to disk: " + r.Error, nil
		}
	}
	return "", nil
}

// void removes a job.
func void(tapeapi.Job, time.Time) *tapeapi.Job { return nil }

// pick chooses jobs for a mount, and gives them to it. The first jobs of
// each user are read, as many as all could be given: the rules share the
// drive's time between users.
func (t *giver) pick(ctx context.Context, m *mount, want tapeapi.JobsRequest) (out []tapeapi.Job, err error) {
	queues, err := t.env.catalogue.Queues(ctx)
	if err != nil {
		return nil, err
	}
	var heads [][]tapeapi.Job // of each user, in their order
	for _, q := range queues {
		if q.Failed || q.Kind != m.kind || q.Name != m.queue() {
			continue
		}
		jobs, err := t.env.catalogue.Jobs(ctx, q, want.Files, t.mounts.free)
		if err != nil {
			return nil, err
		}
		heads = append(heads, jobs)
	}
	return t.mounts.pick(m, heads, want), nil
}

// turnIsOver reports whether the session of a mount is to end although
// its queue has more: others of the same priority or a higher one wait.
func (t *giver) turnIsOver(ctx context.Context, m *mount) (bool, error) {
	f, err := t.inventory.facts(ctx)
	if err != nil {
		return false, err
	}
	more, rule, reason := mounting.New(t.mounts.look(f)).Continue(m.drive)
	// An empty queue is seen when jobs are picked: the sums leave out what
	// was given.
	if more || rule == mounting.NoWork {
		return false, nil
	}
	t.env.Log.Info("a tape session ends before its queue does", "drive", m.drive, "vid", m.vid, "why", reason)
	return true, nil
}

// TapeGrant permits the transfer of a job. The caller has checked the
// lease.
func (t *giver) TapeGrant(ctx context.Context, node hemera.NodeID, id tapeapi.MountID, key tapeapi.JobKey) (g tapeapi.Grant, err error) {
	m := t.mounts.of(node, id)
	if m == nil {
		return g, errs.New(errs.NotFound, "tier.TapeGrant", "", "the mount is not known here")
	}
	if _, given := t.mounts.job(m, key); !given {
		return g, errs.New(errs.Denied, "tier.TapeGrant", "fxid:"+key.File.Hex(), "the mount was not given this job")
	}
	j, err := t.env.catalogue.Job(ctx, key)
	if err != nil {
		return g, err
	}
	if j == nil {
		return g, errs.New(errs.Conflict, "tier.TapeGrant", "", "the job was cancelled")
	}
	e, path, err := t.env.Tree.Resolve(ctx, key.File)
	if err != nil {
		return g, err
	}
	if e.ArchiveID() != j.ArchiveID {
		return g, errs.New(errs.Conflict, "tier.TapeGrant", path, "the file has another content now")
	}
	// Verifications read tape and need no disk; what repacks write is read
	// like any file.
	if key.Kind == tapeapi.Recall {
		if !e.Evicted() {
			return g, errs.New(errs.Conflict, "tier.TapeGrant", path, "the file is on disk already")
		}
		g, end, err := t.env.Grants.GrantRecall(ctx, e.ID, e.Gen)
		if err == nil {
			t.mounts.granted(m, key, end)
		}
		return g, err
	}
	return t.env.Grants.GrantArchive(ctx, e, path)
}
