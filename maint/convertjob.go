package maint

import (
	"context"
	"sync"
	"time"

	"hemera/platform/turn"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// convertJob is the job of one request.
type convertJob struct {
	*job
	saving turn.Turn // held while the request is changed

	mu      sync.Mutex
	request adminapi.Conversion // as it is durable, but for counts since the last checkpoint
	total   hemera.TreeTotals   // below its root, as looked at last
	cancel  context.CancelFunc  // nil while it does not run
}

// now returns the request as it is remembered.
func (j *convertJob) now() adminapi.Conversion {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.request
}

// live shows the counts of a pass before they are durable.
func (j *convertJob) live(sums adminapi.Conversion) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := &j.request
	c.Seen, c.SeenBytes, c.Done, c.Bytes, c.Skipped, c.Failed, c.Replaced, c.Why = sums.Seen, sums.SeenBytes, sums.Done, sums.Bytes, sums.Skipped, sums.Failed, sums.Replaced, sums.Why
}

// left returns what the request has not done, as far as it has looked at the tree.
func (j *convertJob) left(c adminapi.Conversion) (files, bytes int64) {
	if !c.Ended.IsZero() {
		return c.Left, c.LeftBytes
	}
	j.mu.Lock()
	total := j.total
	j.mu.Unlock()
	return max(0, total.Files-c.Seen), max(0, total.Bytes-c.SeenBytes)
}

// ends notes in a request that it ends, how and why. One that did what it was asked for leaves nothing, whatever was written meanwhile.
func (j *convertJob) ends(c *adminapi.Conversion, now time.Time, state adminapi.JobState, why string) {
	if state != adminapi.JobDone {
		c.Ending = state
		c.Left, c.LeftBytes = j.left(*c)
	}
	c.Ended, c.Why = now, why
}

// show returns the state of the job, which all outputs show. Left are the files that the pass under way has not looked at, and
// those that are tried again.
func (j *convertJob) show() adminapi.JobStatus {
	c := j.now()
	s := j.report(j.left(c))
	s.Failed = c.Failed
	if !c.Ended.IsZero() {
		s.Rate = 0 // what moved last is over
	}
	return s
}
