package pebblekv_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/words/errs"
)

// TestUnknownFormats: a state file of a format that this version does not know is refused, and left alone.
func TestUnknownFormats(t *testing.T) {
	const name = "db/journal/000000.journal"
	mem := vfs.NewMem()
	s := open(t, "db", mem)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if state := read(t, mem, name); !bytes.HasPrefix(state, []byte("hemlog4\n")) {
		t.Errorf("the state file begins with %.20q", state)
	}
	for _, text := range []string{"hemlog9\nanything", "hemlog3\nmark 0123456789abcdef\n"} {
		put(t, mem, name, []byte(text))
		if _, err := reopened(t, mem, 0); !errors.Is(err, errs.Unsupported) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v", text, err)
		}
		if string(read(t, mem, name)) != text {
			t.Errorf("%s was changed", name)
		}
	}
}

// TestLogOfAnEarlierVersion: a store without a state file that has a log of another kind is refused, and left alone.
func TestLogOfAnEarlierVersion(t *testing.T) {
	for _, name := range []string{"db/000002.log", "db/log/000002.log", "db/journal/000002.journal"} {
		mem := vfs.NewCrashableMem()
		s := open(t, "db", mem)
		enqueue(t, acquire(t, s), 0, 5)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{"db/log", "db/journal"} {
			if err := errors.Join(mem.RemoveAll(dir), mem.MkdirAll(dir, 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		put(t, mem, name, []byte("batches"))
		before := filesBelow(t, mem, "db")
		if _, err := reopened(t, mem, 5); !errors.Is(err, errs.Unsupported) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
		if after := filesBelow(t, mem, "db"); len(after) != len(before) || string(read(t, mem, name)) != "batches" {
			t.Errorf("%s: %v, then %v", name, before, after)
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
