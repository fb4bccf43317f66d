package disks

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hemera/words/errs"
)

// TestDisksThatOthersCanChange: a node stores nothing in a place where another user can plant a link or a piece.
func TestDisksThatOthersCanChange(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string) error
		ok   bool
	}{
		"fresh":               {func(string) error { return nil }, true},
		"missing":             {os.Remove, true},
		"with pending":        {func(p string) error { return os.Mkdir(filepath.Join(p, "pending"), 0o750) }, true},
		"writable by a group": {func(p string) error { return os.Chmod(p, 0o770) }, true},
		"writable by all":     {func(p string) error { return os.Chmod(p, 0o777) }, false},
		"pending is a link":   {func(p string) error { return os.Symlink("/tmp", filepath.Join(p, "pending")) }, false},
		"pending is writable": {func(p string) error {
			return errors.Join(os.Mkdir(filepath.Join(p, "pending"), 0o700), os.Chmod(filepath.Join(p, "pending"), 0o777))
		}, false},
		"of another user":      {func(p string) error { return os.Chown(p, 12345, -1) }, false},
		"a link to a good one": {func(p string) error { return errors.Join(os.Rename(p, p+".there"), os.Symlink(p+".there", p)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "disk")
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := c.make(path); errors.Is(err, os.ErrPermission) {
				t.Skip("needs root: ", err)
			} else if err != nil {
				t.Fatal(err)
			}
			err := CheckOwner(path)
			if c.ok && err != nil || !c.ok && (!errors.Is(err, errs.Denied) || errs.RemedyOf(err) == "") {
				t.Errorf("got %v", err)
			}
		})
	}
}
