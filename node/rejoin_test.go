package node

import (
	"fmt"
	"testing"
	"time"
)

// TestPausesBeforeARegistration: at once after a lease, then with a back-off that a lease ends, unless it is short.
func TestPausesBeforeARegistration(t *testing.T) {
	r := newRejoin("node:1")
	for range 3 { // the second life of a node is like the first
		if p := r.after(time.Minute); p < 0 || p >= rejoinSpread {
			t.Errorf("after a lease: %s", p)
		}
		for i, milliseconds := range []int{100, 200, 400, 800, 1600, 2000, 2000, 2000} {
			most := time.Duration(milliseconds) * time.Millisecond
			lasted := time.Duration(i%2) * rejoinLease / 2 // a short lease changes nothing
			if p := r.after(lasted); p < most/2 || p >= most {
				t.Errorf("attempt %d: %s", i, p)
			}
		}
		for range 100 { // of a manager that is away for long
			r.after(0)
		}
		if p := r.after(0); p < rejoinMax/2 || p >= rejoinMax {
			t.Errorf("in the end: %s", p)
		}
	}
}

// TestNodesDoNotComeTogether: the pauses of many nodes that lost their leases together are spread.
func TestNodesDoNotComeTogether(t *testing.T) {
	for _, lasted := range []time.Duration{time.Minute, 0} {
		parts := map[int64]int{}
		for i := range 1000 {
			r := newRejoin(fmt.Sprintf("node%d:1095", i))
			parts[r.after(lasted).Milliseconds()/10]++
		}
		for part, count := range parts {
			if count > 300 {
				t.Errorf("after %s: %d of 1000 within 10 ms, from %d ms on", lasted, count, part*10)
			}
		}
	}
}
