package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/kvtest"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// answer runs fn in a goroutine and says, once everything stands still, whether it has answered.
func answer(fn func() error) (done func() bool, result func() error) {
	ch := make(chan error, 1)
	go func() { ch <- fn() }()
	return func() bool { synctest.Wait(); return len(ch) > 0 }, func() error { return <-ch }
}

// TestAnswersWaitForWhatTheyRestOn: nothing is told before it is durable, and nobody waits for
// what is not theirs.
func TestAnswersWaitForWhatTheyRestOn(t *testing.T) {
	for name, cache := range map[string]int64{"cached": 1 << 20, "evicted at once": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { answersWait(t, cache) })
		})
	}
}

func answersWait(t *testing.T, cache int64) {
	ctx := t.Context()
	gate := kvtest.NewGate(memkv.New())
	n := open(t, gate, namespace.Options{CacheBytes: cache})
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/old", 0o755, false))
	e := put(t, n, alice(), "/gone", 10)
	gate.Shut()
	mkdirDone, mkdirResult := answer(func() error { _, err := n.Tree.Mkdir(ctx, alice(), "/new", 0o755, false); return err })
	removeDone, removeResult := answer(func() error { return n.Tree.Remove(ctx, alice(), "/gone", 0) })
	if mkdirDone() || removeDone() {
		t.Error("a change was acknowledged before it was durable")
	}
	var results []func() error
	for what, fn := range map[string]func() error{
		"stat of a new name":     func() error { _, err := n.Tree.Stat(ctx, bob(), "/new"); return err },
		"stat of a removed name": func() error { _, err := n.Tree.Stat(ctx, bob(), "/gone"); return swap(err, errs.NotFound) },
		"mkdir of a taken name": func() error {
			_, err := n.Tree.Mkdir(ctx, bob(), "/new", 0o755, false)
			return swap(err, errs.Exists)
		},
		"list":     func() error { return n.Tree.List(ctx, bob(), "/", func(hemera.Entry) error { return nil }) },
		"totals":   func() error { _, err := n.Tree.Stat(ctx, bob(), "/"); return err },
		"events":   func() error { _, err := n.Inspection.Events(ctx, 0, 10); return err },
		"unlinked": func() error { _, err := n.Pieces.Unlinked(ctx, 1, 10); return err },
		"resolve":  func() error { _, _, err := n.Inspection.Resolve(ctx, e.ID); return swap(err, errs.NotFound) },
	} {
		done, result := answer(fn)
		if done() {
			t.Errorf("%s did not wait: %v", what, result())
			continue
		}
		results = append(results, result)
	}
	if cache > 1 {
		done, result := answer(func() error {
			_, err := n.Writes.Prepare(ctx, alice(), hemera.OpenRequest{Path: "/old/x", Access: hemera.AccessCreate})
			return err
		})
		if !done() {
			t.Error("an open that saw nothing new waited")
		}
		defer func() { _ = result() }()
	}
	gate.Open(nil)
	for _, result := range append(results, mkdirResult, removeResult) {
		if err := result(); err != nil {
			t.Error(err)
		}
	}
	checked(t, n)
}

// swap returns nil for the kind of error that was to come.
func swap(err error, want errs.Kind) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("got %v, want %v", err, want)
}

func TestAStoreThatFailsStopsTheNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := kvtest.NewGate(memkv.New())
		n := open(t, gate, namespace.Options{})
		must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/first", 0o755, false)) // has ids reserved
		gate.Shut()
		_, first := answer(func() error { _, err := n.Tree.Mkdir(t.Context(), alice(), "/a", 0o755, false); return err })
		synctest.Wait()
		_, second := answer(func() error { _, err := n.Tree.Stat(t.Context(), alice(), "/a"); return err })
		synctest.Wait()
		gate.Open(errors.New("the disk is gone"))
		wantKind(t, "the change", first(), errs.Unavailable)
		wantKind(t, "the reader that saw it", second(), errs.Unavailable)
		_, err := n.Tree.Stat(t.Context(), alice(), "/")
		wantKind(t, "everything after", err, errs.Unavailable)
		if errs.RemedyOf(err) == "" {
			t.Error("nobody is told what to do")
		}
	})
}

