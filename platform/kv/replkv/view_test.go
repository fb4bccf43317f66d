package replkv_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hemera/platform/kv"
	"hemera/platform/kv/journal/memjournal"
	"hemera/platform/kv/memkv"
)

// slow is an engine whose snapshots take longer than a commit, before or after their moment, so that commits fall in between.
type slow struct {
	kv.Store
	calls atomic.Int64
}

func (s *slow) Snapshot(ctx context.Context) (kv.Snapshot, error) {
	n := s.calls.Add(1)
	if n%3 == 1 {
		time.Sleep(time.Millisecond)
	}
	view, err := s.Store.Snapshot(ctx)
	if n%3 == 2 {
		time.Sleep(time.Millisecond)
	}
	return view, err
}

// moment returns the content after batch n: each batch puts its number under one of three keys and leaves the two others to the batches before
// it. It puts its number under one of three more keys too, and removes the next of these.
func moment(n int) string {
	var words [6]string
	for i := max(0, n-2); i <= n; i++ {
		words[i%3] = fmt.Sprintf("k%d=%d", i%3, i)
		if i > n-2 {
			words[3+i%3] = fmt.Sprintf("r%d=%d", i%3, i)
		}
	}
	return strings.Join(strings.Fields(strings.Join(words[:], " ")), " ")
}

// TestViewIsOneMoment: while batches move from the overlay to the local engine, each scan and each snapshot is the content after one batch, and none
// older than the last one that was enqueued before the call.
func TestViewIsOneMoment(t *testing.T) {
	s := open(t, &slow{Store: memkv.New()}, created(t, memjournal.New(), "a"))
	w := acquire(t, s)
	var enqueued atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var under []kv.Ticket
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			b := new(kv.Batch)
			for _, key := range []string{"k", "r"} {
				b.Put(fmt.Append([]byte(key), n%3), strconv.AppendInt(nil, int64(n), 10))
			}
			b.Delete(fmt.Append([]byte("r"), (n+1)%3))
			ticket, err := w.Enqueue(b)
			if err == nil && len(under) == 2 {
				err = under[0].Wait(context.Background())
				under = under[1:]
			}
			if err != nil {
				t.Error(err)
				return
			}
			under = append(under, ticket)
			enqueued.Store(int64(n))
		}
	})
	for reader := range 3 {
		wg.Go(func() {
			for i := 0; i < 1500 && !t.Failed(); i++ {
				atLeast := enqueued.Load()
				var r kv.Reader = s
				if reader == 0 {
					view, err := s.Snapshot(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					defer view.Close()
					r = view
				}
				got := content(t, r)
				if got == "" {
					continue // before the first
				}
				newest := 0
				for _, word := range strings.Fields(got) {
					_, value, _ := strings.Cut(word, "=")
					n, err := strconv.Atoi(value)
					if err != nil {
						t.Error(err)
					}
					newest = max(newest, n)
				}
				if want := moment(newest); got != want || int64(newest) < atLeast {
					t.Errorf("after batch %d: %s, not %s", atLeast, got, want)
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	wg.Go(func() { time.Sleep(700 * time.Millisecond); close(stop) })
	wg.Wait()
}
