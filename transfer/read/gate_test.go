package read

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestGateFollowsTheLink: a link that carries so many reads a second, all of them at the same time. Of a fast one all readers
// are let through; of a slow one as many as are read within the time of a short read, or the least.
func TestGateFollowsTheLink(t *testing.T) {
	for _, c := range []struct {
		name        string
		perSecond   float64
		least, most int
	}{
		{"slow: the fewest", 10, leastReads, leastReads},
		{"30 reads are short", 60, 20, 31},
		{"fast: all readers", 10_000, 100, 100},
	} {
		synctest.Test(t, func(t *testing.T) {
			var g readLimiter
			var mu sync.Mutex
			under, most := 0, 0
			for range 100 {
				go func() {
					for began := time.Now(); time.Since(began) < 2*time.Minute; {
						leave := g.acquire()
						mu.Lock()
						under++
						if time.Since(began) > time.Minute { // it has settled
							most = max(most, under)
						}
						took := time.Duration(float64(under) / c.perSecond * float64(time.Second))
						mu.Unlock()
						time.Sleep(took)
						mu.Lock()
						under--
						mu.Unlock()
						leave()
					}
				}()
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if under != 0 || g.under != 0 || len(g.waiting) != 0 {
				t.Errorf("%s: %d are under way at the end, %d are counted, %d wait", c.name, under, g.under, len(g.waiting))
			}
			if most < c.least || most > c.most {
				t.Errorf("%s: at most %d at once, want %d to %d", c.name, most, c.least, c.most)
			}
		})
	}
}

// TestGateIsInOrder: who waits longest enters first.
func TestGateIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g readLimiter
		for range leastReads {
			g.acquire()
		}
		entered := make(chan int, 10)
		for i := range 10 {
			go func() { g.acquire(); entered <- i }()
			synctest.Wait()
		}
		for i := range 10 {
			g.leave(time.Hour) // no window grows by it
			synctest.Wait()
			if len(entered) != 1 {
				t.Fatalf("%d entered for one that left", len(entered))
			}
			if got := <-entered; got != i {
				t.Errorf("%d entered before %d", got, i)
			}
		}
	})
}
