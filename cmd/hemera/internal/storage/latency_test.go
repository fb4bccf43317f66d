package storage

import (
	"testing"
	"time"

	"hemera/words/hemera"
)

func TestLatencyQuantiles(t *testing.T) {
	if quantile(hemera.Latency{}, 0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	l := hemera.Latency{Counts: make([]int64, hemera.LatencyClasses)}
	for range 98 {
		l.Counts[hemera.LatencyClass(2*time.Millisecond)]++ // between 1 and 2.5 ms
	}
	l.Counts[hemera.LatencyClass(80*time.Millisecond)]++
	l.Counts[hemera.LatencyClass(time.Minute)]++
	if p := quantile(l, 0.5); p < time.Millisecond || p > 2500*time.Microsecond {
		t.Errorf("median %s", p)
	}
	if p := quantile(l, 0.99); p < 50*time.Millisecond || p > 100*time.Millisecond {
		t.Errorf("99th of 100 %s", p)
	}
	if p := quantile(l, 1); p != 30*time.Second {
		t.Errorf("the largest is shown as %s, not as the last bound", p)
	}
}
