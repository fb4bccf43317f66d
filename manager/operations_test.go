package manager

import (
	"sync"
	"testing"
	"time"
)

// TestOperationsAddUp: parts of many processors come together again, a client that counted.
func TestOperationsAddUp(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	now := start
	o := newOperations(func() time.Time { return now })
	for range 3 {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for i := range 100 {
					o.record("Stat", now, time.Duration(i+1)*time.Microsecond, i%4 == 0)
				}
			})
		}
		wg.Wait()
		now = now.Add(time.Second)
	}
	list := o.list()
	if len(list) != 1 {
		t.Fatalf("%d operations", len(list))
	}
	s := list[0]
	if s.Name != "Stat" || s.Count != 4800 || s.Errors != 1200 {
		t.Errorf("%+v", s)
	}
	if s.Rate5s != 1600 || s.Rate1m != 1600 {
		t.Errorf("rates %v and %v", s.Rate5s, s.Rate1m)
	}
	if s.P50 < 49*time.Microsecond || s.P50 > 52*time.Microsecond || s.Max < 99*time.Microsecond || s.Max > 102*time.Microsecond {
		t.Errorf("latencies %v, at most %v", s.P50, s.Max)
	}
	now = start.Add(10 * time.Second)
	if s := o.list()[0]; s.Rate5s != 0 || s.Rate1m != 480 || s.Count != 4800 {
		t.Errorf("seven seconds later: %+v", s)
	}
	now = start.Add(2 * rateSeconds * time.Second)
	o.record("Stat", now, time.Microsecond, false)
	now = now.Add(time.Second)
	if s := o.list()[0]; s.Rate5s != 0.2 || s.Rate1h != 1.0/(rateSeconds-1) {
		t.Errorf("two hours later: %+v", s)
	}
}

// TestOperationsOfTheLastSecond: a late record of an earlier second is counted there.
func TestOperationsOfTheLastSecond(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	now := start.Add(10 * time.Second)
	o := &operations{now: func() time.Time { return now }, start: start}
	o.ops.Store(&map[string]*operation{})
	o.record("Open", now, 1, false)
	o.record("Open", now.Add(-time.Second), 1, false)
	o.record("Open", now, 1, false)
	if s := o.list()[0]; s.Rate5s != 0.2 {
		t.Errorf("rate %v of a record in the last five whole seconds", s.Rate5s)
	}
	now = now.Add(time.Second)
	if s := o.list()[0]; s.Rate5s != 0.6 {
		t.Errorf("rate %v of three", s.Rate5s)
	}
}
