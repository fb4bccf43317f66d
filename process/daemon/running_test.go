package daemon

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"
)

// keptLog returns a log that is kept in memory and printed if the test fails: printing it at once would change the order
// of events.
func keptLog(t testing.TB) *slog.Logger {
	var mu sync.Mutex
	var text bytes.Buffer
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			t.Logf("the log:\n%s", text.Bytes())
		}
	})
	return slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(p)
	}), nil))
}

// writer is a function that is called with the written bytes.
type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// stuckTime is the time that a test waits for a start or an end before it fails: less than the timeout of all tests of
// the package, so that the failure has the test's name.
const stuckTime = 3 * time.Minute

// serving runs a function until stop, which waits for its end and fails the test if it returned an error.
func serving(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	return func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(stuckTime):
			t.Errorf("it has not ended %s after it was stopped", stuckTime)
		}
	}
}

// running runs a cluster until stop, and returns when all of its nodes have joined. The test fails if it ends before that.
func running(t testing.TB, u *Up) (stop func()) {
	t.Helper()
	ready := make(chan struct{})
	return upTo(t, ready, func(ctx context.Context) error { return u.Run(ctx, func() { close(ready) }) })
}

// joining runs a node until stop, and returns when it has joined. The test fails if it ends before that.
func joining(t testing.TB, n *Node) (stop func()) {
	t.Helper()
	return upTo(t, n.Joined(), n.Run)
}

// upTo does the same as serving, after so was closed.
func upTo(t testing.TB, so <-chan struct{}, run func(context.Context) error) (stop func()) {
	t.Helper()
	ended := make(chan struct{})
	stop = serving(t, func(ctx context.Context) error {
		defer close(ended)
		return run(ctx)
	})
	select {
	case <-so:
		return stop
	case <-ended:
		t.Error("it ended as it started")
	case <-time.After(stuckTime):
		t.Errorf("it has not started after %s", stuckTime)
	}
	stop() // reports the error if it has ended
	t.FailNow()
	return nil
}
