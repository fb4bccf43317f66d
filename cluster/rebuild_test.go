package cluster

import (
	"errors"
	"testing"
	"time"

	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// prepared returns the store of a cluster that is to be rebuilt.
func prepared(t *testing.T, now time.Time) *memkv.Store {
	t.Helper()
	store := memkv.New()
	w, err := store.Acquire(t.Context(), "prepare")
	if err != nil {
		t.Fatal(err)
	}
	if err := Prepared(t.Context(), store, w, now); err != nil {
		t.Fatal(err)
	}
	return store
}

// TestNodesAndDisksComeBackUnderTheirIDs to a manager that knows nothing of them.
func TestNodesAndDisksComeBackUnderTheirIDs(t *testing.T) {
	now := time.Now().Round(0)
	store := prepared(t, now)
	c := open(t, store, nil)
	if !c.Rebuilding().Equal(now) || !errors.Is(c.Marks.Current(), errs.Unavailable) || !errors.Is(c.Marks.AwaitCurrent(t.Context()), errs.Unavailable) {
		t.Errorf("since %s, %v", c.Rebuilding(), c.Marks.Current())
	}
	known := hello(1, 2)
	known.ID = 7
	known.Disks[0].ID, known.Disks[1].ID = 12, 3000
	if err := c.Leases.Member(7); err != nil {
		t.Error(err)
	}
	w := register(t, c, known)
	if w.ID != 7 || w.DiskIDs["u1.0"] != 12 || w.DiskIDs["u1.1"] != 3000 {
		t.Errorf("%+v", w)
	}
	fresh := register(t, c, hello(2, 1)) // without a state of its own
	if fresh.ID != 1001 || fresh.DiskIDs["u2.0"] != 3001 {
		t.Errorf("%+v", fresh)
	}
	// An id that another disk has by now, and one that is too large, give way.
	other := hello(3, 2)
	other.ID = 8
	other.Disks[0].ID, other.Disks[1].ID = 12, idClaimMax
	w = register(t, c, other)
	if w.ID != 8 || w.DiskIDs["u3.0"] != 3002 || w.DiskIDs["u3.1"] != 3003 {
		t.Errorf("%+v", w)
	}
	if err := c.Leases.Member(idClaimMax); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	// Two disks of one node cannot have one id.
	twins := hello(4, 2)
	twins.Disks[0].ID, twins.Disks[1].ID = 40, 40
	if w = register(t, c, twins); w.DiskIDs["u4.0"] != 40 || w.DiskIDs["u4.1"] != 3004 {
		t.Errorf("%+v", w)
	}

	c = open(t, store, nil) // it lasts
	if c.Rebuilding().IsZero() {
		t.Error("a restart ended the rebuild")
	}
	if err := c.Admin.EndRebuild(t.Context()); err != nil || !c.Rebuilding().IsZero() {
		t.Error(err)
	}
	if err := c.Admin.EndRebuild(t.Context()); !errors.Is(err, errs.NotFound) {
		t.Errorf("again: %v", err)
	}
	if err := c.Marks.checkRebuilt(); err != nil {
		t.Error(err)
	}
	// From now on a node that is not known is refused, and so is a disk.
	late := hello(5, 1)
	late.ID = 9
	if _, err := c.Leases.Register(t.Context(), late); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	late.ID, late.Disks[0].ID = 0, 50
	if w = register(t, c, late); len(w.DiskIDs) != 0 {
		t.Errorf("%+v", w)
	}
}

func TestARemovedNodeDoesNotComeBackToARebuild(t *testing.T) {
	c := open(t, prepared(t, time.Now()), nil)
	h := hello(1, 0)
	h.ID = 7
	register(t, c, h)
	if err := c.Admin.RemoveNode(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Leases.Register(t.Context(), h); !errors.Is(err, errs.NotFound) || !errors.Is(c.Leases.Member(7), errs.NotFound) {
		t.Error(err)
	}
	if hemera.NodeID(7) >= c.roster.next.Node {
		t.Errorf("next is %+v", c.roster.next)
	}
}
