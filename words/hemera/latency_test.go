package hemera

import (
	"testing"
	"time"
)

func TestLatencyClassesAreOrderedAndCoverAll(t *testing.T) {
	for i := range LatencyClasses - 1 {
		if i > 0 && LatencyBound(i) <= LatencyBound(i-1) {
			t.Errorf("bound %d is %s, not above %s", i, LatencyBound(i), LatencyBound(i-1))
		}
		if got := LatencyClass(LatencyBound(i)); got != i {
			t.Errorf("%s is of class %d, not %d", LatencyBound(i), got, i)
		}
		if got := LatencyClass(LatencyBound(i) + 1); got != i+1 {
			t.Errorf("just above %s is of class %d, not %d", LatencyBound(i), got, i+1)
		}
	}
	if got := LatencyClass(time.Hour); got != LatencyClasses-1 {
		t.Errorf("an hour is of class %d", got)
	}
}

func TestLatencyQuantiles(t *testing.T) {
	var none Latency
	if none.Quantile(0.5) != 0 || none.Count() != 0 {
		t.Error("an empty histogram has a median")
	}
	l := Latency{Counts: make([]int64, LatencyClasses)}
	for range 98 {
		l.Counts[LatencyClass(2*time.Millisecond)]++ // between 1 and 2.5 ms
	}
	l.Counts[LatencyClass(80*time.Millisecond)]++
	l.Counts[LatencyClass(time.Minute)]++
	if p := l.Quantile(0.5); p < time.Millisecond || p > 2500*time.Microsecond {
		t.Errorf("median %s", p)
	}
	if p := l.Quantile(0.99); p < 50*time.Millisecond || p > 100*time.Millisecond {
		t.Errorf("99th of 100 %s", p)
	}
	if p := l.Quantile(1); p != 30*time.Second {
		t.Errorf("the largest is shown as %s, not as the last bound", p)
	}
}
