package pebblekv_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
)

// TestPowerCutInALoad: after a power cut at any moment, a load has all its pairs or none, all batches before it exist,
// and the files of an unfinished load are removed at the next open.
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
		if _, err := w.Enqueue(pair(1)); err != nil { // without Wait
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

// TestLoadWithoutManifest: if a list of tables cannot be written, writing ends with an error, and neither the process nor
// its end hangs. The load has all its pairs afterwards or none.
func TestLoadWithoutManifest(t *testing.T) {
	var linked atomic.Bool
	mem := vfs.NewCrashableMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpLink {
			linked.Store(true)
		}
		if linked.Load() && strings.Contains(op.Path, "MANIFEST") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.EIO
		}
		return nil
	}))
	s, err := pebblekv.OpenUncompacted("db", fs)
	if err != nil {
		t.Fatal(err)
	}
	w := acquire(t, s)
	l, err := w.(kv.Loader).Load(t.Context())
	if err == nil {
		err = fill(l, "k", 100)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context()); !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("the commit: %v", err)
	}
	if _, err := w.Enqueue(pair(0)); !errors.Is(err, errs.Unavailable) {
		t.Errorf("a batch after it: %v", err)
	}
	left := mem.CrashClone(vfs.CrashCloneCfg{})
	_ = s.Close()
	s = open(t, "db", left)
	loaded := 0
	if err := s.Scan(t.Context(), []byte("k"), []byte("l"), func(_, _ []byte) bool { loaded++; return true }); err != nil || loaded != 0 && loaded != 100 {
		t.Errorf("%d pairs, %v", loaded, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLoadOnAFullDisk: a run returns the error of the disk, and its load leaves nothing.
func TestLoadOnAFullDisk(t *testing.T) {
	var full atomic.Bool
	fs := vfs.NewMem()
	s := open(t, "db", errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && strings.HasPrefix(op.Path, "db.load") && op.Kind == errorfs.OpFileWrite {
			return syscall.ENOSPC
		}
		return nil
	})))
	w := acquire(t, s)
	l, err := w.(kv.Loader).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	if err := fill(l, "k", 100000); !errors.Is(err, errs.NoSpace) {
		t.Errorf("a run: %v", err)
	}
	if err := l.Abort(); err != nil {
		t.Error(err)
	}
	if names, err := fs.List("db.load"); err == nil {
		t.Errorf("left: %v", names)
	}
	enqueue(t, w, 0, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