// TestAnUnknownOutcomeIsNoRefusal has the store fence the writer when a change is on its way.
func TestAnUnknownOutcomeIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := kvtest.NewGate(memkv.New())
		n := open(t, gate, namespace.Options{})
		c := prepare(t, n, alice(), "/f")
		gate.Shut()
		_, commit := answer(func() error { _, err := n.Writes.Commit(t.Context(), c); return err })
		synctest.Wait()
		gate.Open(errs.New(errs.Fenced, "kv", "", "a newer writer has the store"))
		wantKind(t, "the change on its way", commit(), errs.Unavailable)
		_, err := n.Writes.Commit(t.Context(), c)
		wantKind(t, "the same change again", err, errs.Unavailable)
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := kvtest.NewGate(memkv.New())
		n := open(t, gate, namespace.Options{})
		must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/first", 0o755, false)) // has ids reserved
		gate.Shut()
		ctx, cancel := context.WithCancel(t.Context())
		_, result := answer(func() error { _, err := n.Tree.Mkdir(ctx, alice(), "/a", 0o755, false); return err })
		synctest.Wait()
		cancel()
		// Cancelled would promise that nothing happened.
		wantKind(t, "the change", result(), errs.Timeout)
		gate.Open(nil)
		if _, err := n.Tree.Stat(t.Context(), alice(), "/a"); err != nil {
			t.Errorf("it did happen: %v", err)
		}
	})
}

func TestASecondManagerFencesTheFirst(t *testing.T) {
	s := memkv.New()
	first := open(t, s, namespace.Options{})
	must[hemera.Entry](t)(first.Tree.Mkdir(t.Context(), alice(), "/a", 0o777, false))
	second := open(t, s, namespace.Options{})
	_, err := first.Tree.Mkdir(t.Context(), alice(), "/b", 0o755, false)
	if errs.KindOf(err) != errs.Unavailable || !strings.Contains(err.Error(), "newer writer") {
		t.Errorf("the first: %v", err)
	}
	if e := put(t, second, bob(), "/a/f", 1); uint64(e.ID) < 200_000 {
		t.Errorf("the second hands out id %s, which the first may have handed out", e.ID)
	}
	checked(t, second)
}

// slowStore holds back one Get between its reading and its return.
type slowStore struct {
	kv.Store
	mu      sync.Mutex
	key     string
	reading chan struct{}
	resume  chan struct{}
}

func (s *slowStore) Get(ctx context.Context, k []byte) ([]byte, error) {
	value, err := s.Store.Get(ctx, k)
	s.mu.Lock()
	hold := s.key != "" && string(k[10:]) == s.key
	if hold {
		s.key = ""
	}
	s.mu.Unlock()
	if hold {
		s.reading <- struct{}{}
		<-s.resume
	}
	return value, err
}

// TestASlowReadDoesNotBringBackThePast: a reader that loads a record while it is changed must not
// leave the old one in the cache.
func TestASlowReadDoesNotBringBackThePast(t *testing.T) {
	s := &slowStore{Store: memkv.New(), reading: make(chan struct{}), resume: make(chan struct{})}
	n := open(t, s, namespace.Options{})
	s.key = "late"
	result := make(chan error)
	go func() {
		_, err := n.Tree.Stat(t.Context(), alice(), "/late")
		result <- err
	}()
	<-s.reading
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/late", 0o755, false))
	s.resume <- struct{}{}
	if err := <-result; err != nil {
		t.Errorf("the slow reader: %v", err)
	}
	if _, err := n.Tree.Stat(t.Context(), alice(), "/late"); err != nil {
		t.Errorf("the next reader: %v", err)
	}
	checked(t, n)
}

// TestResolveSeesOnePicture: an id is found wherever its file is being moved to and from.
func TestResolveSeesOnePicture(t *testing.T) {
	n := fresh(t)
	must[hemera.Entry](t)(n.Tree.Mkdir(t.Context(), alice(), "/a", 0o755, true))
	e := put(t, n, alice(), "/x", 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 500 {
			if err := errors.Join(n.Tree.Rename(t.Context(), alice(), "/x", "/a/y"), n.Tree.Rename(t.Context(), alice(), "/a/y", "/x")); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				if _, path, err := n.Inspection.Resolve(t.Context(), e.ID); err != nil || path != "/x" && path != "/a/y" {
					t.Errorf("resolve: %q, %v", path, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
