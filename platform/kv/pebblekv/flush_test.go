package pebblekv

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/platform/kv"
	"hemera/words/errs"
)

func batch(i int) *kv.Batch {
	b := new(kv.Batch)
	value := make([]byte, 4<<10) // content that does not compress
	_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(value)
	b.Put(fmt.Appendf(nil, "k%06d", i), value)
	return b
}

// fullDisk returns a disk that refuses writes to tables while it is full.
func fullDisk(disk vfs.FS, full *atomic.Bool, tried chan struct{}) vfs.FS {
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if !full.Load() || filepath.Ext(op.Path) != ".sst" || op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		select {
		case tried <- struct{}{}:
		default:
		}
		return syscall.ENOSPC
	}))
}

// TestTablesFail: if Pebble cannot write its tables for too long, waiting calls get an error, and so do later ones. No
// call blocks for ever, and acknowledged batches exist when the disk works again.
func TestTablesFail(t *testing.T) {
	var full atomic.Bool
	tried := make(chan struct{}, 1)
	var text strings.Builder
	disk := vfs.NewCrashableMem()
	o := Options{
		PebbleScheduler: *PebbleScheduler, FS: fullDisk(disk, &full, tried), MemTableBytes: 64 << 10, flushRetryTime: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&text, nil)),
	}
	s, err := Open("db", o)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	kept := 0
	for err == nil {
		var ticket kv.Ticket
		if ticket, err = w.Enqueue(batch(kept)); err == nil {
			err = ticket.Wait(t.Context())
		}
		if err == nil {
			kept++
		}
		if len(tried) > 0 {
			<-s.flusher.broken
		}
	}
	if !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("a batch: %v", err)
	}
	if _, err := s.Acquire(t.Context(), "test"); !errors.Is(err, errs.Unavailable) {
		t.Errorf("acquire: %v", err)
	}
	if err := s.Backup(t.Context(), "copy"); !errors.Is(err, errs.Unavailable) {
		t.Errorf("backup: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(text.String(), "background error"); n > 2 {
		t.Errorf("the failure was logged %d times", n)
	}
	if _, err := Open("db", o); !errors.Is(err, errs.Unavailable) {
		t.Errorf("a start on the full disk: %v", err)
	}
	full.Store(false)
	if *PebbleScheduler { // a compaction of the abandoned start may continue to write
		if _, err := Open("db", o); !errors.Is(err, errs.Unavailable) {
			t.Errorf("a start after the failed one: %v", err)
		}
		o.FS = disk.CrashClone(vfs.CrashCloneCfg{}) // the process ends
	}
	if s, err = Open("db", o); err != nil {
		t.Fatal(err)
	}
	for i := range kept {
		if _, err := s.Get(t.Context(), batch(i).Ops[0].Key); err != nil {
			t.Errorf("batch %d of %d: %v", i, kept, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTablesFailForAMoment: a disk that has room again in time causes no error.
func TestTablesFailForAMoment(t *testing.T) {
	var full atomic.Bool
	tried := make(chan struct{}, 1)
	s, err := Open("db", Options{PebbleScheduler: *PebbleScheduler, FS: fullDisk(vfs.NewMem(), &full, tried), MemTableBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	go func() {
		<-tried
		<-tried
		full.Store(false)
	}()
	w, err := s.Acquire(t.Context(), "test")
	for i := 0; i < 200 && err == nil; i++ {
		var ticket kv.Ticket
		if ticket, err = w.Enqueue(batch(i)); err == nil {
			err = ticket.Wait(t.Context())
		}
	}
	if err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUnwaitedFailure: a log that fails without a waiting caller ends the writing as well.
func TestUnwaitedFailure(t *testing.T) {
	failed := make(chan struct{})
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, logSuffix) && broken.CompareAndSwap(true, false) {
			close(failed)
			return syscall.EIO
		}
		return nil
	}))
	s, err := Open("db", Options{PebbleScheduler: *PebbleScheduler, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	for i := 0; err == nil; i++ {
		if _, err = w.Enqueue(batch(i)); i == 0 {
			<-failed
		}
		if i > 1000 {
			t.Fatal("batches are taken that will never be written")
		}
	}
	if !errors.Is(err, errs.Unavailable) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedTable: a damaged block is an error for reads of this block only.
func TestDamagedTable(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("db", Options{PebbleScheduler: *PebbleScheduler, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Acquire(t.Context(), "test")
	for i := 0; i < 100 && err == nil; i++ {
		var ticket kv.Ticket
		if ticket, err = w.Enqueue(batch(i)); err == nil {
			err = ticket.Wait(t.Context())
		}
	}
	if err == nil {
		err = s.flusher.flush()
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	damage(t, fs)
	if s, err = Open("db", Options{PebbleScheduler: *PebbleScheduler, FS: fs}); err != nil {
		t.Fatal(err)
	}
	bad := 0
	for i := range 100 {
		if _, err := s.Get(t.Context(), batch(i).Ops[0].Key); errors.Is(err, errs.Corrupt) {
			bad++
		} else if err != nil {
			t.Errorf("key %d: %v", i, err)
		}
	}
	if bad == 0 || bad > 50 {
		t.Errorf("%d of 100 keys cannot be read", bad)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// damage changes some bytes in the middle of the largest table.
func damage(t *testing.T, fs vfs.FS) {
	t.Helper()
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	var largest string
	var size int64
	for _, name := range names {
		if info, err := fs.Stat("db/" + name); err == nil && filepath.Ext(name) == ".sst" && info.Size() > size {
			largest, size = "db/"+name, info.Size()
		}
	}
	file, err := fs.OpenReadWrite(largest, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = file.WriteAt([]byte{0x5a, 0x5a, 0x5a}, size/2)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
