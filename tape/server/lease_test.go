package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// still is a manager that has no work, and says nothing.
type still struct{ *control }

// NextMount implements tapeapi.Control.
func (still) NextMount(ctx context.Context, _ hemera.NodeID, _ hemera.Epoch, drive string) (tapeapi.Mount, error) {
	<-ctx.Done()
	return tapeapi.Mount{}, errs.Wrap(ctx.Err(), "still.NextMount", drive)
}

// quiet runs a server in which nothing happens, until the test ends.
func quiet(t *testing.T, c *control) *Server {
	t.Helper()
	x := newRig(t, c)
	library := x.open()
	o := x.options(library)
	o.Control, o.Sleep = still{c}, nil
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _ = s.Run(ctx); close(ended) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		if err := library.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestNewLeaseReports: a manager that was started since hears of the library before the next report is due, and so takes results of drives.
func TestNewLeaseReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t, 1, 0)
		quiet(t, c)
		time.Sleep(reportEvery + time.Second) // virtual: the drives wait for work
		c.mu.Lock()
		if c.seen.Name == "" {
			t.Error("the manager does not hear of the library at all")
		}
		c.epoch, c.seen = 2, tapeapi.Library{}
		c.mu.Unlock()
		time.Sleep(2 * leaseLook)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.seen.Name != "lib" {
			t.Error("the manager with a new lease does not hear of the library soon")
		}
	})
}

// TestLeaseIsAwaited: a drive has its lease as soon as the node has one, and goes on without after the first pause.
func TestLeaseIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t, 1, 0)
		c.epoch = 0
		s := quiet(t, c)
		begun := time.Now()
		if _, epoch := s.lease(t.Context()); epoch != 0 || time.Since(begun) != pauseMin {
			t.Errorf("epoch %d after %v without a lease", epoch, time.Since(begun))
		}
		time.AfterFunc(time.Second, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.epoch = 3
		})
		begun = time.Now()
		if _, epoch := s.lease(t.Context()); epoch != 3 || time.Since(begun) > time.Second+leaseLook {
			t.Errorf("epoch %d after %v, where one came after a second", epoch, time.Since(begun))
		}
	})
}
