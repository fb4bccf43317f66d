package etcdjournal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"hemera/platform/kv/journal"
	"hemera/platform/kv/journal/etcdjournal"
	"hemera/platform/kv/journal/journaltest"
	"hemera/test/fixture/etcd"
	"hemera/words/errs"
)

// fate says what happens to a transaction.
type fate int

const (
	answered  fate = iota
	lostAfter      // it is carried out, and the answer is lost
	lostNever      // it is not carried out
	lostLater      // the answer is lost, and it is carried out a little later
)

// lossy is a client of etcd whose transactions meet the fate that a test decides.
type lossy struct {
	clientv3.KV
	decide func() fate
	late   sync.WaitGroup // transactions that are carried out later
}

func (l *lossy) Txn(ctx context.Context) clientv3.Txn { return &lossyTxn{l: l, ctx: ctx} }

type lossyTxn struct {
	l               *lossy
	ctx             context.Context
	conditions      []clientv3.Cmp
	then, otherwise []clientv3.Op
}

func (x *lossyTxn) If(c ...clientv3.Cmp) clientv3.Txn  { x.conditions = c; return x }
func (x *lossyTxn) Then(o ...clientv3.Op) clientv3.Txn { x.then = o; return x }
func (x *lossyTxn) Else(o ...clientv3.Op) clientv3.Txn { x.otherwise = o; return x }

var errLost = errors.New("etcdserver: request timed out")

func (x *lossyTxn) Commit() (*clientv3.TxnResponse, error) {
	run := func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return x.l.KV.Txn(ctx).If(x.conditions...).Then(x.then...).Else(x.otherwise...).Commit()
	}
	switch x.l.decide() {
	case lostAfter:
		_, _ = run(x.ctx)
		return nil, errLost
	case lostNever:
		return nil, errLost
	case lostLater:
		x.l.late.Go(func() {
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
			_, _ = run(context.Background())
		})
		return nil, errLost
	}
	return run(x.ctx)
}

// TestConformanceWithLostAnswers runs the suite while every third answer is lost, before or after the transaction was carried out, or with the transaction
// carried out later. The suite must not notice.
func TestConformanceWithLostAnswers(t *testing.T) {
	client, n := etcd.Cluster(t, 1)[0].Client(), 0
	journaltest.Run(t, func(t *testing.T) journal.Journal {
		n++
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(uint64(n), 0))
		l := &lossy{KV: client, decide: func() fate {
			mu.Lock()
			defer mu.Unlock()
			return max(answered, fate(r.IntN(9)-5))
		}}
		t.Cleanup(l.late.Wait)
		return etcdjournal.New(l, client, etcdjournal.Options{Prefix: fmt.Sprintf("lost/%d/", n), Pause: time.Millisecond})
	})
}

// TestLostAnswerIsNoRefusal: the second try of an append finds the entry that the first one put. It must not take it for another's, also if a newer epoch
// has begun between the two.
func TestLostAnswerIsNoRefusal(t *testing.T) {
	client := etcd.Cluster(t, 1)[0].Client()
	for _, c := range []struct {
		name  string
		first fate
		fence bool // a newer epoch begins before the second try
		want  error
	}{
		{"carried out", lostAfter, false, nil},
		{"never carried out", lostNever, false, nil},
		{"carried out later", lostLater, false, nil},
		{"carried out, then fenced", lostAfter, true, nil},
		{"never carried out, then fenced", lostNever, true, errs.Fenced},
		{"carried out later, after a fence", lostLater, true, errs.Fenced},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := etcdjournal.Options{Prefix: t.Name() + "/"}
			sound := etcdjournal.New(client, client, o)
			tries := 0
			l := &lossy{KV: client}
			l.decide = func() fate {
				tries++
				if tries == 1 {
					return c.first
				}
				if tries == 2 && c.fence {
					if _, _, err := sound.Begin(t.Context(), "newer"); err != nil {
						t.Error(err)
					}
				}
				return answered
			}
			if c.first == lostLater && c.fence { // the fence is faster than the first try
				l.decide = func() fate {
					tries++
					if tries == 1 {
						if _, _, err := sound.Begin(t.Context(), "newer"); err != nil {
							t.Error(err)
						}
						return lostLater
					}
					return answered
				}
			}
			if err := sound.Create(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			epoch, last, err := sound.Begin(t.Context(), "older")
			if err != nil {
				t.Fatal(err)
			}
			e := journal.Entry{Seq: 1, Epoch: epoch, Prev: last.Chain, Batch: []byte("batch")}
			err = etcdjournal.New(l, client, o).Append(t.Context(), e)
			if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("append: %v, want %v", err, c.want)
			}
			l.late.Wait()
			b, err2 := sound.Bounds(t.Context())
			if there := b.Last.Seq == 1; err2 != nil || there != (err == nil) {
				t.Errorf("append returned %v, and the entry is there: %v, %v", err, there, err2)
			}
			if err == nil { // the same once more, as a caller does that does not know
				if err := sound.Append(t.Context(), e); err != nil {
					t.Errorf("the same append again: %v", err)
				}
			}
		})
	}
}

// TestCallerGivesUp: an append that no majority answers ends with the caller's context, and leaves the outcome open.
func TestCallerGivesUp(t *testing.T) {
	client := etcd.Cluster(t, 1)[0].Client()
	l := &lossy{KV: client, decide: func() fate { return lostNever }}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := etcdjournal.New(l, client, etcdjournal.Options{}).Append(ctx, journal.Entry{Seq: 1, Epoch: 1})
	if !errs.Undecided(err) {
		t.Errorf("append: %v", err)
	}
}

// breaking is a watcher whose watches end after a few answers: the member went, or etcd has removed the history that the watch needed.
type breaking struct{ clientv3.Watcher }

func (w breaking) Watch(ctx context.Context, key string, o ...clientv3.OpOption) clientv3.WatchChan {
	ctx, cancel := context.WithCancel(ctx)
	from, to := w.Watcher.Watch(ctx, key, o...), make(chan clientv3.WatchResponse)
	go func() {
		defer cancel()
		defer close(to)
		for range 1 + rand.IntN(3) {
			answer, ok := <-from
			if !ok {
				return
			}
			if rand.IntN(2) == 0 { // instead of the news
				answer = clientv3.WatchResponse{Canceled: true, CompactRevision: 1}
			}
			select {
			case to <- answer:
			case <-ctx.Done():
				return
			}
		}
	}()
	return to
}

// TestConformanceWithBrokenWatches runs the suite while watches end all the time.
func TestConformanceWithBrokenWatches(t *testing.T) {
	client, n := etcd.Cluster(t, 1)[0].Client(), 0
	journaltest.Run(t, func(t *testing.T) journal.Journal {
		n++
		return etcdjournal.New(client, breaking{client}, etcdjournal.Options{Prefix: fmt.Sprintf("broken/%d/", n), Pause: time.Millisecond})
	})
}
