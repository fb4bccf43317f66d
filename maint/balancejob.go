package maint

import (
	"time"

	"hemera/words/hemera"
)

// show begins to show the run as a job that is at work. It is called for each plan, and whenever pieces are moved apart.
func (r *balanceRun) show(why string) {
	r.mu.Lock()
	r.shows = true
	r.mu.Unlock()
	r.again(why)
	r.set("running", why)
}

// shown reports whether the run has anything that an admin wants to see: a look that finds nothing to move has not.
func (r *balanceRun) shown() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shows
}

// busy reports whether the run has begun to move pieces by a plan: it goes on below the threshold then.
func (r *balanceRun) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.filling
}

// close is when the run has ended. The job stays, and is listed until the next run of the space has something to show.
func (r *balanceRun) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// over reports whether the run has ended.
func (r *balanceRun) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// counted counts a piece that was moved.
func (r *balanceRun) counted(c candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Less is left at once, and not only with the next plan: what is shown goes down evenly.
	r.made++
	r.left = max(0, r.left-c.size())
}

// nextRound is when a new plan is followed. It returns the number of moves until now. If pieces were moved by the plan
// before, the new one may let others go that were too large for what was left of it.
func (r *balanceRun) nextRound() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made > r.before {
		clear(r.passes)
	}
	r.before, r.filling = r.made, true
	return r.made
}

// lookAgain has all files looked at again.
func (r *balanceRun) lookAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.passes)
}

// pass is when the end of a disk's files was reached.
func (r *balanceRun) pass(disk hemera.DiskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passes[disk]++
}

// passed reports whether all files of a disk were looked at since the last plan that moved any. The first pass may have begun in the
// middle of them.
func (r *balanceRun) passed(disk hemera.DiskID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passes[disk] >= 2
}

// moves is how many pieces were moved and recorded. A pass or a plan that does not change it moved nothing.
func (r *balanceRun) moves() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.made
}

// status is the run as a job. The number of pieces that are left is an estimate, by the mean size of a piece.
func (r *balanceRun) status() hemera.JobStatus {
	r.mu.Lock()
	// Copied, as report takes the lock of the job.
	left, size, closed, planned := r.left, max(1, r.size), r.closed, r.planned
	r.mu.Unlock()
	// A run that waits still has what it could not move.
	switch s, _ := r.state(); {
	case closed && s == "done":
		left = 0
	case s == "running":
		left = max(left, size) // it is at work, so something is left, even if no plan has counted it
	}
	s := r.report((left+size-1)/size, left)
	// Disks are listed with figures of now beside it.
	if age := r.base.Now().Sub(planned).Round(time.Second); s.Why != "" && s.State != "done" && !planned.IsZero() && age > balanceRound {
		s.Why += "; these figures are of " + age.String() + " ago"
	}
	return s
}
