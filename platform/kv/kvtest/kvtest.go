// Package kvtest tests that a kv engine keeps its contract. The tests of every engine call [Run]: those of memkv,
// pebblekv and the simulator's store. [Gate] wraps an engine so that a test decides when batches become durable.
//
// The suite tests only the contract of package kv: it crashes no engine and looks into none. The tests of each engine
// cover durability after a crash.
package kvtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// Run tests the engine that open makes. Each call of open returns a new, empty store, which Run closes. A part that
// closes the store itself relies on a second Close succeeding.
func Run(t *testing.T, open func(t *testing.T) kv.Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s kv.Store)
	}{
		{"get what was put", putGet},
		{"a batch is readable at once and the last operation on a key wins", batchOrder},
		{"scan is ordered, bounded and stops", scan},
		{"a snapshot stays as it was", snapshots},
		{"the caller may reuse its slices", reuse},
		{"limits are refused and change nothing", limits},
		{"a newer writer fences the older", fence},
		{"sequence numbers follow the order of enqueueing", sequence},
		{"concurrent batches apply in the order of their numbers", concurrent},
		{"a load is there at its commit, in its place", load},
		{"a load that was aborted, fenced or out of order changes nothing", loadRefused},
		{"a closed store refuses everything", closedStore},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			c.test(t, s)
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// acquire makes the test the writer of a store.
func acquire(t *testing.T, s kv.Store) kv.Writer {
	t.Helper()
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return w
}

// commit enqueues "key=value" puts and "-key" deletes and waits. It returns the batch's sequence number.
func commit(t *testing.T, w kv.Writer, ops ...string) uint64 {
	t.Helper()
	b := new(kv.Batch)
	for _, op := range ops {
		if op[0] == '-' {
			b.Delete([]byte(op[1:]))
			continue
		}
		key, value, _ := bytes.Cut([]byte(op), []byte("="))
		b.Put(key, value)
	}
	ticket, err := w.Enqueue(b)
	if err != nil {
		t.Fatalf("enqueue: %v", err)
	}
	if err := ticket.Wait(t.Context()); err != nil {
		t.Fatalf("wait: %v", err)
	}
	return ticket.Seq()
}

// expect compares all pairs of a range, in order, with "key=value" words.
func expect(t *testing.T, s kv.Reader, lo, hi []byte, want string) {
	t.Helper()
	var got []byte
	err := s.Scan(t.Context(), lo, hi, func(k, v []byte) bool {
		got = fmt.Appendf(got, "%s=%s ", k, v)
		return true
	})
	if err != nil || string(bytes.TrimSpace(got)) != want {
		t.Errorf("scan %q..%q: got %q, %v; want %q", lo, hi, got, err, want)
	}
}

// putGet: values are found, also empty ones, and deleted or missing keys are NotFound. GetMany keeps the order of its
// keys and distinguishes an empty value from a missing one.
func putGet(t *testing.T, s kv.Store) {
	w := acquire(t, s)
	commit(t, w, "a=1", "b=", "c=3") // an empty value is a value
	commit(t, w, "-c", "-never")     // deleting a missing key is not an error
	if v, err := s.Get(t.Context(), []byte("a")); err != nil || string(v) != "1" {
		t.Errorf("get a: %q, %v", v, err)
	}
	if v, err := s.Get(t.Context(), []byte("b")); err != nil || len(v) != 0 {
		t.Errorf("get b: %q, %v", v, err)
	}
	if v, err := s.Get(t.Context(), []byte("c")); !errors.Is(err, errs.NotFound) {
		t.Errorf("get c: %q, %v", v, err)
	}
	many, err := s.GetMany(t.Context(), [][]byte{[]byte("x"), []byte("b"), []byte("a"), []byte("a")}) // missing, empty, and one key twice
	if err != nil || many[0] != nil || many[1] == nil || string(many[2]) != "1" || string(many[3]) != "1" {
		t.Errorf("get many: %q, %v", many, err)
	}
}

// batchOrder: a batch is readable when Enqueue returns, before any Wait. Within a batch the last operation on a key
// counts.
func batchOrder(t *testing.T, s kv.Store) {
	w := acquire(t, s)
	b := new(kv.Batch)
	b.Put([]byte("a"), []byte("1"))
	b.Delete([]byte("a")) // in the middle: the put that follows must win
	b.Put([]byte("a"), []byte("2"))
	b.Put([]byte("b"), []byte("1"))
	b.Delete([]byte("b")) // last: b must not exist
	ticket, err := w.Enqueue(b)
	if err != nil {
		t.Fatal(err)
	}
	// Before Wait: enqueued is readable.
	expect(t, s, nil, nil, "a=2")
	if err := ticket.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if err := ticket.Wait(t.Context()); err != nil {
		t.Errorf("a second wait: %v", err)
	}
}

// scan: keys come in order, from the first bound up to, but without, the second; a visitor can end it, and so can a context.
func scan(t *testing.T, s kv.Store) {
	w := acquire(t, s)
	commit(t, w, "b=2", "a=1", "bb=22", "c=3", "\xff\xff=z") // not in order, so that the engine must sort
	expect(t, s, nil, nil, "a=1 b=2 bb=22 c=3 \xff\xff=z")
	expect(t, s, []byte("b"), []byte("c"), "b=2 bb=22")        // c itself is excluded
	expect(t, s, []byte("b\x00"), nil, "bb=22 c=3 \xff\xff=z") // the smallest key after b
	// An empty and an inverted range have no keys, and are not errors.
	expect(t, s, []byte("c"), []byte("c"), "") // empty range
	expect(t, s, []byte("d"), []byte("b"), "") // inverted range
	n := 0
	if err := s.Scan(t.Context(), nil, nil, func(_, _ []byte) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("stopped scan: %d visits, %v", n, err)
	}
	// A context that has ended ends the scan even if the engine has all pairs at hand.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Scan(ctx, nil, nil, func(_, _ []byte) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled scan: %v", err)
	}
}

