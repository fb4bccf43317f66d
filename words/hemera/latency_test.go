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
