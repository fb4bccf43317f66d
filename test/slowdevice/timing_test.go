package slowdevice

import (
	"testing"
	"time"
)

// TestTheEndOfRequests: 5 ms and 100 MB/s. A request of 1 MB passes in 10 ms.
func TestTheEndOfRequests(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	cases := []struct {
		name  string
		times []int // ms, when requests of 1 MB come
		want  []int // ms, when they end
	}{
		{"one", []int{0}, []int{15}},
		{"two at once share the bus, not the latency", []int{0, 0}, []int{15, 25}},
		{"one after another wait for both", []int{0, 15, 30}, []int{15, 30, 45}},
		{"a pause is not saved up", []int{0, 100}, []int{15, 115}},
	}
	for _, c := range cases {
		b := &bus{timing: Timing{Latency: 5 * time.Millisecond, Rate: 100e6}}
		for i, ms := range c.times {
			if got := b.end(at(ms), 1e6); !got.Equal(at(c.want[i])) {
				t.Errorf("%s: request %d ends after %s, want %d ms", c.name, i, got.Sub(start), c.want[i])
			}
		}
	}
	if free := (&bus{}); !free.end(start, 1<<30).Equal(start) {
		t.Error("a device without latency and rate takes time")
	}
}