// snapshots: a snapshot has all batches enqueued before it and none after, whatever is overwritten or deleted since.
func snapshots(t *testing.T, s kv.Store) {
	w := acquire(t, s)
	commit(t, w, "a=1", "b=2", "c=3")
	view, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	commit(t, w, "a=changed", "-b", "d=4")   // changes of each kind: overwritten, deleted, new
	expect(t, view, nil, nil, "a=1 b=2 c=3") // as before the changes
	values, err := view.GetMany(t.Context(), [][]byte{[]byte("b"), []byte("d"), []byte("a")})
	if err != nil || string(values[0]) != "2" || values[1] != nil || string(values[2]) != "1" {
		t.Errorf("snapshot has %q, %v", values, err)
	}
	if _, err := view.Get(t.Context(), []byte("d")); !errors.Is(err, errs.NotFound) {
		t.Errorf("snapshot has what came later: %v", err)
	}
	expect(t, s, nil, nil, "a=changed c=3 d=4")
	if err := view.Close(); err != nil {
		t.Error(err)
	}
	expect(t, s, nil, nil, "a=changed c=3 d=4") // closing the snapshot changes nothing
}

// reuse: an engine copies its arguments, and returns copies.
func reuse(t *testing.T, s kv.Store) {
	w := acquire(t, s)
	key, value := []byte("k"), []byte("v")
	b := new(kv.Batch)
	b.Put(key, value)
	ticket, err := w.Enqueue(b)
	if err != nil {
		t.Fatal(err)
	}
	// Before Wait: an engine that writes later must have copied by now.
	key[0], value[0] = 'x', 'x' // the caller may change them after Enqueue
	if err := ticket.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, s, nil, nil, "k=v") // the engine kept its own copy
	out, err := s.Get(t.Context(), []byte("k"))
	if err != nil {
		t.Fatal(err)
	}
	out[0] = 'x'                  // the caller's own: it must not be the engine's copy
	expect(t, s, nil, nil, "k=v") // the engine's value is unharmed
}

// limits: batches beyond the limits, and keys that are empty or the engine's own, are refused as a whole. The writer
// stays usable.
func limits(t *testing.T, s kv.Store) {
	w := acquire(t, s)
	big := new(kv.Batch)
	for i := range kv.BatchOps + 1 { // one more than a batch may have
		big.Put(fmt.Appendf(nil, "k%d", i), nil)
	}
	for name, c := range map[string]struct {
		b    *kv.Batch
		kind errs.Kind
	}{
		"operations": {big, errs.TooLarge},
		// Zeros: keys that begin with a zero byte belong to the engine, which is checked first.
		"key":      {&kv.Batch{Ops: []kv.Op{{Key: make([]byte, kv.KeyMax+1)}}}, errs.Invalid},
		"long key": {&kv.Batch{Ops: []kv.Op{{Key: bytes.Repeat([]byte("k"), kv.KeyMax+1)}}}, errs.TooLarge},
		"value":    {&kv.Batch{Ops: []kv.Op{{Key: []byte("k"), Value: make([]byte, kv.ValueMax+1)}}}, errs.TooLarge},
		// A value of the largest size leaves no room for its key within a batch.
		"bytes":     {&kv.Batch{Ops: []kv.Op{{Key: []byte("k"), Value: make([]byte, kv.ValueMax)}}}, errs.TooLarge},
		"empty key": {&kv.Batch{Ops: []kv.Op{{Value: []byte("v")}}}, errs.Invalid},
	} {
		if _, err := w.Enqueue(c.b); !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want %v", name, err, c.kind)
		}
	}
	expect(t, s, nil, nil, "")  // no part of a refused batch is stored
	commit(t, w, "still=works") // the writer is not broken by it
}

