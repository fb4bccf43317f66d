package pebblekv_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
)

// TestDamagedTable: a store with a missing or changed table is refused at its opening, or at the first read. The error
// names the table, and commands that work without it.
func TestDamagedTable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, "db", fs)
	w := acquire(t, s)
	lots(t, w, 0, []int{50, 50}, rand.New(rand.NewPCG(3, 3)))
	if err := s.Backup(t.Context(), "copy"); err != nil { // flushes to tables
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left := fs.CrashClone(vfs.CrashCloneCfg{})
	names, err := left.List("db")
	if err != nil {
		t.Fatal(err)
	}
	all, err := readAll(t, left.CrashClone(vfs.CrashCloneCfg{}))
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]int{}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		f, err := left.Open("db/" + name)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		gone := left.CrashClone(vfs.CrashCloneCfg{})
		if err := gone.Remove("db/" + name); err != nil {
			t.Fatal(err)
		}
		for what, damaged := range map[string]*vfs.MemFS{"missing": gone, "damaged": flipped(t, left, "db/"+name, content, 100)} {
			n, err := readAll(t, damaged)
			if err == nil && n == all {
				continue // another table has replaced it
			}
			refused[what]++
			text := ""
			if err != nil {
				text = err.Error()
			}
			if errs.KindOf(err) != errs.Corrupt || !strings.Contains(text, "a table of the manager's store is "+what) || strings.Contains(text, "carrier") ||
				!strings.Contains(errs.RemedyOf(err), "hemera ns restore FILE NEWDIR") {
				t.Errorf("%s %s: %v; %s", name, what, err, errs.RemedyOf(err))
			}
		}
	}
	if refused["missing"] == 0 || refused["damaged"] == 0 {
		t.Errorf("no table mattered: %v", refused)
	}
}

// readAll opens a store, reads all of it and returns the number of pairs.
func readAll(t *testing.T, fs vfs.FS) (n int, err error) {
	t.Helper()
	s, err := pebblekv.Open("db", pebblekv.Options{PebbleScheduler: *pebblekv.PebbleScheduler, FS: fs, MemTableBytes: 64 << 10})
	if err != nil {
		return 0, err
	}
	err = s.Scan(t.Context(), nil, nil, func(_, _ []byte) bool { n++; return true })
	_ = s.Close()
	return n, err
}
