package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// copied returns a store with the records that another has now, as when an admin puts a directory back.
func copied(t *testing.T, from kv.Store) kv.Store {
	t.Helper()
	to := memkv.New()
	w, err := to.Acquire(t.Context(), "copy")
	if err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	if err := from.Scan(t.Context(), []byte{1}, nil, func(k, v []byte) bool {
		b.Put(bytes.Clone(k), bytes.Clone(v))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	ticket, err := w.Enqueue(&b)
	if err == nil {
		err = ticket.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestOlderStore: a node that saw the store further than it is ends the manager, whether it was put back from an
// older copy or lost its end; a restart, a restored store and a mark that the store did not give do not.
func TestOlderStore(t *testing.T) {
	store := memkv.New()
	c := open(t, store, time.Now)
	h := hello(1, 1)
	welcome, err := c.Leases.Register(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	h.ID = welcome.ID
	older, restored := copied(t, store), copied(t, store)
	for i := range 5 {
		if err := c.Admin.SetSpace(t.Context(), hemera.DefaultSpace, "headroom", fmt.Sprint(7+i)); err != nil {
			t.Fatal(err)
		}
	}
	reply, err := c.Leases.Heartbeat(h.ID, welcome.Epoch, hemera.NodeReport{Disks: h.Disks})
	if err != nil {
		t.Fatal(err)
	}
	if h.Seen = reply.Seen; len(h.Seen) == 0 {
		t.Fatal("no mark")
	}

	if _, err := c.Leases.Register(t.Context(), h); err != nil {
		t.Errorf("the same life: %v", err)
	}
	if _, err := open(t, store, time.Now).Leases.Register(t.Context(), h); err != nil {
		t.Errorf("a restart: %v", err)
	}

	forged := h
	forged.Seen = bytes.Clone(h.Seen)
	forged.Seen[9] ^= 1
	late := open(t, older, time.Now)
	for _, mark := range [][]byte{nil, forged.Seen, h.Seen[1:], {}} {
		forged.Seen = mark
		if _, err := late.Leases.Register(t.Context(), forged); err != nil {
			t.Errorf("a mark of %d bytes that the store did not give: %v", len(mark), err)
		}
	}
	if _, err := late.Leases.Register(t.Context(), h); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Errorf("an older store: %v", err)
	}
	for range 10 { // each start makes changes of its own
		again := open(t, older, time.Now)
		if _, err := again.Leases.Register(t.Context(), h); !errors.Is(err, errs.Corrupt) {
			t.Errorf("an older store, started again: %v", err)
		}
	}
	if err := late.Run(t.Context()); !errors.Is(err, errs.Corrupt) {
		t.Errorf("the manager goes on: %v", err)
	}

	w, err := restored.Acquire(t.Context(), "restore")
	if err != nil {
		t.Fatal(err)
	}
	if err := Restored(t.Context(), restored, w, time.Now()); err != nil {
		t.Fatal(err)
	}
	again := open(t, restored, time.Now)
	if _, err := again.Leases.Register(t.Context(), h); err != nil {
		t.Errorf("a restored store: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := again.Run(ended); err != nil {
		t.Errorf("a restored store: %v", err)
	}
}

// TestManyLives: marks of lives that the store no longer lists, and of those that it lists.
func TestManyLives(t *testing.T) {
	store := memkv.New()
	var marks []hemera.NodeHello
	for range livesMax + 5 {
		c := open(t, store, time.Now)
		h := hello(1, 1)
		if len(marks) > 0 {
			h.ID = marks[0].ID
		}
		for _, m := range marks {
			if _, err := c.Leases.Register(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		welcome, err := c.Leases.Register(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		h.ID, h.Seen = welcome.ID, welcome.Seen
		marks = append(marks, h)
		if len(c.Marks.table.lives) > livesMax {
			t.Fatalf("%d lives", len(c.Marks.table.lives))
		}
	}
	lives := []life{{7, 10}, {8, 20}}
	for id, want := range map[uint64]uint64{6: 10, 7: 20} {
		if end, over := endOf(lives, id); !over || end != want {
			t.Errorf("life %d ended at %d, %v", id, end, over)
		}
	}
	if _, over := endOf(lives, 8); over {
		t.Error("the last life is over")
	}
}

// numbered makes changes of a store until the last has the number.
func numbered(t *testing.T, store kv.Store, last uint64) {
	t.Helper()
	w, err := store.Acquire(t.Context(), "copy")
	for at := uint64(0); err == nil && at < last; {
		var ticket kv.Ticket
		if ticket, err = w.Enqueue(&kv.Batch{Ops: []kv.Op{{Key: []byte("x")}}}); err == nil {
			at = ticket.Seq()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestALogThatWasCut: what one node was told right before the log lost its end is noticed, also when other marks of the node and
// other nodes know nothing of it.
func TestALogThatWasCut(t *testing.T) {
	store := memkv.New()
	c := open(t, store, time.Now)
	var nodes []hemera.NodeHello
	for i := range 2 {
		h := hello(i+1, 1)
		welcome, err := c.Leases.Register(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		h.ID, h.Seen = welcome.ID, welcome.Seen
		nodes = append(nodes, h)
	}
	before := c.Marks.Mark()
	cut := copied(t, store)
	numbered(t, cut, binary.BigEndian.Uint64(before[8:]))
	if err := c.Admin.SetSpace(t.Context(), hemera.DefaultSpace, "headroom", "7"); err != nil {
		t.Fatal(err)
	}
	last := c.Marks.Mark()
	if bytes.Equal(before, last) {
		t.Fatal("the mark does not say that there was a change")
	}
	next := open(t, cut, time.Now)
	if _, err := next.Leases.Register(t.Context(), nodes[0]); err != nil {
		t.Errorf("a node that knows nothing of it: %v", err)
	}
	told := nodes[1]
	told.Seen = bytes.Join([][]byte{before, next.Marks.Mark(), last, make([]byte, seenBytes)}, nil)
	if _, err := next.Leases.Register(t.Context(), told); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a node that was told: %v", err)
	}
	if err := next.Run(t.Context()); !errors.Is(err, errs.Corrupt) {
		t.Errorf("the manager goes on: %v", err)
	}
	for what, seen := range map[string][]byte{"cut": told.Seen[:len(told.Seen)-1], "too many": bytes.Repeat(last, hemera.SeenMarksMax+1)} {
		told.Seen = seen
		if _, err := open(t, cut, time.Now).Leases.Register(t.Context(), told); err != nil {
			t.Errorf("marks that are %s: %v", what, err)
		}
	}
}
