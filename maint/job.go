package maint

import (
	"sync"
	"time"

	"hemera"
)

// rateWindow is the seconds over which a job's rate is averaged.
const rateWindow = 10

// job is the visible state of one drain or repair.
type job struct {
	now     func() time.Time
	started time.Time

	mu      sync.Mutex
	status  hemera.JobStatus
	why     string    // why there is a job at all, if more is to be said than its kind
	ended   time.Time // zero while it runs
	seconds [rateWindow]int64
	last    int64 // the newest second counted
}

func newJob(kind string, disk hemera.DiskID, now func() time.Time) *job {
	return &job{now: now, started: now(), status: hemera.JobStatus{Kind: kind, Disk: disk, State: "waiting", Started: now()}}
}

func (j *job) set(state, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended.IsZero() {
		return
	}
	j.status.State, j.status.Why = state, why
	if state == "done" {
		j.ended = j.now()
	}
}

func (j *job) state() (string, time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.status.State, j.ended
}

// again begins another pass: what failed in the one before is tried once more, and counts only if it
// fails again. A stalled job says what stalls it until something moves.
func (j *job) again(why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.status.Failed, j.why = 0, why
	if j.status.State != "stalled" {
		j.status.Why = why
	}
}

// moved counts one piece made anew.
func (j *job) moved(bytes int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.status.FilesDone++
	j.status.BytesDone += bytes
	if j.ended.IsZero() && j.status.State != "running" {
		j.status.State, j.status.Why = "running", j.why
	}
	j.seconds[j.advance()%rateWindow] += bytes
}

// failed counts one piece that could not be made. What fails when the job has ended fails because of
// that.
func (j *job) failed(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended.IsZero() {
		return
	}
	j.status.Failed++
	j.status.Why = err.Error()
}

// advance clears the seconds that passed and returns the present one.
func (j *job) advance() int64 {
	second := int64(j.now().Sub(j.started) / time.Second)
	for s := max(j.last+1, second-rateWindow+1); s <= second; s++ {
		j.seconds[s%rateWindow] = 0
	}
	j.last = max(j.last, second)
	return j.last
}

// report is the state with what is left.
func (j *job) report(files, bytes int64) hemera.JobStatus {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.status
	s.FilesLeft, s.BytesLeft = files, bytes
	window := min(j.advance()+1, rateWindow)
	var sum int64
	for _, b := range j.seconds {
		sum += b
	}
	s.Rate = float64(sum) / float64(window)
	if s.Rate > 0 && s.State == "running" {
		s.Remaining = time.Duration(float64(bytes) / s.Rate * float64(time.Second))
	}
	return s
}
