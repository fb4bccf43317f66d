package pebblekv_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
)

// TestMissingLog removes files of the log from a store that was killed: it opens with all acknowledged batches, or
// refuses and names a file that is missing. It always needs the newest file.
func TestMissingLog(t *testing.T) {
	superfluous := 0
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 7))
		fs := vfs.NewCrashableMem()
		s := open(t, "db", fs)
		w := acquire(t, s)
		sizes := make([]int, 1+r.IntN(250))
		for i := range sizes {
			sizes[i] = 1 + r.IntN(10)
		}
		count := lots(t, w, 0, sizes, r)
		if seed%2 == 1 { // all batches are in tables: only the newest file is needed
			if err := s.Backup(t.Context(), "copy"); err != nil {
				t.Fatal(err)
			}
		}
		crash := vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: rand.New(rand.NewPCG(seed, 8))}
		left := fs.CrashClone(crash)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range logs(t, left) {
			names = append(names, name)
		}
		slices.Sort(names)
		if last, err := reopened(t, left.CrashClone(vfs.CrashCloneCfg{}), count); err != nil || last != count {
			t.Fatalf("seed %d: with all files: %d of %d batches, %v", seed, last, count, err)
		}
		for _, taken := range append([][]string{names}, apart(names)...) {
			without := left.CrashClone(vfs.CrashCloneCfg{})
			for _, name := range taken {
				if err := without.Remove("db/journal/" + name); err != nil {
					t.Fatal(err)
				}
			}
			last, err := reopened(t, without, count)
			switch {
			case err == nil && last == count && !slices.Contains(taken, names[len(names)-1]):
				superfluous++ // its batches are in tables
			case !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "":
				t.Errorf("seed %d: without %v of %v: %d of %d batches, %v", seed, taken, names, last, count, err)
			case len(taken) == 1 && taken[0] == names[len(names)-1] && !strings.Contains(err.Error(), taken[0]):
				t.Errorf("seed %d: the error does not name %s: %v", seed, taken[0], err)
			}
		}
	}
	if superfluous == 0 {
		t.Error("no file was superfluous: the logs never turned")
	}
}

// apart returns a list for each name.
func apart(names []string) (lists [][]string) {
	for _, name := range names {
		lists = append(lists, []string{name})
	}
	return lists
}

// TestCopyNeedsNoLog: a copy of a store in use has no log, and opens.
func TestCopyNeedsNoLog(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, "db", fs)
	enqueue(t, acquire(t, s), 0, 5)
	if err := s.Backup(t.Context(), "copy"); err != nil {
		t.Fatal(err)
	}
	copied, err := pebblekv.Open("copy", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := copied.Get(t.Context(), []byte("a000004")); err != nil {
		t.Error(err)
	}
	for _, s := range []*pebblekv.Store{s, copied} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWithoutJournal removes the whole log from a store: in its first life, when no batch is in tables, and in its
// second.
func TestWithoutJournal(t *testing.T) {
	fs := vfs.NewCrashableMem()
	for life := range 2 {
		s := open(t, "db", fs)
		enqueue(t, acquire(t, s), 5*life, 5*life+5)
		left := fs.CrashClone(vfs.CrashCloneCfg{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := left.RemoveAll("db/journal"); err != nil {
			t.Fatal(err)
		}
		before := slices.Sorted(slices.Values(filesBelow(t, left, "db")))
		if _, err := reopened(t, left, 5*life+5); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" || !strings.Contains(err.Error(), "journal") {
			t.Errorf("life %d: %v", life, err)
		}
		// No file of the store is made or removed, so the log can be put back.
		if after := slices.Sorted(slices.Values(filesBelow(t, left, "db"))); !slices.Equal(before, after) {
			t.Errorf("life %d: %v, then %v", life, before, after)
		}
	}
}

// TestCutLog cuts the newest log anywhere, after the last change was noted: the store opens with all batches, or it
// refuses.
func TestCutLog(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, "db", fs)
	enqueue(t, acquire(t, s), 0, 40)
	pebblekv.NoteNow(s)
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name, content := newestLog(t, left)
	written := len(bytes.TrimRight(content, "\x00"))
	for at := 0; at < written; at += written/50 + 1 {
		cut := left.CrashClone(vfs.CrashCloneCfg{})
		put(t, cut, name, content[:at])
		last, err := reopened(t, cut, 40)
		if (err != nil || last != 40) && (!errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "") {
			t.Fatalf("%s cut at %d of %d: %d batches, %v", name, at, written, last, err)
		}
	}
}
