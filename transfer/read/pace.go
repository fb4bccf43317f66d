package read

import (
	"sync/atomic"
	"time"
)

const (
	// times bounds the time of a read as a multiple of the mean.
	times = 8
	// least and most bound how long a read may take. first is for nodes that have read nothing yet.
	least, first, most = 200 * time.Millisecond, time.Second, 3 * time.Second
)

// pace measures the time that reads of pieces take, for one node. The zero value is ready. Methods may be called
// concurrently.
type pace struct {
	mean atomic.Int64 // of the last reads, in nanoseconds; zero before the first
}

// Took takes note of a read.
func (p *pace) Took(d time.Duration) {
	// The mean moves by a sixteenth of the difference: some dozen reads after a change it fits again.
	mean := p.mean.Load()
	if mean == 0 {
		p.mean.Store(max(int64(d), 1))
		return
	}
	// A lost update is of no matter.
	p.mean.Store(max(mean+(int64(d)-mean)/16, 1))
}

// Patience returns the time for which a read is waited for.
func (p *pace) Patience() time.Duration {
	mean := time.Duration(p.mean.Load())
	if mean == 0 {
		return first
	}
	return min(max(times*mean, least), most)
}
