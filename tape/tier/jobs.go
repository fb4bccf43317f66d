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
)

// A job is given to one mount at a time. That is kept in memory: after a
// restart of the manager no mount is known, and every job is free again.
// A session of before the restart may then write a file that another
// session writes too. Both are recorded on their tapes, one as a copy and
// one as a dead row, which costs room on tape and nothing else.
//
// Grants are made one by one, when a session is about to open the file,
// and not with the list of jobs: a capability lives for an hour, and a
// file may wait longer than that for its turn.

// mount is what a drive works on.
type mount struct {
	id      uint64
	node    hemera.NodeID
	drive   string
	kind    hemera.TapeJobKind
	vid     string
	pool    string // of the tape
	begun   time.Time
	ahead   mounting.Key                         // the queue for which a new tape gets its label first; zero: none
	scans   bool                                 // it has no jobs: it tells what is on the tape
	given   map[hemera.TapeJobKey]hemera.TapeJob // and not done, as they were then
	session hemera.TapeSession
	// bytes is what was given and is not done; priority, reserved and served
	// are for the rules: of its queue, of the disk buffer, and what users
	// were served.
	bytes    int64
	priority int64
	reserved int64
	served   map[uint32]int64
	// filling is the room on disks that is reserved for what was given; began:
	// it was given jobs, or found none.
	filling map[hemera.TapeJobKey]fill
	began   bool
	back    *readingBack   // nil: it reads nothing back
	reads   mounting.Reads // the large files that it was given to archive
}

// Bounds of one answer with jobs, whatever a server asks for.
const (
	jobsMax  = 4000
	bytesMax = 2 << 40
)

// TapeJobs gives a mount its next jobs. The caller has checked the lease.
func (t *giver) TapeJobs(ctx context.Context, node hemera.NodeID, want hemera.TapeJobsRequest) (reply hemera.TapeJobsReply, err error) {
	m := t.mountOf(node, want.Mount)
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
		work, err := t.work(ctx, j)
		if errors.Is(err, errs.Conflict) || errors.Is(err, errs.NotFound) {
			// The content went away between its commit and now. Its job should
			// have gone with it; this is the second net.
			if err := t.catalogue.ChangeJob(ctx, j.TapeJobKey, void); err != nil {
				return reply, err
			}
			t.release(m, j.TapeJobKey)
			continue
		}
		if err != nil {
			return reply, err
		}
		if work.Kind == hemera.TapeArchive && !work.onDisk {
			if err := t.toDiskFirst(ctx, m, j); err != nil {
				return reply, err
			}
			continue
		}
		if !t.hasRoom(m, work) {
			t.release(m, j.TapeJobKey)
			continue
		}
		disks[j.File] = work.disk
		reply.Jobs = append(reply.Jobs, work.TapeWork)
	}
	if m.kind == hemera.TapeRecall || m.kind == hemera.TapeVerify || m.kind == hemera.TapeRepack {
		slices.SortFunc(reply.Jobs, func(a, b hemera.TapeWork) int { return a.From.ComparePlace(b.From) })
	}
	if m.kind == hemera.TapeArchive {
		t.spread(m, reply.Jobs, disks)
	}
	reply.Last = len(reply.Jobs) == 0
	return reply, nil
}

// hasRoom reserves room on disks for a job, if there is some.
func (t *giver) hasRoom(m *mount, w placedWork) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.room.reserve(m, w.TapeJobKey, w.fill)
}

// diskWait is after what time an archive job whose file is on tape only
// is looked at again; it is done at once when the file arrives.
const diskWait = 30 * time.Second

// toDiskFirst has a file recalled that is to be archived once more, by a
// repack, and puts the job off until it may be there. A file that cannot be
// brought to disk fails its own job and no others.
func (t *giver) toDiskFirst(ctx context.Context, m *mount, j hemera.TapeJob) error {
	defer t.release(m, j.TapeJobKey)
	known, err := t.knownTapes(ctx)
	if err != nil {
		return err
	}
	e, _, err := t.Tree.Resolve(ctx, j.File)
	if errs.KindOf(err) == errs.NotFound {
		return t.catalogue.ChangeJob(ctx, j.TapeJobKey, void)
	}
	if err != nil {
		return err
	}
	why, err := t.unreadable(ctx, known, &e, j)
	if err != nil {
		return err
	}
	if why == "" {
		if _, err := t.recallFrom(ctx, known, catalogue.RecallRequest{File: e.ID, UID: j.UID}); err != nil {
			return err
		}
		t.Awake()
	}
	return t.catalogue.ChangeJob(ctx, j.TapeJobKey, func(j hemera.TapeJob, now time.Time) *hemera.TapeJob {
		if j.After, j.Waits = now.Add(diskWait), "the file is on tape only, and comes to disk first"; why != "" {
			j.Failed, j.Error, j.After, j.Waits = true, why, time.Time{}, ""
		}
		return &j
	})
}

