package slowdevice

import (
	"sync"
	"time"
)

// Timing has the durations of requests.
type Timing struct {
	Latency time.Duration // of each request, however many are under way
	Rate    int64         // bytes a second of all requests together; 0 for any
}

// bus gives requests their end. It has the state that requests share.
type bus struct {
	timing Timing

	mu   sync.Mutex
	free time.Time // when the bytes of the last request have passed
}

// end returns the time at which a request of n bytes that came at now is done.
func (b *bus) end(now time.Time, n int) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free.Before(now) {
		b.free = now
	}
	if b.timing.Rate > 0 {
		b.free = b.free.Add(time.Duration(float64(n) / float64(b.timing.Rate) * float64(time.Second)))
	}
	return b.free.Add(b.timing.Latency)
}
