package pebblekv_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/platform/kv/pebblekv"
)

// TestStartsCutAnywhere cuts the power before each step of several starts, where any part of a directory's unsynced
// changes survives: the store opens, and has all durable batches.
func TestStartsCutAnywhere(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 0))
		fs := vfs.NewCrashableMem()
		var mu sync.Mutex
		var images []*vfs.MemFS
		watched := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				mu.Lock()
				defer mu.Unlock()
				images = append(images, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r}))
			}
			return nil
		}))
		s := open(t, "db", fs)
		ticket, err := acquire(t, s).Enqueue(pair(1))
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		for range 3 {
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err = pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: watched, MemTableBytes: 64 << 10})
		}
		if err == nil {
			err = s.Close()
		}
		if err != nil || len(images) == 0 {
			t.Fatal(len(images), err)
		}
		for i, left := range images {
			s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: left, MemTableBytes: 64 << 10})
			if err != nil {
				t.Errorf("seed %d, before write %d: %v", seed, i, err)
				continue
			}
			if _, err := s.Get(t.Context(), []byte("a000001")); err != nil {
				t.Errorf("seed %d, before write %d: what was durable: %v", seed, i, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
