package kvtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// loader returns the writer as a loader, or skips the test: an engine need not be one.
func loader(t *testing.T, w kv.Writer) kv.Loader {
	t.Helper()
	l, ok := w.(kv.Loader)
	if !ok {
		t.Skip("the engine has no bulk load")
	}
	return l
}

// begin begins a load, or skips the test.
func begin(t *testing.T, w kv.Writer) kv.Load {
	t.Helper()
	l, err := loader(t, w).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// fill adds one run of keys to a load, all with the same value. Several goroutines may fill runs of one load at once.
func fill(l kv.Load, value string, keys ...string) error {
	r, err := l.Run()
	if err != nil {
		return err
	}
	buffer := make([]byte, 0, 64)
	for _, k := range keys {
		b := append(append(buffer, k...), value...)
		if err := r.Put(b[:len(k)], b[len(k):]); err != nil {
			return errors.Join(err, r.Close())
		}
		clear(b) // the caller may reuse its slices
	}
	return r.Close()
}

// load: a load is invisible before its commit and complete after it, snapshots do not see it, and batches are possible in
// between. Then eight runs are filled at the same time.
func load(t *testing.T, s kv.Store) {
	w := acquire(t, s)
	loader(t, w) // before the snapshot, which must be closed
	commit(t, w, "a=old", "c=old", "m=old", "z=old")
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := begin(t, w)
	// Not in order, and without overlaps. The third run is empty.
	if err := errors.Join(fill(l, "new", "x", "y"), fill(l, "new", "b", "c", "d"), fill(l, "")); err != nil {
		t.Fatal(err)
	}
	expect(t, s, nil, nil, "a=old c=old m=old z=old")
	// The load's b is newer by its commit, whatever was written in between; m is not in the load.
	seq := commit(t, w, "b=between", "m=between")
	if err := l.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, s, nil, nil, "a=old b=new c=new d=new m=between x=new y=new z=old")
	expect(t, snap, nil, nil, "a=old c=old m=old z=old")         // the snapshot is older than the load
	if err := errors.Join(snap.Close(), l.Abort()); err != nil { // Abort after Commit does nothing
		t.Error(err)
	}
	if again := commit(t, w, "c=newest", "-x"); again != seq+1 { // a load takes no sequence number
		t.Errorf("sequence number %d after %d", again, seq)
	}
	expect(t, s, nil, nil, "a=old b=new c=newest d=new m=between y=new z=old")

	// Eight runs at once, each in its own goroutine.
	big := begin(t, w)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			var keys []string
			for i := range 2000 {
				keys = append(keys, fmt.Sprintf("k%d/%06d", g, i))
			}
			if err := fill(big, "v", keys...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := big.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	n, last := 0, ""
	if err := s.Scan(t.Context(), []byte("k"), []byte("l"), func(k, v []byte) bool {
		if string(k) <= last || string(v) != "v" {
			t.Errorf("%s=%s after %s", k, v, last)
		}
		n, last = n+1, string(k)
		return true
	}); err != nil || n != 16000 {
		t.Errorf("%d pairs, %v", n, err)
	}
}

// loadRefused: a load that is aborted, fenced, out of order or has runs that interleave changes nothing.
func loadRefused(t *testing.T, s kv.Store) {
	w := acquire(t, s)
	commit(t, w, "a=1")
	given := begin(t, w)
	if err := errors.Join(fill(given, "2", "a", "b"), given.Abort()); err != nil { // nothing of an aborted load stays
		t.Fatal(err)
	}
	order := begin(t, w)
	if err := fill(order, "2", "c", "b"); !errors.Is(err, errs.Invalid) {
		t.Errorf("keys that shrink: %v", err)
	}
	// Keys that begin with a zero byte belong to the engine.
	if err := fill(order, "2", "\x00e"); !errors.Is(err, errs.Invalid) {
		t.Errorf("the engine's key: %v", err)
	}
	if err := order.Abort(); err != nil {
		t.Error(err)
	}
	mixed := begin(t, w)
	if err := errors.Join(fill(mixed, "2", "a", "d"), fill(mixed, "2", "b", "c")); err != nil { // each run is in order, but the second lies within the first
		t.Fatal(err)
	}
	if err := mixed.Commit(t.Context()); !errors.Is(err, errs.Invalid) {
		t.Errorf("runs that interleave: %v", err)
	}
	if err := mixed.Abort(); err != nil {
		t.Error(err)
	}
	// The commit decides, not the beginning of the load.
	old := begin(t, w)
	if err := fill(old, "2", "a"); err != nil {
		t.Fatal(err)
	}
	newer := acquire(t, s) // fences w while its load is under way
	if err := old.Commit(t.Context()); !errors.Is(err, errs.Fenced) {
		t.Errorf("commit of a fenced load: %v", err)
	}
	if err := old.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := w.(kv.Loader).Load(t.Context()); !errors.Is(err, errs.Fenced) {
		t.Errorf("load of a fenced writer: %v", err)
	}
	expect(t, s, nil, nil, "a=1")
	commit(t, newer, "b=1")
	expect(t, s, nil, nil, "a=1 b=1")
}
