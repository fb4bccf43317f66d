package tier

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"hemera/tape/mounting"
	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A job is given to one mount at a time. That is kept in memory: after a
// restart of the manager no mount is known, and every job is free again.
// A session of before the restart may then write a file that another
// session writes too. Both are recorded on their tapes, one as a copy and
// one as a dead row, which costs room on tape and nothing else.

// mounts has the mounts of drives: those under way, the jobs given to them, and those that ended. Its methods are steps:
// they take values, change what is in memory, and return values. None of them does I/O; what comes of them is stored by
// their callers. The answer to a drive is decided and noted in one step, so two drives never get the same tape, and an
// organisation never more drives than it may have.
type mounts struct {
	clock     func() time.Time
	libraries *libraries // what is reported is looked at within a step
	settings  *settings

	// mu guards all below.
	mu      sync.Mutex
	all     map[tapeapi.MountID]*mount
	drives  map[driveID]*drive
	given   map[tapeapi.JobKey]tapeapi.MountID // to which mount
	room    buffer                             // on disks, for recalls
	unread  map[hemera.VID]time.Time           // by VID: when files of a tape are read back again, after that did not reach its end
	last    tapeapi.MountID                    // the number of the mount that was made last
	history history
}

// driveID names a drive of a node.
type driveID struct {
	node hemera.NodeID
	name string
}

// drive is the record of a drive.
type drive struct {
	idle  time.Time
	mount tapeapi.MountID // what it works on, 0 for nothing
	vid   hemera.VID      // what was mounted when it asked last
	left  hemera.VID      // the tape of a mount that ended since its library reported last: it is in the drive still
	// mounted is since when vid is in the drive; last is the queue that it
	// worked for last with that tape, and turn when it began with it.
	mounted time.Time
	last    mounting.Key
	turn    time.Time
}

// mount is the work of a drive on one tape. The first fields do not change once it is made; the lock of mounts guards the
// others.
type mount struct {
	id    tapeapi.MountID
	node  hemera.NodeID
	drive string
	kind  tapeapi.JobKind
	vid   hemera.VID
	pool  tapeapi.PoolName // of the tape
	begun time.Time
	scans bool         // it has no jobs: it tells what is on the tape
	back  *readingBack // nil: it reads nothing back

	ahead   mounting.Key                   // the queue for which a new tape gets its label first; zero: none
	given   map[tapeapi.JobKey]tapeapi.Job // and not done, as they were then
	session tapeapi.Session
	// bytes were given and are not done; priority and served are for the rules: of its queue, and what users were served.
	bytes    int64
	priority int64
	served   map[uint32]int64
	room     *reservation   // on disks; the buffer changes it
	reads    mounting.Reads // the large files that it was given to archive
}

// endedMount is a mount that is over.
type endedMount struct {
	id  tapeapi.MountID
	vid hemera.VID
}

// newMounts has no mounts. Their ids grow over restarts, so that a report of an
// old mount is not taken for one of a new.
func newMounts(e *env, ls *libraries, s *settings) *mounts {
	keep := func(space hemera.SpaceName) int64 { return s.now().Config.BufferOf(space).Keep }
	return &mounts{clock: e.Now, libraries: ls, settings: s, all: map[tapeapi.MountID]*mount{}, drives: map[driveID]*drive{}, given: map[tapeapi.JobKey]tapeapi.MountID{},
		room: newBuffer(e.View, keep), unread: map[hemera.VID]time.Time{}, last: tapeapi.MountID(e.Now().UnixNano())}
}

// queue returns the name of the queue that a mount works on.
func (m *mount) queue() string {
	if m.kind == tapeapi.Archive {
		return string(m.pool)
	}
	return string(m.vid)
}

// drive returns the record of a drive, and makes it at the first call. The lock is held.
func (ms *mounts) drive(node hemera.NodeID, name string) *drive {
	// Idle from now on: a drive that is new has waited for nothing.
	id := driveID{node, name}
	d := ms.drives[id]
	if d == nil {
		d = &drive{idle: ms.clock()}
		ms.drives[id] = d
	}
	return d
}

// reported notes what the drives of a node have in them, and how far their
// sessions are.
func (ms *mounts) reported(node hemera.NodeID, drives []tapeapi.DriveState) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, d := range drives {
		own := ms.drive(node, d.Name)
		own.left = ""
		if own.vid != d.VID {
			own.vid, own.mounted, own.last = d.VID, ms.clock(), mounting.Key{}
		}
		// What the server reports of a session is newer than what the last
		// report of results said.
		if m := ms.all[d.Mount]; m != nil && m.node == node && m.drive == d.Name {
			m.session = d.Session
		}
	}
}

// forget removes what is kept of the drives of nodes whose libraries are gone.
func (ms *mounts) forget(nodes []hemera.NodeID) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for id := range ms.drives {
		if slices.Contains(nodes, id.node) {
			delete(ms.drives, id)
		}
	}
}

// of finds a mount of a node, nil for none.
func (ms *mounts) of(node hemera.NodeID, id tapeapi.MountID) *mount {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.all[id]; m != nil && m.node == node {
		return m
	}
	return nil
}

