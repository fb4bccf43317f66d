package pebblekv_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
)

// TestOpenOnAFailingDisk: if any write of the log fails while a store is opened (new, closed or crashed), Open returns
// the error, and durable batches exist once the disk works again.
func TestOpenOnAFailingDisk(t *testing.T) {
	closed := vfs.NewCrashableMem()
	s := open(t, "db", closed)
	enqueue(t, acquire(t, s), 0, 3)
	crashed := closed.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for what, image := range map[string]*vfs.MemFS{"new": vfs.NewCrashableMem(), "closed": closed, "crashed": crashed} {
		failed := 0
		for step, more := 0, true; more; step++ {
			fs := image.CrashClone(vfs.CrashCloneCfg{})
			var left atomic.Int64
			left.Store(int64(step))
			broken := errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasPrefix(op.Path, "db/journal") && left.Add(-1) < 0 {
					return syscall.EIO
				}
				return nil
			}))
			s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: broken, MemTableBytes: 64 << 10})
			more = left.Load() < 0
			left.Store(1 << 40)
			if err == nil {
				_ = s.Close()
			} else if failed++; errs.KindOf(err) == errs.Internal {
				t.Errorf("%s, write %d: %v", what, step, err)
			}
			after := fs.CrashClone(vfs.CrashCloneCfg{})
			if s, err = pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: after, MemTableBytes: 64 << 10}); err != nil {
				t.Errorf("%s, after write %d: %v", what, step, err)
				continue
			}
			_, err = s.Get(t.Context(), []byte("b000002"))
			if there := err == nil; there != (what != "new") || !there && !errors.Is(err, errs.NotFound) {
				t.Errorf("%s, after write %d: %v", what, step, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if failed < 3 {
			t.Errorf("%s: %d openings failed", what, failed)
		}
	}
}

// TestOpenWithoutManifest: a disk that has no room for a new store is an error, not the end of the process.
func TestOpenWithoutManifest(t *testing.T) {
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.Contains(op.Path, "MANIFEST") && op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	if _, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: fs}); !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("%v", err)
	}
}
