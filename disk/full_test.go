package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"hemera"
	"hemera/errs"
	"hemera/vfs"
)

// noRoom is a filesystem that cannot reserve anything.
type noRoom struct{ vfs.OS }

type noRoomFile struct{ vfs.File }

func (f noRoom) Open(name string, flag int) (vfs.File, error) {
	file, err := f.OS.Open(name, flag)
	if err != nil {
		return nil, err
	}
	return noRoomFile{file}, nil
}

func (noRoomFile) Preallocate(int64) error     { return syscall.ENOSPC }
func (noRoomFile) StartWriteback(int64, int64) {}
func (noRoomFile) ReadAhead(int64, int64)      {}
func (noRoomFile) Forget(int64, int64)         {}

// A piece whose room cannot be reserved fails before any byte is written: its head can still place it
// elsewhere.
func TestCreateReservesRoom(t *testing.T) {
	dir := t.TempDir()
	d := newDisk(t, noRoom{}, dir, Options{})
	id := hemera.PieceID{File: 7, Gen: 1}
	if _, err := d.Create(id, CreateOptions{SizeHint: 1 << 20}); !errors.Is(err, errs.NoSpace) {
		t.Fatalf("no room: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, pendingName)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	w, err := d.Create(id, CreateOptions{}) // of unknown size: it is tried
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Abort()
}
