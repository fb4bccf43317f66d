package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"hemera/platform/kv"
	"hemera/platform/kv/checkpoint"
	"hemera/platform/kv/journal"
	"hemera/platform/kv/journal/memjournal"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/kv/replkv"
	"hemera/platform/vfs"
)

// pebble opens a local engine.
func pebble(t testing.TB, dir string) *pebblekv.Store {
	t.Helper()
	s, err := pebblekv.Open(dir, pebblekv.Options{Unsynced: true, MemTableBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// replicated opens a store over a local engine in a directory.
func replicated(t testing.TB, dir string, j journal.Journal) *replkv.Store {
	t.Helper()
	s, err := replkv.Open(t.Context(), pebble(t, dir), j, replkv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// write commits pairs from one number to another, and waits for the last.
func write(t testing.TB, w kv.Writer, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		b := new(kv.Batch)
		b.Put(fmt.Appendf(nil, "key%06d", i), numbers(uint64(i), 2000))
		ticket, err := w.Enqueue(b)
		if err == nil && i == to-1 {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// holds fails the test unless a store has the pairs below a number, and no others.
func holds(t testing.TB, s kv.Reader, below int) {
	t.Helper()
	i := 0
	err := s.Scan(t.Context(), nil, nil, func(key, value []byte) bool {
		if string(key) != fmt.Sprintf("key%06d", i) || string(value) != string(numbers(uint64(i), 2000)) {
			t.Fatalf("pair %d is %s", i, key)
		}
		i++
		return true
	})
	if err != nil || i != below {
		t.Fatalf("%d pairs, want %d: %v", i, below, err)
	}
}

// eventually waits until a condition holds.
func eventually(t testing.TB, name string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for tick := time.NewTicker(time.Millisecond); !condition(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(name)
		}
	}
}

// TestTooFarBehind: a store whose entries were trimmed is replaced by the checkpoint of another, follows the journal, and can become the writer.
func TestTooFarBehind(t *testing.T) {
	dir := t.TempDir()
	c := memjournal.New()
	if err := c.Machine("a").Create(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	a := replicated(t, filepath.Join(dir, "a"), c.Machine("a"))
	w, err := a.Acquire(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, 0, 500)
	if err := a.Trim(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	b := replicated(t, filepath.Join(dir, "b"), c.Machine("b"))
	eventually(t, "b is not stuck", func() bool { return b.Stuck() != nil })
	if !errors.Is(b.Stuck(), journal.ErrTrimmed) {
		t.Fatal(b.Stuck())
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	made, err := checkpoint.Make(t.Context(), a, vfs.OS{}, filepath.Join(dir, "checkpoint"))
	if err != nil || made.Last != 500 {
		t.Fatalf("%+v, %v", made, err)
	}
	write(t, w, 500, 700) // while the checkpoint travels
	client, base := served(t, checkpoint.Local{FS: vfs.OS{}, Dir: filepath.Join(dir, "checkpoint")})
	source := checkpoint.NewRemote(client, base)
	got, err := checkpoint.Fetch(t.Context(), source, vfs.OS{}, filepath.Join(dir, "b2"), checkpoint.Options{})
	if err != nil || got.Last != 500 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := checkpoint.Remove(vfs.OS{}, filepath.Join(dir, "checkpoint")); err != nil {
		t.Fatal(err)
	}

	b = replicated(t, filepath.Join(dir, "b2"), c.Machine("b"))
	if n := b.Applied(); n < 500 {
		t.Errorf("the copy has %d batches", n)
	}
	eventually(t, "b does not follow", func() bool { return b.Applied() == 700 })
	holds(t, b, 700)
	w, err = b.Acquire(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, 700, 710)
	eventually(t, "a does not follow", func() bool { return a.Applied() == 710 })
	holds(t, a, 710)
}

// numbered is a local engine alone, with a number that a test knows.
type numbered struct {
	kv.Store
	last uint64
}

// Applied implements checkpoint.Store.
func (n numbered) Applied() uint64 { return n.last }

// TestCopyOfAnEngine: Make replaces the checkpoint before, a Fetch goes on from an older checkpoint of the same store, and the copy opens.
func TestCopyOfAnEngine(t *testing.T) {
	dir := t.TempDir()
	s := pebble(t, filepath.Join(dir, "db"))
	defer s.Close()
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, 0, 2000)
	src := checkpoint.Local{FS: vfs.OS{}, Dir: filepath.Join(dir, "c")}
	if _, err := checkpoint.Make(t.Context(), numbered{s, 2000}, vfs.OS{}, src.Dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := checkpoint.Options{Progress: func(p checkpoint.Progress) {
		if p.Done > p.Total/2 {
			cancel()
		}
	}}
	to := filepath.Join(dir, "copy")
	if _, err := checkpoint.Fetch(ctx, src, vfs.OS{}, to, stop); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	write(t, w, 2000, 2005)
	if _, err := checkpoint.Make(t.Context(), numbered{s, 2005}, vfs.OS{}, src.Dir); err != nil {
		t.Fatal(err)
	}
	var last checkpoint.Progress
	if _, err := checkpoint.Fetch(t.Context(), src, vfs.OS{}, to, checkpoint.Options{Progress: func(p checkpoint.Progress) { last = p }}); err != nil {
		t.Fatal(err)
	}
	if last.Done != last.Total {
		t.Errorf("%+v", last)
	}
	copied := pebble(t, to)
	defer copied.Close()
	holds(t, copied, 2005)
}
