package pebblekv_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hemera/platform/kv/pebblekv"
	"hemera/test/fixture/effort"
	"hemera/words/errs"
)

// journalBatches is how many batches the store in testdata/journal has. The last version that wrote a journal was killed
// right after they were durable: a part of them is in tables, the rest in two files of the journal.
const journalBatches = 400

// journalStore returns the store in testdata/journal as "db" in memory.
func journalStore(t *testing.T) *vfs.MemFS {
	t.Helper()
	mem := vfs.NewCrashableMem()
	root := filepath.Join("testdata", "journal")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := "db" + strings.TrimPrefix(path, root)
		if d.IsDir() {
			return mem.MkdirAll(to, 0o755)
		}
		raw, err := os.ReadFile(path)
		if err == nil {
			put(t, mem, to, raw)
		}
		return err
	})
	for _, dir := range []string{"db/journal", "db", ""} {
		if err == nil {
			var d vfs.File
			if d, err = mem.OpenDir(dir); err == nil {
				err = errors.Join(d.Sync(), d.Close())
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return mem
}

// TestJournalIsTakenOver opens a store of the version before: all batches are there, now and later, and the journal is
// gone.
func TestJournalIsTakenOver(t *testing.T) {
	mem := journalStore(t)
	for range 2 {
		if last, err := reopened(t, mem, journalBatches); err != nil || last != journalBatches {
			t.Fatalf("%d batches, %v", last, err)
		}
	}
	s := open(t, "db", mem)
	enqueue(t, acquire(t, s), journalBatches, journalBatches+10)
	left := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if last, err := reopened(t, left, journalBatches+10); err != nil || last != journalBatches+10 {
		t.Errorf("after a crash: %d batches, %v", last, err)
	}
	names, err := left.List("db/journal")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if filepath.Ext(name) == ".journal" && name != "000000.journal" {
			t.Errorf("%s is still there", name)
		}
	}
}

// TestJournalCutAnywhere cuts the power before each step of the first start after the upgrade.
func TestJournalCutAnywhere(t *testing.T) {
	mem := journalStore(t)
	var mu sync.Mutex
	var images []*vfs.MemFS
	watched := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			images = append(images, mem.CrashClone(vfs.CrashCloneCfg{}))
		}
		return nil
	}))
	s := open(t, "db", watched)
	enqueue(t, acquire(t, s), journalBatches, journalBatches+1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(images); i += effort.Of(1, 5) {
		if last, err := reopened(t, images[i], journalBatches+1); err != nil || last < journalBatches {
			t.Errorf("before step %d of %d: %d batches, %v", i, len(images), last, err)
		}
	}
}

// TestDamagedJournal: damage to a journal is noticed, the files stay as they are, and what is before it can be read.
func TestDamagedJournal(t *testing.T) {
	mem := journalStore(t)
	name := "db/journal/000003.journal"
	whole := read(t, mem, name)
	damaged := bytes.Clone(whole)
	at := bytes.Index(damaged, []byte("a000390"))
	damaged[at]++
	put(t, mem, name, damaged)
	for range 2 {
		if _, err := reopened(t, mem, journalBatches); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
			t.Errorf("a start: %v", err)
		}
	}
	var told error
	s, err := pebblekv.Open("db", pebblekv.Options{FS: mem, ReadOnly: true, Damaged: func(err error) { told = err }})
	if err != nil || !errors.Is(told, errs.Corrupt) {
		t.Fatalf("to be read: %v; %v", err, told)
	}
	for i := range journalBatches {
		_, err := s.Get(t.Context(), fmt.Appendf(nil, "a%06d", i))
		if there := i < 390; there != (err == nil) {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, mem, name, whole)
	if last, err := reopened(t, mem, journalBatches); err != nil || last != journalBatches {
		t.Errorf("with the file as it was: %d batches, %v", last, err)
	}
}

// TestMissingJournal: a store that lacks a file of its journal refuses to open.
func TestMissingJournal(t *testing.T) {
	mem := journalStore(t)
	if err := mem.Remove("db/journal/000003.journal"); err != nil {
		t.Fatal(err)
	}
	if _, err := reopened(t, mem, journalBatches); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Errorf("%v", err)
	}
}

// TestUnknownFormats: a log of a format that this version does not know is refused, by the state file as by a journal's, and
// left alone. The versions that wrote journals refuse this version's state file in the same way.
func TestUnknownFormats(t *testing.T) {
	for name, text := range map[string]string{
		"db/journal/000000.journal": "hemlog9\nanything",
		"db/journal/000003.journal": "hemlog1\nanything",
	} {
		mem := journalStore(t)
		put(t, mem, name, []byte(text))
		if _, err := reopened(t, mem, journalBatches); !errors.Is(err, errs.Unsupported) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
		if string(read(t, mem, name)) != text {
			t.Errorf("%s was changed", name)
		}
	}
	mem := vfs.NewMem()
	s := open(t, "db", mem)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if state := read(t, mem, "db/journal/000000.journal"); !bytes.HasPrefix(state, []byte("hemlog4\n")) {
		t.Errorf("the state file begins with %.20q", state)
	}
}

// TestAttemptOfAnEarlierVersion: what a version with a journal does before it refuses a store is to open it in Pebble without
// a log. The store opens afterwards, closed or killed.
func TestAttemptOfAnEarlierVersion(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, "db", mem)
	enqueue(t, acquire(t, s), 0, 5)
	killed := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for what, image := range map[string]*vfs.MemFS{"killed": killed, "closed": mem} {
		db, err := pebble.Open("db", &pebble.Options{FS: image, DisableWAL: true, FormatMajorVersion: pebble.FormatNewest})
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if last, err := reopened(t, image, 5); err != nil || last != 5 {
				t.Errorf("%s: %d batches, %v", what, last, err)
			}
		}
	}
}

// TestDamagedStateFile: whatever byte of the state file changes, the store refuses to open, and so it does without it.
func TestDamagedStateFile(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, "db", mem)
	enqueue(t, acquire(t, s), 0, 5)
	left := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const name = "db/journal/000000.journal"
	whole := read(t, left, name)
	for at := range whole {
		fs := flipped(t, left, name, whole, at)
		if _, err := reopened(t, fs, 5); !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Unsupported) || errs.RemedyOf(err) == "" {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if err := left.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := reopened(t, left, 5); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" {
		t.Errorf("without it: %v", err)
	}
}
