package pebblekv_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
)

// TestEachFileLost removes one file after the other from a store, closed or killed: the store opens completely, or it
// refuses. A refusal changes nothing: with the file back the store is complete.
func TestEachFileLost(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, "db", fs)
	r := rand.New(rand.NewPCG(1, 9))
	count := lots(t, acquire(t, s), 0, []int{30, 1, 40, 2, 70}, r)
	if err := s.Backup(t.Context(), "copy"); err != nil { // for tables
		t.Fatal(err)
	}
	killed := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	closed := fs.CrashClone(vfs.CrashCloneCfg{})
	for what, image := range map[string]*vfs.MemFS{"killed": killed, "closed": closed} {
		refused := 0
		for _, name := range filesBelow(t, image, "db") {
			content := read(t, image, name)
			lost := image.CrashClone(vfs.CrashCloneCfg{})
			if err := lost.Remove(name); err != nil {
				t.Fatal(err)
			}
			last, err := reopened(t, lost, count)
			if err == nil && last == count {
				continue
			}
			refused++
			if err == nil || errs.RemedyOf(err) == "" {
				t.Errorf("%s, without %s: %d of %d batches, %v", what, name, last, count, err)
				continue
			}
			if strings.Contains(name, "marker") {
				wholeWithoutMarker(t, lost, count)
			}
			put(t, lost, name, content)
			if last, err := reopened(t, lost, count); err != nil || last != count {
				t.Errorf("%s, with %s again: %d of %d batches, %v", what, name, last, count, err)
			}
		}
		if refused < 3 {
			t.Errorf("%s: only %d files were missed", what, refused)
		}
	}
}

// wholeWithoutMarker reads a store that lacks a marker and checks that it is complete.
func wholeWithoutMarker(t *testing.T, fs vfs.FS, count int) {
	t.Helper()
	told := false
	s, err := pebblekv.Open("db", pebblekv.Options{FS: fs, ReadOnly: true, Damaged: func(error) { told = true }})
	if err != nil || !told {
		t.Errorf("damaged: %v, told %v", err, told)
		return
	}
	for i := range count {
		if _, err := s.Get(t.Context(), fmt.Appendf(nil, "a%06d", i)); err != nil {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func filesBelow(t *testing.T, fs vfs.FS, dir string) (files []string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name = fs.PathJoin(dir, name)
		if info, err := fs.Stat(name); err == nil && info.IsDir() {
			files = append(files, filesBelow(t, fs, name)...)
		} else {
			files = append(files, name)
		}
	}
	return files
}
