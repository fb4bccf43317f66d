package copy

import (
	"sync"
	"time"
)

// Progress has the counts of a copy.
type Progress struct {
	Files, FilesTotal int64 // done (copied or skipped), and found so far
	Failed            int64
	Bytes, BytesTotal int64
	// Skipped and SkippedBytes count the part of them that existed already.
	Skipped, SkippedBytes int64
	// Passed counts the files of a tree that are left out: parts of unfinished copies.
	Passed int64
	// Links counts the symbolic links that were skipped as requested.
	Links int64
	// Listed says that the sources have been listed: the totals are final.
	Listed bool
	// Kept counts the parts that were left because their copy was interrupted or failed.
	Kept int64
	Rate float64 // bytes per second of the last seconds
	Done bool    // the last call
}

// progressEvery is the interval between calls of a progress function.
const progressEvery = 250 * time.Millisecond

// tracker counts, and reports from its own goroutine.
type tracker struct {
	report func(Progress)
	stop   chan struct{}
	ended  sync.WaitGroup

	mu  sync.Mutex // guards now; not held while reporting
	now Progress
}

// newTracker starts the goroutine that reports, if there is a function.
func newTracker(report func(Progress)) *tracker {
	t := &tracker{report: report, stop: make(chan struct{})}
	if report != nil {
		t.ended.Go(t.run)
	}
	return t
}

// add changes the counts.
func (t *tracker) add(change func(*Progress)) {
	t.mu.Lock()
	change(&t.now)
	t.mu.Unlock()
}

// bytes counts copied bytes.
func (t *tracker) bytes(n int64) { t.add(func(p *Progress) { p.Bytes += n }) }

// close makes the last report and returns the final counts.
func (t *tracker) close() Progress {
	close(t.stop)
	t.ended.Wait() // no report comes after the last one
	t.now.Done = true
	if t.report != nil {
		t.report(t.now)
	}
	return t.now
}

// run reports until close. The rate is smoothed over a few seconds.
func (t *tracker) run() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	last, lastBytes := time.Now(), int64(0)
	for {
		select {
		case <-t.stop:
			return
		case now := <-tick.C:
			t.mu.Lock()
			t.now.Rate = smooth(t.now.Rate, t.now.Bytes-lastBytes, now.Sub(last))
			last, lastBytes = now, t.now.Bytes
			p := t.now
			t.mu.Unlock()
			t.report(p)
		}
	}
}

// smooth returns the rate after n more bytes in d: half old, half new.
func smooth(rate float64, n int64, d time.Duration) float64 {
	if d <= 0 { // the clock was set back
		return rate
	}
	fresh := float64(n) / d.Seconds()
	if rate == 0 {
		return fresh
	}
	return rate/2 + fresh/2
}
