package transfer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hemera/words/hemera"
)

// TestWritesAreListedOnceForALease: those that were granted before it, and that hold their names.
func TestWritesAreListedOnceForALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryBench(t, 2)
		h := b.hosts[0]
		old, c := b.grant(1, 2, 1, 2)
		f := b.begin(1, old)
		if err := f.WritePages(content(5000), nil, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := h.pending.UnderWay(); n != 1 {
			t.Errorf("%d writes are under way", n)
		}
		if list := h.pending.Unannounced(c.Epoch); len(list) != 0 {
			t.Errorf("granted under the lease: %+v", list)
		}
		list := h.pending.Unannounced(c.Epoch + 1)
		if len(list) != 1 || list[0].Size != 5000 || list[0].Age != time.Minute || list[0].Idle != time.Minute || !list[0].Attached {
			t.Fatalf("%+v", list)
		}
		if token, err := list[0].Permit.Token(); token != old || err != nil {
			t.Error("its permit is another")
		}
		if list := h.pending.Unannounced(c.Epoch + 1); len(list) != 0 {
			t.Errorf("once more: %+v", list)
		}
		late := func(want bool) {
			t.Helper()
			select {
			case <-h.pending.LateBegin():
				if !want {
					t.Error("a write is late")
				}
			default:
				if want {
					t.Error("nothing is late")
				}
			}
		}
		late(false)
		// A client comes with a grant of before.
		token, _ := b.grant(2, 2, 1, 2)
		second := b.begin(1, token)
		late(true)
		if list := h.pending.Unannounced(c.Epoch + 1); len(list) != 1 || list[0].Permit.File != 2 {
			t.Errorf("%+v", list)
		}
		// Another lease, and one of the clients is gone.
		_ = f.End(ctx, hemera.EndDetach)
		if list := h.pending.Unannounced(c.Epoch + 2); len(list) != 2 || list[0].Attached == list[1].Attached {
			t.Errorf("%+v", list)
		}
		if err := second.End(ctx, hemera.EndAbort); err != nil {
			t.Error(err)
		}
		time.Sleep(hemera.PendingHold + time.Second)
		synctest.Wait()
		if h.pending.Kept() != 1 {
			t.Fatal("it is not kept")
		}
		if list := h.pending.Unannounced(c.Epoch + 3); len(list) != 0 || h.pending.UnderWay() != 0 {
			t.Errorf("a kept write holds no name: %+v", list)
		}
	})
}

// TestConversionsAreNotListed, as they hold no names.
func TestConversionsAreNotListed(t *testing.T) {
	b := newMemoryBench(t, 2)
	_, c := b.grant(1, 2, 1, 2)
	c.Convert = true
	f := b.begin(1, b.manager.sign(c))
	if list := b.hosts[0].pending.Unannounced(c.Epoch + 1); len(list) != 0 || b.hosts[0].pending.UnderWay() != 0 {
		t.Errorf("%+v", list)
	}
	if err := f.End(ctx, hemera.EndAbort); err != nil {
		t.Error(err)
	}
}
