package maint

import (
	"sync"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// rateWindow is the seconds over which a job's rate is averaged.
const rateWindow = 10

// estimateAfter is the number of seconds of work before the time that is left is estimated: earlier, one small
// file or one report says too little.
const estimateAfter = 3

// job is the visible state of one drain, repair, balance, conversion or scan by lifecycle rules.
type job struct {
	now     func() time.Time
	started time.Time

	// Guards all below. It is held for moments, and never over a call out of this type.
	mu      sync.Mutex
	status  adminapi.JobStatus // rates and what is left are filled in by report
	why     string             // why there is a job at all, if more is to be said than its kind
	ended   time.Time          // zero while it runs
	seconds [rateWindow]int64  // bytes by second since started, modulo the window
	last    int64              // the newest second counted
	first   int64              // the first second in which bytes moved after nothing did
	part    int64              // bytes of pieces that are being copied
}

// newJob makes a job of a kind (drain, repair) for a disk, 0 for none. The job begins now.
func newJob(kind adminapi.JobKind, disk hemera.DiskID, now func() time.Time) *job {
	return &job{now: now, started: now(), status: adminapi.JobStatus{Kind: kind, Disk: disk, State: adminapi.JobWaiting, Started: now()}}
}

// set changes the state of a job and why it is in it. A job that is over stays so.
func (j *job) set(state adminapi.JobState, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended.IsZero() {
		return
	}
	j.status.State, j.status.Why = state, why
	if j.status.Over() {
		j.ended = j.now()
	}
}

// state returns the state of the job, and when it ended; zero if it has not.
func (j *job) state() (adminapi.JobState, time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.status.State, j.ended
}

// over reports whether the job has ended.
func (j *job) over() bool {
	_, ended := j.state()
	return !ended.IsZero()
}

// again begins another pass. It tries once more what failed in the pass before, and counts it only if it fails again. A stalled job says what stalls it until something moves.
func (j *job) again(why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.status.Failed, j.why = 0, why
	if j.status.State != adminapi.JobStalled {
		j.status.Why = why
	}
}

// recount begins to count what fails from zero: it is tried once more, in the same pass over the disk.
func (j *job) recount() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.status.Failed = 0
}

// moved counts one piece that was made again. counted is how many of its bytes were counted on the way.
func (j *job) moved(bytes, counted int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.status.FilesDone++
	j.status.BytesDone += bytes
	j.count(max(0, bytes-counted))
}

// count counts bytes that moved now. The caller holds mu.
func (j *job) count(bytes int64) {
	// Bytes are the proof that a stalled job runs again: only they end that state.
	if j.ended.IsZero() && j.status.State != adminapi.JobRunning {
		j.status.State, j.status.Why = adminapi.JobRunning, j.why
	}
	second := j.advance()
	if j.moving() == 0 {
		j.first = second // what comes is measured from where it begins
	}
	j.seconds[second%rateWindow] += bytes
}

// partial is one piece that is being copied for a job.
type partial struct {
	job   *job  // guarded by its mu, as all below
	most  int64 // the piece's size
	bytes int64 // so far
	over  bool  // end was called: late reports of a node do not count
}

// begin watches the copy of one piece of that size.
func (j *job) begin(size int64) *partial { return &partial{job: j, most: size} }

// to says how many bytes of the piece are copied. A copy that begins again is behind for a while.
func (p *partial) to(bytes int64) {
	p.job.mu.Lock()
	defer p.job.mu.Unlock()
	// Nodes report what they copied, not what is new; no report can count more than the piece has.
	more := min(bytes, p.most) - p.bytes
	if p.over || more <= 0 {
		return
	}
	p.bytes += more
	p.job.part += more
	p.job.count(more)
}

// end ends the copy, done or failed. It returns the bytes that were counted on the way.
func (p *partial) end() int64 {
	p.job.mu.Lock()
	defer p.job.mu.Unlock()
	p.job.part -= p.bytes
	p.over = true
	return p.bytes
}

// failed counts one piece that could not be made. A piece that fails after the job's end fails because of that end.
func (j *job) failed(err error) { j.fails(errs.Reason(err, "")) }

// fails does what failed does, with the reason in words.
func (j *job) fails(why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended.IsZero() {
		return
	}
	j.status.Failed++
	j.status.Why = why
}

// advance clears the seconds that passed and returns the present one.
func (j *job) advance() int64 {
	// A clock that goes back stays in the newest second: max below.
	second := int64(j.now().Sub(j.started) / time.Second)
	for s := max(j.last+1, second-rateWindow+1); s <= second; s++ {
		j.seconds[s%rateWindow] = 0
	}
	j.last = max(j.last, second)
	return j.last
}

// moving returns the bytes of the window. The caller holds mu and has advanced.
func (j *job) moving() (sum int64) {
	for _, b := range j.seconds {
		sum += b
	}
	return sum
}

// report returns the state with what is left.
func (j *job) report(files, bytes int64) adminapi.JobStatus {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.status
	// The namespace counts a piece as left until it is recorded, so what is copied of it is taken off here.
	s.FilesLeft, s.BytesLeft = files, max(0, bytes-j.part)
	s.BytesDone += j.part
	second := j.advance()
	sum := j.moving()
	if sum == 0 {
		return s
	}
	// From the first byte after a pause: a job that has just begun is not averaged over seconds without work.
	window := min(second-j.first+1, rateWindow)
	s.Rate = float64(sum) / float64(window)
	if s.State == adminapi.JobRunning && window >= estimateAfter {
		s.Remaining = time.Duration(float64(s.BytesLeft) / s.Rate * float64(time.Second))
	}
	return s
}

// exact returns the report of a job whose files count as left until their pieces are made. Failed files are among those. A file may
// count twice if a copy fails late, after it was tried again. When all have failed, no time is estimated.
func (j *job) exact(files, bytes int64) adminapi.JobStatus {
	s := j.report(files, bytes)
	if s.Failed = min(s.Failed, files); s.Failed == files {
		s.Remaining = 0
	}
	return s
}
