package maint

import (
	"sync"
	"time"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// balanceRound is the time for which one plan begins moves.
const balanceRound = 10 * time.Second

// balanceJob shows a run to admins and keeps its figures. It is safe for concurrent use.
type balanceJob struct {
	*job

	mu      sync.Mutex
	left    int64     // bytes still to move: of the last plan, less those moved since; guarded by mu, as all below
	planned time.Time // when the last plan was made; the figures in why are as old
	size    int64     // mean size of a piece, in bytes
	shows   bool      // an admin sees the run
	filling bool      // a plan had something to move, so smaller differences count
	closed  bool      // the run is over
	made    int64     // moves that were recorded
	before  int64     // moves that were recorded before the present plan
}

// newBalanceJob makes the job of a run that has not begun.
func newBalanceJob(space hemera.SpaceName, now func() time.Time) *balanceJob {
	j := newJob(adminapi.JobBalance, 0, now)
	j.status.Space = space
	return &balanceJob{job: j}
}

// show shows the run as a job that is at work. It is called for each plan, and whenever pieces are moved apart.
func (j *balanceJob) show(why string) {
	j.mu.Lock()
	j.shows = true
	j.mu.Unlock()
	j.again(why)
	j.set(adminapi.JobRunning, why)
}

// shown reports whether an admin sees the run. A look that finds nothing to move is not shown.
func (j *balanceJob) shown() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.shows
}

// busy reports whether the run has begun to move pieces by a plan. Then it continues below the threshold.
func (j *balanceJob) busy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.filling
}

// close ends the run. The job stays listed until the next run of the space has something to show.
func (j *balanceJob) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
}

// over reports whether the run has ended.
func (j *balanceJob) over() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.closed
}

// counted counts a piece of so many bytes that was moved.
func (j *balanceJob) counted(bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	// Subtracted at once and not only by the next plan, so that the figure falls evenly.
	j.made++
	j.left = max(0, j.left-bytes)
}

// nextRound begins a new plan. It returns the number of moves until now, and whether the plan before moved any piece.
func (j *balanceJob) nextRound() (made int64, moved bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	moved = j.made > j.before
	j.before, j.filling = j.made, true
	return j.made, moved
}

// plan records a plan: the bytes that it leaves to move, and the mean size of a piece. Until the reports of disks show all moves,
// the last moves count twice and the plan finds too little left. Then plan keeps the larger figure.
func (j *balanceJob) plan(left, size int64, settled bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if settled || left > j.left {
		j.left = left
	}
	j.size, j.planned = size, j.now()
}

// moves returns how many pieces were moved and recorded. A pass or a plan that does not change it moved nothing.
func (j *balanceJob) moves() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.made
}

// status returns the run as a job. The number of pieces that are left is an estimate, by the mean size of a piece.
func (j *balanceJob) status() adminapi.JobStatus {
	j.mu.Lock()
	// Copied, as report takes the lock of the job.
	left, size, closed, planned := j.left, max(1, j.size), j.closed, j.planned
	j.mu.Unlock()
	// A run that waits still lists the bytes that it could not move.
	switch state, _ := j.state(); {
	case closed && state == adminapi.JobDone:
		left = 0
	case state == adminapi.JobRunning:
		left = max(left, size) // it is at work, so something is left, even if no plan has counted it
	}
	s := j.report((left+size-1)/size, left)
	// The list of disks beside it has present figures.
	if age := j.now().Sub(planned).Round(time.Second); s.Why != "" && s.State != adminapi.JobDone && !planned.IsZero() && age > balanceRound {
		s.Why += "; these figures are of " + age.String() + " ago"
	}
	return s
}
