package pebblekv_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/platform/kv/pebblekv"
)

// TestLogsCutAnywhere cuts the power before steps of the disk while logs become full and are reused, a second time after
// the following start. A prefix with all durable batches survives.
func TestLogsCutAnywhere(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 7))
		images := cuts(t, vfs.NewCrashableMem(), 0, r)
		for i, cut := range images {
			left := image{cut.fs, verify(t, cut)}
			if i%4 != 0 {
				continue
			}
			for _, again := range cuts(t, left.fs, left.durable, rand.New(rand.NewPCG(seed, 8)))[:1] {
				verify(t, again)
			}
		}
	}
}

// image is the state of the disk after a cut, and the number of batches that were durable before.
type image struct {
	fs      *vfs.MemFS
	durable int
}

// cuts writes batches after the first ones and returns some images of the disk on the way.
func cuts(t *testing.T, fs *vfs.MemFS, first int, r *rand.Rand) []image {
	t.Helper()
	const count, most = 1400, 8
	var mu sync.Mutex
	var images []image
	var durable atomic.Int64
	durable.Store(int64(first))
	wait := r.IntN(130)
	watched := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if wait--; len(images) < most && wait < 0 {
			wait = r.IntN(130)
			known := int(durable.Load())
			images = append(images, image{fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r}), known})
		}
		return nil
	}))
	s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: watched, MemTableBytes: 32 << 10})
	if err != nil {
		t.Fatal(err)
	}
	w := acquire(t, s)
	for i := first; i < first+count; i++ {
		ticket, err := w.Enqueue(pair(i))
		if err == nil && i%3 == 0 {
			if err = ticket.Wait(t.Context()); err == nil {
				durable.Store(int64(i + 1))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(images) == 0 {
		t.Fatal("no cut")
	}
	return images
}

// verify opens an image and returns its number of batches.
func verify(t *testing.T, cut image) int {
	t.Helper()
	s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: cut.fs, MemTableBytes: 32 << 10})
	if err != nil {
		t.Fatal(err)
	}
	last, err := acquire(t, s).LastSeq(t.Context())
	if err != nil || int(last) < cut.durable {
		t.Fatalf("last is %d, %v, %d were durable", last, err, cut.durable)
	}
	for i := range int(last) + 20 {
		_, errA := s.Get(t.Context(), fmt.Appendf(nil, "a%06d", i))
		_, errB := s.Get(t.Context(), fmt.Appendf(nil, "b%06d", i))
		if there := i < int(last); (errA == nil) != there || (errB == nil) != there {
			t.Fatalf("batch %d of %d: %v, %v", i+1, last, errA, errB)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return int(last)
}
