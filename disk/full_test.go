package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
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

// Writes that were not announced end at the headroom, and those that were have their room: what is
// kept free is not theirs.
func TestUnannouncedWritesLeaveTheHeadroom(t *testing.T) {
	const room, headroom = 96 << 20, 32 << 20
	chunk := make([]byte, 1<<20)
	for name, c := range map[string]struct{ hint, least, most int64 }{
		"unannounced":        {0, room - headroom - 4<<20, room - headroom + writebackStep},
		"more than was said": {40 << 20, room - headroom - 4<<20, room - headroom + writebackStep},
	} {
		t.Run(name, func(t *testing.T) {
			d := newMemoryDisk(t, room, Options{Headroom: headroom})
			w, err := d.Create(hemera.PieceID{File: 7, Gen: 1}, CreateOptions{SizeHint: c.hint})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Abort() }()
			written := int64(0)
			for err == nil && written <= room {
				if err = w.WritePages(chunk, nil, written); err == nil {
					written += int64(len(chunk))
				}
			}
			wantKind(t, "a write into the headroom", err, errs.NoSpace)
			if written < c.least || written > c.most {
				t.Errorf("%d MiB were taken", written>>20)
			}
			wantHealth(t, d, hemera.HealthFull)
		})
	}
	d := newMemoryDisk(t, room, Options{Headroom: headroom})
	w, err := d.Create(hemera.PieceID{File: 8, Gen: 1}, CreateOptions{SizeHint: 60 << 20})
	if err != nil {
		t.Fatal(err)
	}
	d.SetHeadroom(50 << 20) // it has its room, whatever comes
	for off := int64(0); off < 60<<20; off += int64(len(chunk)) {
		if err := w.WritePages(chunk, nil, off); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
}
