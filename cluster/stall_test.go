package cluster

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"hemera/platform/kv/kvtest"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestMemoryFollowsTheStore has a caller stop to wait while its change is on its way to the disk.
func TestMemoryFollowsTheStore(t *testing.T) {
	gate := kvtest.NewGate(memkv.New())
	c := open(t, gate, nil)
	w := register(t, c, hello(1, 1))
	gate.Shut()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan error, 1)
	go func() { done <- c.Admin.SetDisk(ctx, w.DiskIDs["u1.0"], "configstatus", "ro") }()
	var stored bool
	for !stored {
		raw, err := gate.Get(t.Context(), []byte(Prefix+"disk/00000001"))
		if err != nil {
			t.Fatal(err)
		}
		stored = strings.Contains(string(raw), `"ro"`)
	}
	gate.Open(nil)
	<-done
	if d, _ := c.View().Disk(w.DiskIDs["u1.0"]); d.Config != hemera.ConfigRO {
		t.Errorf("the store says ro, memory %s", d.Config)
	}
}

// TestAHeartbeatThatHadToWaitIsInTime keeps the cluster busy, as a slow store does, longer than a
// lease lasts, while a heartbeat waits.
func TestAHeartbeatThatHadToWaitIsInTime(t *testing.T) {
	var mu sync.Mutex
	at, asked := time.Now(), make(chan struct{}, 100)
	c := open(t, memkv.New(), func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		asked <- struct{}{}
		return at
	})
	h := hello(1, 1)
	w := register(t, c, h)
	c.journal.mu.Lock()
	for len(asked) > 0 {
		<-asked
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Disks: h.Disks})
		done <- err
	}()
	select {
	case <-asked:
	case <-time.After(10 * time.Second):
		c.journal.mu.Unlock()
		t.Fatal("the heartbeat does not note when it came")
	}
	mu.Lock()
	at = at.Add(2 * hemera.HeartbeatTimeout)
	mu.Unlock()
	c.journal.mu.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if v := c.View(); v.Nodes[0].Status != hemera.NodeOnline {
		t.Errorf("the node is %s", v.Nodes[0].Status)
	}
}

// TestASlowStoreHoldsUpChangesOnly has a change wait for the store: heartbeats go on, leases end, and another change waits
// no longer than its caller.
func TestASlowStoreHoldsUpChangesOnly(t *testing.T) {
	gate := kvtest.NewGate(memkv.New())
	var mu sync.Mutex
	at := time.Now()
	c := open(t, gate, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return at
	})
	h := hello(1, 1)
	w := register(t, c, h)
	gate.Shut()
	done := make(chan error, 1)
	go func() { done <- c.Admin.SetDisk(t.Context(), w.DiskIDs["u1.0"], "configstatus", "ro") }()
	for c.journal.turn.TryAcquire() {
		c.journal.turn.Release()
		time.Sleep(time.Millisecond)
	}
	if _, err := c.Leases.Heartbeat(w.ID, w.Epoch, hemera.NodeReport{Disks: h.Disks}); err != nil {
		t.Errorf("a heartbeat: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Admin.SetDisk(ctx, w.DiskIDs["u1.0"], "configstatus", "rw"); !errors.Is(err, errs.Timeout) && !errors.Is(err, context.Canceled) {
		t.Errorf("another change, whose caller has gone: %v", err)
	}
	mu.Lock()
	at = at.Add(2 * hemera.HeartbeatTimeout)
	mu.Unlock()
	c.Leases.endLeases()
	if v := c.View(); v.Nodes[0].Status != hemera.NodeOffline {
		t.Errorf("the node is %s", v.Nodes[0].Status)
	}
	gate.Open(nil)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if d, _ := c.View().Disk(w.DiskIDs["u1.0"]); d.Config != hemera.ConfigRO {
		t.Errorf("the disk is %s", d.Config)
	}
}
