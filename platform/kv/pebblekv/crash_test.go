package pebblekv_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
)

func open(t *testing.T, dir string, fs vfs.FS) *pebblekv.Store {
	t.Helper()
	s, err := pebblekv.Open(dir, pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: fs, MemTableBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func acquire(t *testing.T, s *pebblekv.Store) kv.Writer {
	t.Helper()
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// pair returns a batch with one number under two keys, so that a half batch is noticed.
func pair(i int) *kv.Batch {
	b := new(kv.Batch)
	b.Put(fmt.Appendf(nil, "a%06d", i), bytes.Repeat([]byte{'v'}, 100))
	b.Put(fmt.Appendf(nil, "b%06d", i), nil)
	return b
}

// TestPowerCut: a prefix of whole batches survives, which includes every durable one, and LastSeq and the epoch agree
// with it.
func TestPowerCut(t *testing.T) {
	const count = 2000
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 0))
		fs := vfs.NewCrashableMem()
		s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: fs, MemTableBytes: 64 << 10, Unsynced: seed%2 == 1})
		if err != nil {
			t.Fatal(err)
		}
		w := acquire(t, s)
		cut, durable := r.IntN(count), 0
		var left *vfs.MemFS
		for i := range count {
			ticket, err := w.Enqueue(pair(i))
			if err != nil {
				t.Fatal(err)
			}
			if r.IntN(20) == 0 {
				if err := ticket.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				durable = i + 1
			}
			if i == cut {
				left = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
				break
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, "db", left)
		again := acquire(t, s)
		last, err := again.LastSeq(t.Context())
		if err != nil || int(last) < durable || int(last) > cut+1 {
			t.Errorf("seed %d: last is %d, %v; %d were durable, %d enqueued", seed, last, err, durable, cut+1)
		}
		for i := range cut + 1 {
			_, errA := s.Get(t.Context(), fmt.Appendf(nil, "a%06d", i))
			_, errB := s.Get(t.Context(), fmt.Appendf(nil, "b%06d", i))
			if there := i < int(last); (errA == nil) != there || (errB == nil) != there {
				t.Fatalf("seed %d: batch %d of %d: %v, %v", seed, i+1, last, errA, errB)
			}
		}
		if again.Epoch() <= w.Epoch() {
			t.Errorf("seed %d: epoch %d after %d", seed, again.Epoch(), w.Epoch())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedSyncKillsTheWriter: after a failed sync of the log nothing is acknowledged any more.
func TestFailedSyncKillsTheWriter(t *testing.T) {
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && filepath.Ext(op.Path) == ".wal" && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return errorfs.ErrInjected
		}
		return nil
	}))
	s := open(t, "db", fs)
	w := acquire(t, s)
	ticket, err := w.Enqueue(pair(1))
	if err == nil {
		err = ticket.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	if ticket, err = w.Enqueue(pair(2)); err == nil {
		err = ticket.Wait(t.Context())
	}
	if !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("the batch on the broken log: %v", err)
	}
	broken.Store(false)
	if _, err := w.Enqueue(pair(3)); !errors.Is(err, errs.Unavailable) {
		t.Errorf("the batch after it: %v", err)
	}
	if _, err := s.Acquire(t.Context(), "test"); !errors.Is(err, errs.Unavailable) {
		t.Errorf("acquire: %v", err)
	}
	if last, err := w.LastSeq(t.Context()); err != nil || last != 1 {
		t.Errorf("last: %d, %v", last, err)
	}
}

func TestOneProcessADirectory(t *testing.T) {
	for _, fs := range []vfs.FS{nil, vfs.NewMem()} { // the second one answers like that of another process
		dir := filepath.Join(t.TempDir(), "db")
		s := open(t, dir, fs)
		_, err := pebblekv.Open(dir, pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: fs})
		if !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
			t.Errorf("a second open: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "db"), nil)
	w := acquire(t, s)
	for i := range 100 {
		ticket, err := w.Enqueue(pair(i))
		if err == nil && i == 50 {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	copied := filepath.Join(dir, "copy")
	if err := os.Mkdir(copied, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), copied); !errors.Is(err, errs.NotEmpty) {
		t.Errorf("a second backup to one place: %v", err)
	}
	if st := s.Stats(); st.Bytes == 0 || st.Syncs == 0 {
		t.Errorf("stats: %+v", st)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, copied, nil)
	n := 0
	if err := b.Scan(t.Context(), nil, nil, func(_, _ []byte) bool { n++; return true }); err != nil || n != 200 {
		t.Errorf("the copy has %d keys, %v", n, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}
