package pebblekv

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// noCompactions is a disk that, while full, has no room for the output of compactions.
type noCompactions struct {
	vfs.FS
	full *atomic.Bool
}

func (f noCompactions) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c == "pebble-compaction" && f.full.Load() {
		return nil, syscall.ENOSPC
	}
	return f.FS.Create(name, c)
}

// commit writes durable batches until one fails.
func commit(t *testing.T, w kv.Writer, from, to int) (int, error) {
	t.Helper()
	for i := from; i < to; i++ {
		ticket, err := w.Enqueue(batch(i))
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			return i, err
		}
	}
	return to, nil
}

// TestCompactionsFail: if compactions fail for too long, writing ends with an error instead of blocking for ever.
// Acknowledged batches stay, and writing works again once the disk has room.
func TestCompactionsFail(t *testing.T) {
	var full atomic.Bool
	full.Store(true)
	fs := noCompactions{vfs.NewMem(), &full}
	o := Options{PebbleScheduler: *PebbleScheduler, FS: fs, MemTableBytes: 64 << 10, flushRetryTime: time.Millisecond}
	s, err := Open("db", o)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := commit(t, w, 0, 10000)
	if !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" || !strings.Contains(fmt.Sprint(err), "merged") {
		t.Fatalf("batch %d: %v", kept, err)
	}
	if deep := s.db.Metrics().Levels[0].Sublevels; deep < l0Max || deep > l0Max+2 {
		t.Errorf("the first level is %d deep", deep)
	}
	if _, err := s.Get(t.Context(), batch(0).Ops[0].Key); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	full.Store(false)
	o.flushRetryTime = 0
	if s, err = Open("db", o); err != nil {
		t.Fatal(err)
	}
	for i := range kept {
		if _, err := s.Get(t.Context(), batch(i).Ops[0].Key); err != nil {
			t.Errorf("batch %d of %d: %v", i, kept, err)
		}
	}
	if w, err = s.Acquire(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if i, err := commit(t, w, kept, kept+500); err != nil {
		t.Errorf("batch %d on a disk with room: %v", i, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCompactionsHope: of the time in which compactions fail, only the part counts in which a writer waits and none
// succeeds.
func TestCompactionsHope(t *testing.T) {
	const patience = time.Hour
	tables := newFlusher(patience)
	tables.compactionFailing, tables.lastCompactionErr = time.Now().Add(-10*patience), syscall.EIO
	ended := tables.ended
	tables.compactionEnded(info(nil))
	if err := tables.waitForCompaction(ended, time.Now().Add(-10*patience)); err != nil {
		t.Errorf("after a success: %v", err)
	}
	tables.compactionEnded(info(syscall.EIO))
	if err := tables.waitForCompaction(ended, time.Now().Add(-10*patience)); err != nil {
		t.Errorf("after the first failure: %v", err)
	}
	ended = tables.ended
	tables.compactionFailing = time.Now().Add(-(compactionRetryFactor + 1) * patience)
	tables.compactionEnded(info(syscall.EIO))
	if err := tables.waitForCompaction(ended, time.Now()); err != nil {
		t.Errorf("as soon as somebody waits: %v", err)
	}
	if err := tables.waitForCompaction(tables.ended, time.Now().Add(-compactionRetryFactor*patience)); !errors.Is(err, errs.Unavailable) {
		t.Errorf("after all that time: %v", err)
	}
	if err := tables.usable(); !errors.Is(err, errs.Unavailable) {
		t.Errorf("whoever comes later: %v", err)
	}
}

func info(err error) pebble.CompactionInfo { return pebble.CompactionInfo{Err: err} }

// TestYoungMemTables: Pebble begins with small memory tables and does not flush them one by one. No writer waits for
// that.
func TestYoungMemTables(t *testing.T) {
	s, err := Open("db", Options{PebbleScheduler: *PebbleScheduler, FS: vfs.NewMem(), MemTableBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if i, err := commit(t, w, 0, 2000); err != nil { // 8 MiB
		t.Errorf("batch %d: %v", i, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
