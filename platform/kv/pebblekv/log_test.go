package pebblekv_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
)

// logs returns the sizes of a store's logs.
func logs(t *testing.T, fs vfs.FS) map[string]int64 {
	t.Helper()
	names, err := fs.List("db/journal")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, name := range names {
		if filepath.Ext(name) != ".wal" {
			continue
		}
		info, err := fs.Stat("db/journal/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = info.Size()
	}
	return sizes
}

// TestLogsAreOverwritten: few of many durable batches make a log's file grow, whether the file is new or reused, and only
// zeros follow the log's end.
func TestLogsAreOverwritten(t *testing.T) {
	const count = 4000
	fs := vfs.NewMem()
	s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: fs, MemTableBytes: 128 << 10})
	if err != nil {
		t.Fatal(err)
	}
	w := acquire(t, s)
	grew, newLogs, before := 0, 0, logs(t, fs)
	for i := range count {
		ticket, err := w.Enqueue(pair(i))
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		now := logs(t, fs)
		for name, size := range now {
			if old, there := before[name]; !there {
				newLogs++
			} else if size > old {
				grew++
			}
		}
		before = now
	}
	if newLogs < 2 {
		t.Errorf("%d new logs: the test is too short", newLogs)
	}
	if bound := count / 20; grew > bound {
		t.Errorf("%d of %d batches made a log grow, more than %d", grew, count, bound)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, "db", fs)
	if last, err := acquire(t, s).LastSeq(t.Context()); err != nil || last != count {
		t.Errorf("last is %d, %v", last, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAheadIsZeros checks the file of a log that has one batch.
func TestAheadIsZeros(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, "db", fs)
	ticket, err := acquire(t, s).Enqueue(pair(1))
	if err == nil {
		err = ticket.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, size := range logs(t, fs) {
		file, err := fs.Open("db/journal/" + name)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(file)
		if err != nil || int64(len(raw)) != size || size%(4<<10) != 0 {
			t.Errorf("%s has %d bytes, read %d, %v", name, size, len(raw), err)
		}
		end := bytes.Index(raw, []byte("b000001"))
		_ = file.Close()
		if end < 0 {
			continue // a log that was begun and has no batch
		}
		found++
		if !bytes.Equal(raw[end+512:], make([]byte, len(raw)-end-512)) {
			t.Errorf("%s: the batch ends at %d, and behind it are not only zeros", name, end)
		}
	}
	if found != 1 {
		t.Errorf("%d files have the batch", found)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNoRoomAhead: a disk with room for the log but not for zeros works until it is full.
func TestNoRoomAhead(t *testing.T) {
	var refused atomic.Int64
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWriteAt && filepath.Ext(op.Path) == ".wal" {
			refused.Add(1)
			return syscall.ENOSPC
		}
		return nil
	}))
	s := open(t, "db", fs)
	w := acquire(t, s)
	for i := range 1000 {
		ticket, err := w.Enqueue(pair(i))
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if refused.Load() == 0 {
		t.Error("nothing was written ahead")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, "db", mem)
	if last, err := acquire(t, s).LastSeq(t.Context()); err != nil || last != 1000 {
		t.Errorf("last is %d, %v", last, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNobodyWaits: a batch becomes durable also without Wait.
func TestNobodyWaits(t *testing.T) {
	written := make(chan struct{}, 1)
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && filepath.Ext(op.Path) == ".wal" {
			select {
			case written <- struct{}{}:
			default:
			}
		}
		return nil
	}))
	s := open(t, "db", fs)
	w := acquire(t, s)
	for i := range 3 {
		if _, err := w.Enqueue(pair(i)); err != nil {
			t.Fatal(err)
		}
		<-written
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// enqueue writes durable pairs.
func enqueue(t *testing.T, w kv.Writer, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		ticket, err := w.Enqueue(pair(i))
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func newestLog(t *testing.T, fs vfs.FS) (name string, content []byte) {
	t.Helper()
	name = "db/journal/" + slices.Max(slices.Collect(maps.Keys(logs(t, fs))))
	return name, read(t, fs, name)
}

func read(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	file, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func put(t *testing.T, fs vfs.FS, name string, content []byte) {
	t.Helper()
	file, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = file.Write(bytes.Clone(content)) // a caller may change the clone
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
