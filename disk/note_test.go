package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"hemera/platform/vfs"
	"hemera/words/errs"
)

// TestNoNoteWithoutTheDisk: below the mount point of a disk that is not there any more nothing is written.
func TestNoNoteWithoutTheDisk(t *testing.T) {
	dir := t.TempDir()
	if _, err := Format(vfs.OS{}, dir); err != nil {
		t.Fatal(err)
	}
	d, err := Open(vfs.OS{}, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.Rename(filepath.Join(dir, labelName), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if err := d.Note([]byte("x")); !errors.Is(err, errs.NotFound) {
		t.Errorf("without a label: %v", err)
	}
	if _, err := Format(vfs.OS{}, dir); err != nil {
		t.Fatal(err)
	}
	if err := d.Note([]byte("x")); !errors.Is(err, errs.Conflict) {
		t.Errorf("with another label: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, noteName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a note is there: %v", err)
	}
}
