package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hemera/platform/kv/memkv"
	"hemera/words/errs"
)

// TestChangesWaitForTheFirstNode that the store knows, and not for ever; a new cluster has nothing to wait for.
func TestChangesWaitForTheFirstNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		began := time.Now()
		c := open(t, store, time.Now)
		if err := c.Marks.AwaitCurrent(t.Context()); err != nil || time.Since(began) > 0 {
			t.Fatalf("a new cluster: %v after %s", err, time.Since(began))
		}
		h := hello(1, 1)
		welcome, err := c.Leases.Register(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}

		c = open(t, store, time.Now)
		if err := c.Marks.Current(); !errors.Is(err, errs.Unavailable) || !c.Marks.Deciding() {
			t.Errorf("at once: %v, deciding: %t", err, c.Marks.Deciding())
		}
		if _, err := c.Leases.Register(t.Context(), hello(2, 1)); err != nil || c.Marks.Current() == nil {
			t.Errorf("a node that is new knows nothing: %v, %v", err, c.Marks.Current())
		}
		given, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Marks.AwaitCurrent(given); !errors.Is(err, errs.Timeout) {
			t.Errorf("who gives up: %v", err)
		}
		waited := make(chan time.Duration)
		go func() {
			if err := c.Marks.AwaitCurrent(t.Context()); err != nil {
				t.Error(err)
			}
			waited <- time.Since(began)
		}()
		time.Sleep(time.Second)
		h.ID = welcome.ID
		if _, err := c.Leases.Register(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		if w := <-waited; w != 2*time.Second || c.Marks.Current() != nil || c.Marks.Deciding() {
			t.Errorf("until %s, %v", w, c.Marks.Current())
		}

		began = time.Now()
		c = open(t, store, time.Now)
		if err := c.Marks.AwaitCurrent(t.Context()); err != nil || time.Since(began) != currentTime {
			t.Errorf("no node comes: %v after %s", err, time.Since(began))
		}
	})
}

// TestANodeOfAnotherCluster comes to a store that is new: clients wait, as that node's cluster may have what they look for. In a
// store with nodes, or once the node has joined, they do not; nor for a node that was removed.
func TestANodeOfAnotherCluster(t *testing.T) {
	c := open(t, memkv.New(), time.Now)
	stranger := hello(1, 1)
	stranger.ID = 7
	if _, err := c.Leases.Register(t.Context(), stranger); !errors.Is(err, errs.NotFound) {
		t.Fatal(err)
	}
	if err := c.Marks.Current(); !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("a new store: %v", err)
	}
	welcome, err := c.Leases.Register(t.Context(), hello(1, 1))
	if err != nil || c.Marks.Current() != nil {
		t.Errorf("it has joined: %v, %v", err, c.Marks.Current())
	}
	if _, err := c.Leases.Register(t.Context(), stranger); !errors.Is(err, errs.NotFound) || c.Marks.Current() != nil {
		t.Errorf("a store with a node: %v, %v", err, c.Marks.Current())
	}
	if err := c.Admin.ExpelNode(t.Context(), welcome.ID); err != nil {
		t.Fatal(err)
	}
	stranger.ID = welcome.ID
	if _, err := c.Leases.Register(t.Context(), stranger); !errors.Is(err, errs.NotFound) || c.Marks.Current() != nil {
		t.Errorf("one that was removed: %v, %v", err, c.Marks.Current())
	}
}
