package pebblekv_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/kv"
)

// TestPowerCutInALoad: whenever the power is cut, all pairs of a load are there or none, with all
// batches before it, and what an unfinished one wrote is gone when the store is open again.
func TestPowerCutInALoad(t *testing.T) {
	const count = 500
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 1))
		fs := vfs.NewCrashableMem()
		crash := func() *vfs.MemFS {
			return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
		}
		s := open(t, "db", fs)
		w := acquire(t, s)
		if _, err := w.Enqueue(pair(1)); err != nil { // nobody waits for it
			t.Fatal(err)
		}
		l, err := w.(kv.Loader).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at := r.IntN(7)
		var left *vfs.MemFS
		for n := range 5 {
			if n == at {
				left = crash()
			}
			if err := fill(l, fmt.Sprintf("k%d", n), count); err != nil {
				t.Fatal(err)
			}
		}
		if at == 5 {
			left = crash()
		}
		if err := l.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if at == 6 {
			left = crash()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, "db", left)
		loaded := 0
		if err := s.Scan(t.Context(), []byte("k"), []byte("l"), func(_, _ []byte) bool { loaded++; return true }); err != nil {
			t.Fatal(err)
		}
		_, before := s.Get(t.Context(), []byte("a000001"))
		if want := 5 * count; at < 6 && loaded != 0 || at == 6 && (loaded != want || before != nil) {
			t.Errorf("seed %d: %d pairs after a cut at %d of 6; the batch before: %v", seed, loaded, at, before)
		}
		if names, err := left.List("db.load"); err == nil {
			t.Errorf("seed %d: the load left %v", seed, names)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func fill(l kv.Load, prefix string, count int) error {
	run, err := l.Run()
	if err != nil {
		return err
	}
	for i := range count {
		if err := run.Put(fmt.Appendf(nil, "%s/%06d", prefix, i), []byte("value")); err != nil {
			return err
		}
	}
	return run.Close()
}