// unreadable says why a file that an archive job needs on disk does not come
// there until somebody acts; "" where it may.
func (t *giver) unreadable(ctx context.Context, known map[string]hemera.Tape, e *hemera.Entry, j hemera.TapeJob) (string, error) {
	if _, err := t.chooseCopy(known, nil)(e); err != nil {
		return errs.Reason(err, "fxid:"+e.ID.Hex()), nil
	}
	// Asked again, a recall that has failed would begin again, for ever.
	for _, c := range e.Tape {
		r, err := t.catalogue.Job(ctx, hemera.TapeJobKey{File: e.ID, Kind: hemera.TapeRecall, Copy: c.Number})
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
func void(hemera.TapeJob, time.Time) *hemera.TapeJob { return nil }

// mountOf finds a mount of a node.
func (t *parts) mountOf(node hemera.NodeID, id uint64) *mount {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.mounts[id]; m != nil && m.node == node {
		return m
	}
	return nil
}

// givenTo returns a job that a mount was given and has not reported.
func (t *parts) givenTo(m *mount, k hemera.TapeJobKey) (j hemera.TapeJob, ok bool) {
	if m == nil {
		return j, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	j, ok = m.given[k]
	return j, ok
}

// pick chooses jobs for a mount, and gives them to it. The first jobs of
// each user are read, as many as all could be given: the rules share the
// drive's time between users.
func (t *giver) pick(ctx context.Context, m *mount, want hemera.TapeJobsRequest) (out []hemera.TapeJob, err error) {
	queues, err := t.catalogue.Queues(ctx)
	if err != nil {
		return nil, err
	}
	var heads [][]hemera.TapeJob // of each user, in their order
	for _, q := range queues {
		if q.Failed || q.Kind != m.kind || q.Name != m.queue() {
			continue
		}
		jobs, err := t.catalogue.Jobs(ctx, q, want.Files, t.free)
		if err != nil {
			return nil, err
		}
		heads = append(heads, jobs)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	batch := mounting.Batch{Files: want.Files, Bytes: want.Bytes, FileCost: fileCost(m.kind)}
	if m.kind == hemera.TapeArchive {
		return t.share(m, heads, batch), nil
	}
	batch.Files -= want.Files / onTheWayShare
	out = t.share(m, heads, batch)
	return append(out, t.onTheWay(m, heads, out, want)...), nil
}

// onTheWayShare of what a session that reads asks for is left to jobs on
// the way: one of so many.
const onTheWayShare = 4

// onTheWay gives a mount more jobs of the heads, while there is room in what
// it wants: those of places between the ones that were picked. Files are asked for nearly in
// the order of the tape, but not quite, and the last ones of one answer
// would cost the next answer a locate back for each. The lock is held.
func (t *giver) onTheWay(m *mount, heads [][]hemera.TapeJob, picked []hemera.TapeJob, want hemera.TapeJobsRequest) (out []hemera.TapeJob) {
	var low, high *hemera.TapeCopy
	for _, j := range picked {
		want.Files, want.Bytes = want.Files-1, want.Bytes-j.Size
		if j.From == nil {
			continue
		}
		if low == nil || j.From.ComparePlace(low) < 0 {
			low = j.From
		}
		if high == nil || j.From.ComparePlace(high) > 0 {
			high = j.From
		}
	}
	now := t.Now()
	for _, jobs := range heads {
		for _, j := range jobs {
			if want.Files <= 0 {
				return out
			}
			passed := j.From != nil && low != nil && j.From.ComparePlace(low) >= 0 && j.From.ComparePlace(high) <= 0
			if !passed || j.Size > want.Bytes || j.After.After(now) || t.given[j.TapeJobKey] != 0 {
				continue
			}
			want.Files, want.Bytes = want.Files-1, want.Bytes-j.Size
			t.give(m, j)
			// Their users have fewer in the next answer.
			m.served[j.UID] += j.Size + fileCost(m.kind)
			out = append(out, j)
		}
	}
	return out
}

// give notes that a mount has a job. The lock is held.
func (t *giver) give(m *mount, j hemera.TapeJob) {
	t.given[j.TapeJobKey], m.given[j.TapeJobKey] = m.id, j
	m.bytes += j.Size
}

// share gives a mount jobs of all users, fairly. The lock is held.
func (t *giver) share(m *mount, users [][]hemera.TapeJob, batch mounting.Batch) (out []hemera.TapeJob) {
	var heads []mounting.Head
	now := t.Now()
	for i, jobs := range users {
		// The order is by time: one that waits for its next attempt is behind
		// all that may be done. Another mount may have taken some since they
		// were read.
		jobs = slices.DeleteFunc(jobs, func(j hemera.TapeJob) bool { return j.After.After(now) || t.given[j.TapeJobKey] != 0 })
		if users[i] = jobs; len(jobs) == 0 {
			continue
		}
		heads = append(heads, mounting.Head{UID: jobs[0].UID, Jobs: policies{t.parts}.byPriority(jobs)})
	}
	users = slices.DeleteFunc(users, func(jobs []hemera.TapeJob) bool { return len(jobs) == 0 })
	var picks []mounting.Pick
	picks, m.served = mounting.NextJobs(m.served, heads, batch)
	for _, p := range picks {
		j := users[p.Head][p.Job]
		t.give(m, j)
		out = append(out, j)
	}
	return out
}

// fileCost is what a file costs a drive besides its bytes, in bytes at
// LTO-9's rate: its labels when it is written, a locate of about ten
// seconds when it is read.
func fileCost(kind hemera.TapeJobKind) int64 {
	const labels, locate = 4 << 20, 4 << 30
	if kind == hemera.TapeArchive {
		return labels
	}
	return locate
}

// turnIsOver reports whether the session of a mount is to end although
// its queue has more: others of the same priority or a higher one wait.
func (t *giver) turnIsOver(ctx context.Context, m *mount) (bool, error) {
	f, err := t.facts(ctx)
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	more, rule, reason := mounting.New(t.picture(f)).Continue(m.drive)
	// An empty queue is seen when jobs are picked: the sums leave out what
	// was given.
	if more || rule == mounting.NoWork {
		return false, nil
	}
	t.Log.Info("a tape session ends before its queue does", "drive", m.drive, "vid", m.vid, "why", reason)
	return true, nil
}

// queue is the name of the queue that a mount works on.
func (m *mount) queue() string {
	if m.kind == hemera.TapeArchive {
		return m.pool
	}
	return m.vid
}

// free reports whether no mount has a job.
func (t *parts) free(k hemera.TapeJobKey) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.given[k] == 0
}

// release takes a job back from a mount.
func (t *parts) release(m *mount, k hemera.TapeJobKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.bytes -= m.given[k].Size
	delete(m.given, k)
	t.room.unreserve(m, k)
	if t.given[k] == m.id {
		delete(t.given, k)
	}
}

// work adds to a job what labels, indexes and checks need. Conflict when
// its content is gone.
func (t *parts) work(ctx context.Context, j hemera.TapeJob) (w placedWork, err error) {
	e, path, err := t.Tree.Resolve(ctx, j.File)
	if err != nil {
		return w, err
	}
	if e.ArchiveID() != j.ArchiveID {
		return w, errs.New(errs.Conflict, "tier.Work", path, "the file has another content now")
	}
	w = placedWork{!e.Evicted(), 0, fillOf(&e), hemera.TapeWork{TapeJob: j, Path: path, Checksum: e.Checksums, Owner: hemera.FileOwner{UID: e.UID, GID: e.GID, Mode: e.Mode}, Mtime: e.Mtime, Class: e.StorageClass()}}
	if len(e.Pieces) > 0 {
		w.disk = e.Pieces[0].Disk
	}
	return w, nil
}

// placedWork is a job, whether its file is on disk, the disk of its first
// piece, and the room that it takes on disks.
type placedWork struct {
	onDisk bool
	disk   hemera.DiskID
	fill   fill
	hemera.TapeWork
}

// TapeGrant permits the transfer of a job. The caller has checked the
// lease.
func (t *giver) TapeGrant(ctx context.Context, node hemera.NodeID, id uint64, key hemera.TapeJobKey) (g hemera.TapeGrant, err error) {
	m := t.mountOf(node, id)
	if m == nil {
		return g, errs.New(errs.NotFound, "tier.TapeGrant", "", "the mount is not known here")
	}
	if _, given := t.givenTo(m, key); !given {
		return g, errs.New(errs.Denied, "tier.TapeGrant", "fxid:"+key.File.Hex(), "the mount was not given this job")
	}
	j, err := t.catalogue.Job(ctx, key)
	if err != nil {
		return g, err
	}
	if j == nil {
		return g, errs.New(errs.Conflict, "tier.TapeGrant", "", "the job was cancelled")
	}
	e, path, err := t.Tree.Resolve(ctx, key.File)
	if err != nil {
		return g, err
	}
	if e.ArchiveID() != j.ArchiveID {
		return g, errs.New(errs.Conflict, "tier.TapeGrant", path, "the file has another content now")
	}
	// Verifications read tape and need no disk; what repacks write is read
	// like any file.
	if key.Kind == hemera.TapeRecall {
		if !e.Evicted() {
			return g, errs.New(errs.Conflict, "tier.TapeGrant", path, "the file is on disk already")
		}
		g, end, err := t.Grants.GrantRecall(ctx, e.ID, e.Gen)
		if err == nil {
			t.mu.Lock()
			t.room.granted(m, key, end)
			t.mu.Unlock()
		}
		return g, err
	}
	return t.Grants.GrantArchive(ctx, e, path)
}

// chooseCopy picks the copy of a file to read: on a tape that may be
// mounted and is in a library, the lowest number; else one whose tape may
// come back. errs.IO when no tape can be read: the file exists.
func (t *parts) chooseCopy(known map[string]hemera.Tape, not map[uint8]bool) func(e *hemera.Entry) (hemera.TapeCopy, error) {
	return func(e *hemera.Entry) (hemera.TapeCopy, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		var best hemera.TapeCopy
		rank := 0
		for _, c := range e.Tape {
			is := 1
			// 0: not at all; 1: when it is repaired; 2: when it is in a library;
			// 3: now.
			switch tape := known[c.VID]; {
			case not[c.Number]:
				is = 0
			case tape.State == hemera.TapeBroken || tape.State == hemera.TapeExported || tape.State == "":
				is = 0
			case (tape.State == hemera.TapeActive || tape.State == hemera.TapeRepacking) && t.libraryOf(c.VID) != nil:
				is = 3
			case tape.State == hemera.TapeActive:
				is = 2
			}
			if is > rank {
				best, rank = c, is
			}
		}
		if rank == 0 {
			why, remedy := (&Shelf{tapes: known}).Trouble(e)
			return best, errs.New(errs.IO, "tier.Recall", "fxid:"+e.ID.Hex(), "no tape with a copy of the file can be read: "+why).WithRemedy(remedy)
		}
		return best, nil
	}
}

// otherCopy finds another copy to read for a recall, nil when there is
// none.
func (t *parts) otherCopy(ctx context.Context, k hemera.TapeJobKey) *hemera.TapeCopy {
	e, _, err := t.Tree.Resolve(ctx, k.File)
	if err != nil || len(e.Tape) < 2 {
		return nil
	}
	known, err := t.knownTapes(ctx)
	if err != nil {
		return nil
	}
	c, err := t.chooseCopy(known, map[uint8]bool{k.Copy: true})(&e)
	if err != nil {
		return nil
	}
	return &c
}

// known returns all tapes by VID.
func (t *parts) knownTapes(ctx context.Context) (map[string]hemera.Tape, error) {
	all, err := t.catalogue.Tapes(ctx)
	out := make(map[string]hemera.Tape, len(all))
	for _, tape := range all {
		out[tape.VID] = tape
	}
	return out, err
}

// recall queues the recall of one file, which no request names.
func (t *parts) recall(ctx context.Context, e hemera.Entry, uid uint32, groups []uint32) (hemera.Entry, error) {
	known, err := t.knownTapes(ctx)
	if err != nil {
		return e, err
	}
	e, err = t.recallFrom(ctx, known, catalogue.RecallRequest{File: e.ID, UID: uid, Groups: groups})
	if err == nil {
		t.Awake()
	}
	return e, err
}

// recallFrom queues the recall of one file from one of the tapes. It wakes
// no drive: a caller with many files does that once.
func (t *parts) recallFrom(ctx context.Context, known map[string]hemera.Tape, r catalogue.RecallRequest) (hemera.Entry, error) {
	r.Choose, r.Sooner = t.chooseCopy(known, nil), policies{t}.sooner
	return t.catalogue.Recall(ctx, r)
}
