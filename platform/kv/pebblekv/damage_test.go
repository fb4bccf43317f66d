package pebblekv_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
)

// lots writes batches in lots, and returns the total number of batches. A lot is durable before the next begins. The
// content of a batch follows from its number and r.
func lots(t *testing.T, w kv.Writer, from int, sizes []int, r *rand.Rand) int {
	t.Helper()
	for _, size := range sizes {
		var last kv.Ticket
		for range size {
			b := pair(from)
			b.Put(fmt.Appendf(nil, "c%06d", from), bytes.Repeat([]byte{byte(from)}, r.IntN(3000)))
			ticket, err := w.Enqueue(b)
			if err != nil {
				t.Fatal(err)
			}
			last = ticket
			from++
		}
		if err := last.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return from
}

// reopened returns the number of batches in a store: a prefix of all. An error is that of its opening.
func reopened(t *testing.T, fs vfs.FS, count int) (int, error) {
	t.Helper()
	s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: fs, MemTableBytes: 64 << 10})
	if err != nil {
		return 0, err
	}
	last, err := acquire(t, s).LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		_, errA := s.Get(t.Context(), fmt.Appendf(nil, "a%06d", i))
		_, errB := s.Get(t.Context(), fmt.Appendf(nil, "b%06d", i))
		if there := i < int(last); (errA == nil) != there || (errB == nil) != there {
			t.Fatalf("batch %d of %d: %v, %v", i+1, last, errA, errB)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return int(last), nil
}

// flipped returns an image with one byte of a file changed.
func flipped(t *testing.T, left *vfs.MemFS, name string, content []byte, at int) *vfs.MemFS {
	t.Helper()
	fs := left.CrashClone(vfs.CrashCloneCfg{})
	changed := bytes.Clone(content)
	changed[at] ^= 0xff
	put(t, fs, name, changed)
	return fs
}

// TestDamagedLog changes a byte of a log. A loss of batches is noticed, except in the last lot, which a crash could have
// torn.
func TestDamagedLog(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, "db", fs)
	w := acquire(t, s)
	enqueue(t, w, 0, 5)
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name, whole := newestLog(t, left)
	end := bytes.LastIndex(whole, []byte("\x00s")) + 2 + 1 + 8
	for at := 0; at < end+100; at += 9 {
		last, err := reopened(t, flipped(t, left, name, whole, at), 5)
		switch {
		case last == 5, last == 4 && bytes.LastIndex(whole[:at], []byte("a000003")) > 0:
		case !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Unsupported) || errs.RemedyOf(err) == "":
			t.Errorf("the byte at %d of %d: %d batches, %v", at, end, last, err)
		}
	}
}

// TestClosedStoreNeedsNoLog: any damage to the log of a store that was closed loses nothing.
func TestClosedStoreNeedsNoLog(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, "db", fs)
	w := acquire(t, s)
	count := lots(t, w, 0, []int{3, 1, 40, 2, 7}, rand.New(rand.NewPCG(1, 1)))
	if _, err := w.Enqueue(pair(count)); err != nil { // without Wait
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	for name := range logs(t, left) {
		put(t, left, "db/journal/"+name, bytes.Repeat([]byte("x"), 5000))
	}
	if last, err := reopened(t, left, count+1); err != nil || last != count+1 {
		t.Errorf("%d of %d batches, %v", last, count+1, err)
	}
}

// TestDamageBetweenLots changes bytes and blocks anywhere in logs that became full and were reused, with batches that
// were written in lots.
func TestDamageBetweenLots(t *testing.T) {
	noticed := 0
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 3))
		fs := vfs.NewCrashableMem()
		s := open(t, "db", fs)
		w := acquire(t, s)
		var sizes []int
		for range 30 {
			sizes = append(sizes, 1+r.IntN(10))
		}
		count := lots(t, w, 0, sizes, r)
		left := fs.CrashClone(vfs.CrashCloneCfg{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		safe := count - sizes[len(sizes)-1]
		for name := range logs(t, left) {
			content := read(t, left, "db/journal/"+name)
			end := bytes.LastIndex(content, fmt.Appendf(nil, "a%06d", count-1)) - 100 // the last record stays
			if end < 0 {
				end = len(content)
			}
			for range 10 {
				at, length := r.IntN(end), 1+r.IntN(5000)
				damaged := bytes.Clone(content)
				clear(damaged[at:min(at+length, end)])
				fs := left.CrashClone(vfs.CrashCloneCfg{})
				put(t, fs, "db/journal/"+name, damaged)
				last, err := reopened(t, fs, count)
				if errors.Is(err, errs.Corrupt) {
					noticed++
				} else if err != nil || last < safe {
					t.Errorf("seed %d: %s without %d bytes at %d: %d of %d batches, %v", seed, name, length, at, last, count, err)
				}
			}
		}
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
	}
}

// TestTornLots cuts the power before large lots are synced. Any of their blocks may survive. Such an end is not taken for
// damage, and all durable batches exist.
func TestTornLots(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 4))
		left := image{vfs.NewCrashableMem(), 0}
		for round := range 4 {
			var sizes []int
			for range 1 + r.IntN(12) {
				sizes = append(sizes, 1+r.IntN(20))
			}
			var durable, all int
			left, durable, all = tornLot(t, left, sizes, r)
			last, err := reopened(t, left.fs.CrashClone(vfs.CrashCloneCfg{}), all)
			if err != nil || last < durable {
				t.Fatalf("seed %d, round %d: %d batches, %d were durable; %v", seed, round, last, durable, err)
			}
			left.durable = last
		}
	}
}

// tornLot writes lots to an image, and cuts the power before a sync.
func tornLot(t *testing.T, from image, sizes []int, r *rand.Rand) (left image, durable, all int) {
	t.Helper()
	var acked atomic.Int64
	acked.Store(int64(from.durable))
	cut := r.IntN(len(sizes))
	random := rand.New(rand.NewPCG(r.Uint64(), 5))
	watched := errorfs.Wrap(from.fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && filepath.Ext(op.Path) == ".wal" {
			if cut--; cut < 0 && left.fs == nil {
				durable = int(acked.Load())
				left.fs = from.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 20 + random.IntN(70), RNG: random})
			}
		}
		return nil
	}))
	s := open(t, "db", watched)
	w := acquire(t, s)
	all = from.durable
	for _, size := range sizes {
		all = lots(t, w, all, []int{size}, r)
		acked.Store(int64(all))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return left, durable, all
}