// job returns a job that a mount was given and has not reported.
func (ms *mounts) job(m *mount, k tapeapi.JobKey) (j tapeapi.Job, ok bool) {
	if m == nil {
		return j, false
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	j, ok = m.given[k]
	return j, ok
}

// free reports whether no mount has a job.
func (ms *mounts) free(k tapeapi.JobKey) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.given[k] == 0
}

// give notes that a mount has a job. The lock is held.
func (ms *mounts) give(m *mount, j tapeapi.Job) {
	ms.given[j.JobKey], m.given[j.JobKey] = m.id, j
	m.bytes += j.Size
}

// release takes a job back from a mount, if there is one.
func (ms *mounts) release(m *mount, k tapeapi.JobKey) {
	if m == nil {
		return
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m.bytes -= m.given[k].Size
	delete(m.given, k)
	ms.room.release(m.room, k)
	if ms.given[k] == m.id {
		delete(ms.given, k)
	}
}

// reserve takes room on disks for a job, if there is some and the mount has the job.
func (ms *mounts) reserve(m *mount, w placedWork) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	// A mount that ended meanwhile would never free it.
	return ms.given[w.JobKey] == m.id && ms.room.reserve(m.room, w.JobKey, w.fill)
}

// granted notes the grant of a job that a mount has, so that it ends with the job. A mount that does not have the job any
// more ends the grant at once. end must not wait.
func (ms *mounts) granted(m *mount, k tapeapi.JobKey, end func()) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.given[k] != m.id {
		end()
		return
	}
	ms.room.granted(m.room, k, end)
}

// end ends a mount, if it is there.
func (ms *mounts) end(id tapeapi.MountID) (over []endedMount) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.all[id]; m != nil {
		over = append(over, ms.forgetMount(m))
	}
	return over
}

// endOf ends what a drive had: a drive asks when it does nothing.
func (ms *mounts) endOf(node hemera.NodeID, name string) (over []endedMount) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if d := ms.drives[driveID{node, name}]; d != nil {
		if m := ms.all[d.mount]; m != nil {
			over = append(over, ms.forgetMount(m))
		}
	}
	return over
}

// endSilent ends the mounts of libraries that are gone or silent. Mounts whose server registered again ended when its
// drive asked for work.
func (ms *mounts) endSilent() (over []endedMount) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	now := ms.libraries.now()
	for _, m := range ms.all {
		if l := now.all[m.node]; l == nil || !now.online(l) {
			over = append(over, ms.forgetMount(m))
		}
	}
	return over
}

// forgetMount ends a mount: what it had is free for others. The lock is
// held.
func (ms *mounts) forgetMount(m *mount) endedMount {
	for k := range m.given {
		if ms.given[k] == m.id {
			delete(ms.given, k)
		}
		ms.room.release(m.room, k)
	}
	delete(ms.all, m.id)
	if d := ms.drives[driveID{m.node, m.drive}]; d != nil && d.mount == m.id {
		d.mount, d.idle, d.left = 0, ms.clock(), m.vid
	}
	return endedMount{m.id, m.vid}
}

// has reports whether a mount is not over.
func (ms *mounts) has(id tapeapi.MountID) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.all[id] != nil
}

// note keeps how a session went, and ends its mount if the session has ended.
func (ms *mounts) note(m *mount, r tapeapi.Results) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m != nil {
		m.session = r.Session
		if r.Ended {
			ms.forgetMount(m)
		}
	}
	// Mounts without a file are not worth a line in the list; a report that
	// comes twice is one session.
	known := r.Mount != 0 && ms.history.has(r.Mount)
	if r.Ended && !known && (r.Session.Files > 0 || r.Session.Failed > 0 || r.Session.Error != "") {
		r.Session.Mount = r.Mount
		ms.history.add(r.Session)
	}
}

// session returns a session that ended lately.
func (ms *mounts) session(mount tapeapi.MountID) (tapeapi.Session, bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.history.session(mount)
}

// beside returns the bytes that all other sessions are still to read.
func (ms *mounts) beside(m *mount) (all [][]mounting.Read) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, other := range ms.all {
		if left := other.reads.Left(other.session.Bytes); other != m && len(left) > 0 {
			all = append(all, left)
		}
	}
	return all
}

// reading notes the large files that a mount is to read.
func (ms *mounts) reading(m *mount, reads []mounting.Read, order []int) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, i := range order {
		m.reads.Add(reads[i])
	}
}

// Bounds of one answer with jobs, whatever a server asks for.
const (
	jobsMax  = 4000
	bytesMax = 2 << 40
)

// onTheWayShare of what a session that reads asks for is left to jobs on
// the way: one of so many.
const onTheWayShare = 4

