package copy_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hemera/client/copy"
	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/rules/checksum"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// TestSourceChangesAtTheSameSize checks that no file appears under the target's name: the bytes that were read may be a
// mixture.
func TestSourceChangesAtTheSameSize(t *testing.T) {
	const size = 1 << 20
	overwrite := func(path string, at int64) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte("changed"), at)
		return errors.Join(err, f.Close())
	}
	for name, change := range map[string]func(path string) error{
		"not":                  func(string) error { return nil },
		"before what was read": func(path string) error { return overwrite(path, 0) },
		"behind what was read": func(path string) error { return overwrite(path, size-10) },
		"with the old time back": func(path string) error {
			return errors.Join(overwrite(path, 0), os.Chtimes(path, time.Time{}, time.Unix(1000, 0)))
		},
		"replaced": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, make([]byte, size), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
			err := errors.Join(os.WriteFile(from, xrootdtest.Pattern(size), 0o644), os.Chtimes(from, time.Time{}, time.Unix(1000, 0)))
			if err != nil {
				t.Fatal(err)
			}
			c := xrootd.New(xrootd.Options{Chunk: 64 << 10})
			defer c.Close()
			hash := &changingHasher{Hasher: checksum.NewAdler32(), at: 3, change: func() error { return change(from) }}
			_, err = copy.Run(t.Context(), c, []string{from}, to, copy.Options{NewHasher: func() checksum.Hasher { return hash }})
			if hash.err != nil {
				t.Fatal(hash.err)
			}
			_, missing := os.Stat(to)
			if name == "not" {
				if err != nil || missing != nil {
					t.Errorf("%v, %v", err, missing)
				}
				return
			}
			if !errors.Is(err, errs.Conflict) || missing == nil {
				t.Errorf("copied with %v; there: %v", err, missing == nil)
			}
		})
	}
}

// TestAServersFileChangesAtTheSameSize checks the same for a server that sends the current bytes at each read. Reading
// changes access times.
func TestAServersFileChangesAtTheSameSize(t *testing.T) {
	for name, change := range map[string]func(*wire.StatInfo){
		"not": func(*wire.StatInfo) {}, "read by others": func(i *wire.StatInfo) { i.Atime++ },
		"written": func(i *wire.StatInfo) { i.Mtime++ }, "with the old time back": func(i *wire.StatInfo) { i.Ctime++ },
		"replaced": func(i *wire.StatInfo) { i.ID++ },
	} {
		t.Run(name, func(t *testing.T) {
			answer, changed := xrootdtest.ChangingFile(xrootdtest.Pattern(1 << 20))
			server := xrootdtest.New(t, xrootdtest.DataServer, answer)
			c := xrootd.New(xrootd.Options{Chunk: 64 << 10})
			defer c.Close()
			hash := &changingHasher{Hasher: checksum.NewAdler32(), at: 3, change: func() error {
				changed(change)
				return nil
			}}
			to := filepath.Join(t.TempDir(), "to")
			_, err := copy.Run(t.Context(), c, []string{server.URL("/f").String()}, to, copy.Options{NewHasher: func() checksum.Hasher { return hash }})
			_, missing := os.Stat(to)
			if same := name == "not" || name == "read by others"; same && (err != nil || missing != nil) || !same && (!errors.Is(err, errs.Conflict) || missing == nil) {
				t.Errorf("copied with %v; there: %v", err, missing == nil)
			}
		})
	}
}

// changingHasher changes the source while one chunk of it is hashed.
type changingHasher struct {
	checksum.Hasher
	at     int // number of the chunk
	change func() error
	err    error
}

// Write implements checksum.Hasher.
func (h *changingHasher) Write(p []byte) (int, error) {
	if h.at--; h.at == 0 {
		h.err = h.change()
	}
	return h.Hasher.Write(p)
}
