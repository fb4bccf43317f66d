package pebblekv_test

import (
	"bytes"
	"io"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/kv/pebblekv"
)

// logs says how large the logs of a store are.
func logs(t *testing.T, fs vfs.FS) map[string]int64 {
	t.Helper()
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, name := range names {
		if filepath.Ext(name) != ".log" {
			continue
		}
		info, err := fs.Stat("db/" + name)
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = info.Size()
	}
	return sizes
}

// TestLogsAreOverwritten: few of many durable batches make a log's file grow, whether it is a new one or
// one that had another log, and nothing but zeros is behind its end.
func TestLogsAreOverwritten(t *testing.T) {
	const count = 4000
	fs := vfs.NewMem()
	s, err := pebblekv.Open("db", pebblekv.Options{FS: fs, MemTableBytes: 128 << 10})
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
	if n := pairs(t, s); n != count {
		t.Errorf("%d batches were found again", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAheadIsZeros looks at the file of a log that has one batch.
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
	for name, size := range logs(t, fs) {
		file, err := fs.Open("db/" + name)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(file)
		if err != nil || int64(len(raw)) != size || size%(4<<10) != 0 {
			t.Errorf("%s has %d bytes, read %d, %v", name, size, len(raw), err)
		}
		end := bytes.Index(raw, []byte("b000001"))
		if end < 0 || !bytes.Equal(raw[end+512:], make([]byte, len(raw)-end-512)) {
			t.Errorf("%s: the batch ends at %d, and behind it are not only zeros", name, end)
		}
		_ = file.Close()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNoRoomAhead: a disk that has room for the log alone is used as long as it has.
func TestNoRoomAhead(t *testing.T) {
	var refused atomic.Int64
	mem := vfs.NewMem()
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWriteAt && filepath.Ext(op.Path) == ".log" {
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
	if n := pairs(t, s); n != 1000 {
		t.Errorf("%d batches were found again", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