// pick gives a mount jobs of the heads of all users, fairly. A mount that has ended gets none, as it would have them for ever.
func (ms *mounts) pick(m *mount, heads [][]tapeapi.Job, want tapeapi.JobsRequest) []tapeapi.Job {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.all[m.id] != m {
		return nil
	}
	batch := mounting.Batch{Files: want.Files, Bytes: want.Bytes, FileCost: fileCost(m.kind)}
	if m.kind == tapeapi.Archive {
		return ms.share(m, heads, batch)
	}
	batch.Files -= want.Files / onTheWayShare
	out := ms.share(m, heads, batch)
	return append(out, ms.onTheWay(m, heads, out, want)...)
}

// comparePlaces compares the places of two copies on one tape, as cmp.Compare does. Members of a container have one block, and lie in their order.
func comparePlaces(a, b *hemera.TapeCopy) int {
	return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Member, b.Member))
}

// onTheWay gives a mount more jobs of the heads, while there is room in what
// it wants: those of places between the ones that were picked. Files are asked for nearly in
// the order of the tape, but not quite, and the last ones of one answer
// would cost the next answer a locate back for each. The lock is held.
func (ms *mounts) onTheWay(m *mount, heads [][]tapeapi.Job, picked []tapeapi.Job, want tapeapi.JobsRequest) (out []tapeapi.Job) {
	var low, high *hemera.TapeCopy
	for _, j := range picked {
		want.Files, want.Bytes = want.Files-1, want.Bytes-j.Size
		if j.From == nil {
			continue
		}
		if low == nil || comparePlaces(j.From, low) < 0 {
			low = j.From
		}
		if high == nil || comparePlaces(j.From, high) > 0 {
			high = j.From
		}
	}
	now := ms.clock()
	for _, jobs := range heads {
		for _, j := range jobs {
			if want.Files <= 0 {
				return out
			}
			passed := j.From != nil && low != nil && comparePlaces(j.From, low) >= 0 && comparePlaces(j.From, high) <= 0
			if !passed || j.Size > want.Bytes || j.After.After(now) || ms.given[j.JobKey] != 0 {
				continue
			}
			want.Files, want.Bytes = want.Files-1, want.Bytes-j.Size
			ms.give(m, j)
			// Their users have fewer in the next answer.
			m.served[j.UID] += j.Size + fileCost(m.kind)
			out = append(out, j)
		}
	}
	return out
}

// share gives a mount jobs of all users, fairly. The lock is held.
func (ms *mounts) share(m *mount, users [][]tapeapi.Job, batch mounting.Batch) (out []tapeapi.Job) {
	var heads []mounting.Head
	now, all := ms.clock(), policies{ms.settings.now()}
	for i, jobs := range users {
		// The order is by time: one that waits for its next attempt is behind
		// all that may be done. Another mount may have taken some since they
		// were read.
		jobs = slices.DeleteFunc(jobs, func(j tapeapi.Job) bool { return j.After.After(now) || ms.given[j.JobKey] != 0 })
		if users[i] = jobs; len(jobs) == 0 {
			continue
		}
		heads = append(heads, mounting.Head{UID: jobs[0].UID, Jobs: all.byPriority(jobs)})
	}
	users = slices.DeleteFunc(users, func(jobs []tapeapi.Job) bool { return len(jobs) == 0 })
	var picks []mounting.Pick
	picks, m.served = mounting.NextJobs(m.served, heads, batch)
	for _, p := range picks {
		j := users[p.Head][p.Job]
		ms.give(m, j)
		out = append(out, j)
	}
	return out
}

// fileCost returns the time that a file costs a drive besides its bytes, in bytes at LTO-9's rate: its labels when it is
// written, a locate of about ten seconds when it is read.
func fileCost(kind tapeapi.JobKind) int64 {
	const labels, locate = 4 << 20, 4 << 30
	if kind == tapeapi.Archive {
		return labels
	}
	return locate
}

// work is a mount as people see it.
type work struct {
	id       tapeapi.MountID
	node     hemera.NodeID
	drive    string
	kind     tapeapi.JobKind
	vid      hemera.VID
	pool     tapeapi.PoolName
	queue    mounting.Key
	priority int64
	fills    int64 // room on disks that it may still take
	files    int64
	bytes    int64
}

// work returns the mount as people see it. The lock is held.
func (m *mount) work() work {
	return work{m.id, m.node, m.drive, m.kind, m.vid, m.pool, keyOf(m.kind, m.queue()), m.priority, m.room.bytes(), m.session.Files, m.session.Bytes}
}

// works lists the mounts, by their numbers.
func (ms *mounts) works() (out []work) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.all {
		out = append(out, m.work())
	}
	slices.SortFunc(out, func(a, b work) int { return cmp.Compare(a.id, b.id) })
	return out
}

// workOn returns the mount that has a job; ok is false if none has it.
func (ms *mounts) workOn(k tapeapi.JobKey) (w work, ok bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.all[ms.given[k]]; m != nil {
		return m.work(), true
	}
	return w, false
}

// done returns the sessions that ended lately, without their courses.
func (ms *mounts) done() []tapeapi.Session {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.history.list()
}

// totals returns the sums of a drive's work.
func (ms *mounts) totals(d tapeapi.DriveState) []adminapi.TapeTotals {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.history.of(d)
}