// fence: once a writer is acquired, each earlier one is Fenced, and its batches change nothing.
func fence(t *testing.T, s kv.Store) {
	old := acquire(t, s)
	commit(t, old, "a=1") // the older writer works until it is fenced
	young := acquire(t, s)
	if young.Epoch() <= old.Epoch() { // a larger epoch is a newer writer
		t.Errorf("epochs %d, then %d", old.Epoch(), young.Epoch())
	}
	b := new(kv.Batch)
	b.Put([]byte("a"), []byte("stale"))                         // must never be readable
	if _, err := old.Enqueue(b); !errors.Is(err, errs.Fenced) { // the next call fails
		t.Errorf("the older writer: %v", err)
	}
	commit(t, young, "b=2")
	expect(t, s, nil, nil, "a=1 b=2") // one value of each writer, none stale
}

// sequence: numbers grow by one with each batch, across writers, and LastSeq returns that of the last durable batch.
func sequence(t *testing.T, s kv.Store) {
	w := acquire(t, s)
	for want := uint64(1); want <= 3; want++ {
		if got := commit(t, w, "a=1"); got != want {
			t.Errorf("sequence number %d, want %d", got, want)
		}
	}
	if last, err := w.LastSeq(t.Context()); err != nil || last != 3 { // all are durable: commit waits
		t.Errorf("last: %d, %v", last, err)
	}
	w = acquire(t, s) // the numbers belong to the store, not to a writer
	if got := commit(t, w, "a=1"); got != 4 {
		t.Errorf("after a takeover: %d", got)
	}
}

// concurrent runs many writers that race for one key. Each batch also writes a key of its own writer. The batch with the
// largest sequence number must have written the final value of the shared key.
func concurrent(t *testing.T, s kv.Store) {
	const writers, rounds = 8, 50 // enough for batches of several writers to share one commit
	w := acquire(t, s)
	var wg sync.WaitGroup
	var mu sync.Mutex
	value := make(map[uint64]string) // by sequence number
	for g := range writers {
		wg.Go(func() {
			for r := range rounds {
				mine := fmt.Sprintf("%d.%d", g, r)
				b := new(kv.Batch)
				b.Put([]byte("shared"), []byte(mine))
				// One key for each goroutine, in the same batch as the shared one.
				b.Put(binary.BigEndian.AppendUint32([]byte("own"), uint32(g)), []byte(mine))
				ticket, err := w.Enqueue(b)
				if err == nil {
					err = ticket.Wait(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				value[ticket.Seq()] = mine // the number orders the batches, not the order of these lines
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(value) != writers*rounds { // two batches with one number would overwrite each other here
		t.Fatalf("%d sequence numbers for %d batches", len(value), writers*rounds)
	}
	got, err := s.Get(t.Context(), []byte("shared"))
	if err != nil || string(got) != value[writers*rounds] {
		t.Errorf("shared key: %q, %v; want %q", got, err, value[writers*rounds])
	}
}

// closedStore: calls on a closed store are Unavailable, and a second Close succeeds.
func closedStore(t *testing.T, s kv.Store) {
	w := acquire(t, s) // Run closes it once more
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b := new(kv.Batch)
	b.Put([]byte("a"), nil)
	if _, err := w.Enqueue(b); !errors.Is(err, errs.Unavailable) {
		t.Errorf("enqueue: %v", err)
	}
	if _, err := s.Acquire(t.Context(), "test"); !errors.Is(err, errs.Unavailable) {
		t.Errorf("acquire: %v", err)
	}
	if _, err := s.Get(t.Context(), []byte("a")); !errors.Is(err, errs.Unavailable) {
		t.Errorf("get: %v", err)
	}
	if err := s.Scan(t.Context(), nil, nil, func(_, _ []byte) bool { return true }); !errors.Is(err, errs.Unavailable) {
		t.Errorf("scan: %v", err)
	}
	if _, err := s.Snapshot(t.Context()); !errors.Is(err, errs.Unavailable) {
		t.Errorf("snapshot: %v", err)
	}
	// Stats has no error to return; it must not panic.
	_ = s.Stats()
}
