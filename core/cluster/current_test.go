package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera/errs"
	"hemera/platform/kv/memkv"
)

// TestChangesWaitForTheFirstNode that the store knows, and not for ever; a new cluster has nothing to wait for.
func TestChangesWaitForTheFirstNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		began := time.Now()
		c := open(t, store, time.Now)
		if err := c.AwaitCurrent(t.Context()); err != nil || time.Since(began) > 0 {
			t.Fatalf("a new cluster: %v after %s", err, time.Since(began))
		}
		h := hello(1, 1)
		welcome, err := c.Register(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}

		c = open(t, store, time.Now)
		if err := c.Current(); !errors.Is(err, errs.Unavailable) {
			t.Errorf("at once: %v", err)
		}
		if _, err := c.Register(t.Context(), hello(2, 1)); err != nil || c.Current() == nil {
			t.Errorf("a node that is new knows nothing: %v, %v", err, c.Current())
		}
		given, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.AwaitCurrent(given); !errors.Is(err, errs.Timeout) {
			t.Errorf("who gives up: %v", err)
		}
		waited := make(chan time.Duration)
		go func() {
			if err := c.AwaitCurrent(t.Context()); err != nil {
				t.Error(err)
			}
			waited <- time.Since(began)
		}()
		time.Sleep(time.Second)
		h.ID = welcome.ID
		if _, err := c.Register(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		if w := <-waited; w != 2*time.Second || c.Current() != nil {
			t.Errorf("until %s, %v", w, c.Current())
		}

		began = time.Now()
		c = open(t, store, time.Now)
		if err := c.AwaitCurrent(t.Context()); err != nil || time.Since(began) != currentTime {
			t.Errorf("no node comes: %v after %s", err, time.Since(began))
		}
	})
}
