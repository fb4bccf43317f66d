package read

import (
	"sync"
	"time"
)

const (
	// shortRead is the time of a read above which fewer are to be under way.
	shortRead = 500 * time.Millisecond
	// leastReads and mostReads bound how many reads of copies a node has under way.
	leastReads, mostReads = 12, 1024
)

// readLimiter bounds how many reads of copies a node has under way. More of them than fill its link only wait in the network, where
// they push each other's packets out of the queues: what is sent again takes from the links of all other nodes. So one more is
// let through as long as reads are short, and half as many when they are not. They enter in the order in which they came.
//
// The zero value is ready. Methods may be called concurrently.
type readLimiter struct {
	mu      sync.Mutex
	window  float64 // how many may be under way; below leastReads before the first
	under   int
	waiting []chan struct{} // oldest first; closed when its read may begin
}

// acquire waits until a read may begin. The caller calls the result when the read has ended.
func (g *readLimiter) acquire() (leave func()) {
	g.mu.Lock()
	g.window = max(g.window, leastReads)
	if len(g.waiting) == 0 && g.under < int(g.window) {
		g.under++
		g.mu.Unlock()
	} else {
		turn := make(chan struct{})
		g.waiting = append(g.waiting, turn)
		g.mu.Unlock()
		<-turn
	}
	began := time.Now()
	return func() { g.leave(time.Since(began)) }
}

// leave ends a read that took so long.
func (g *readLimiter) leave(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case took > shortRead:
		// Each of them takes a half off: if all are long, half as many are left.
		g.window = max(g.window-0.5, leastReads)
	case len(g.waiting) > 0:
		// If all are short, one more is let through.
		g.window = min(g.window+1/g.window, mostReads)
	}
	g.under--
	for len(g.waiting) > 0 && g.under < int(g.window) {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		g.under++
	}
}
