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

// TestViewIsOneMoment: while batches move from the overlay to the local engine, each scan and each snapshot has all keys of one batch, and no batch
// older than the last one that was enqueued before the call. Every batch n has n under each key but one, which it removes.
func TestViewIsOneMoment(t *testing.T) {
	const keys = 5
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
			for k := range keys {
				key := fmt.Append(nil, "k", k)
				if k == n%keys {
					b.Delete(key)
				} else {
					b.Put(key, strconv.AppendInt(nil, int64(n), 10))
				}
			}
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
				words := strings.Fields(got)
				_, value, _ := strings.Cut(words[0], "=")
				n, err := strconv.Atoi(value)
				if err != nil || int64(n) < atLeast || len(words) != keys-1 {
					t.Errorf("after batch %d: %s", atLeast, got)
				}
				for _, word := range words {
					if key, v, _ := strings.Cut(word, "="); v != value || key == fmt.Sprint("k", n%keys) {
						t.Errorf("not one moment: %s", got)
					}
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	wg.Go(func() { time.Sleep(700 * time.Millisecond); close(stop) })
	wg.Wait()
}
